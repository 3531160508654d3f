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
    /// `nil` for a live item.
    package var deletion: Deletion?

    package init(
        id: String, createdAt: Timestamp = .earliest, type: String? = nil, title: String? = nil, url: String? = nil,
        tags: String? = nil, pending: String? = nil
    ) {
        (self.id, self.createdAt, self.type, self.title) = (id, createdAt, type, title)
        (self.url, self.tags, self.pending) = (url, tags, pending)
    }
}

/// Items that were asked for.
package struct ItemList: Sendable, Equatable {
    package var items: [ListedItem] = []
    /// Whether there are more than were asked for.
    package var hasMore = false
    /// Items of the copy that are not in the index yet, or have changed since. 0 where no index was needed.
    package var unindexed = 0

    package init(items: [ListedItem] = [], hasMore: Bool = false, unindexed: Int = 0) {
        self.items = items
        self.hasMore = hasMore
        self.unindexed = unindexed
    }

    /// Some together, each item once. Where they are not by time, the best of each come in turn.
    init(_ lists: [ItemList], byTime: Bool, limit: Int) {
        self.init(hasMore: lists.contains(where: \.hasMore), unindexed: lists.map(\.unindexed).max() ?? 0)
        var seen: Set<ByteText> = []
        for place in 0..<(lists.map(\.items.count).max() ?? 0) {
            for list in lists where place < list.items.count && seen.insert(ByteText(list.items[place].id)).inserted {
                items.append(list.items[place])
            }
        }
        if byTime { sortByTime(limit: limit) }
        hasMore = hasMore || items.count > limit
        items = Array(items.prefix(limit))
    }

    /// The newest first.
    package mutating func sortByTime(limit: Int) {
        items.sort { ($1.createdAt, ByteText($0.id)) < ($0.createdAt, ByteText($1.id)) }
        hasMore = hasMore || items.count > limit
        items = Array(items.prefix(limit))
    }
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
    /// With the pieces of long texts.
    private static let mostFound = 4 * mostRanked

    /// Items that have all words and satisfy all conditions, the best first, or the newest.
    ///
    /// - Throws: `no_search_index`; what reading throws.
    package func search(
        _ query: SearchQuery, limit: Int, newestFirst: Bool = false
    ) throws(UserFacingError) -> ItemList {
        do throws(UserFacingError) {
            var lists: [ItemList] = []
            for branch in query.branches { lists.append(try find(branch, limit: limit, newestFirst)) }
            let byTime = newestFirst || lists.count > 1 && query.branches.allSatisfy(\.isWithoutOnly)
            return ItemList(lists, byTime: byTime, limit: limit)
        } catch {
            guard error.code == .databaseDamaged else { throw error }
            throw UserFacingError(
                error.code, "The full-text index in \(path) is damaged.",
                consequence: "Items can be listed and shown, and not searched.",
                recoverySuggestion: "Build it again. If that fails, more than the index is damaged: `prsnlctl doctor`.",
                nextCommand: "prsnlctl doctor --rebuild-index", cause: error.cause)
        }
    }

    /// - Parameter newestFirst: Among those that are found are the newest, in any order.
    private func find(
        _ query: SearchQuery.Branch, limit: Int, _ newestFirst: Bool
    ) throws(UserFacingError) -> ItemList {
        if query.filter.isOfDeleted { return try deletedItems(query, limit: limit) }
        return try readTogether { () throws(SQLiteFailure) -> Result<ItemList, UserFacingError> in
            if let missing = try missingIndex() { return .failure(missing) }
            let state = try SearchState(connection)
            guard !query.isEmpty else { return .success(ItemList(unindexed: state.notIndexed)) }
            var finder = ItemFinder(connection, query.filter, byIndex: state.servesLists, limit: limit)
            let hasPrefix = query.hasPrefix
            if hasPrefix, try finder.addNewestOfMany(matching: query, by: self) {
                return .success(finder.list(unindexed: state.notIndexed))
            }
            let long = try longItems(query)
            if query.isWithoutOnly {
                guard !query.unwanted.isEmpty else {
                    try finder.addNewest()
                    return .success(finder.list(unindexed: state.notIndexed))
                }
                let unwanted = try Matches(connection, query.unwantedMatch, query.unwanted)
                try finder.addNewest { document throws(SQLiteFailure) in
                    if let has = long.has(document) { return has }
                    return try !unwanted.contains(document)
                }
            } else {
                if hasPrefix ? try isRankable(query.match()) : try isRankable(query) {
                    if newestFirst {
                        finder = ItemFinder(
                            connection, query.filter, byIndex: state.servesLists, limit: max(limit, Self.mostFound))
                    }
                    try finder.addRanked(query.match()) { long.has($0) ?? true }
                    if !long.found.isEmpty { try finder.addNewest { long.found.contains($0) } }
                } else {
                    let best = query.match(in: "{title tags}")
                    // Where no title has them, ranking would read the whole list of each word once more.
                    if !hasPrefix, !newestFirst, case 1...Self.mostRanked = try count(best) {
                        try finder.addRanked(best) { long.has($0) ?? true }
                    }
                    let all = try Matches(connection, query.match(), query.wanted.joined() + query.unwanted)
                    try finder.addNewest { document throws(SQLiteFailure) in
                        if let has = long.has(document) { return has }
                        return try all.contains(document)
                    }
                }
            }
            return .success(finder.list(unindexed: state.notIndexed))
        }.get()
    }

    /// Items that have rare words in common with one, those with most of them first.
    package func related(to id: String, limit: Int) throws(UserFacingError) -> ItemList {
        let shown = try item(id)
        let texts = [shown.item.title, shown.item.summary, shown.text.content].compactMap(\.self)
        return try readTogether { () throws(SQLiteFailure) -> Result<ItemList, UserFacingError> in
            if let missing = try missingIndex() { return .failure(missing) }
            let state = try SearchState(connection)
            var rare: [(match: String, items: Int)] = []
            for word in Self.words(of: texts) {
                let match = SearchQuery.Term(text: word).match
                let items = try count(match, most: Self.rareWord + 1)
                if (2...Self.rareWord).contains(items) { rare.append((match, items)) }
            }
            rare.sort { ($0.items, $0.match) < ($1.items, $1.match) }
            guard !rare.isEmpty else { return .success(ItemList(unindexed: state.notIndexed)) }
            var finder = ItemFinder(connection, ItemFilter(), byIndex: state.servesLists, limit: limit + 1)
            try finder.addRanked(rare.prefix(Self.relatedWords).map(\.match).joined(separator: " OR ")) { _ in true }
            var list = finder.list(unindexed: state.notIndexed)
            list.items.removeAll { ByteText($0.id) == ByteText(shown.item.id) }
            list.hasMore = list.hasMore || list.items.count > limit
            list.items = Array(list.items.prefix(limit))
            return .success(list)
        }.get()
    }

    /// Of one item, and so many items may have each.
    private static let relatedWords = 8, rareWord = 1_000
    /// So many different words of an item are looked up, the first of them.
    private static let mostWords = 300

    private static func words(of texts: [String]) -> [String] {
        var words: [String] = []
        var seen: Set<String> = []
        for text in texts {
            for word in text.prefix(32 << 10).split(whereSeparator: { !$0.isLetter && !$0.isNumber })
            where word.count > 3 {
                let word = word.lowercased()
                guard words.count < mostWords else { return words }
                if seen.insert(word).inserted { words.append(word) }
            }
        }
        return words
    }

    /// A rare word among them makes few of all.
    private func isRankable(_ query: SearchQuery.Branch) throws(SQLiteFailure) -> Bool {
        for term in query.wanted {
            if try isRankable(SearchQuery.Branch.match(term)) { return true }
        }
        return try isRankable(query.match())
    }

    private func isRankable(_ match: String) throws(SQLiteFailure) -> Bool { try count(match) <= Self.mostRanked }

    /// Up to one more than are ranked.
    private func count(_ match: String, most: Int = mostRanked + 1) throws(SQLiteFailure) -> Int {
        try connection.cached("SELECT count(*) FROM (SELECT 1 FROM search_index WHERE search_index MATCH ? LIMIT ?)")
            .bind(match).bind(most).first { $0.int(0) } ?? 0
    }

    /// What is asked for may stand in different pieces of an item, so it is looked for word by word.
    private func longItems(_ query: SearchQuery.Branch) throws(SQLiteFailure) -> LongItems {
        var items = LongItems()
        items.pieces = try connection.prepare("SELECT docid, document FROM search_piece").all { ($0.int(0), $0.int(1)) }
        items.all = Set(items.pieces.map(\.document))
        items.found = items.all
        for term in query.wanted where !items.found.isEmpty {
            items.found.formIntersection(items.having(try documents(SearchQuery.Branch.match(term))))
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
            var finder = ItemFinder(connection, filter, byIndex: try begunIndex()?.servesLists ?? false, limit: limit)
            try finder.addNewest()
            return finder.list()
        }
    }

    /// The tags of all items, the most used first.
    package func tagCounts() throws(UserFacingError) -> [TagCount] {
        try readTogether { () throws(SQLiteFailure) in
            let byIndex = try begunIndex()?.servesLists ?? false
            var counts: [ByteText: Int] = [:]
            if byIndex {
                try connection.prepare("SELECT tag, count(*) FROM search_tag GROUP BY tag").rows { row in
                    if let tag = row.text(0) { counts[ByteText(tag), default: 0] += row.int(1) }
                }
                // Those of the documents that are not true any more.
                try connection.prepare(
                    "SELECT tags FROM search_due CROSS JOIN search_document USING (row) WHERE tags IS NOT NULL"
                ).rows { row in
                    for tag in Tags.set(Tags.parse(row.text(0)) ?? []) { counts[tag, default: 0] -= 1 }
                }
            }
            for source in byIndex ? [.due] : ItemSource.byTime {
                try connection.prepare(source.select(SearchableRow.listedTags)).rows { row in
                    for tag in Tags.set(Tags.parse(row.text(0)) ?? []) { counts[tag, default: 0] += 1 }
                }
            }
            return counts.filter { $0.value > 0 }.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
                .map { TagCount(tag: $0.key.text, items: $0.value) }
        }
    }

    /// The types of all items, the most used first.
    package func typeCounts() throws(UserFacingError) -> [TagCount] {
        try readTogether { () throws(SQLiteFailure) in
            try connection.prepare(
                "SELECT type, count(*) FROM timeline WHERE type IS NOT NULL GROUP BY type ORDER BY count(*) DESC, type"
            ).all { TagCount(tag: $0.text(0) ?? "", items: $0.int(1)) }
        }
    }

    /// How far the full-text index is; `nil` where the file has none yet.
    package func searchState() throws(UserFacingError) -> SearchState? {
        try readTogether { () throws(SQLiteFailure) -> SearchState? in
            guard try missingIndex() == nil else { return nil }
            return try SearchState(connection)
        }
    }

    private func begunIndex() throws(SQLiteFailure) -> SearchState? {
        try missingIndex() == nil ? try SearchState(connection) : nil
    }

    /// A stranger's file may have anything in its place.
    func missingIndex() throws(SQLiteFailure) -> UserFacingError? {
        let isOlder = try connection.integer("PRAGMA user_version") < Schema.versionWithSearch
        let sql = try connection.text("SELECT sql FROM sqlite_schema WHERE name = 'search_index' AND type = 'table'")
        if !isOlder, let sql, SearchTables.createIndex.hasPrefix(sql),
            try !connection.prepare("SELECT 1 FROM search_state WHERE folding IS NOT ?").bind(Folding.version).hasRow()
        {
            return nil
        }
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
private struct DocumentSet {
    private var numbers: [Int] = []

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

/// Which documents the index has for a query. It is asked block by block: the newest items stand in a few, so that of a word that
/// very many have, the others are not read.
private final class Matches {
    private let match: String
    private let statement: Statement
    /// SQLite makes the list of all that begins so before it gives the first.
    private let blockSize: Int
    private var blocks: [Int: DocumentSet] = [:]

    init(_ connection: Connection, _ match: String, _ terms: [SearchQuery.Term]) throws(SQLiteFailure) {
        self.match = match
        blockSize = terms.contains(where: \.isPrefix) ? .max : 4_096
        statement = try connection.prepare(
            "SELECT rowid FROM search_index WHERE search_index MATCH ? AND rowid BETWEEN ? AND ?")
    }

    func contains(_ document: Int) throws(SQLiteFailure) -> Bool {
        guard document > 0 else { return false }
        let block = document / blockSize
        if let known = blocks[block] { return known.contains(document) }
        var found = DocumentSet()
        let first = block * blockSize
        try statement.bind(match).bind(first).bind(first + (blockSize - 1)).rows { found.append($0.int(0)) }
        blocks[block] = found
        return found.contains(document)
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

/// Collects items until there are as many as were asked for.
private struct ItemFinder {
    private let connection: Connection
    private let filter: ItemFilter
    private let byIndex: Bool
    private let limit: Int
    private var items: [ListedItem] = []
    private var hasMore = false
    /// Documents of items that were looked at.
    private var seen: Set<Int> = []

    private static let columns =
        "\(ShownRow.type), \(ShownRow.title), \(ShownRow.url), \(ShownRow.tags), \(ShownRow.pending)"

    /// - Parameter byIndex: Whether the index serves lists.
    init(_ connection: Connection, _ filter: ItemFilter, byIndex: Bool, limit: Int) {
        self.connection = connection
        self.filter = filter
        self.byIndex = byIndex
        self.limit = limit
    }

    func list(unindexed: Int = 0) -> ItemList { ItemList(items: items, hasMore: hasMore, unindexed: unindexed) }

    /// By how well they fit. An item comes where its best piece does.
    mutating func addRanked(_ match: String, _ isWanted: (Int) -> Bool) throws(SQLiteFailure) {
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
    mutating func addNewest(_ isWanted: (Int) throws(SQLiteFailure) -> Bool) throws(SQLiteFailure) {
        try newest(withDocument: true).rows(while: !hasMore) { row throws(SQLiteFailure) in
            if !row.isNull(0), !seen.contains(row.int(0)), try isWanted(row.int(0)) { add(row) }
        }
    }

    /// By time, those in whose texts the words are: where very many items have them. SQLite reads all that the index has of a
    /// prefix before it gives the first, which takes a second for one letter in 100,000 texts; a few texts are read in
    /// milliseconds.
    ///
    /// - Returns: False where not so many have them, or where this would be too much to read. Nothing is added then.
    mutating func addNewestOfMany(matching query: SearchQuery.Branch, by reader: StoreReader) throws(SQLiteFailure)
        -> Bool
    {
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
    mutating func addNewest() throws(SQLiteFailure) {
        try newest(withDocument: false).rows(while: !hasMore) { add($0) }
    }

    private func newest(withDocument: Bool, _ more: String = "") throws(SQLiteFailure) -> Statement {
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
                    LIMIT 1000) AS known \(ShownRow.join(id: "known.id"))
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
