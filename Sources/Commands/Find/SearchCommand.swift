import Console
import PRSNLCore
import Store

/// `prsnlctl search`: items by their words, from the file, whether the daemon runs or not.
enum SearchCommand {
    static let command = Command(
        "search", or: ["find"], "Find items by their words, the best first.", operands: .some("WORD"),
        withoutOperands: "list",
        options: CommandOption.conditions + [
            CommandOption("--newest", nil, "Sort by date."), .limit, .ids, .reverse,
        ], language: language, examples: examples,
        onlyReads: true
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
        let reader = try StoreReader(path: context.paths.database)
        let limit = try ListOptions.limit(arguments)
        let list = try reader.search(query, limit: limit, newestFirst: newestFirst)
        let isShown = !arguments.has("--ids")
        var report = ItemListReport(
            list, shortIDs: isShown ? try reader.shortIDs(list.items.map(\.id)) : [],
            places: isShown ? try reader.places(of: query, in: list.items) : [], words: words)
        report.ignored = query.ignored
        report.unknownFields = query.unknownFields
        if list.items.isEmpty {
            report.suggestions = try SavedSearches.suggestions(for: query, typed: words, and: filter, reader, context)
            if !query.match.isEmpty { report.missingTexts = try reader.summary().copy.texts?.missing ?? 0 }
            if let unknown = try ListOptions.unknownTag(query.tags, reader) { report.none = unknown }
        }
        try ListOptions.print(&report, reader, context, arguments)
        return .fine
    }

    /// docs/cli.md has these rows too; a test holds the two together.
    private static let language: [CommandDescription.Term] = [
        .init("`\"exact words\"`", "these words in this order"),
        .init("`begin*`", "words that begin so"),
        .init("`-word`", "items without it; give `--` before a query that begins so"),
        .init("`this OR that`", "one of the two beside `OR`, in capitals; of more than one word each, in brackets"),
        .init(
            "`(these words)`, `-(these words)`",
            "what is in brackets counts as one; `-` for items of which it is not true"),
        .init(
            "`title:word`, `summary:word`, `text:word`, `url:word`",
            "only there; `text` is the text and the transcription"),
        .init(
            "`tag:later`, `tag:\"reading list\"`, `-tag:later`",
            "items with the tag, or without it; of several tags, all"),
        .init(
            "`type:video`, `-type:video`, `platform:youtube`",
            "items of a type or platform, or of no such; of several, any"),
        .init(
            "`site:example.org`, `author:ada`",
            "from this host or a part of it; with an author whose name has this; of several, any"),
        .init(
            "`is:untagged`, `is:pending`, `is:deleted`",
            "without a tag; with something that is not on the server yet; deleted in the last 30 days; `-is:` for the others"
        ),
        .init("`@name`", "a saved search: a line `name = query` in `~/.config/prsnld/searches`"),
        .init("`since:TIME` or `after:TIME`, `before:TIME`", "created at that time or later, or earlier than that"),
    ]

    static let examples: [CommandDescription.Term] = [
        ("sourdough starter", "Items with both words."),
        ("'\"rye bread\" -wheat'", "With these two words in a row, and without wheat."),
        ("'sour*'", "With a word that begins so."),
        ("'title:swift OR title:rust'", "With one of them in the title."),
        ("'tag:recipe (bread OR \"hot cake\") -tag:done'", "Recipes of one of them that are not done."),
        ("type:video since:30d", "Videos of the last 30 days."),
        ("site:example.org author:ada", "What Ada wrote there."),
        ("is:untagged before:2026", "What was kept before 2026 and has no tag."),
        ("is:deleted sourdough", "Deleted in the last 30 days; `prsnlctl restore` takes it back."),
        ("--newest --type note garden", "Notes with the word, the newest first."),
    ].map { .init("`prsnlctl search \($0)`", $1) }
}

/// `prsnlctl related`: items that have rare words in common with one.
enum RelatedCommand {
    static let command = Command(
        "related", "Find items that have rare words in common with one.", operands: .one("ID"),
        options: [.limit, .ids, .reverse], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        let reader = try StoreReader(path: context.paths.database)
        let list = try reader.related(to: arguments.operands[0], limit: try ListOptions.limit(arguments))
        var report = ItemListReport(list, shortIDs: try reader.shortIDs(list.items.map(\.id)))
        report.none = "No item shares rare words with this one."
        try ListOptions.print(&report, reader, context, arguments)
        return .fine
    }
}

/// What `search`, `related` and `list` have in common.
enum ListOptions {
    private static let usual = 20
    static let most = 1_000_000

    static func limit(_ arguments: ParsedArguments) throws(UserFacingError) -> Int {
        guard let text = arguments.value("--limit") else { return usual }
        guard let limit = Int(text), (1...most).contains(limit) else {
            throw arguments.failure(
                "--limit \(SafeText.harmless(String(text.prefix(40)))) is not a number from 1 to \(most)")
        }
        return limit
    }

    static func filter(_ arguments: ParsedArguments) throws(UserFacingError) -> ItemFilter {
        let now = TimeSource.system.now()
        func time(_ option: String) throws(UserFacingError) -> Timestamp? {
            guard let text = arguments.value(option) else { return nil }
            return try TimeWord.parse(text, now: now, option: option)
        }
        return ItemFilter(
            tags: arguments.values("--tag"), types: arguments.values("--type"), since: try time("--since"),
            before: try time("--before"))
    }

    /// Why nothing is found, where a tag is asked for that no item has.
    static func unknownTag(_ tags: [String], _ reader: StoreReader) throws(UserFacingError) -> Advice? {
        guard !tags.isEmpty else { return nil }
        let known = try reader.tagCounts().map(\.tag)
        guard let unknown = tags.first(where: { !known.contains($0) && !known.contains($0.lowercased()) }) else {
            return nil
        }
        let near = known.filter { EditDistance.between(unknown.lowercased(), $0) == 1 }.prefix(3)
        let found: Advice = "No item has the tag \(unknown)."
        return near.isEmpty ? found : "\(found) Did you mean \(near.joined(separator: " or "))?"
    }

    /// What a list lacks while the first pull goes on.
    static func firstPull(_ reader: StoreReader) throws(UserFacingError) -> [Advice] {
        guard let items = try reader.itemsBeforeFirstPullEnded() else { return [] }
        return ["The first pull has not ended. So far the copy has \(Formatting.count(items, "item"))."]
    }

    /// Items go to stdout, and what else is to be said to stderr, so that `--ids` can be handed on.
    static func print(
        _ report: inout ItemListReport, _ reader: StoreReader, _ context: CommandContext, _ arguments: ParsedArguments
    ) throws(UserFacingError) {
        if arguments.has("--reverse") { report.reverse() }
        guard arguments.has("--ids") else {
            try context.write(report)
            if context.isText { for remark in report.remarks + (try firstPull(reader)) { context.say(remark) } }
            return
        }
        if !context.isText { throw arguments.failure("--ids and --json exclude each other") }
        let ids = report.items.map(\.id).filter(isPlain)
        try context.print(ids.map { $0 + "\n" }.joined())
        for remark in report.remarks + (try firstPull(reader)) { context.say(remark) }
        let others = report.items.count - ids.count
        if others > 0 {
            context.say(
                "\(Formatting.count(others, "item")) left out: a shell would take their ids for something else.")
        }
    }

    /// Whether an id, which is a server's text, can be handed on by a shell: as one word that is no option, no pattern and nothing
    /// that the shell replaces. Else `delete $(prsnlctl search --ids …)` would delete another item.
    static func isPlain(_ id: String) -> Bool {
        guard let first = id.utf8.first, isLetterOrDigit(first) else { return false }
        return id.utf8.allSatisfy { isLetterOrDigit($0) || "-_.:".utf8.contains($0) }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
    }
}

extension CommandOption {
    /// See `ListOptions.filter`.
    static let conditions: [CommandOption] = [
        .text("--tag", "TAG", "With this tag; may be given again: with all of them.", isRepeatable: true),
        CommandOption(
            "--type", .required("TYPE"), "Of this type; may be given again: of any of them.", isRepeatable: true),
        CommandOption(
            "--since", "TIME",
            "Created then or later: a date (`2026-11-22`), an age (`12h`, `7d`, `3w`), `today` or `yesterday`."),
        CommandOption("--before", "TIME", "Created earlier than that."),
    ]
    static let limit = CommandOption(
        "--limit", short: "-n", .required("N"), "As many items at the most; 20 without it.")
    static let ids = CommandOption("--ids", nil, "Print the ids alone, one on each line.")
    static let reverse = CommandOption("--reverse", nil, "The same items, the last first.")
}
