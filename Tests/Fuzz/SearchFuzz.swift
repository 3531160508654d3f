import PRSNLCore

@testable import Commands
@testable import Store

/// What people type to find items, and the searches that they keep.
extension FuzzTarget {
    static let searchWords = FuzzTarget(name: "search-words") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        guard let query = query(text) else { return }
        let found = ids(query)
        require(found == ids(query, newestFirst: true), "by time, others are found")
        require(ids(query, limit: 3).count == min(3, found.count), "three of \(found.count)")
        // A longer word has hundreds of neighbours, which are all looked up.
        if found.isEmpty, bytes.count <= 4 { checkSuggestions(query, text) }
        // What it does not find, its opposite finds. A list has what is deleted only where nothing else is meant.
        let conditions = query.branches.flatMap { $0.filter.groups.joined() }
        guard !query.isEmpty, !conditions.contains(where: { $0.what == .state(.deleted) }) else { return }
        require(found.isSubset(of: SmallCopy.shared.ids), "found what there is not: \(found)")
        guard let opposite = Self.query("-@it", saved: text) else { return }
        let others = ids(opposite)
        require(found.isDisjoint(with: others), "found by both: \(found.intersection(others))")
        require(found.union(others) == SmallCopy.shared.ids, "found by none, \(found.count) and \(others.count)")
    }

    /// - Parameter saved: what every `@name` stands for.
    private static func query(_ text: String, saved: String? = nil) -> SearchQuery? {
        do throws(UserFacingError) {
            return try SearchQuery(text, now: SmallCopy.now, saved: saved.map { saved in { _ in saved } })
        } catch {
            check(refused: error)
            return nil
        }
    }

    private static func check(refused error: UserFacingError) {
        require(error.code == .usage, "refused as \(error.code): \(error.message)")
        require(SafeText.harmless(error.message) == error.message, "not fit for a terminal: \(error.message)")
    }

    private static func ids(_ query: SearchQuery, limit: Int = 100, newestFirst: Bool = false) -> Set<String> {
        do throws(UserFacingError) {
            let list = try SmallCopy.ask { reader throws(UserFacingError) in
                var list = try reader.search(query, limit: limit, newestFirst: newestFirst)
                if newestFirst { try reader.notePlaces(of: query, in: &list.items) }
                return list
            }
            let ids = Set(list.items.map(\.id))
            require(ids.count == list.items.count, "an item is there twice: \(list.items.map(\.id))")
            return ids
        } catch { fatalError("\(error.code): \(error.message) \(error.cause ?? "") \(query)") }
    }

    /// Each is a query again, and finds something.
    private static func checkSuggestions(_ query: SearchQuery, _ text: String) {
        do throws(UserFacingError) {
            let offered = try SmallCopy.ask { reader throws(UserFacingError) in
                try reader.suggestions(for: query, typed: text) { words throws(UserFacingError) in
                    let query = try SearchQuery(words, now: SmallCopy.now)
                    return try !reader.search(query, limit: 1).items.isEmpty
                }
            }
            for words in offered {
                require(Self.query(words).map { ids($0).isEmpty } == false, "finds nothing: \(words)")
            }
        } catch { fatalError("\(error.code): \(error.message) \(query)") }
    }

    static let savedSearches = FuzzTarget(name: "saved-searches") { bytes in
        let searches = SavedSearches.parse(String(decoding: bytes, as: UTF8.self))
        let again = SavedSearches.parse(searches.map { "\($0.name) = \($0.query)\n" }.joined())
        require(
            again.map { [ByteText($0.name), ByteText($0.query)] }
                == searches.map { [ByteText($0.name), ByteText($0.query)] }, "reads as others: \(searches) \(again)")
        func query(_ words: String) -> SearchQuery? {
            do throws(UserFacingError) {
                return try SearchQuery(words, now: SmallCopy.now) { name throws(UserFacingError) in
                    guard let found = searches.last(where: { $0.name == name }) else {
                        throw UserFacingError(.usage, "There is none.")
                    }
                    return found.query
                }
            } catch {
                check(refused: error)
                return nil
            }
        }
        for (name, words) in searches.prefix(8) {
            require(SearchQuery.isName(name), "no name: \(name)")
            require(!words.contains(where: \.isNewline), "more than one line: \(words)")
            // Its name means what its words mean, unless a later line has the name too.
            guard searches.last(where: { $0.name == name })?.query == words else { continue }
            guard let byName = query("@\(name)"), let byWords = query(words) else { continue }
            require(byName.branches == byWords.branches, "@\(name) is not \(words): \(byName) \(byWords)")
        }
    }
}
