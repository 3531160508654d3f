package import Console
package import PRSNLCore
package import Store

/// `prsnlctl stats`: what the copy is made of.
enum StatsCommand {
    static let command = Command(
        "stats", "Count items and texts by month, type, site and tag.", examples: [("", "As bars, on a terminal.")],
        onlyReads: true
    ) { context, _ throws(UserFacingError) in
        let reader = try context.reader()
        try context.write(StatsReport(try reader.statistics(), try reader.summary(), now: TimeSource.system.now()))
        if context.isText { for remark in try ListOptions.firstPull(reader) { context.say(remark) } }
        return .fine
    }
}

/// What a timeline is made of: the JSON of `prsnlctl stats --json`.
package struct StatsReport: Sendable, Equatable, Codable {
    package var schemaVersion = 1
    package var items: Int
    package var texts: Int
    /// Writes that wait.
    package var waiting: Int
    /// Seconds since new items were last asked for; `null` before the first pull.
    @Nullable package var age: Int?
    /// By UTC, the newest first. Months without items are left out.
    package var months: [TimelineStatistics.Part]
    package var types: [TimelineStatistics.Part]
    package var sites: [TimelineStatistics.Part]
    package var tags: [TimelineStatistics.Part]

    package init(_ statistics: TimelineStatistics, _ summary: CopySummary, now: Timestamp) {
        items = statistics.months.reduce(0) { $0 + $1.items }
        texts = statistics.months.reduce(0) { $0 + $1.texts }
        waiting = summary.outbox.waiting
        age = summary.copy.newAsOf.map { Int(now.duration(since: $0).components.seconds) }
        (months, types) = (statistics.months, statistics.types)
        (sites, tags) = (statistics.sites, statistics.tags)
    }
}

extension StatsReport: Report {
    /// Of sites and tags, on a terminal.
    private static let most = 20

    package func text(_ style: TextStyle) -> String {
        let age = age.map { ", \(Formatting.duration(.seconds($0))) old" } ?? ""
        let head =
            "\(Formatting.count(items, "item")), \(Formatting.count(texts)) with a text; \(Formatting.count(waiting, "write")) waiting\(age)"
        let parts = [("months", months), ("types", types), ("sites", sites), ("tags", tags)]
        // A program reads all of them, two spaces between the columns.
        guard style.isTerminal else {
            return parts.flatMap { name, parts in
                parts.map { "\(name)  \(SafeText.harmless($0.name))  \($0.items)  \($0.texts)\n" }
            }.joined()
        }
        return head + "\n"
            + parts.filter { !$0.1.isEmpty }.map { name, parts in
                "\n\(name)\n" + bars(Array(parts.prefix(name == "months" ? 36 : Self.most)), style)
            }.joined()
    }

    private func bars(_ parts: [TimelineStatistics.Part], _ style: TextStyle) -> String {
        let width = min(parts.map { TextLayout.width(style.safe($0.name)) }.max() ?? 0, 30)
        let room = max(10, min(40, style.width - width - 14))
        let most = parts.map(\.items).max() ?? 1
        return parts.map { part in
            let name = TextLayout.cut(style.safe(part.name), to: width)
            let bar = String(repeating: "█", count: max(1, part.items * room / most))
            return "  \(TextLayout.padRight(name, to: width))  \(bar) \(Formatting.count(part.items))\n"
        }.joined()
    }
}
