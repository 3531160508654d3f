package import Console
import PRSNLCore
package import Requests

enum HistoryCommand {
    static let command = Command(
        "history", "List the last pulls.", examples: [("", "When was pulled, and what came.")], onlyReads: true
    ) { context, _ throws(UserFacingError) in
        try context.write(try context.answer(HistoryRequest()))
    }
}

extension HistoryReport: Report {
    package func text(_ style: TextStyle) -> String {
        guard !pulls.isEmpty else { return "No pull has done anything yet.\n" }
        let header = Self.row(
            "Started (\(Formatting.zone(pulls[0].startedAt)))", "Kind", "Outcome", "Took", "Added", "Changed", "Deleted"
        )
        return lines {
            style.paint(header, .bold)
            for pull in pulls {
                let took = pull.endedAt.map { Formatting.duration($0.duration(since: pull.startedAt)) } ?? "-"
                Self.row(
                    Formatting.clock(pull.startedAt), pull.kind.rawValue, pull.outcome.rawValue, took,
                    Formatting.count(pull.added), Formatting.count(pull.changed), Formatting.count(pull.deleted))
                let notes = [
                    pull.errorCode.map(style.safe),
                    pull.suspects > 0 ? Formatting.count(pull.suspects, "deletion candidate") : nil,
                    pull.rejected > 0 ? "\(Formatting.count(pull.rejected)) rejected" : nil,
                ].compactMap(\.self)
                if !notes.isEmpty { "  " + notes.joined(separator: ", ") }
            }
        }
    }

    /// Words begin where their column does, and numbers end where it does.
    private static func row(_ cells: String...) -> String {
        let words = zip(cells, [19, 8, 11]).map { TextLayout.padRight($0, to: $1) }
        return (words + zip(cells.dropFirst(3), [7, 9, 9, 9]).map { TextLayout.padLeft($0, to: $1) })
            .joined(separator: " ")
    }
}
