import Console
import PRSNLCore
import Requests
import Store

enum RestoreCommand {
    static let command = Command(
        "restore", "Capture items again that were deleted in the last 30 days.",
        examples: [("59ec6da4", "Capture it again.")], operands: .any("ID", most: .max),
        options: [
            CommandOption("--gone", nil, "All that were delivered from here, and are gone from the server."),
            CommandOption("--no-tags", nil, "Without the tags that it had."), .wait,
        ]
    ) { context, arguments throws(UserFacingError) in
        let reader = try context.reader()
        let isOfGone = arguments.has("--gone")
        guard isOfGone == arguments.operands.isEmpty else {
            throw arguments.failure(isOfGone ? "--gone takes no ID" : "ID or --gone is missing")
        }
        var deleted: [ShownItem] = []
        var seen: Set<ByteText> = []
        do throws(UserFacingError) {
            for id in isOfGone ? try reader.goneItems().map(\.itemID) : try NamedItems.ids(arguments) {
                let item = try reader.deletedItem(id)
                if seen.insert(ByteText(item.item.id)).inserted { deleted.append(item) }
            }
        } catch { throw error.code == .usage ? error : error.with(consequence: "Nothing was restored.") }
        if deleted.isEmpty { context.say("nothing is gone that was delivered from here") }
        let waiting = deleted.filter { $0.deletion?.at == nil }
        if !waiting.isEmpty { try takeBack(waiting, context, isAll: waiting.count == deleted.count) }
        let dialect = try reader.summary().server.dialect
        var made: [(request: WriteRequest, name: String)] = []
        for item in deleted where item.deletion?.at != nil {
            made += try writes(of: item, withTags: !arguments.has("--no-tags"), dialect, reader, context)
        }
        guard !made.isEmpty else { return .fine }
        let code = try WriteFlow.run(context, arguments, made.map(\.request), names: made.map(\.name))
        if code != .error {
            context.say("A restored item gets another id and today's date.")
            let isOfPage = made.contains {
                if case .create(let item) = $0.request.draft { item.url != nil } else { false }
            }
            if isOfPage, dialect != .express {
                context.say("The server reads the page again. Its text may be another one.")
            }
        }
        return code
    }

    /// The capture, and an edit: a server takes no summary with a new item. Says what neither takes along.
    private static func writes(
        of item: ShownItem, withTags: Bool, _ dialect: Dialect?, _ reader: StoreReader, _ context: CommandContext
    ) throws(UserFacingError) -> [(request: WriteRequest, name: String)] {
        let id = OutboxWords.shortID(item.item.id)
        let (key, known) = try key(of: item, reader)
        if let known, known.endedAt != nil {
            context.say("\(id) was restored already: \(OutboxWords.shortID(known.itemID))")
            return []
        }
        let tags = withTags ? TagWords.lowered(Tags.parse(item.item.tags) ?? [], context) : []
        var (made, leftOut) = try again(item, tags: tags, dialect)
        let own = key ?? .make(at: TimeSource.system.now())
        var writes = [(WriteRequest(.create(made), key: own), item.item.id)]
        if let summary = item.item.summary, !summary.isEmpty {
            let edit = WriteDraft.edit(item: "key:\(own.text)", ItemEdit(summary: summary))
            do throws(UserFacingError) {
                let checked = try edit.checked(dialect: dialect)
                writes.append(
                    (WriteRequest(checked, key: RequestKey("\(own.text)-s")), "the summary of \(item.item.id)"))
            } catch { leftOut.append(error.message) }
        }
        if !leftOut.isEmpty {
            let words = leftOut.map(\.withoutFullStop).joined(separator: "; ")
            context.say("\(id): the server does not take all of it. Left out: \(words)")
        }
        if item.isOutdated, made.note != nil {
            context.say("\(id): the server had another text of it when it was deleted; this is an older one")
        }
        return writes
    }

    /// Nothing is captured again where the item is still there.
    private static func takeBack(_ items: [ShownItem], _ context: CommandContext, isAll: Bool) throws(UserFacingError) {
        for item in items {
            guard let deletion = item.deletion, deletion.state != .queued || deletion.maybeApplied else { continue }
            throw UserFacingError(
                .entryNotChangeable,
                "The deletion #\(deletion.entry ?? 0) of \(item.item.id) may have reached the server.",
                consequence: "Nothing was restored.", recoverySuggestion: "Restore the item when that is over.",
                nextCommand: NextCommand(["prsnlctl", "restore", item.item.id]))
        }
        let entries = items.compactMap(\.deletion?.entry)
        var report: DropReport?
        for some in entries.groups() {
            do throws(UserFacingError) {
                let part = try context.answer(DropRequest(entries: some, withDependents: false, dryRun: false))
                if report?.outcome.dropped.append(contentsOf: part.dropped) == nil { report = part }
            } catch {
                guard let done = report?.dropped.count else { throw error }
                throw error.with(
                    consequence: "The first \(Formatting.count(done)) deletions were taken back, the others were not.")
            }
        }
        if isAll, let report { try context.write(report) }
        let ids = OutboxWords.list(items.map { OutboxWords.shortID($0.item.id) })
        let those = items.count == 1 ? "its deletion was" : "their deletions were"
        context.say("\(ids) \(Count.verb("stays", items.count)): \(those) not sent yet")
    }

    private static func again(
        _ shown: ShownItem, tags: [String], _ dialect: Dialect?
    ) throws(UserFacingError) -> (item: NewItem, leftOut: [String]) {
        let item = shown.item
        func nonBlank(_ text: String?) -> String? { text.flatMap { $0.trimmingWhiteSpace().isEmpty ? nil : $0 } }
        let url = nonBlank(item.url)
        // With an address, only the small server takes a text. What was written here of a page was a remark.
        let hasText = url == nil || dialect == .express || shown.isAsWritten
        let made = NewItem(
            url: url, title: nonBlank(item.title), note: hasText ? nonBlank(shown.text.content) : nil, tags: tags,
            type: item.type.flatMap { WriteLimits.contentTypes.contains($0) ? $0 : nil })
        guard made.url != nil || made.note != nil else {
            throw UserFacingError(
                .writeInvalid, "The item \(item.id) has no address, and its text is not here.",
                consequence: "Nothing was restored.", recoverySuggestion: "Look at it with `prsnlctl show \(item.id)`.")
        }
        do throws(UserFacingError) { return try made.taken(dialect: dialect) } catch {
            throw error.with(
                consequence: "The server does not take \(item.id). Nothing was restored.",
                suggestion: "What the file has of it stays for 30 days: `prsnlctl show \(item.id)`.")
        }
    }

    /// Of its next restoring, and the write of the last one.
    static func key(
        of item: ShownItem, _ reader: StoreReader
    ) throws(UserFacingError) -> (key: RequestKey?, known: OutboxEntry?) {
        for key in RequestKey.restoring(item.item.id, deletedAt: item.deletion?.at) {
            guard let known = try reader.entry(ofRequest: key) else { return (key, nil) }
            if known.endedAt == nil { return (key, known) }
            if known.state != .dropped, try reader.isShown(known.itemID) { return (key, known) }
        }
        return (nil, nil)
    }
}
