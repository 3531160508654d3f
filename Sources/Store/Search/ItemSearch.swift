package import PRSNLCore

/// An item in a list.
package struct ListedItem: Sendable, Equatable {
    package var id: String
    package var createdAt: Timestamp
    package var type: String?
    package var title: String?
    package var url: String?
    package var tags: String?
    /// `creation` or `edit`, where something of it is not on the server yet.
    package var pending: String?
}

/// Items that were asked for.
package struct ItemList: Sendable, Equatable {
    package var items: [ListedItem] = []
    /// Whether there are more than were asked for.
    package var hasMore = false
    /// Items of the copy that are not in the index yet, or have changed since. 0 where no index was needed.
    package var unindexed = 0
}

/// How many live items have a tag.
package struct TagCount: Sendable, Equatable, Encodable {
    package let tag: String
    package let items: Int
}

extension StoreReader {
    /// So many items are compared by how well they fit. A word that more have says little: of them, those come first that have
    /// it in their titles or tags, then the newest. Comparing 100,000 would take a fifth of a second.
    static let mostRanked = 10_000

    /// Items that have all words and satisfy all conditions, the best first.
    ///
    /// - Throws: `no_search_index`; what reading throws.
    package func search(_ query: SearchQuery, limit: Int) throws(UserFacingError) -> ItemList {
        do throws(UserFacingError) { return try find(query, limit: limit) } catch {
            guard error.code == .databaseDamaged else { throw error }
            throw UserFacingError(
                error.code, "The full-text index in \(path) is damaged.",
                consequence: "Items can be listed and shown, and not searched.",
                recoverySuggestion: "Build it again. If that fails, more than the index is damaged: `prsnlctl doctor`.",
                nextCommand: "prsnlctl doctor --rebuild-index", cause: error.cause)
        }
    }

    private func find(_ query: SearchQuery, limit: Int) throws(UserFacingError) -> ItemList {
        try readTogether { () throws(SQLiteFailure) -> Result<ItemList, UserFacingError> in
            if let missing = try missingIndex() { return .failure(missing) }
            var list = ItemList()
            list.unindexed = try SearchState(connection).notIndexed
            guard !query.isEmpty else { return .success(list) }
            var finder = try ItemFinder(connection, query.filter, limit: limit)
            let long = try longItems(query)
            if query.isWithoutOnly {
                let unwanted = query.unwanted.isEmpty ? [] : try documents(query.unwantedMatch)
                try finder.addNewest { long.has($0) ?? !unwanted.contains($0) }
            } else {
                if try isRankable(query) {
                    try finder.addRanked(query.match()) { long.has($0) ?? true }
                    if !long.found.isEmpty { try finder.addNewest { long.found.contains($0) } }
                } else {
                    let best = query.match(in: "{title tags}")
                    if try isRankable(best) { try finder.addRanked(best) { long.has($0) ?? true } }
                    let all = try documents(query.match())
                    try finder.addNewest { long.has($0) ?? all.contains($0) }
                }
            }
            list.items = finder.items
            list.hasMore = finder.hasMore
            return .success(list)
        }.get()
    }

    /// A rare word among them makes few of all.
    private func isRankable(_ query: SearchQuery) throws(SQLiteFailure) -> Bool {
        for term in query.wanted {
            if try isRankable(term.match) { return true }
        }
        return try isRankable(query.match())
    }

    private func isRankable(_ match: String) throws(SQLiteFailure) -> Bool {
        try connection.prepare(
            "SELECT count(*) FROM (SELECT 1 FROM search_index WHERE search_index MATCH ? LIMIT ?)"
        ).bind(match).bind(Self.mostRanked + 1).first { $0.int(0) <= Self.mostRanked } ?? false
    }

    /// What is asked for may stand in different pieces of an item, so it is looked for word by word.
    private func longItems(_ query: SearchQuery) throws(SQLiteFailure) -> LongItems {
        var items = LongItems()
        items.pieces = try connection.prepare("SELECT docid, document FROM search_piece").all { ($0.int(0), $0.int(1)) }
        items.all = Set(items.pieces.map(\.document))
        items.found = items.all
        for term in query.wanted where !items.found.isEmpty {
            items.found.formIntersection(items.having(try documents(term.match)))
        }
        if !items.found.isEmpty, !query.unwanted.isEmpty {
            items.found.subtract(items.having(try documents(query.unwantedMatch)))
        }
        return items
    }

    private func documents(_ match: String) throws(SQLiteFailure) -> DocumentSet {
        var found = DocumentSet()
        try connection.prepare("SELECT rowid FROM search_index WHERE search_index MATCH ?").bind(match)
            .rows { found.append($0.int(0)) }
        return found
    }

    /// Items in the order of time, the newest first. The same whether there is an index, which only makes it faster.
    package func list(_ filter: ItemFilter, limit: Int) throws(UserFacingError) -> ItemList {
        try readTogether { () throws(SQLiteFailure) in
            var list = ItemList()
            if try hasCurrentIndex() {
                var finder = try ItemFinder(connection, filter, limit: limit)
                try finder.addNewest { _ in true }
                list.items = finder.items
                list.hasMore = finder.hasMore
                return list
            }
            let condition = filter.condition(
                tags: "tags", type: "type", platform: "platform", createdAt: "created_at")
            list.items = try connection.prepare(
                """
                SELECT id, created_at, type, title, url, tags, pending FROM timeline WHERE 1\(condition.sql)
                ORDER BY created_at DESC, id LIMIT ?
                """
            ).bind(condition.values).bind(limit + 1).all { ListedItem($0) }
            list.hasMore = list.items.count > limit
            if list.hasMore { list.items.removeLast() }
            return list
        }
    }

    /// The tags of all items, the most used first.
    package func tagCounts() throws(UserFacingError) -> [TagCount] {
        try readTogether { () throws(SQLiteFailure) in
            let tags = try hasCurrentIndex() ? "search_tag" : "item_tag"
            return try connection.prepare("SELECT tag, count(*) FROM \(tags) GROUP BY tag ORDER BY 2 DESC, 1").all {
                row in
                row.text(0).map { TagCount(tag: $0, items: row.int(1)) }
            }
        }
    }

    /// How far the full-text index is; `nil` where the file has none yet.
    package func searchState() throws(UserFacingError) -> SearchState? {
        try readTogether { () throws(SQLiteFailure) -> SearchState? in
            guard try missingIndex() == nil else { return nil }
            return try SearchState(connection)
        }
    }

    private func hasCurrentIndex() throws(SQLiteFailure) -> Bool {
        guard try missingIndex() == nil else { return false }
        return try SearchState(connection).isCurrent
    }

    /// A stranger's file may have anything in its place.
    func missingIndex() throws(SQLiteFailure) -> UserFacingError? {
        let isOlder = try connection.integer("PRAGMA user_version") < Schema.versionWithSearch
        let sql = try connection.text("SELECT sql FROM sqlite_schema WHERE name = 'search_index' AND type = 'table'")
        if !isOlder, let sql, SearchTables.createIndex.hasPrefix(sql) { return nil }
        return UserFacingError(
            .noSearchIndex, "The copy \(path) has no full-text index yet.",
            consequence: "Items can be listed, and not searched.",
            recoverySuggestion: isOlder
                ? "An older prsnld made the file. This one makes the index when it runs."
                : "`prsnlctl doctor --rebuild-index` builds it.")
    }
}

/// Document numbers, of which there may be hundreds of thousands. Its size is their count, and not the largest of them, which
/// a prepared file may choose.
private struct DocumentSet: ExpressibleByArrayLiteral {
    private var numbers: [Int] = []

    init(arrayLiteral elements: Int...) { for element in elements { append(element) } }

    /// In ascending order, as the index has them. What comes in another one is not in the set.
    mutating func append(_ document: Int) {
        if numbers.last.map({ $0 < document }) ?? true { numbers.append(document) }
    }

    func contains(_ document: Int) -> Bool {
        var (low, high) = (0, numbers.count)
        while low < high {
            let middle = (low + high) / 2
            if numbers[middle] < document { low = middle + 1 } else { high = middle }
        }
        return low < numbers.count && numbers[low] == document
    }
}

/// Items that are indexed in pieces.
private struct LongItems {
    var pieces: [(docid: Int, document: Int)] = []
    var all: Set<Int> = []
    /// Those that have what is asked for.
    var found: Set<Int> = []

    /// `nil` for an item in one piece, of which the index knows all at once.
    func has(_ document: Int) -> Bool? { all.contains(document) ? found.contains(document) : nil }

    func having(_ matches: DocumentSet) -> Set<Int> {
        Set(pieces.lazy.filter { matches.contains($0.docid) }.map(\.document))
    }
}

/// Collects items from the index until there are as many as were asked for.
private struct ItemFinder {
    private let connection: Connection
    private let filter: ItemFilter
    private let condition: ItemFilter.Condition
    private let limit: Int
    private(set) var items: [ListedItem] = []
    private(set) var hasMore = false
    private var seen: Set<Int> = []

    private static let columns = """
        document.docid, \(ShownRow.id), \(ShownRow.createdAt), \(ShownRow.type), \(ShownRow.title), \(ShownRow.url),
        \(ShownRow.tags), \(ShownRow.pending)
        """

    init(_ connection: Connection, _ filter: ItemFilter, limit: Int) throws(SQLiteFailure) {
        self.connection = connection
        self.filter = filter
        self.limit = limit
        condition = filter.condition()
    }

    /// By how well they fit. An item comes where its best piece does.
    mutating func addRanked(_ match: String, _ isWanted: (Int) -> Bool) throws(SQLiteFailure) {
        let rows = try connection.prepare(
            """
            SELECT \(Self.columns)
            FROM search_index LEFT JOIN search_piece AS piece ON piece.docid = search_index.rowid
                CROSS JOIN search_document AS document ON document.docid = coalesce(piece.document, search_index.rowid)
                \(ShownRow.join("document.item_id"))
            WHERE search_index MATCH ? AND \(ShownRow.isShown)\(condition.sql)
            ORDER BY search_index.rank
            """
        ).bind(match).bind(condition.values)
        try rows.rows(while: !hasMore) { row in
            if isWanted(row.int(0)), !seen.contains(row.int(0)) { add(row) }
        }
    }

    /// By time, those of which the number is wanted.
    mutating func addNewest(_ isWanted: (Int) -> Bool) throws(SQLiteFailure) {
        let numbers = try filter.documents(connection)
        let details = try connection.prepare(
            """
            SELECT \(Self.columns) FROM search_document AS document \(ShownRow.join("document.item_id"))
            WHERE document.docid = ? AND \(ShownRow.isShown)\(condition.sql)
            """)
        try numbers.rows(while: !hasMore) { row throws(SQLiteFailure) in
            let number = row.int(0)
            guard isWanted(number), !seen.contains(number) else { return }
            try details.bind(number).bind(condition.values).rows { add($0) }
        }
    }

    private mutating func add(_ row: Statement) {
        guard let item = ListedItem(row, from: 1) else { return }
        guard items.count < limit else { return hasMore = true }
        items.append(item)
        seen.insert(row.int(0))
    }
}

extension ListedItem {
    /// Of columns id, created_at, type, title, url, tags, pending.
    init?(_ row: Statement, from first: Int32 = 0) {
        guard let id = row.text(first), let createdAt = row.timestamp(first + 1) else { return nil }
        self.init(
            id: id, createdAt: createdAt, type: row.text(first + 2), title: row.text(first + 3),
            url: row.text(first + 4),
            tags: row.text(first + 5), pending: row.text(first + 6))
    }
}

extension StoreReader {
    /// As much of each id as tells it from all others, and eight characters at least.
    package func shortIDs(_ ids: [String]) throws(UserFacingError) -> [String] {
        try read { () throws(SQLiteFailure) in
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
        return try read { () throws(SQLiteFailure) in
            try connection.prepare(
                """
                SELECT \(ShownRow.id), \(ShownRow.createdAt), \(ShownRow.type), \(ShownRow.title), \(ShownRow.url),
                    \(ShownRow.tags), \(ShownRow.pending)
                FROM (SELECT id FROM item WHERE id >= ?1 AND id < ?2 UNION SELECT id FROM local_item WHERE id >= ?1 AND id < ?2
                    LIMIT 1000) AS known \(ShownRow.join("known.id"))
                WHERE \(ShownRow.isShown) ORDER BY 2 DESC LIMIT ?3
                """
            ).bind(prefix).bind(prefix + "\u{10FFFF}").bind(limit).all { ListedItem($0) }
        }
    }

    /// The server's address of an item's page, for items without an address of their own.
    package func serverURL() throws(UserFacingError) -> String? {
        try read { () throws(SQLiteFailure) in try connection.text("SELECT server_url FROM copy") }
    }
}
