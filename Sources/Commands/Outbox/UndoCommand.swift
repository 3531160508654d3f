package import Console
import Control
import PRSNLCore
package import Store

enum UndoCommand {
    static let command = Command(
        "undo", "Take back what was not sent yet of the last command that wrote.",
        asks: [UndoRequest.self]
    ) { context, _ throws(UserFacingError) in
        let report = try context.answer(UndoRequest())
        try context.write(report)
        return report.undone ? .fine : .error
    }
}

struct UndoRequest: OutboxRequest, BareRequest {
    static let command = "undo"
    var dryRun: Bool? { nil }

    func outcome(_ store: Store, _ context: RequestContext) async throws(UserFacingError) -> UndoOutcome {
        var outcome = try await store.undo(now: context.now)
        (outcome.writes, outcome.kept) = (try context.named(outcome.writes), try context.named(outcome.kept))
        for write in outcome.kept.prefix(UndoOutcome.mostOffers) {
            let entry = try context.reader().outboxEntry(write.entry).entry
            if let offer = entry.opposite { outcome.offers.append(offer) }
        }
        return outcome
    }
}

package typealias UndoReport = OutboxAnswer<UndoOutcome>

extension UndoOutcome: OutboxOutcome {
    package static let type = "undo"
    static let mostOffers = 5
    package var hasChanged: Bool { taken > 0 }

    package func text(_ answer: UndoReport, _ style: TextStyle) -> String {
        guard count > 0 else { return "There is no command to take back.\n" }
        func names(_ entries: [OutboxEntry.Status], of count: Int) -> String {
            OutboxWords.list(entries.map { "#\($0.entry) \($0.kind) \(style.safe($0.what))" }, of: count)
        }
        var lines: [String] = []
        if taken > 0 { lines.append("taken back: \(names(writes, of: taken))") }
        if !revived.isEmpty { lines.append("waits again: \(OutboxWords.numbers(revived))") }
        if !withdrawn.isEmpty {
            lines.append("not sent any more: \(OutboxWords.numbers(withdrawn)), what was to follow")
        }
        if taken == 0, withdrawn.isEmpty {
            let time = acceptedAt.map { " The last command that wrote was at \(Formatting.time($0))." } ?? ""
            lines.append("Nothing was taken back.\(time)")
        }
        if droppedSince, !undone {
            lines.append(
                "What `queue drop` gave up since, or `restore` of what was not deleted yet, does not come back.")
        }
        let over = kept.filter { $0.state == .superseded }
        lines += over.prefix(10).map { "#\($0.entry) \($0.kind): \(style.safe($0.remark ?? $0.state.rawValue))" }
        let sent = kept.filter { $0.state != .superseded }
        if !sent.isEmpty {
            let may = sent.allSatisfy { $0.state == .delivered } ? "" : ", or being sent"
            lines.append("sent already\(may): " + names(sent, of: count - taken - over.count))
        }
        if !offers.isEmpty {
            let part =
                count - taken > UndoOutcome.mostOffers
                ? " the first \(offers.count)" : kept.count == 1 ? " it" : " them"
            lines.append("To reverse\(part):")
            lines += offers.map { "    \(style.command($0))" }
        }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension OutboxEntry {
    /// The command that does the opposite of a write that was delivered.
    fileprivate var opposite: NextCommand? {
        // What the server had already, or had no more, was not this write's doing.
        guard self.state == .delivered, reason != .wasGone, self.kind != .edit || self.attempts > 0 else { return nil }
        let asked: ItemEdit
        switch payload {
        case .delete: return NextCommand(["prsnlctl", "restore", self.itemID])
        case .edit(let edit): asked = edit
        case .create(let item):
            guard let base else { return NextCommand(["prsnlctl", "delete", self.itemID]) }
            // What was there before was not made by it: its tags were added.
            asked = ItemEdit(title: item.title, tagChange: TagChange(added: base.tags == nil ? [] : item.tags))
        }
        var words = ["prsnlctl", "edit", self.itemID]
        if let old = base?.title, let new = asked.title, old != new { words += ["--title", old] }
        if let old = base?.summary, let new = asked.summary, old != new { words += ["--summary", old] }
        if asked.tags != nil, let tags = base?.tags {
            words += tags.isEmpty ? ["--no-tags"] : tags.flatMap { ["--tag", $0] }
        }
        // Only what was not so before.
        let had = base?.tags.map(Tags.set)
        let (added, removed) = (asked.tagChange.added, asked.tagChange.removed)
        words += added.filter { had?.contains(ByteText($0)) != true }.flatMap { ["--remove-tag", $0] }
        words += removed.filter { had?.contains(ByteText($0)) != false }.flatMap { ["--add-tag", $0] }
        return words.count > 3 ? NextCommand(words) : nil
    }
}
