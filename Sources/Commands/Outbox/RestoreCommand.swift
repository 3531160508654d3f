import Console
import PRSNLCore
import Store

/// `prsnlctl restore`: captures deleted items again. A deletion that was not sent yet is taken back.
enum RestoreCommand {
    static let command = Command(
        "restore", "Capture items again that were deleted in the last 30 days.", operands: .some("ID", most: .max),
        options: [CommandOption("--no-tags", nil, "Without the tags that it had."), .wait],
        asks: WriteFlow.requests + [DropRequest.self], run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let reader = try StoreReader(path: context.paths.database)
        var deleted: [ShownItem] = []
        for id in try NamedItems.ids(arguments) {
            let item: ShownItem
            do throws(UserFacingError) { item = try reader.deletedItem(id) } catch {
                throw error.with(consequence: "Nothing was restored.")
            }
            if !deleted.contains(where: { ByteText($0.item.id) == ByteText(item.item.id) }) { deleted.append(item) }
        }
        let waiting = deleted.filter { $0.deletion?.at == nil }
        if !waiting.isEmpty { try takeBack(waiting, context, isAll: waiting.count == deleted.count) }
        var writes: [WriteRequest] = []
        var names: [String] = []
        let dialect = try reader.summary().server.dialect
        for item in deleted where item.deletion?.at != nil {
            let (key, known) = try key(of: item, reader)
            if let known, known.endedAt != nil {
                let ids = [item.item.id, known.itemID].map(OutboxWords.shortID)
                context.say("\(ids[0]) was restored already: \(ids[1])")
                continue
            }
            var made = try again(item)
            if arguments.has("--no-tags") { made.tags = [] }
            try check(made, of: item, dialect)
            let own = key ?? .make(at: TimeSource.system.now())
            writes.append(WriteRequest(.create(made), key: own))
            names.append(item.item.id)
            // A server takes no summary with a new item: it follows, as an edit.
            if let summary = item.item.summary, !summary.isEmpty {
                let edit = WriteDraft.edit(item: "key:\(own.text)", ItemEdit(summary: summary))
                writes.append(WriteRequest(edit, key: RequestKey("\(own.text)-s")))
                names.append("the summary of \(item.item.id)")
            }
            if item.isOutdated {
                context.say(
                    "\(OutboxWords.shortID(item.item.id)): the server had another text of it when it was deleted; this is an older one"
                )
            }
        }
        guard !writes.isEmpty else { return .fine }
        let code = try WriteFlow.run(context, arguments, writes, names: names)
        if code != .error { context.say("A restored item gets another id and today's date.") }
        return code
    }

    /// Nothing is captured again where the item is still there.
    private static func takeBack(
        _ items: [ShownItem], _ context: CommandContext, isAll: Bool
    ) throws(UserFacingError) {
        for item in items {
            guard let deletion = item.deletion, deletion.state != .queued || deletion.maybeApplied else { continue }
            throw UserFacingError(
                .entryNotChangeable,
                "The deletion #\(deletion.entry ?? 0) of \(item.item.id) "
                    + (deletion.state == .sending ? "is being sent." : "may have reached the server."),
                consequence: "Nothing was restored.", recoverySuggestion: "Restore the item when that is over.",
                nextCommand: NextCommand(["prsnlctl", "restore", item.item.id]))
        }
        let entries = items.compactMap(\.deletion?.entry)
        var report: DropReport?
        for first in stride(from: 0, to: entries.count, by: WriteLimits.together) {
            let some = Array(entries[first...].prefix(WriteLimits.together))
            let part = try context.answer(DropRequest(entries: some, withDependents: false, dryRun: false))
            if report?.dropped.append(contentsOf: part.dropped) == nil { report = part }
        }
        if isAll, let report { try context.write(report) }
        let ids = items.map { OutboxWords.shortID($0.item.id) }.joined(separator: ", ")
        let those = items.count == 1 ? "its deletion was" : "their deletions were"
        context.say("\(ids) \(items.count == 1 ? "stays" : "stay"): \(those) not sent yet")
    }

    /// Tags that came from elsewhere, or from another server, may be none that this one takes.
    private static func check(_ made: NewItem, of item: ShownItem, _ dialect: Dialect?) throws(UserFacingError) {
        do throws(UserFacingError) { _ = try WriteDraft.create(made).checked(dialect: dialect) } catch {
            var other = made
            other.tags = []
            guard !made.tags.isEmpty, (try? WriteDraft.create(other).checked(dialect: dialect)) != nil else {
                throw error
            }
            throw error.with(
                consequence: "Nothing was restored.",
                suggestion: "Restore it without its tags: `prsnlctl restore --no-tags \(item.item.id)`.")
        }
    }

    private static func again(_ shown: ShownItem) throws(UserFacingError) -> NewItem {
        let item = shown.item
        let type = item.type.flatMap { WriteLimits.contentTypes.contains($0) ? $0 : nil }
        let tags = Tags.parse(item.tags) ?? []
        if let url = item.url, !url.isEmpty { return NewItem(url: url, title: item.title, tags: tags, type: type) }
        guard let text = shown.text.content, !text.isEmpty else {
            throw UserFacingError(
                .writeInvalid, "The item \(item.id) has no address, and its text is not here.",
                consequence: "Nothing was restored.", recoverySuggestion: "Look at it with `prsnlctl show \(item.id)`.")
        }
        return NewItem(title: item.title, note: text, tags: tags, type: type)
    }

    /// By the item and its deletion, so that a command that is given twice captures it once. Where the restored item is gone too, or
    /// was given up in the queue, the next key.
    static func key(
        of item: ShownItem, _ reader: StoreReader
    ) throws(UserFacingError) -> (key: RequestKey?, known: OutboxEntry?) {
        // An id may be any text, and a key may not.
        let hash = Fingerprint(item.item.id).value
        let time = item.deletion?.at?.microseconds ?? 0
        for attempt in 1...1_000 {
            guard let key = RequestKey("restore-\(String(hash, radix: 16))-\(time)-\(attempt)") else { break }
            guard let known = try reader.entry(ofRequest: key) else { return (key, nil) }
            if known.endedAt == nil { return (key, known) }
            if known.state != .dropped, try reader.isShown(known.itemID) { return (key, known) }
        }
        return (nil, nil)
    }
}
