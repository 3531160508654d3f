package import Console
import Control
package import PRSNLCore
package import Store

/// How `capture --stdin` ended: the JSON of `prsnlctl capture --stdin --json`.
package struct CaptureReport: Sendable, Equatable, Codable {
    package struct Refusal: Sendable, Equatable, Codable {
        /// From 1.
        package var line: Int
        package var error: UserFacingError
    }

    /// So many are in the report; all are on stderr.
    package static let mostRefusals = 100

    package var schemaVersion = 1
    /// `null` where nothing had to be written.
    @Nullable package var source: StatusReport.Source? = nil
    @Nullable package var sending: Sending? = nil
    /// Lines read, blank ones included.
    package var lines = 0
    package var accepted = 0
    package var refused = 0
    /// `null` without `--wait`.
    @Nullable package var delivered: Int? = nil
    @Nullable package var parked: Int? = nil
    /// Given up while they were waited for, or since then no longer in the file.
    @Nullable package var dropped: Int? = nil
    /// Another write took their place.
    @Nullable package var superseded: Int? = nil
    @Nullable package var firstEntry: Int64? = nil
    @Nullable package var lastEntry: Int64? = nil
    /// The first 100.
    package var refusals: [Refusal] = []

    package mutating func refuse(_ refusal: Refusal) {
        refused += 1
        if refusals.count < Self.mostRefusals { refusals.append(refusal) }
    }

    package mutating func accept(_ tally: WriteTally) {
        let entries = tally.entries
        source = tally.source
        sending = tally.sending
        accepted += entries.count
        firstEntry = firstEntry ?? entries.first
        lastEntry = entries.last ?? lastEntry
    }

    package var exitCode: ExitCode {
        if refused > 0 { return .error }
        if let parked, parked > 0 { return .needsAttention }
        if let delivered, delivered + (superseded ?? 0) < accepted { return .notDelivered }
        return .fine
    }

    /// Takes over what became of some of the entries.
    package mutating func add(_ report: DeliveryReport, asked: Int) {
        func count(_ states: OutboxEntry.State...) -> Int {
            report.deliveries.count { delivery in states.contains { $0.rawValue == delivery.state } }
        }
        delivered = (delivered ?? 0) + count(.delivered)
        parked = (parked ?? 0) + count(.parked)
        superseded = (superseded ?? 0) + count(.superseded)
        dropped = (dropped ?? 0) + count(.dropped) + asked - report.deliveries.count
    }
}

extension CaptureReport: Report {
    package func text(_ style: TextStyle) -> String {
        var summary = "accepted \(Formatting.count(accepted))"
        if let firstEntry, let lastEntry {
            summary += firstEntry == lastEntry ? " (#\(firstEntry))" : " (#\(firstEntry) to #\(lastEntry))"
        }
        let future = sending.map { "; \($0.text(style))" } ?? ""
        summary += ", refused \(Formatting.count(refused))"
        if let delivered {
            summary += ", delivered \(Formatting.count(delivered))"
            if let parked, parked > 0 {
                summary += ", parked \(Formatting.count(parked)) (\(style.command("prsnlctl queue --state parked")))"
            }
            if let dropped, dropped > 0 { summary += ", dropped \(Formatting.count(dropped))" }
            if let superseded, superseded > 0 { summary += ", replaced \(Formatting.count(superseded))" }
            let open = accepted - delivered - (parked ?? 0) - (dropped ?? 0) - (superseded ?? 0)
            if open > 0 { summary += "; \(Formatting.count(open)) on disk and not delivered yet" + future }
        } else if accepted > 0 {
            summary += future
        }
        return TextLayout.wrap(summary, width: style.width).map { $0 + "\n" }.joined()
    }
}

/// What became of many writes, in numbers: the answer to a `write` with `brief`.
package struct WriteTally: ControlReply, WriteAnswer {
    package static let type = "tally"
    package static let variant: String? = "brief"

    package struct Refusal: Sendable, Equatable, Codable {
        /// The place among the drafts, from 0.
        package var index: Int
        package var error: UserFacingError
    }

    package var source: StatusReport.Source
    package var sending: Sending
    /// The entries of what was accepted, in the order of the drafts.
    package var entries: [Int64]
    package var refused: [Refusal]

    package var hasQueued: Bool { !entries.isEmpty }

    package init(_ acceptances: [Acceptance], source: StatusReport.Source, sending: Sending) {
        self.source = source
        self.sending = sending
        entries = []
        refused = []
        entries.reserveCapacity(acceptances.count)
        for (index, acceptance) in acceptances.enumerated() {
            switch acceptance {
            case .accepted(let write): entries.append(write.entry)
            case .refused(let error): refused.append(Refusal(index: index, error: error))
            }
        }
    }
}

/// One line of `capture --stdin`: a URL, or a JSON object with the members of a new item.
package enum CaptureLine: Sendable, Equatable {
    case blank
    case item(NewItem)
    /// Nothing is queued for it.
    case refused(UserFacingError)

    /// Bytes of a line, its end not counted: more than the longest note takes, whatever is escaped in it.
    package static let longest = 256 << 10

    /// - Parameter isFirst: A byte order mark may stand in front of the first line.
    package init(_ bytes: [UInt8], isFirst: Bool = false) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            self = Self.refusal("The line is not UTF-8.")
            return
        }
        var rest = text[...].unicodeScalars
        if isFirst, rest.first == "\u{FEFF}" { rest = rest.dropFirst() }
        rest = rest.drop { $0.properties.isWhitespace }
        while rest.last?.properties.isWhitespace ?? false { rest = rest.dropLast() }
        guard let first = rest.first else {
            self = .blank
            return
        }
        let content = String(Substring(rest))
        self = first == "{" ? Self.object(content) : .item(NewItem(url: content))
    }

    package static let tooLong = refusal("The line is longer than \(longest >> 10) KiB.")

    private static func object(_ text: String) -> CaptureLine {
        do {
            return .item(
                try JSONReader.read(Array(text.utf8)) { reader in
                    let fields = try JSONFields(&reader)
                    try reader.end()
                    try fields.check(allowed: NewItem.fieldNames, known: WriteRequest.memberNames)
                    return try NewItem(fields)
                })
        } catch let failure as JSONFields.Failure {
            return refusal("\(failure.reason).")
        } catch let failure as JSONReader.Failure {
            return refusal("The line is not a JSON object: \(failure.description).")
        } catch {
            return refusal("The line cannot be understood.")
        }
    }

    private static func refusal(_ reason: String) -> CaptureLine {
        let names = NewItem.fieldNames.joined(separator: ", ")
        return .refused(
            UserFacingError(
                .writeInvalid, reason, consequence: "Nothing was queued for it.",
                recoverySuggestion: "A line is a URL, or a JSON object with \(names)."))
    }
}
