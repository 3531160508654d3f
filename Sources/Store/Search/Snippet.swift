package import PRSNLCore

/// A piece of a text in which words were found.
package struct Snippet: Sendable, Equatable {
    package struct Part: Sendable, Equatable {
        package var text: String
        package var isFound: Bool

        package init(text: String, isFound: Bool) {
            self.text = text
            self.isFound = isFound
        }
    }

    /// `title`, `summary`, `text`, `transcription`, `tags` or `url`.
    package var field: String
    package var parts: [Part]

    package var text: String { parts.map(\.text).joined() }
}

extension Snippet {
    /// What SQLite's `snippet` and `highlight` put around what was found. No text that people read has these.
    fileprivate static let beginMark = "\u{0E}", endMark = "\u{0F}"

    /// - Parameter marked: as SQLite gives it, with marks around what was found.
    fileprivate init?(field: String, marked: String) {
        var parts: [Part] = []
        let pieces = marked.split(separator: Self.beginMark, omittingEmptySubsequences: false)
        for (index, piece) in pieces.enumerated() {
            let halves = piece.split(separator: Self.endMark, maxSplits: 1, omittingEmptySubsequences: false)
            if index > 0 { parts.append(Part(text: String(halves[0]), isFound: true)) }
            let rest = index > 0 ? (halves.count > 1 ? halves[1] : "") : piece
            if !rest.isEmpty { parts.append(Part(text: String(rest), isFound: false)) }
        }
        // Characters that are words of their own are marked one by one.
        self.parts = parts.reduce(into: []) { merged, part in
            if merged.last?.isFound == part.isFound {
                merged[merged.count - 1].text += part.text
            } else if !part.text.isEmpty {
                merged.append(part)
            }
        }
        self.field = field
        guard self.parts.contains(where: \.isFound) else { return nil }
    }
}

extension StoreReader {
    /// Of each text, so much is looked at for the place. What is found further down is found, and its place not shown.
    /// A word that stands there very often makes SQLite compare each place with each other one.
    private static let lookedAt = 64 << 10
    /// Words of a passage; and of one in a script of which each character is one.
    private static let snippetLength = 16, snippetOfCharacters = 40

    /// Where the words stand in each item: in its title, and in one of its other texts.
    ///
    /// The index has no texts. So the few that are shown are indexed once more, in memory: the tokenizer that knows the places
    /// in them finds what has found the item.
    package func places(
        of query: SearchQuery, in items: [ListedItem]
    ) throws(UserFacingError) -> [(title: Snippet?, text: Snippet?)] {
        guard !query.match.isEmpty else { return items.map { _ in (nil, nil) } }
        return try readTogether {
            try connection.registerTokenizer()
            try connection.execute(
                "CREATE VIRTUAL TABLE IF NOT EXISTS temp.passage USING \(Self.fts5)); DELETE FROM temp.passage")
            try index(items, in: "passage", atMost: Self.lookedAt)
            return try marked(query, count: items.count)
        }
    }

    /// Before a statement is under way that is to go on: a new table ends it (SQLITE_ABORT_ROLLBACK).
    func makeRoomForTexts() throws {
        // No one asks for places in it.
        try connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.candidate USING \(Self.columns), content='', \(SearchTables.tokenizer))"
        )
    }

    /// Which of some items have the words, by their place in the list, as the index would say it. Indexes them in memory, after
    /// `makeRoomForTexts`.
    func places(
        of match: String, amongTextsOf items: [ListedItem], atMost limit: Int
    ) throws -> [Int] {
        try connection.execute("INSERT INTO temp.candidate (candidate) VALUES ('delete-all')")
        try index(items, in: "candidate", atMost: limit, isFolded: true)
        return try connection.prepare("SELECT rowid FROM temp.candidate WHERE candidate MATCH ?").bind(match)
            .all { $0.int(0) }
    }

    private static let columns = "fts5(title, summary, content, transcription, tags, url"
    static let fts5 = columns + ", tokenize='folding'"

    /// Adds items to an index in memory, by their place in the list.
    ///
    /// - Parameters:
    ///   - limit: So many bytes of each text.
    ///   - isFolded: Its tokenizer does not fold.
    private func index(
        _ items: [ListedItem], in table: String, atMost limit: Int, isFolded: Bool = false
    ) throws {
        let (live, deleted) = (
            try connection.prepare(SearchableRow.ofID), try connection.prepare(SearchableRow.ofDeleted)
        )
        let insert = try connection.prepare(
            """
            INSERT INTO temp.\(table) (rowid, title, summary, content, transcription, tags, url)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """)
        for (number, item) in items.enumerated() {
            _ = try SearchableRow.read((item.deletion == nil ? live : deleted).bind(item.id)) {
                row throws in
                insert.bind(number)
                for text in row.words(atMost: limit) { insert.bind(isFolded ? SearchText.indexed(text) : text) }
                try insert.run()
            }
        }
    }

    private func marked(
        _ query: SearchQuery, count: Int
    ) throws -> [(title: Snippet?, text: Snippet?)] {
        var places: [(title: Snippet?, text: Snippet?)] = Array(repeating: (nil, nil), count: count)
        let marks = "'\(Snippet.beginMark)', '\(Snippet.endMark)'"
        // A text says more about the place than a tag or an address.
        let fields: [(name: String, column: String, number: Int)] = [
            ("text", "content", 2), ("transcription", "transcription", 3), ("summary", "summary", 1),
            ("tags", "tags", 4),
            ("url", "url", 5),
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
            guard places.indices.contains(row.int(0)) else { return }
            let title = row.text(1).flatMap { Snippet(field: "title", marked: $0) }
            let text = fields.enumerated().lazy.compactMap { index, field in
                row.text(Int32(index) + 2).flatMap { Snippet(field: field.name, marked: $0) }
            }.first
            places[row.int(0)] = (title, text)
        }
        return places
    }
}
