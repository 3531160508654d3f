package import Console
import Control
import PRSNLCore
package import Store

/// `prsnlctl history`
enum HistoryCommand {
    static let command = Command(
        "history", "List the last pulls.", asks: [HistoryRequest.self], onlyReads: true
    ) { context, _ throws(UserFacingError) in
        try context.write(try context.answer(HistoryRequest()))
        return .fine
    }
}

/// Asks for the last pulls.
struct HistoryRequest: Request, BareRequest {
    typealias Answer = HistoryReport
    static let command = "history"
    var isChange: Bool { false }

    func answer(_ context: RequestContext) throws(UserFacingError) -> HistoryReport? {
        HistoryReport(source: context.source, pulls: try context.reader().history())
    }
}

/// The pulls that did something, the newest first: the JSON of `prsnlctl history --json`.
package struct HistoryReport: ControlReply {
    package static let type = "history"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var pulls: [PullRecord]
}

extension HistoryReport: Report {
    package func text(_ style: TextStyle) -> String {
        guard !pulls.isEmpty else { return "No pull has done anything yet.\n" }
        let header = Self.row(
            "Started (\(Formatting.zone(pulls[0].startedAt)))", "Kind", "Outcome", "Took", "Added", "Changed", "Deleted"
        )
        var lines = [style.paint(header, .bold)]
        for pull in pulls {
            let started = Formatting.clock(pull.startedAt)
            let took = pull.endedAt.map { Formatting.duration($0.duration(since: pull.startedAt)) } ?? "-"
            lines.append(
                Self.row(
                    started, pull.kind.rawValue, pull.outcome.rawValue, took,
                    Formatting.count(pull.added), Formatting.count(pull.changed), Formatting.count(pull.deleted)))
            var notes: [String] = []
            if let code = pull.errorCode { notes.append(style.safe(code)) }
            if pull.suspects > 0 { notes.append(Formatting.count(pull.suspects, "deletion candidate")) }
            if pull.rejected > 0 { notes.append("\(Formatting.count(pull.rejected)) rejected") }
            if !notes.isEmpty { lines.append("  " + notes.joined(separator: ", ")) }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Words begin where their column does, and numbers end where it does.
    private static func row(_ cells: String...) -> String {
        let words = zip(cells, [19, 8, 11]).map { TextLayout.padRight($0, to: $1) }
        return (words + zip(cells.dropFirst(3), [7, 9, 9, 9]).map { TextLayout.padLeft($0, to: $1) })
            .joined(separator: " ")
    }
}
