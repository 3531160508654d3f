package import PRSNLCore

/// What was probably meant, where nothing was found.
extension StoreReader {
    /// Queries that find something: with one letter of a word changed, left out, added, or swapped with the next; or with the
    /// beginning of a word. The words that most items have come first, three at most.
    ///
    /// - Parameters:
    ///   - text: the query as it was typed.
    ///   - finds: whether a query finds something: a word may be that of a deleted item, or of one that other conditions exclude.
    package func suggestions(
        for query: SearchQuery, typed text: String, finds: (String) throws(UserFacingError) -> Bool
    ) throws(UserFacingError) -> [String] {
        let offered = try readWords {
            var unknown: [SearchQuery.Term] = []
            for term in Self.correctable(query) where !unknown.contains(term) {
                if try count(term.match, most: 1) == 0 { unknown.append(term) }
            }
            guard let first = unknown.first else { return [] }
            var rest = text
            for term in unknown.dropFirst() {
                guard let word = try nearest(to: term).first else { return [] }
                rest = rest.replacingWord(term.text, by: word)
            }
            return try nearest(to: first).prefix(Self.mostTried).map { rest.replacingWord(first.text, by: $0) }
        }
        var found: [String] = []
        for query in offered where found.count < Self.mostSuggested {
            if try finds(query) { found.append(query) }
        }
        return found
    }

    private static let mostSuggested = 3, mostTried = 10

    /// The query with the most frequent other ending of one word, `recipe` for `recipes`, of those that the index has. Whether
    /// it finds more is for a search to say.
    package func otherEndings(for query: SearchQuery, typed text: String) throws(UserFacingError) -> [String] {
        try readWords {
            try connection.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.word USING fts5vocab('main', 'search_index', 'row')")
            let words = try connection.prepare("SELECT term, doc FROM temp.word WHERE term >= ? AND term < ?")
            var found: [String] = []
            for term in Self.correctable(query) where term.text.count >= 5 {
                let word = SearchText.indexed(term.text.lowercased()) ?? term.text
                let stem = String(word.prefix(max(4, word.count - 2)))
                var best = (word: "", items: 9)
                try words.bind(stem).bind(stem + "\u{10FFFF}").rows { row in
                    guard row.int(1) > best.items, let other = row.text(0), other != word else { return }
                    if other.count <= word.count + 2 { best = (other, row.int(1)) }
                }
                if best.items > 9 { found.append(text.replacingWord(term.text, by: best.word)) }
            }
            return found
        }
    }

    /// - Returns: Nothing where there is no index: deleted items are found without one.
    private func readWords(_ body: () throws -> [String]) throws(UserFacingError) -> [String] {
        try readTogether { try missingIndex() == nil ? try body() : [] }
    }

    /// Words of the index that are one letter away, the most frequent first; else the beginning of longer ones. They are looked up one
    /// by one: to read all words would take seconds.
    private func nearest(to term: SearchQuery.Term) throws -> [String] {
        var found: [(word: String, items: Int)] = []
        var seen: Set<String> = []
        for word in Self.neighbours(Array(term.text.lowercased())).sorted()
        where seen.insert(SearchText.indexed(word) ?? word).inserted {
            let items = try count(SearchQuery.Term(text: word, field: term.field).match, most: Self.mostCounted)
            if items > 0 { found.append((word, items)) }
        }
        let longer = SearchQuery.Term(text: term.text, field: term.field, isPrefix: true)
        if found.isEmpty, try count(longer.match, most: 1) > 0 { return [term.text + "*"] }
        return found.sorted { ($1.items, $0.word) < ($0.items, $1.word) }.map(\.word)
    }

    /// Of a word that more items have, that says enough.
    private static let mostCounted = 1_000
    /// Words of fewer letters have too many neighbours, longer ones are no words.
    private static let lengths = 3...40

    private static func correctable(_ query: SearchQuery) -> [SearchQuery.Term] {
        query.branches.flatMap { $0.wanted.joined() }.filter { term in
            // Scripts without spaces, which have no such words, begin at U+0E00.
            !term.isPrefix && lengths.contains(term.text.count) && term.text.allSatisfy { $0.isLetter || $0 == "'" }
                && term.text.utf8.allSatisfy { $0 < 0xE0 }
        }
    }

    private static func neighbours(_ word: [Character]) -> Set<String> {
        var words: Set<String> = []
        let letters = alphabet(of: word)
        for place in 0...word.count {
            let (before, after) = (word[..<place], word[place...])
            for letter in letters {
                words.insert(String(before + [letter] + after))
                if !after.isEmpty { words.insert(String(before + [letter] + after.dropFirst())) }
            }
            guard let here = after.first else { continue }
            words.insert(String(before + after.dropFirst()))
            if let next = after.dropFirst().first { words.insert(String(before + [next, here] + after.dropFirst(2))) }
        }
        words.remove(String(word))
        // What begins or ends in an apostrophe is found without it.
        return words.filter { $0.count >= lengths.lowerBound - 1 && $0.first != "'" && $0.last != "'" }
    }

    /// The small letters of the block of Unicode that the word's first one is of, as the index has them.
    private static func alphabet(of word: [Character]) -> [Character] {
        let first = word.first?.unicodeScalars.first?.value ?? 0
        let block = first < 0x250 ? 0 : first & ~0x7F
        return (block..<block + 0x80).compactMap(Unicode.Scalar.init)
            .filter { $0.properties.isAlphabetic && Folding.replacement($0.value) == nil }
            .filter { !$0.properties.changesWhenLowercased }.map(Character.init)
    }
}

extension String {
    /// Where it stands as a word of its own, first.
    fileprivate func replacingWord(_ word: String, by other: String) -> String {
        func isPart(_ character: Character?) -> Bool { character.map { $0.isLetter || $0.isNumber } ?? false }
        for range in ranges(of: word)
        where !isPart(self[..<range.lowerBound].last) && !isPart(self[range.upperBound...].first) {
            return String(self[..<range.lowerBound]) + other + String(self[range.upperBound...])
        }
        return self
    }
}
