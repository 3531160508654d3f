package import Console
import Control
import PRSNLCore
package import Store

/// `prsnlctl undo`
enum UndoCommand {
    static let command = Command(
        "undo", "Take back what was not sent yet of the last command that wrote.",
        asks: [UndoRequest.self, EntryRequest.self]
    ) { context, _ throws(UserFacingError) in
        var report = try context.answer(UndoRequest())
        for write in report.kept.prefix(UndoOutcome.mostOffers) {
            let shown = try context.answer(EntryRequest(entry: write.entry))
            if let offer = shown.opposite { report.offers.append(offer) }
        }
        try context.write(report)
        return report.undone ? .fine : .error
    }
}

/// Takes back the writes of the last command.
struct UndoRequest: OutboxRequest, BareRequest {
    static let command = "undo"
    var dryRun: Bool? { nil }

    func outcome(_ store: Store, _ context: RequestContext) async throws(UserFacingError) -> UndoOutcome {
        var outcome = try await store.undo(now: context.now)
        (outcome.writes, outcome.kept) = (try context.named(outcome.writes), try context.named(outcome.kept))
        return outcome
    }
}

/// The JSON of `prsnlctl undo --json`.
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
            let isKnown = sent.allSatisfy { $0.state == .delivered }
            lines.append(
                "\(isKnown ? "sent already" : "sent already, or being sent"): "
                    + names(sent, of: count - taken - over.count))
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

extension EntryReport {
    /// The command that does the opposite of a write that was delivered.
    fileprivate var opposite: NextCommand? {
        // What the server had already was not this write's doing.
        guard entry.state == .delivered, entry.remark != OutboxEntry.hadAlready else {
            return nil
        }
        func text(_ fields: Fields?, _ name: String) -> String? {
            if case .text(let text)? = fields?[name] { text } else { nil }
        }
        func texts(_ fields: Fields?, _ name: String) -> [String]? {
            if case .texts(let texts)? = fields?[name] { texts } else { nil }
        }
        switch entry.kind {
        // What was there before was not made by it.
        case .capture where base != nil, .note where base != nil, .edit: break
        case .capture, .note: return NextCommand(["prsnlctl", "delete", entry.itemID])
        case .delete: return NextCommand(["prsnlctl", "restore", entry.itemID])
        }
        var words = ["prsnlctl", "edit", entry.itemID]
        for name in ["title", "summary"] where text(write, name) != nil {
            if let old = text(base, name), old != text(write, name) { words += ["--\(name)", old] }
        }
        let before = texts(base, "tags")
        var added = texts(write, "add_tags") ?? []
        if entry.kind == .edit {
            if texts(write, "tags") != nil, let before {
                words += before.isEmpty ? ["--no-tags"] : before.flatMap { ["--tag", $0] }
            }
        } else if before != nil {
            // Where the item was there, its tags are added.
            added = texts(write, "tags") ?? []
        }
        // Only what was not so before.
        let had = before.map(Tags.set)
        words += added.filter { had?.contains(ByteText($0)) != true }.flatMap { ["--remove-tag", $0] }
        words += (texts(write, "remove_tags") ?? []).filter { had?.contains(ByteText($0)) != false }
            .flatMap { ["--add-tag", $0] }
        return words.count > 3 ? NextCommand(words) : nil
    }
}
