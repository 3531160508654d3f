package import PRSNLCore

/// An item in a list: an object of `items` in the JSON of `prsnlctl search` and `prsnlctl list`.
package struct ListedItem: Sendable, Equatable, Encodable {
    package var id: String
    package var createdAt = Timestamp.earliest
    @Nullable package var type: String? = nil
    @Nullable package var title: String? = nil
    @Nullable package var url: String? = nil
    package var tags: [String] = []
    /// `creation` or `edit`, where something of it is not on the server yet.
    @Nullable package var pending: String? = nil
    /// Where the words of a query were found: `text`, `summary`, `title`, …
    @Nullable package var foundIn: String? = nil
    @Nullable package var passage: String? = nil
    /// `nil` for a live item.
    @Nullable package var deletion: Deletion? = nil

    /// For the text: its id is shortened, and what was found is marked.
    package var shortID = ""
    package var titleParts: [Snippet.Part] = []
    package var snippetParts: [Snippet.Part] = []

    private enum CodingKeys: String, CodingKey {
        case id, createdAt, type, title, url, tags, pending, foundIn, passage, deletion
    }
}

package struct ItemList: Sendable, Equatable {
    package var items: [ListedItem] = []
    package var hasMore = false
    /// How many there are, with those that are not shown; `nil` where they were not counted.
    package var total: Int? { whole ?? (hasMore ? nil : items.count) }
    private var whole: Int?
    /// Items of the copy that are not in the index yet, or have changed since. 0 where no index was needed.
    package var unindexed = 0

    package init(items: [ListedItem] = [], hasMore: Bool = false, unindexed: Int = 0) {
        self.items = items
        self.hasMore = hasMore
        self.unindexed = unindexed
    }

    /// No more than these, of as many as were read to count them, or of `all`.
    package mutating func show(_ limit: Int, of all: Int? = nil) {
        whole = all ?? total
        hasMore = hasMore || items.count > limit
        items = Array(items.prefix(limit))
    }

    /// Some together, each item once: the newest first, or the best of each in turn.
    init(_ lists: [ItemList], byTime: Bool) {
        self.init(hasMore: lists.contains(where: \.hasMore), unindexed: lists.map(\.unindexed).max() ?? 0)
        var seen: Set<ByteText> = []
        for place in 0..<(lists.map(\.items.count).max() ?? 0) {
            for item in lists.compactMap({ $0.items.dropFirst(place).first }) {
                if seen.insert(ByteText(item.id)).inserted { items.append(item) }
            }
        }
        if byTime { items.sort { ($1.createdAt, ByteText($0.id)) < ($0.createdAt, ByteText($1.id)) } }
    }
}

/// How many live items have a tag.
package struct TagCount: Sendable, Equatable, Encodable {
    package let tag: String
    package let items: Int
}

extension ListedItem {
    package init(id: String) { self.init(id: id, createdAt: .earliest) }

    /// Of columns id, created_at, type, title, url, tags, pending.
    init?(_ row: Statement, from first: Int32 = 0) {
        guard let id = row.text(first), let createdAt = row.timestamp(first + 1) else { return nil }
        self.init(
            id: id, createdAt: createdAt, type: row.text(first + 2), title: row.text(first + 3),
            url: row.text(first + 4), tags: Tags.parse(row.text(first + 5)) ?? [], pending: row.text(first + 6))
    }
}

extension StoreReader {
    /// Items in the order of time, the newest first. The same whether there is an index, which only makes it faster.
    ///
    /// - Parameter counting: So many are read for `total`. Of all items there is a counter.
    package func list(
        _ filter: ItemFilter, limit: Int, counting: Int? = nil
    ) throws(UserFacingError) -> ItemList {
        try readTogether {
            let all = filter.isEmpty && counting != nil ? Int(try shownCount()) : nil
            let most = all == nil ? counting ?? limit : max(limit, 1)
            var finder = try ItemFinder(connection, filter, byIndex: begunIndex()?.servesLists ?? false, limit: most)
            try finder.add(finder.newest(withDocument: false))
            var list = finder.list
            if counting != nil { list.show(limit, of: all) }
            return list
        }
    }

    private func shownCount() throws -> Int64 {
        try connection.integer(
            """
            SELECT live - (SELECT count(*) FROM item WHERE deleted_at IS NULL AND id IN (
                    SELECT item_id FROM local_edit WHERE is_deleted = 1 UNION SELECT item_id FROM held_item))
                + (SELECT count(*) FROM (\(Views.creationRow())
                    AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = made.id)))
            FROM copy
            """)
    }

    /// The tags of all items, the most used first.
    package func tagCounts() throws(UserFacingError) -> [TagCount] {
        try readTogether {
            let byIndex = try begunIndex()?.servesLists ?? false
            var counts: [ByteText: Int] = [:]
            func count(_ tags: String, by step: Int) throws {
                try connection.prepare(tags).rows { row in
                    for tag in Tags.set(Tags.parse(row.text(0)) ?? []) { counts[tag, default: 0] += step }
                }
            }
            if byIndex {
                try connection.prepare("SELECT tag, count(*) FROM search_tag GROUP BY tag").rows { row in
                    if let tag = row.text(0) { counts[ByteText(tag), default: 0] += row.int(1) }
                }
                // Those of the documents that are not true any more.
                try count("SELECT tags FROM search_due CROSS JOIN search_document USING (row)", by: -1)
            }
            for source in byIndex ? [.due] : ItemSource.byTime {
                try count(source.select(SearchableRow.listedTags), by: 1)
            }
            return counts.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { TagCount(tag: $0.key.text, items: $0.value) }
        }
    }

    /// The tags, types or platforms of all items, the most used first.
    package func counts(of kind: ItemFilter.Named) throws(UserFacingError) -> [TagCount] {
        if kind == .tag { return try tagCounts() }
        return try readTogether {
            try connection.prepare(
                """
                SELECT \(kind.rawValue), count(*) FROM timeline WHERE \(kind.rawValue) IS NOT NULL
                GROUP BY 1 ORDER BY 2 DESC, 1
                """
            ).all { TagCount(tag: $0.text(0) ?? "", items: $0.int(1)) }
        }
    }

    /// As much of each id as tells it from all others, and eight characters at least.
    package func shortIDs(_ ids: [String]) throws(UserFacingError) -> [String] {
        try read {
            let neighbours = try connection.prepare(
                """
                SELECT (SELECT max(id) FROM item WHERE id < ?1), (SELECT min(id) FROM item WHERE id > ?1),
                    (SELECT max(id) FROM local_item WHERE id < ?1), (SELECT min(id) FROM local_item WHERE id > ?1)
                """)
            var short: [String] = []
            for id in ids {
                try neighbours.bind(id).rows { row in
                    let shared = (0..<4).compactMap { row.text($0) }.map { Self.sharedLength($0, id) }.max() ?? 0
                    short.append(String(String.UnicodeScalarView(id.unicodeScalars.prefix(max(8, shared + 1)))))
                }
            }
            return short
        }
    }

    private static func sharedLength(_ left: String, _ right: String) -> Int {
        zip(left.unicodeScalars, right.unicodeScalars).prefix { $0 == $1 }.count
    }

    /// Items whose ids begin so, the newest first: what a shell offers while a person types.
    package func items(withPrefix prefix: String, limit: Int) throws(UserFacingError) -> [ListedItem] {
        guard !prefix.isEmpty else { return try list(ItemFilter(), limit: limit).items }
        return try read {
            try connection.prepare(
                """
                SELECT \(ShownRow.id), \(ShownRow.createdAt), \(ItemFinder.columns)
                FROM (SELECT id FROM item WHERE id >= ?1 AND id < ?2 UNION SELECT id FROM local_item WHERE id >= ?1 AND id < ?2
                    LIMIT 1000) AS known \(ShownRow.join(id: "known.id"))
                WHERE \(ShownRow.isShown) ORDER BY 2 DESC LIMIT ?3
                """
            ).bind(prefix).bind(prefix + "\u{10FFFF}").bind(limit).all { ListedItem($0) }
        }
    }

    /// The server's address of an item's page, for items without an address of their own.
    package func serverURL() throws(UserFacingError) -> String? {
        try read { try connection.text("SELECT server_url FROM copy") }
    }
}
