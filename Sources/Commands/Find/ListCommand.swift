import Configuration
import Console
import PRSNLCore
import Store

/// `prsnlctl list`: items by time, from the file.
enum ListCommand {
    static let command = Command(
        "list", or: ["ls"], "List items, the newest first; with words, those that a search finds.",
        examples: [("--since today", "What was saved today."), ("--type note --count", "How many notes there are.")],
        operands: .any("WORD"),
        options: CommandOption.conditions + [
            CommandOption("--deleted", nil, "Those that were deleted in the last 30 days, the latest first."),
            .limit, .count, .ids, .reverse,
            .text(
                "--complete", "KIND:PREFIX",
                "For shells: each `id`, `deleted` one, `tag`, `type`, `word` of `tag`, `search` or `instance` that begins so, and what it is."
            ),
        ], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        if let word = arguments.value("--complete") {
            return try context.print(try Completion.offered(for: word, context))
        }
        if !arguments.operands.isEmpty {
            if arguments.has("--deleted") {
                throw arguments.failure("with words, give is:deleted in place of --deleted")
            }
            return try SearchCommand.find(context, arguments, newestFirst: true)
        }
        let reader = try context.reader()
        let filter = try ListOptions.filter(arguments)
        let (limit, counting) = try ListOptions.amounts(arguments)
        var list: ItemList
        if arguments.has("--deleted") {
            list = try reader.deletedItems(filter, limit: counting)
            list.show(limit)
        } else {
            list = try reader.list(filter, limit: limit, counting: counting)
        }
        var report = ItemListReport(list, shortIDs: try reader.shortIDs(list.items.map(\.id)))
        if arguments.has("--deleted") {
            if filter.isEmpty { report.none = "Nothing was deleted in the last 30 days." }
        } else if list.total == 0 {
            report.none = try ListOptions.unknown(filter.names, reader) ?? report.none
        }
        return try ListOptions.print(&report, reader, context, arguments)
    }
}

/// What shells offer while a person types.
private enum Completion {
    /// A line for each word, with what it is behind a tab. Each once: a shell inserts what all have in common, which of two equal
    /// ones would be the rest too.
    static func offered(for word: String, _ context: CommandContext) throws(UserFacingError) -> String {
        let kind = word.prefix { $0 != ":" }
        let prefix = String(word.dropFirst(kind.count + 1))
        var seen: Set<ByteText> = []
        return try words(kind == "word" && ["+", "-"].contains(prefix.prefix(1)) ? "change" : kind, prefix, context)
            .filter { $0.0.hasPrefix(prefix) && seen.insert(ByteText($0.0)).inserted }.prefix(50)
            .map { "\($0.0)\t\(TextLayout.cut(SafeText.harmless($0.1), to: 60))\n" }.joined()
    }

    private static func words(
        _ kind: Substring, _ prefix: String, _ context: CommandContext
    ) throws(UserFacingError) -> [(String, String)] {
        func offered(_ items: [ListedItem]) -> [(String, String)] {
            items.filter { ListOptions.isPlain($0.id) }.map { ($0.id, $0.title ?? $0.url ?? "") }
        }
        func offered(_ counts: [TagCount], behind sign: Substring = "") -> [(String, String)] {
            counts.filter { isPlain($0.tag) }.map { (sign + $0.tag, Formatting.count($0.items, "item")) }
        }
        return switch kind {
        case "id", "word": offered(try context.reader().items(withPrefix: prefix, limit: 50))
        case "deleted": offered(try context.reader().deletedItems(ItemFilter(), limit: 1_000).items)
        case "tag": offered(try context.reader().tagCounts())
        case "change": offered(try context.reader().tagCounts(), behind: prefix.prefix(1))
        case "type": offered(try context.reader().counts(of: .type)) + WriteLimits.contentTypes.map { ($0, "no item") }
        case "search": try SavedSearches.all(context).map { ("@" + $0.name, $0.query) }
        case "instance": DefaultPaths.instances.map { ($0, "prsnld@\($0)") }
        default: []
        }
    }

    /// As `ListOptions.isPlain`, in any script: no shell makes more of a letter.
    private static func isPlain(_ tag: String) -> Bool {
        tag.first != "-"
            && tag.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII
                    ? ListOptions.isPlain("x\(scalar)") && scalar != ":" : scalar.properties.isAlphabetic
            }
    }
}

enum TagsCommand {
    static let command = Command(
        "tags", "List the tags, the most used first.", examples: [("", "Each tag, with the number of its items.")],
        onlyReads: true
    ) { context, _ throws(UserFacingError) in
        let reader = try context.reader()
        try context.write(TagsReport(tags: try reader.tagCounts()))
        if context.isText { for remark in try ListOptions.firstPull(reader) { context.say(remark) } }
        return .fine
    }
}
