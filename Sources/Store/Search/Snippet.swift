package import PRSNLCore

/// A piece of a text in which words were found.
package enum Snippet {
    package struct Part: Sendable, Equatable {
        package var text: String
        package var isFound: Bool

        package init(text: String, isFound: Bool) {
            self.text = text
            self.isFound = isFound
        }
    }

    /// What SQLite's `snippet` and `highlight` put around what was found. No text that people read has these.
    fileprivate static let beginMark = "\u{0E}", endMark = "\u{0F}"

    /// - Parameter marked: as SQLite gives it, with marks around what was found.
    /// - Returns: Empty where nothing was found.
    fileprivate static func parts(of marked: String?) -> [Part] {
        var parts: [Part] = []
        // Characters that are words of their own are marked one by one.
        func add(_ text: Substring, isFound: Bool) {
            if parts.last?.isFound == isFound {
                parts[parts.count - 1].text += text
            } else if !text.isEmpty {
                parts.append(Part(text: String(text), isFound: isFound))
            }
        }
        let pieces = (marked ?? "").split(separator: beginMark, omittingEmptySubsequences: false)
        for (index, piece) in pieces.enumerated() {
            let halves = piece.split(separator: endMark, maxSplits: 1, omittingEmptySubsequences: false)
            if index > 0 { add(halves[0], isFound: true) }
            add(index == 0 ? piece : halves.dropFirst().first ?? "", isFound: false)
        }
        return parts.contains(where: \.isFound) ? parts : []
    }
}

extension StoreReader {
    /// Of each text, so much is looked at for the place. What is found further down is found, and its place not shown.
    /// A word that stands there very often makes SQLite compare each place with each other one.
    private static let lookedAt = 64 << 10
    /// Words of a passage; and of one in a script of which each character is one.
    private static let snippetLength = 16, snippetOfCharacters = 40

    /// Notes where the words stand in each item: in its title, and in one of its other texts.
    ///
    /// The index has no texts. So the few that are shown are indexed once more, in memory: the tokenizer that knows the places
    /// in them finds what has found the item.
    package func notePlaces(of query: SearchQuery, in items: inout [ListedItem]) throws(UserFacingError) {
        guard !query.match.isEmpty else { return }
        items = try readTogether {
            try connection.registerTokenizer()
            try connection.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.passage USING \(Self.fts5)); DELETE FROM temp.passage")
            try index(items, in: "passage", atMost: Self.lookedAt)
            return try marked(items, query)
        }
    }

    /// Before a statement is under way that is to go on: a new table ends it (SQLITE_ABORT_ROLLBACK).
    func makeRoomForTexts() throws {
        try connection.registerTokenizer()
        try connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.candidate USING \(Self.fts5), content='')")
    }

    /// Which of some items have the words, by their place in the list, as the index would say it. Indexes them in memory, after
    /// `makeRoomForTexts`.
    func places(
        of match: String, amongTextsOf items: [ListedItem], atMost limit: Int
    ) throws -> [Int] {
        try connection.execute("INSERT INTO temp.candidate (candidate) VALUES ('delete-all')")
        try index(items, in: "candidate", atMost: limit)
        return try connection.prepare("SELECT rowid FROM temp.candidate WHERE candidate MATCH ?").bind(match)
            .all { $0.int(0) }
    }

    static let fts5 = "fts5(title, summary, content, transcription, tags, url, tokenize='folding'"

    /// Adds items to an index in memory, by their place in the list.
    ///
    /// - Parameter limit: So many bytes of each text.
    private func index(_ items: [ListedItem], in table: String, atMost limit: Int) throws {
        let live = try connection.prepare(SearchableRow.ofID)
        let deleted = try connection.prepare(SearchableRow.ofDeleted)
        let insert = try connection.prepare(SearchTables.insertion(into: "temp.\(table)"))
        for (number, item) in items.enumerated() {
            _ = try SearchableRow.read((item.deletion == nil ? live : deleted).bind(item.id)) {
                row throws in
                insert.bind(number)
                for text in row.words(atMost: limit) { insert.bind(text) }
                try insert.run()
            }
        }
    }

    private func marked(_ items: [ListedItem], _ query: SearchQuery) throws -> [ListedItem] {
        var items = items
        let marks = "'\(Snippet.beginMark)', '\(Snippet.endMark)'"
        // A text says more about the place than a tag or an address.
        let fields: [(name: String, column: String, number: Int)] = [
            ("text", "content", 2), ("transcription", "transcription", 3), ("summary", "summary", 1),
            ("tags", "tags", 4), ("url", "url", 5),
        ]
        let snippets = fields.map { field in
            // Mostly of three bytes a character, and Thai, Kana, Hangul or Chinese.
            let isOfCharacters = """
                length(CAST(\(field.column) AS BLOB)) > 2 * length(\(field.column)) AND \(field.column) GLOB '*[ก-๛ぁ-ヿ一-鿿가-힣]*'
                """
            return """
                snippet(passage, \(field.number), \(marks), '…',
                    iif(\(isOfCharacters), \(Self.snippetOfCharacters), \(Self.snippetLength)))
                """
        }
        try connection.prepare(
            """
            SELECT rowid, highlight(passage, 0, \(marks)), \(snippets.joined(separator: ", "))
            FROM temp.passage AS passage WHERE passage MATCH ?
            """
        ).bind(query.match).rows { row in
            guard items.indices.contains(row.int(0)) else { return }
            let title = Snippet.parts(of: row.text(1))
            let texts = fields.enumerated().lazy.map { ($1.name, Snippet.parts(of: row.text(Int32($0) + 2))) }
            let (field, text) = texts.first { !$0.1.isEmpty } ?? ("title", [])
            let passage = text.isEmpty ? title : text
            (items[row.int(0)].titleParts, items[row.int(0)].snippetParts) = (title, text)
            guard !passage.isEmpty else { return }
            (items[row.int(0)].foundIn, items[row.int(0)].passage) = (field, passage.map(\.text).joined())
        }
        return items
    }
}
