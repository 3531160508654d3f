package import Console
import Control
package import PRSNLCore
package import Store

/// `prsnlctl undo`
enum UndoCommand {
    static let command = Command(
        "undo", "Take back what was not sent yet of the last command that wrote.",
        asks: [UndoRequest.self, EntryRequest.self]
    ) { context, _ throws(UserFacingError) in
        var report = try context.answer(UndoRequest())
        for write in report.kept.prefix(UndoReport.mostOffers) {
            let shown = try context.answer(EntryRequest(entry: write.entry))
            if let offer = shown.opposite { report.offers.append(offer) }
        }
        try context.write(report)
        return report.undone ? .fine : .error
    }
}

/// Takes back the writes of the last command.
struct UndoRequest: Request, BareRequest {
    typealias Answer = UndoReport
    static let command = "undo"
    var isChange: Bool { true }

    func answer(_ context: RequestContext) async throws(UserFacingError) -> UndoReport? {
        let outcome = try await context.withStore { store throws(UserFacingError) in
            try await store.undo(now: context.now)
        }
        context.daemon?.parts.engine.writesAccepted()
        var report = UndoReport(outcome, source: context.source)
        report.writes = try context.named(report.writes)
        report.kept = try context.named(report.kept)
        return report
    }

    func remark(_ answer: UndoReport, path: String) -> String? { Remark.change(answer.taken > 0, path: path) }
}

/// What `undo` did: the JSON of `prsnlctl undo --json`.
package struct UndoReport: ControlReply {
    package static let type = "undo"
    static let mostOffers = 5

    package var schemaVersion = 1
    package var source: StatusReport.Source
    /// The whole command.
    package var undone: Bool
    /// How many writes the command has made; 0 where there is no command to take back.
    package var count: Int
    /// When it was accepted.
    @Nullable package var acceptedAt: Timestamp?
    /// Writes were given up since, which `undo` does not bring back.
    package var droppedSince: Bool
    /// How many of them were taken back.
    package var taken: Int
    /// The first 50 of these, as they were before.
    package var writes: [QueueReport.Entry]
    /// The first 50 of the others: the server has them, or may have, or there was nothing to delete.
    package var kept: [QueueReport.Entry]
    /// Writes whose place they had taken, and that wait again; the first 50.
    package var revived: [Int64]
    /// Edits that were to follow what was sent, and are not sent any more; the first 50.
    package var withdrawn: [Int64]
    /// The commands that reverse what was sent, as far as there are such.
    package var offers: [NextCommand] = []

    package init(_ outcome: UndoOutcome, source: StatusReport.Source) {
        self.source = source
        undone = outcome.count > 0 && outcome.taken == outcome.count
        count = outcome.count
        acceptedAt = outcome.acceptedAt
        droppedSince = outcome.hasDroppedSince
        taken = outcome.taken
        writes = outcome.entries.map(QueueReport.Entry.init)
        kept = outcome.kept.map(QueueReport.Entry.init)
        revived = outcome.revived
        withdrawn = outcome.withdrawn
    }
}

extension UndoReport: Report {
    package func text(_ style: TextStyle) -> String {
        guard count > 0 else { return "There is no command to take back.\n" }
        func names(_ entries: [QueueReport.Entry], of count: Int) -> String {
            let named = entries.prefix(10).map { "#\($0.entry) \($0.kind) \(style.safe($0.what))" }
            let more = count > named.count ? ["and \(Formatting.count(count - named.count)) more"] : []
            return (named + more).joined(separator: ", ")
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
        let over = kept.filter { $0.state == OutboxEntry.State.superseded.rawValue }
        lines += over.prefix(10).map { "#\($0.entry) \($0.kind): \(style.safe($0.remark ?? $0.state))" }
        let sent = kept.filter { $0.state != OutboxEntry.State.superseded.rawValue }
        if !sent.isEmpty {
            let isKnown = sent.allSatisfy { $0.state == OutboxEntry.State.delivered.rawValue }
            lines.append(
                "\(isKnown ? "sent already" : "sent already, or being sent"): "
                    + names(sent, of: count - taken - over.count))
        }
        if !offers.isEmpty {
            let part =
                count - taken > UndoReport.mostOffers ? " the first \(offers.count)" : kept.count == 1 ? " it" : " them"
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
        guard entry.state == OutboxEntry.State.delivered.rawValue, entry.remark != OutboxEntry.hadAlready else {
            return nil
        }
        func text(_ fields: Fields?, _ name: String) -> String? {
            if case .text(let text)? = fields?[name] { text } else { nil }
        }
        func texts(_ fields: Fields?, _ name: String) -> [String]? {
            if case .texts(let texts)? = fields?[name] { texts } else { nil }
        }
        switch OutboxEntry.Kind(rawValue: entry.kind) {
        // What was there before was not made by it.
        case .capture where base != nil, .note where base != nil, .edit: break
        case .capture, .note: return NextCommand(["prsnlctl", "delete", entry.itemID])
        case .delete: return NextCommand(["prsnlctl", "restore", entry.itemID])
        case nil: return nil
        }
        var words = ["prsnlctl", "edit", entry.itemID]
        for name in ["title", "summary"] where text(write, name) != nil {
            if let old = text(base, name), old != text(write, name) { words += ["--\(name)", old] }
        }
        let before = texts(base, "tags")
        var added = texts(write, "add_tags") ?? []
        if entry.kind == OutboxEntry.Kind.edit.rawValue {
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
