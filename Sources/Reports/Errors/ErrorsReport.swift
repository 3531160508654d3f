package import Console
import Control
package import PRSNLCore
package import Store

/// Asks for the errors that recur.
package struct ErrorsRequest: BareRequest {
    package typealias Answer = ErrorsReport
    package static let command = "errors"
    package var isChange: Bool { false }

    package init() {}
}

/// Forgets the errors that recur.
package struct ClearErrorsRequest: OutboxRequest, BareRequest {
    package typealias Answer = ErrorsReport
    package static let command = "errors"
    package static let variant: String? = "clear"
    package var isChange: Bool { true }

    package init() {}

    package func perform(_ outbox: OutboxOperations) async throws(UserFacingError) -> ErrorsReport {
        ErrorsReport([], cleared: try await outbox.store.forgetErrors(), source: outbox.source, now: outbox.now())
    }

    package static func hasChanged(_ answer: ErrorsReport) -> Bool { answer.cleared ?? 0 > 0 }
}

/// The errors that the daemon has met, grouped by code and endpoint: the JSON of `prsnlctl errors --json`.
package struct ErrorsReport: ControlReply {
    package static let type = "errors"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// How many were forgotten; `null` without `--clear`.
    @Nullable package var cleared: Int? = nil
    /// Those that go on first, each half with the newest first.
    package var errors: [RecurringError]

    package init(
        _ errors: [RecurringError], cleared: Int? = nil, source: StatusReport.Source, now: Timestamp
    ) {
        self.source = source
        self.cleared = cleared
        generatedAt = now
        self.errors = errors
    }

    /// Of the file at a path, for users who may read it.
    package init(path: String, source: StatusReport.Source, now: Timestamp) throws(UserFacingError) {
        self.init(try StoreReader(path: path).recurringErrors(), source: source, now: now)
    }
}

extension ErrorsReport: Report {
    package func text(_ style: TextStyle) -> String {
        if let cleared { return "forgot \(Formatting.count(cleared, "error"))\n" }
        guard !errors.isEmpty else { return "No errors.\n" }
        return errors.map { lines(of: $0, style).map { $0 + "\n" }.joined() }.joined(separator: "\n")
    }

    private func lines(of error: RecurringError, _ style: TextStyle) -> [String] {
        let times = error.count == 1 ? "once" : "\(Formatting.count(error.count)) times"
        let title = "\(style.safe(error.code)) at \(style.safe(error.endpoint)), \(times)"
        var lines = [error.isOver ? title + "; over since" : style.paint(title, .red)]
        if error.count > 1 { lines.append("  first  \(Formatting.timeWithAge(error.first, now: generatedAt))") }
        lines.append("  last   \(Formatting.timeWithAge(error.last, now: generatedAt))")
        var words = [style.safe(error.message)]
        // What to do about what is over is noise.
        if !error.isOver {
            words += [error.recoverySuggestion.map(style.text), style.next(error.nextCommand)].compactMap(\.self)
        }
        for text in words where !text.isEmpty {
            lines += TextLayout.wrap(text, width: style.width - 2).map { "  " + $0 }
        }
        return lines
    }
}
