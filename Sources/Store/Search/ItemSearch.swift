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
            var list = ItemList(lists, byTime: byTime, limit: read)
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
        return try readTogether { () -> Result<ItemList, UserFacingError> in
            if let missing = try missingIndex() { return .failure(missing) }
            let state = try SearchState(connection)
            guard !query.isEmpty else { return .success(ItemList(unindexed: state.notIndexed)) }
            var finder = ItemFinder(connection, query.filter, byIndex: state.servesLists, limit: limit)
            let hasPrefix = query.hasPrefix
            if hasPrefix, try finder.addNewestOfMany(shown, matching: query, by: self) {
                return .success(finder.list(unindexed: state.notIndexed))
            }
            let long = try longItems(query)
            if query.isWithoutOnly {
                guard !query.unwanted.isEmpty else {
                    // Conditions alone are asked of the rows.
                    try finder.addNewest()
                    return .success(finder.list())
                }
                let unwanted = try Matches(connection, query.unwantedMatch, query.unwanted)
                try finder.addNewest { document in
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
                    try finder.addNewest { document in
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
        return try readTogether { () -> Result<ItemList, UserFacingError> in
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
            list.show(limit)
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
    private func isRankable(_ query: SearchQuery.Branch) throws -> Bool {
        for term in query.wanted {
            if try isRankable(SearchQuery.Branch.match(term)) { return true }
        }
        return try isRankable(query.match())
    }

    private func isRankable(_ match: String) throws -> Bool { try count(match) <= Self.mostRanked }

    /// Up to one more than are ranked.
    private func count(_ match: String, most: Int = mostRanked + 1) throws -> Int {
        try connection.cached("SELECT count(*) FROM (SELECT 1 FROM search_index WHERE search_index MATCH ? LIMIT ?)")
            .bind(match).bind(most).first { $0.int(0) } ?? 0
    }

    /// What is asked for may stand in different pieces of an item, so it is looked for word by word.
    private func longItems(_ query: SearchQuery.Branch) throws -> LongItems {
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

    private func documents(_ match: String) throws -> DocumentSet {
        var found = DocumentSet()
        try connection.prepare("SELECT rowid FROM search_index WHERE search_index MATCH ?").bind(match)
            .rows { found.append($0.int(0)) }
        return found
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

    init(_ connection: Connection, _ match: String, _ terms: [SearchQuery.Term]) throws {
        self.match = match
        blockSize = terms.contains(where: \.isPrefix) ? .max : 4_096
        statement = try connection.prepare(
            "SELECT rowid FROM search_index WHERE search_index MATCH ? AND rowid BETWEEN ? AND ?")
    }

    func contains(_ document: Int) throws -> Bool {
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
