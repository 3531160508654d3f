package import Console
import PRSNLCore
package import Requests

/// `prsnlctl history`
enum HistoryCommand {
    static let command = Command(
        "history", "List the last pulls.", examples: [("", "When was pulled, and what came.")], onlyReads: true
    ) { context, _ throws(UserFacingError) in
        try context.write(try context.answer(HistoryRequest()))
        return .fine
    }
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
