import Console
import PRSNLCore
import Store

/// `prsnlctl list`: items by time, from the file.
enum ListCommand {
    static let command = Command(
        "list", "List items, the newest first.",
        options: CommandOption.conditions + [
            CommandOption("--deleted", nil, "Those that were deleted in the last 30 days, the latest first."),
            .limit, .ids, .reverse,
            .text("--complete", "PREFIX", "For shells: items whose ids begin so, each with its title."),
        ], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        let reader = try StoreReader(path: context.paths.database)
        if let prefix = arguments.value("--complete") { return try complete(prefix, reader, context) }
        let filter = try ListOptions.filter(arguments)
        let limit = try ListOptions.limit(arguments)
        let list =
            try arguments.has("--deleted")
            ? reader.deletedItems(filter, limit: limit) : reader.list(filter, limit: limit)
        var report = ItemListReport(list, shortIDs: try reader.shortIDs(list.items.map(\.id)))
        try ListOptions.print(&report, context, arguments)
        return .fine
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
