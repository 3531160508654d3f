import Console
import PRSNLCore

/// `prsnlctl search`: items by their words, from the file, whether the daemon runs or not.
enum SearchCommand {
    static let command = Command(
        "search", or: ["find"], "Find items by their words, the best first.",
        examples: [
            ("sourdough starter", "Items with both words."),
            (#"'"rye bread" -wheat'"#, "These two words in a row, without wheat."),
            ("'title:swift OR title:rust'", "One of them in the title."),
            (#"'tag:recipe (bread OR "hot cake")'"#, "Recipes of one of them."),
            ("is:untagged before:2026", "Kept before 2026, without a tag."),
        ], operands: .some("WORD"),
        withoutOperands: "list",
        options: CommandOption.conditions + [
            CommandOption("--newest", nil, "Sort by date."), .limit, .count, .ids, .reverse,
        ], language: language, onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        try find(context, arguments, newestFirst: arguments.has("--newest"))
    }

    /// `search`, and `list` with words.
    static func find(
        _ context: CommandContext, _ arguments: ParsedArguments, newestFirst: Bool
    ) throws(UserFacingError) -> ExitCode {
        let words = arguments.operands.joined(separator: " ")
        let filter = try ListOptions.filter(arguments)
        let query = try SavedSearches.query(words, and: filter, context)
        let reader = try context.reader()
        let (limit, counting) = try ListOptions.amounts(arguments)
        var list = try reader.search(query, limit: limit, counting: counting, newestFirst: newestFirst)
        let isShown = !arguments.has("--ids")
        if isShown { try reader.notePlaces(of: query, in: &list.items) }
        var report = ItemListReport(
            list, shortIDs: isShown ? try reader.shortIDs(list.items.map(\.id)) : [], words: words)
        report.ignored = query.ignored
        report.unknownFields = query.unknownFields
        if list.total == 0 {
            report.suggestions = try SavedSearches.suggestions(for: query, typed: words, and: filter, reader, context)
            if !query.match.isEmpty { report.missingTexts = try reader.summary().copy.texts?.missing ?? 0 }
            if let unknown = try ListOptions.unknown(query.names, reader) { report.none = unknown }
        }
        if let total = list.total, total < ListOptions.few, report.suggestions.isEmpty {
            for other in try reader.otherEndings(for: query, typed: words) {
                let query = try SavedSearches.query(other, and: filter, context)
                let found = try reader.search(query, limit: 1, counting: 100 * ListOptions.few).total
                if (found ?? .max) >= 10 * max(1, total) { report.otherEndings.append((other, found)) }
            }
            report.suggestions = report.otherEndings.map(\.query)
        }
        return try ListOptions.print(&report, reader, context, arguments)
    }

    /// docs/cli.md has these rows too; a test holds the two together.
    private static let language: [CommandDescription.Term] = [
        ("`\"exact words\"`", "these words in this order"),
        ("`begin*`", "words that begin so"),
        ("`-word`", "items without it; give `--` before a query that begins so"),
        ("`a OR b`", "one of them; groups: `(a b) OR (c d)`"),
        ("`-(a b)`", "items that do not have both"),
        ("`title:`, `summary:`, `text:`, `url:`", "a word there: `title:bread`"),
        ("`tag:later`, `-tag:later`", "with the tag, or without it"),
        ("`type:video`, `platform:youtube`", "only videos; `-type:video`: none. Two types: either"),
        ("`site:example.org`", "from this host or a part of it"),
        ("`author:ada`", "an author whose name contains this"),
        ("`is:untagged`", "without a tag"),
        ("`is:pending`", "not yet on the server, or not wholly"),
        ("`is:deleted`", "deleted in the last 30 days"),
        ("`since:TIME`, `before:TIME`", "created then or later; earlier (`7d`, `2026-11`)"),
        ("`@name`", "a saved search of `~/.config/prsnld/searches`"),
    ]
}

/// `prsnlctl related`: items that have rare words in common with one.
enum RelatedCommand {
    static let command = Command(
        "related", "Find items that have rare words in common with one.",
        examples: [("59ec6da4", "Items that have rare words in common with it.")], operands: .one("ID"),
        options: [.limit, .ids, .reverse], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        let reader = try context.reader()
        let list = try reader.related(to: arguments.operands[0], limit: try ListOptions.amounts(arguments).shown)
        var report = ItemListReport(list, shortIDs: try reader.shortIDs(list.items.map(\.id)))
        report.none = "No item shares rare words with this one."
        return try ListOptions.print(&report, reader, context, arguments)
    }
}
