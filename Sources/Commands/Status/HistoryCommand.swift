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

    private static func row(
        _ started: String, _ kind: String, _ outcome: String, _ took: String, _ added: String, _ changed: String,
        _ deleted: String
    ) -> String {
        [
            TextLayout.padRight(started, to: 19), TextLayout.padRight(kind, to: 8),
            TextLayout.padRight(outcome, to: 11), TextLayout.padLeft(took, to: 7), TextLayout.padLeft(added, to: 9),
            TextLayout.padLeft(changed, to: 9), TextLayout.padLeft(deleted, to: 9),
        ].joined(separator: " ")
    }
}
