package import PRSNLCore

extension StoreReader {
    /// So many items are compared by how well they fit. A word that more have says little: of them, those come first that have
    /// it in their titles or tags, then the newest. Comparing 100,000 would take a fifth of a second.
    static let mostRanked = 10_000
    /// With the pieces of long texts.
    private static let mostFound = 4 * mostRanked

    /// Items that have all words and satisfy all conditions, the best first, or the newest.
    ///
    /// - Parameter counting: So many are read, to count them, unless this would take long.
    /// - Throws: `no_search_index`; what reading throws.
    package func search(
        _ query: SearchQuery, limit: Int, counting: Int = 0, newestFirst: Bool = false
    ) throws(UserFacingError) -> ItemList {
        do throws(UserFacingError) {
            var lists: [ItemList] = []
            let read = max(limit, counting)
            for branch in query.branches { lists.append(try find(branch, limit: read, shown: limit, newestFirst)) }
            let byTime = newestFirst || lists.count > 1 && query.branches.allSatisfy(\.isWithoutOnly)
            var list = ItemList(lists, byTime: byTime)
            list.hasMore = list.hasMore || list.items.count > read
            list.show(limit)
            return list
        } catch {
            guard error.code == .databaseDamaged else { throw error }
            throw error.with(
                "The full-text index in \(path) is damaged.",
                consequence: "Items can be listed and shown, and not searched.",
                suggestion: "Build it again. If that fails, more than the index is damaged: `prsnlctl doctor`.",
                next: "prsnlctl doctor --rebuild-index")
        }
    }

    /// - Parameter newestFirst: Among those that are found are the newest, in any order.
    private func find(
        _ query: SearchQuery.Branch, limit: Int, shown: Int, _ newestFirst: Bool
    ) throws(UserFacingError) -> ItemList {
        if query.filter.isOfDeleted { return try deletedItems(query, limit: limit) }
        return try readIndex { state in
            var finder = try ItemFinder(connection, query.filter, byIndex: state.servesLists, limit: limit)
            if !query.isEmpty { try find(query, shown: shown, newestFirst, &finder) }
            var list = finder.list
            // Conditions alone are asked of the rows.
            if query.isEmpty || query.isOfWords { list.unindexed = state.notIndexed }
            return list
        }
    }

    private func find(
        _ query: SearchQuery.Branch, shown: Int, _ newestFirst: Bool, _ finder: inout ItemFinder
    ) throws {
        guard query.isOfWords else { return try finder.add(finder.newest(withDocument: false)) }
        if query.hasPrefix, try finder.addNewestOfMany(shown, matching: query.match(), by: self) { return }
        let long = try longItems(query)
        if !query.isWithoutOnly {
            if try isRankable(query) {
                if newestFirst { finder.limit = max(finder.limit, Self.mostFound) }
                try finder.add(finder.ranked(query.match())) { long[$0] ?? true }
                if long.values.contains(true) { try finder.add(finder.newest()) { long[$0] ?? false } }
                return
            }
            let best = query.match(in: "{title tags}")
            // Where no title has them, ranking would read the whole list of each word once more.
            if !query.hasPrefix, !newestFirst, case 1...Self.mostRanked = try count(best) {
                try finder.add(finder.ranked(best)) { long[$0] ?? true }
            }
        }
        try finder.add(finder.newest(), where: try Matches(connection, query, long).contains)
    }

    /// Items that have rare words in common with one, those with most of them first.
    package func related(to id: String, limit: Int) throws(UserFacingError) -> ItemList {
        let shown = try item(id)
        let texts = [shown.item.title, shown.item.summary, shown.text.content].compactMap(\.self)
        return try readIndex { state in
            var rare: [(match: String, items: Int)] = []
            for word in Self.words(of: texts) {
                let match = SearchQuery.Term(text: word).match
                let items = try count(match, most: Self.rareWord + 1)
                if (2...Self.rareWord).contains(items) { rare.append((match, items)) }
            }
            rare.sort { ($0.items, $0.match) < ($1.items, $1.match) }
            var finder = try ItemFinder(connection, ItemFilter(), byIndex: state.servesLists, limit: limit + 1)
            if !rare.isEmpty {
                let any = rare.prefix(Self.relatedWords).map(\.match).joined(separator: " OR ")
                try finder.add(finder.ranked(any))
            }
            var list = finder.list
            list.unindexed = state.notIndexed
            list.items.removeAll { ByteText($0.id) == ByteText(shown.item.id) }
            list.show(limit)
            return list
        }
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

    /// Whether so few have the words that they can be compared. A rare word among them makes few of all; SQLite counts those that
    /// begin so as slowly as it finds all.
    private func isRankable(_ query: SearchQuery.Branch) throws -> Bool {
        let parts = (query.hasPrefix ? [] : query.wanted.map(SearchQuery.Branch.match)) + [query.match()]
        for match in parts { if try count(match) <= Self.mostRanked { return true } }
        return false
    }

    /// Up to one more than are ranked.
    func count(_ match: String, most: Int = mostRanked + 1) throws -> Int {
        try connection.cached("SELECT count(*) FROM (SELECT 1 FROM search_index WHERE search_index MATCH ? LIMIT ?)")
            .bind(match).bind(most).first { $0.int(0) } ?? 0
    }

    /// The documents of items that are indexed in pieces, and whether each has what is asked for. It may stand in different
    /// pieces, so it is looked up word by word.
    private func longItems(_ query: SearchQuery.Branch) throws -> [Int: Bool] {
        var documents: [Int: Int] = [:]
        try connection.prepare("SELECT docid, document FROM search_piece").rows { documents[$0.int(0)] = $0.int(1) }
        func having(_ match: String) throws -> [Int] {
            try connection.prepare("SELECT rowid FROM search_index WHERE search_index MATCH ?").bind(match)
                .all { documents[$0.int(0)] }
        }
        var found = Set(documents.values)
        for term in query.wanted where !found.isEmpty {
            found.formIntersection(try having(SearchQuery.Branch.match(term)))
        }
        if !found.isEmpty, !query.unwanted.isEmpty { found.subtract(try having(query.unwantedMatch)) }
        return Dictionary(documents.values.map { ($0, found.contains($0)) }) { has, _ in has }
    }

    /// Reads in one transaction of what can be searched.
    ///
    /// - Throws: `no_search_index`; what reading throws.
    func readIndex<Value>(_ body: (SearchState) throws -> Value) throws(UserFacingError) -> Value {
        try readTogether {
            if let missing = try missingIndex() { throw missing }
            return try body(SearchState(connection))
        }
    }

    func begunIndex() throws -> SearchState? {
        try missingIndex() == nil ? try SearchState(connection) : nil
    }

    /// A stranger's file may have anything in its place.
    func missingIndex() throws -> UserFacingError? {
        let isOlder = lacks("search_state.folding")
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

/// Which documents have what is asked for. The index is asked block by block: the newest items stand in a few, so that of a word
/// that very many have, the others are not read.
private final class Matches {
    private let query: SearchQuery.Branch
    /// Those of items in pieces, of each of which the index knows a part only.
    private let long: [Int: Bool]
    private let statement: Statement
    /// SQLite makes the list of all that begins so before it gives the first.
    private let blockSize: Int
    private var blocks: [Int: Set<Int>] = [:]

    init(_ connection: Connection, _ query: SearchQuery.Branch, _ long: [Int: Bool]) throws {
        (self.query, self.long) = (query, long)
        blockSize = (query.wanted.joined() + query.unwanted).contains(where: \.isPrefix) ? .max : 4_096
        statement = try connection.prepare(
            "SELECT rowid FROM search_index WHERE search_index MATCH ? AND rowid BETWEEN ? AND ?")
    }

    func contains(_ document: Int) throws -> Bool {
        guard document > 0 else { return false }
        if let has = long[document] { return has }
        let block = document / blockSize
        if blocks[block] == nil {
            let (match, first) = (query.isWithoutOnly ? query.unwantedMatch : query.match(), block * blockSize)
            let found = try statement.bind(match).bind(first).bind(first + (blockSize - 1)).all { $0.int(0) }
            blocks[block] = Set(found)
        }
        return blocks[block]?.contains(document) != query.isWithoutOnly
    }
}
