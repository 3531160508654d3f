import PRSNLCore

/// Collects items until there are as many as were asked for.
struct ItemFinder {
    private let connection: Connection
    private let filter: ItemFilter
    private let byIndex: Bool
    private let limit: Int
    private var items: [ListedItem] = []
    private var hasMore = false
    /// Documents of items that were looked at.
    private var seen: Set<Int> = []

    private static let columns =
        "\(ShownRow.type), \(ShownRow.title), \(ShownRow.url), \(SearchableRow.listedTags), \(ShownRow.pending)"

    /// - Parameter byIndex: Whether the index serves lists.
    init(_ connection: Connection, _ filter: ItemFilter, byIndex: Bool, limit: Int) {
        self.connection = connection
        self.filter = filter
        self.byIndex = byIndex
        self.limit = limit
    }

    func list(unindexed: Int = 0) -> ItemList { ItemList(items: items, hasMore: hasMore, unindexed: unindexed) }

    /// By how well they fit. An item comes where its best piece does.
    mutating func addRanked(_ match: String, _ isWanted: (Int) -> Bool) throws {
        let condition = filter.condition()
        let rows = try connection.prepare(
            """
            SELECT document.docid, \(ShownRow.id), \(ShownRow.createdAt), \(Self.columns)
            FROM search_index LEFT JOIN search_piece AS piece ON piece.docid = search_index.rowid
                CROSS JOIN search_document AS document ON document.docid = coalesce(piece.document, search_index.rowid)
                \(ShownRow.join(row: "document.row"))
            WHERE search_index MATCH ? AND \(ShownRow.isShown)\(condition.sql)
            ORDER BY search_index.rank
            """
        ).bind(match).bind(condition.values)
        try rows.rows(while: !hasMore) { row in
            if isWanted(row.int(0)), !seen.contains(row.int(0)) { add(row) }
        }
    }

    /// By time, those of which the document is wanted.
    mutating func addNewest(_ isWanted: (Int) throws -> Bool) throws {
        try newest(withDocument: true).rows(while: !hasMore) { row in
            if !row.isNull(0), !seen.contains(row.int(0)), try isWanted(row.int(0)) { add(row) }
        }
    }

    /// By time, those in whose texts the words are: where very many items have them. SQLite reads all that the index has of a
    /// prefix before it gives the first, which takes a second for one letter in 100,000 texts; a few texts are read in
    /// milliseconds.
    ///
    /// - Returns: False where not so many have them, or where this would be too much to read. Nothing is added then.
    mutating func addNewestOfMany(
        _ limit: Int, matching query: SearchQuery.Branch, by reader: StoreReader
    ) throws -> Bool {
        let all = Int(try connection.integer("SELECT max(rowid) FROM item"))
        guard all > StoreReader.mostRanked else { return false }
        try reader.makeRoomForTexts()
        let rows = try newest(withDocument: true, ", document.size")
        defer { rows.reset() }
        var seen: Set<Int> = []
        // Of all that was read, and of what has the words. Short items say little: the newest may be a hundred notes.
        var (bytes, having) = (0, 0)
        var areMany = false
        var found = ItemList()
        while !found.hasMore {
            var batch: [(item: ListedItem, size: Int)] = []
            while batch.count < Self.sample, try rows.step() {
                guard !rows.isNull(0), seen.insert(rows.int(0)).inserted, let item = ListedItem(rows, from: 1)
                else { continue }
                batch.append((item, rows.int(8)))
                bytes += rows.int(8)
                guard rows.int(8) <= Self.longestRead, bytes <= Self.mostRead, seen.count <= StoreReader.mostRanked
                else { return false }
            }
            let places = try reader.places(
                of: query.match(), amongTextsOf: batch.map(\.item), atMost: Self.longestRead)
            for place in places {
                having += batch[place].size
                found.hasMore = found.hasMore || found.items.count == limit
                if !found.hasMore { found.items.append(batch[place].item) }
            }
            if !areMany, bytes >= Self.leastRead || found.hasMore || batch.count < Self.sample {
                areMany = having * all >= StoreReader.mostRanked * bytes
                guard areMany else { return false }
            }
            if batch.count < Self.sample { break }
        }
        items = found.items
        hasMore = found.hasMore
        return true
    }

    /// Items that are read at once.
    private static let sample = 64
    /// Bytes of texts. The first of them tell how many items have the words.
    private static let leastRead = 128 << 10, longestRead = 256 << 10, mostRead = 4 << 20

    /// By time, all.
    mutating func addNewest() throws {
        try newest(withDocument: false).rows(while: !hasMore) { add($0) }
    }

    private func newest(withDocument: Bool, _ more: String = "") throws -> Statement {
        let sources = byIndex ? ItemSource.byIndex(filter) : ItemSource.byTime
        return try ItemSource.newest(sources, filter, withDocument: withDocument, Self.columns + more, connection)
    }

    private mutating func add(_ row: Statement) {
        guard let item = ListedItem(row, from: 1) else { return }
        // What two sources have stands together.
        if let last = items.last, ByteText(last.id) == ByteText(item.id) { return }
        guard items.count < limit else { return hasMore = true }
        items.append(item)
        seen.insert(row.int(0))
    }
}
