import PRSNLCore

/// Where items are read from in the order of time: a part of a query. Some together are merged by SQLite, each of them in its own
/// order already, so that nothing is sorted as a whole, and reading can end when there is enough.
struct ItemSource {
    /// What has a row for each item, under the name `source`.
    private var table: String
    /// The item's number in the index (`SearchTables`).
    private var row: String
    private var createdAt: String
    private var condition = "1"
    fileprivate var values: [String] = []

    /// All items, without the index.
    static let byTime = [
        ItemSource(
            table: "item AS source", row: "source.rowid", createdAt: "source.created_at",
            condition: "source.deleted_at IS NULL"),
        ItemSource(table: "local_item AS source", row: "-source.entry_id", createdAt: "source.created_at"),
    ]

    /// Those that have changed since they were indexed, and new ones, each once: few.
    static let due = ItemSource(
        table: """
            (SELECT search_due.row FROM search_state CROSS JOIN search_due WHERE search_due.row <= search_state.through
                UNION ALL SELECT item.rowid FROM search_state CROSS JOIN item WHERE item.rowid > search_state.through) AS source
            """,
        row: "source.row", createdAt: ShownRow.createdAt)

    /// Those of the index that may satisfy the filter, and what is due; all items where the filter has neither tags nor types, or
    /// several tags of which many items have one.
    static func byIndex(_ filter: ItemFilter, _ connection: Connection) throws -> [ItemSource] {
        let listed: [ItemSource]
        if let tags = filter.required(.tag) {
            let spellings = ItemFilter.spellings(of: tags)
            if tags.count > 1, try areFrequent(spellings, connection) { return byTime }
            listed = spellings.map { tag in
                ItemSource(
                    table: "search_tag AS source CROSS JOIN search_document AS document USING (docid)",
                    row: "document.row", createdAt: "source.created_at",
                    condition: "source.tag = ? AND \(SearchTables.isCurrent)", values: [tag])
            }
        } else if let types = filter.required(.type) {
            listed = ItemFilter.spellings(of: types).map { type in
                ItemSource(
                    table: "main.search_document AS document INDEXED BY search_document_by_type", row: "document.row",
                    createdAt: "document.created_at", condition: "document.type = ? AND \(SearchTables.isCurrent)",
                    values: [type])
            }
        } else {
            return byTime
        }
        return listed + [due]
    }

    /// Whether reading all items is faster. An item with several of the tags is read and merged once for each of them. Of 50,000
    /// items, both took as long where the tags together stood a third as often as there are items.
    private static func areFrequent(_ tags: [String], _ connection: Connection) throws -> Bool {
        let many = Int(try connection.integer("SELECT max(rowid) FROM item")) / 3
        let sql = "SELECT 1 FROM search_tag WHERE tag IN (SELECT value FROM json_each(?)) LIMIT ?"
        return try connection.prepare("SELECT count(*) FROM (\(sql))").bind(JSONText.array(tags)).bind(many)
            .first { $0.int(0) } == many
    }

    /// Its items that are shown, in no order.
    func select(_ columns: String) -> String {
        "SELECT \(columns) FROM \(table) \(ShownRow.join(row: row)) WHERE \(condition) AND \(ShownRow.isShown)"
    }

    /// Items of all these sources, the newest first, and those of one instant by id. What two sources have stands together.
    ///
    /// - Parameters:
    ///   - condition: of each source, after those that `values` and two times are for.
    ///   - withDocument: Else the first column is NULL, as it is where there is no document.
    /// - Returns: Columns docid, id, created_at, and `columns`.
    static func sql(_ sources: [ItemSource], _ condition: String, withDocument: Bool, _ columns: String) -> String {
        let parts = sources.map { source in
            let document = "(SELECT known.docid FROM search_document AS known WHERE known.row = \(source.row))"
            return """
                SELECT \(withDocument ? document : "NULL"), \(ShownRow.id), \(source.createdAt), \(columns)
                FROM \(source.table) \(ShownRow.join(row: source.row))
                WHERE \(source.condition) AND \(source.createdAt) >= ? AND \(source.createdAt) < ?
                    AND \(ShownRow.isShown)\(condition)
                """
        }
        return parts.joined(separator: " UNION ALL ") + " ORDER BY 3 DESC, 2"
    }
}

/// Collects items until there are as many as were asked for.
struct ItemFinder {
    private let connection: Connection
    private let filter: ItemFilter
    private let sources: [ItemSource]
    var limit: Int
    private(set) var list = ItemList()
    /// Documents of items that were added.
    private var seen: Set<Int> = []

    /// After id and created_at, as `ListedItem` has them.
    static let columns =
        "\(ShownRow.type), \(ShownRow.title), \(ShownRow.url), \(SearchableRow.listedTags), \(ShownRow.pending)"

    /// - Parameter byIndex: Whether the index serves lists.
    init(_ connection: Connection, _ filter: ItemFilter, byIndex: Bool, limit: Int) throws {
        self.connection = connection
        self.filter = filter
        self.limit = limit
        sources = byIndex ? try ItemSource.byIndex(filter, connection) : ItemSource.byTime
    }

    /// By how well they fit. An item comes where its best piece does.
    func ranked(_ match: String) throws -> Statement {
        let condition = filter.condition()
        return try connection.prepare(
            """
            SELECT document.docid, \(ShownRow.id), \(ShownRow.createdAt), \(Self.columns)
            FROM search_index LEFT JOIN search_piece AS piece ON piece.docid = search_index.rowid
                CROSS JOIN search_document AS document ON document.docid = coalesce(piece.document, search_index.rowid)
                \(ShownRow.join(row: "document.row"))
            WHERE search_index MATCH ? AND \(ShownRow.isShown)\(condition.sql)
            ORDER BY search_index.rank
            """
        ).bind(match).bind(condition.values)
    }

    /// By time.
    func newest(withDocument: Bool = true) throws -> Statement {
        let condition = filter.condition()
        let statement = try connection.prepare(
            ItemSource.sql(sources, condition.sql, withDocument: withDocument, Self.columns))
        let range = [(filter.since ?? .earliest).description, filter.before?.description ?? "~"]
        for source in sources { statement.bind(source.values + range + condition.values) }
        return statement
    }

    /// Adds the items of these rows whose document is wanted; 0 stands for none.
    mutating func add(
        _ rows: Statement, where isWanted: (Int) throws -> Bool = { _ in true }
    ) throws {
        try rows.rows(while: !list.hasMore) { row in
            let document = row.int(0)
            guard !seen.contains(document), try isWanted(document), let item = ListedItem(row, from: 1) else { return }
            add(item)
            if document != 0 { seen.insert(document) }
        }
    }

    private mutating func add(_ item: ListedItem) {
        // What two sources have stands together.
        if let last = list.items.last, ByteText(last.id) == ByteText(item.id) { return }
        guard list.items.count < limit else { return list.hasMore = true }
        list.items.append(item)
    }

    /// By time, those in whose texts the words are: where very many items have them. SQLite reads all that the index has of a
    /// prefix before it gives the first, which takes a second for one letter in 100,000 texts; a few texts are read in
    /// milliseconds.
    ///
    /// - Returns: False where not so many have them, or where this would be too much to read. Nothing is added then.
    mutating func addNewestOfMany(
        _ limit: Int, matching match: String, by reader: StoreReader
    ) throws -> Bool {
        let all = Int(try connection.integer("SELECT max(rowid) FROM item"))
        guard all > StoreReader.mostRanked else { return false }
        try reader.makeRoomForTexts()
        let sizes = try connection.prepare("SELECT size FROM search_document WHERE docid = ?")
        let rows = try newest()
        defer { rows.reset() }
        // Of all that was read, and of what has the words. Short items say little: the newest may be a hundred notes.
        var (read, bytes, having) = (0, 0, 0)
        var areMany = false
        var found = self
        found.limit = limit
        while !found.list.hasMore {
            var batch: [(item: ListedItem, size: Int)] = []
            while batch.count < Self.sample, try rows.step() {
                guard let item = ListedItem(rows, from: 1), let size = try sizes.bind(rows.int(0)).first({ $0.int(0) })
                else { continue }
                batch.append((item, size))
                (read, bytes) = (read + 1, bytes + size)
                guard size <= Self.longestRead, bytes <= Self.mostRead, read <= StoreReader.mostRanked
                else { return false }
            }
            for place in try reader.places(of: match, amongTextsOf: batch.map(\.item), atMost: Self.longestRead) {
                having += batch[place].size
                found.add(batch[place].item)
            }
            let isLast = batch.count < Self.sample
            if !areMany, bytes >= Self.leastRead || found.list.hasMore || isLast {
                areMany = having * all >= StoreReader.mostRanked * bytes
                guard areMany else { return false }
            }
            if isLast { break }
        }
        list = found.list
        return true
    }

    /// Items that are read at once.
    private static let sample = 64
    /// Bytes of texts. The first of them tell how many items have the words.
    private static let leastRead = 128 << 10, longestRead = 256 << 10, mostRead = 4 << 20
}
