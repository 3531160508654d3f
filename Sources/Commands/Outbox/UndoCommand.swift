package import Console
import PRSNLCore
package import Requests
package import Store

enum UndoCommand {
    static let command = Command(
        "undo", "Take back what was not sent yet of the last command that wrote.",
        examples: [("", "Take the last command back, if it was not sent.")]
    ) { context, _ throws(UserFacingError) in
        let report = try context.answer(UndoRequest())
        try context.write(report)
        return report.undone ? .fine : .error
    }
}

package typealias UndoReport = OutboxAnswer<UndoOutcome>

extension UndoOutcome: OutboxText {
    package func text(_ answer: UndoReport, _ style: TextStyle) -> String {
        guard count > 0 else { return "There is no command to take back.\n" }
        func names(_ entries: [OutboxEntry.Status], of count: Int) -> String {
            OutboxWords.list(entries.map { "#\($0.entry) \($0.kind) \(style.safe($0.what))" }, of: count)
        }
        var lines: [String] = []
        if taken > 0 { lines.append("taken back: \(names(writes, of: taken))") }
        if !revived.isEmpty { lines.append("no longer replaced: \(OutboxWords.numbers(revived))") }
        if !withdrawn.isEmpty {
            lines.append("not sent any more: \(OutboxWords.numbers(withdrawn)), what was to follow")
        }
        if taken == 0, withdrawn.isEmpty {
            let time = acceptedAt.map { " The last command that wrote was at \(Formatting.time($0))." } ?? ""
            lines.append("Nothing was taken back.\(time)")
        }
        if droppedSince {
            lines.append(
                "What `queue drop` gave up since, or `restore` of what was not deleted yet, does not come back.")
        }
        // Nothing was sent of what the server had already.
        let over = kept.filter { $0.state == .superseded || $0.state == .delivered && $0.attempts == 0 }
        lines += over.prefix(10).map { "#\($0.entry) \($0.kind): \(style.safe($0.remark ?? $0.state.rawValue))" }
        let sent = kept.filter { !over.contains($0) }
        if !sent.isEmpty {
            let may = sent.allSatisfy { $0.state == .delivered } ? "" : ", being sent, or sent in part"
            lines.append("sent already\(may): " + names(sent, of: count - taken - over.count))
        }
        if sent.contains(where: { $0.kind == .delete && $0.state.isWaiting }) {
            let again = style.command("prsnlctl undo")
            lines.append("a deletion can be reversed once it is delivered: then \(again) again")
        }
        if !offers.isEmpty {
            let all = kept.count == 1 ? " it" : " them"
            let some = kept.count > offers.count ? " a part of them" : all
            let part = count - taken > UndoOutcome.mostOffers ? " the first \(offers.count)" : some
            lines.append("To reverse\(part):")
            lines += offers.map { "    \(style.command($0))" }
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
