import PRSNLCore

/// What can be found of an item, as `timeline` and `item_text` show it.
///
/// Its long texts are SQLite's own, without a copy: they are there within `read`.
struct SearchableRow {
    /// Parameter 1: the id. Longer tags than these are no words of a person, and each would be a row.
    static let sql = """
        SELECT \(ShownRow.createdAt), \(ShownRow.type),
            CASE WHEN length(\(ShownRow.tags)) <= \(longestTags) THEN \(ShownRow.tags) END,
            \(ShownRow.title), \(ShownRow.summary), coalesce(body.content, item.content, made.content), body.transcription,
            \(ShownRow.url)
        FROM (SELECT 1) \(ShownRow.join("?1")) LEFT JOIN item_body AS body ON body.item_id = ?1
        WHERE \(ShownRow.isShown)
        """
    static let longestTags = 16 << 10

    var createdAt: String
    var type: String?
    /// `nil` for what is not a list of texts. That is no error: SQLite would refuse to take it apart.
    var tags: String?
    private var tagWords: String?
    /// Of the columns `Self.columns`.
    private var texts: [UnsafeBufferPointer<UInt8>?]

    /// The column of the index that each text belongs to.
    private static let columns = [0, 1, 2, 3, 5]
    private static let tagColumn = 4

    /// - Returns: `nil` where `timeline` does not show the item.
    static func read<Result>(
        _ statement: Statement, id: String, _ body: (SearchableRow) throws(SQLiteFailure) -> Result
    ) throws(SQLiteFailure) -> Result? {
        try statement.bind(id).first { row throws(SQLiteFailure) in
            guard let createdAt = row.text(0) else { return nil }
            return try body(SearchableRow(row, createdAt))
        }
    }

    private init(_ statement: Statement, _ createdAt: String) {
        self.createdAt = createdAt
        type = statement.text(1)
        tagWords = Tags.parse(statement.text(2))?.joined(separator: ", ")
        tags = tagWords == nil ? nil : statement.text(2)
        texts = (3...7).map { statement.bytes($0) }
    }

    /// Bytes of text.
    var size: Int { texts.reduce(tags?.utf8.count ?? 0) { $0 + ($1?.count ?? 0) } }

    /// The columns of the index, with the beginning of each text.
    func words(atMost limit: Int) -> [String?] {
        var words: [String?] = Array(repeating: nil, count: 6)
        words[Self.tagColumn] = tagWords
        for (text, column) in zip(texts, Self.columns) {
            words[column] = text.map { String(decoding: $0.prefix(limit), as: UTF8.self) }
        }
        return words
    }
}

// MARK: Pieces

/// What is indexed at once.
///
/// SQLite keeps the words of a document in memory until it has all of them, with 128 bytes for each different one, and compares
/// those that share a place in its table. So 8 MiB of different words take 300 MiB and 11 s. Of words that were chosen for it, 32 KiB
/// take 30 ms, and 2 KiB a 250th of that: a text of which one piece was slow goes on in short ones.
struct DocumentPiece {
    /// The columns of the index.
    var words: [String?] = Array(repeating: nil, count: 6)
    /// Where the next one begins; `nil` for the last.
    var next: Int?
}

extension SearchableRow {
    /// Bytes of a piece, without tags. Most articles are shorter.
    static let longestPiece = 32 << 10, shortestPiece = 2 << 10
    /// What a piece has of the one before it, so that words that belong together are found together.
    private static let overlap = 512
    /// Of each text, where a piece of it has ended the process.
    var beginnings: DocumentPiece { DocumentPiece(words: words(atMost: 256)) }

    /// Words up to this length are not cut.
    private static let longestWord = 64
    /// For less, no column is begun.
    private static let shortestRest = 2 * overlap

    /// - Parameter position: in all texts, as if they were one.
    func piece(from position: Int, atMost size: Int) -> DocumentPiece {
        var piece = DocumentPiece()
        var room = size
        var start = 0
        if position == 0 { piece.words[Self.tagColumn] = tagWords }
        for (text, column) in zip(texts, Self.columns) {
            guard let text else { continue }
            defer { start += text.count }
            let from = max(0, position - start)
            guard from < text.count else { continue }
            guard room >= Self.shortestRest else {
                piece.next = start
                return piece
            }
            let end = text.count - from <= room ? text.count : Self.boundary(in: text, before: from + room)
            piece.words[column] = String(decoding: text[from..<end], as: UTF8.self)
            guard end == text.count else {
                piece.next = start + Self.boundary(in: text, before: end - min(Self.overlap, size / 8))
                return piece
            }
            room -= end - from
        }
        return piece
    }

    /// Where a word ends, or at least a character.
    private static func boundary(in text: UnsafeBufferPointer<UInt8>, before end: Int) -> Int {
        for place in stride(from: end, to: end - longestWord, by: -1) where SearchText.isSeparator(text[place - 1]) {
            return place
        }
        var place = end
        while place > end - 3, text[place] & 0xC0 == 0x80 { place -= 1 }
        return place
    }
}
