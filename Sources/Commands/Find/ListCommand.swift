import Console
import PRSNLCore
import Store

/// `prsnlctl list`: items by time, from the file.
enum ListCommand {
    static let command = Command(
        "list", "List items, the newest first.",
        options: [
            .text("--tag", "TAG", "With this tag; may be given again: with all of them.", isRepeatable: true),
            CommandOption(
                "--type", .required("TYPE"), "Of this type; may be given again: of any of them.", isRepeatable: true),
            CommandOption(
                "--since", "TIME",
                "Created then or later: a date (`2026-11-22`), an age (`12h`, `7d`, `3w`), `today` or `yesterday`."),
            CommandOption("--before", "TIME", "Created earlier than that."),
            CommandOption("--deleted", nil, "Those that were deleted in the last 30 days, the latest first."),
            .limit, .ids, .reverse,
            .text("--complete", "PREFIX", "For shells: items whose ids begin so, each with its title."),
        ], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        let reader = try StoreReader(path: context.paths.database)
        if let prefix = arguments.value("--complete") { return try complete(prefix, reader, context) }
        let filter = try filter(arguments)
        if arguments.has("--deleted"), !filter.isEmpty {
            throw arguments.failure("--deleted lists all that was deleted: conditions exclude it")
        }
        let limit = try ListOptions.limit(arguments)
        let list =
            try arguments.has("--deleted") ? reader.deletedItems(limit: limit) : reader.list(filter, limit: limit)
        var report = ItemListReport(list, shortIDs: try reader.shortIDs(list.items.map(\.id)))
        try ListOptions.print(&report, context, arguments)
        return .fine
    }

    private static func filter(_ arguments: ParsedArguments) throws(UserFacingError) -> ItemFilter {
        let now = TimeSource.system.now()
        var filter = ItemFilter()
        filter.tags = arguments.values("--tag")
        filter.types = arguments.values("--type")
        if let time = arguments.value("--since") {
            filter.since = try TimeWord.parse(time, now: now, option: "--since")
        }
        if let time = arguments.value("--before") {
            filter.before = try TimeWord.parse(time, now: now, option: "--before")
        }
        return filter
    }

    private static func complete(
        _ prefix: String, _ reader: StoreReader, _ context: CommandContext
    ) throws(UserFacingError) -> ExitCode {
        var seen: Set<ByteText> = []
        // Each once: a shell inserts what all have in common, which of two equal ones would be the title too.
        let items = try reader.items(withPrefix: prefix, limit: 50).filter {
            ListOptions.isPlain($0.id) && seen.insert(ByteText($0.id)).inserted
        }
        try context.print(
            items.map { item in
                let title = SafeText.harmless(item.title ?? item.url ?? "")
                return "\(item.id)\t\(TextLayout.cut(title, to: 60))\n"
            }.joined())
        return .fine
    }
}

/// `prsnlctl tags`
enum TagsCommand {
    static let command = Command("tags", "List the tags, the most used first.", onlyReads: true) {
        context, _ throws(UserFacingError) in
        try context.write(TagsReport(tags: try StoreReader(path: context.paths.database).tagCounts()))
        return .fine
    }
}
