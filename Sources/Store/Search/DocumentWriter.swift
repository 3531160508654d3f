import Glibc
import PRSNLCore

/// Puts items into the full-text index, within one transaction: those that have changed, else the next pieces of a long text, else
/// new items.
final class DocumentWriter {
    private let connection: Connection
    private let row: Statement
    private var through: Int
    private var size = 0
    private var staleSize = 0
    /// Parts of the index that pieces of long texts make: each has one.
    private(set) var parts = 0
    /// Bytes of a piece. Few once one took too long.
    private(set) var pieceSize: Int

    /// Of CPU. A piece of ordinary words takes some two milliseconds.
    private static let slowPiece: Duration = .milliseconds(10)
    /// Items that one step can have.
    private static let most = 1_024

    /// Begins an index: from now on, triggers note what changes. SQLite keeps a step's words in memory until its end, and makes
    /// one part of them: with the 1 MiB that it has by default, there were four to be merged.
    static let begin = """
        INSERT INTO search_index (search_index, rank) VALUES ('hashsize', \(8 << 20));
        INSERT INTO search_state (id) SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM search_state);
        UPDATE search_state SET through = 0;
        INSERT INTO search_due SELECT -entry_id FROM local_item;
        """

    init(_ connection: Connection, pieceSize: Int) throws {
        self.connection = connection
        self.pieceSize = pieceSize
        row = try connection.cached(SearchableRow.ofRow)
        through = Int(try connection.integer("SELECT through FROM search_state"))
    }

    /// Indexes some of what is due.
    ///
    /// - Parameter isEnough: Asked after each.
    func index(until isEnough: () -> Bool) throws {
        let due = try connection.cached("SELECT row FROM search_due ORDER BY row LIMIT \(Self.most)")
        let changed = try due.all { $0.int(0) }
        if changed.isEmpty, try goOn(isEnough) { return }
        let new = "SELECT rowid FROM item WHERE rowid > ? ORDER BY rowid LIMIT \(Self.most)"
        var last: Int?
        for row in try changed.isEmpty ? connection.cached(new).bind(through).all({ $0.int(0) }) : changed {
            try index(row)
            last = row
            // The first piece of a long text is the last of its step: see `SearchableRow.piece`.
            if parts > 0 || isEnough() { break }
        }
        if changed.isEmpty {
            through = last ?? through
        } else {
            try connection.cached("DELETE FROM search_due WHERE row <= ?").bind(last).run()
        }
    }

    private func index(_ number: Int) throws {
        try remove(number)
        pieceSize = SearchableRow.longestPiece
        _ = try SearchableRow.read(row.bind(number)) { item in
            let piece = item.piece(from: 0, atMost: pieceSize)
            try connection.cached(
                """
                INSERT INTO search_document (row, type, created_at, tags, size, position) VALUES (?, ?, ?, ?, ?, ?)
                """
            ).bind(number).bind(item.type).bind(item.createdAt).bind(item.tags).bind(item.size).bind(piece.next).run()
            let docid = connection.lastInsertedRow
            size += item.size
            try insert(piece.words, docid)
            if piece.next != nil { try note(docid, of: docid) }
            guard let tags = item.tags else { return }
            try connection.cached(
                "INSERT OR IGNORE INTO search_tag SELECT value, ?, ? FROM json_each(?) WHERE type = 'text'"
            ).bind(item.createdAt).bind(Int(docid)).bind(tags).run()
        }
    }

    // MARK: Long texts

    /// The next pieces of a text that was begun.
    ///
    /// - Returns: False where there is none.
    private func goOn(_ isEnough: () -> Bool) throws -> Bool {
        let unfinished = try connection.cached(
            "SELECT docid, row, position FROM search_document WHERE position IS NOT NULL ORDER BY docid LIMIT 1"
        ).first { ($0.int64(0), $0.int(1), $0.int(2)) }
        guard case (let document, let number, var position)? = unfinished else { return false }
        // An item that is not shown any more is due as well.
        let next = try SearchableRow.read(row.bind(number)) { item -> Int? in
            while true {
                let piece = item.piece(from: position, atMost: pieceSize)
                // A number of `search_document` that no other document gets (https://sqlite.org/autoinc.html).
                let docid = try connection.integer(
                    "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'search_document' RETURNING seq")
                try insert(piece.words, docid)
                try note(docid, of: document)
                guard let next = piece.next, !isEnough() else { return piece.next }
                position = next
                // With a savepoint, SQLite writes the words that it has in memory: the next piece finds its table empty.
                try connection.execute("SAVEPOINT piece; RELEASE piece")
            }
        }
        try connection.cached("UPDATE search_document SET position = ? WHERE docid = ?").bind(next ?? nil)
            .bind(Int(document)).run()
        return true
    }

    private func note(_ piece: Int64, of document: Int64) throws {
        parts += 1
        try connection.cached("INSERT INTO search_piece (docid, document) VALUES (?, ?)").bind(Int(piece))
            .bind(Int(document)).run()
    }

    private static let insertion = SearchTables.insertion(into: "search_index")

    private func insert(_ texts: [String?], _ docid: Int64) throws {
        let words = try connection.cached(Self.insertion).bind(Int(docid))
        for text in texts { words.bind(SearchText.indexed(text)) }
        let began = TimeSource.clock(CLOCK_THREAD_CPUTIME_ID)
        try words.run()
        // Words that share a place in SQLite's table: what they cost grows with the square of the piece.
        if TimeSource.clock(CLOCK_THREAD_CPUTIME_ID) - began > Self.slowPiece {
            pieceSize = SearchableRow.shortestPiece
        }
    }

    private func remove(_ number: Int) throws {
        let document = try connection.cached("SELECT docid, tags, size, created_at FROM search_document WHERE row = ?")
        try document.bind(number).rows { row in
            let docid = row.int(0)
            staleSize += row.int(2)
            if let tags = row.text(1) {
                try connection.cached(
                    """
                    DELETE FROM search_tag WHERE docid = ?1 AND created_at = ?2
                        AND tag IN (SELECT value FROM json_each(?3) WHERE type = 'text')
                    """
                ).bind(docid).bind(row.text(3)).bind(tags).run()
            }
            try connection.cached("DELETE FROM search_piece WHERE document = ?").bind(docid).run()
            try connection.cached("DELETE FROM search_document WHERE docid = ?").bind(docid).run()
        }
    }

    /// Writes down how far it has come.
    func finish(now: Timestamp) throws {
        try connection.cached(
            """
            UPDATE search_state SET through = ?, size = size + ?, stale_size = stale_size + ?,
                as_of = CASE WHEN EXISTS (SELECT 1 FROM search_due)
                    OR EXISTS (SELECT 1 FROM search_document WHERE position IS NOT NULL)
                    OR ?1 < coalesce((SELECT max(rowid) FROM item), 0) THEN as_of ELSE ?4 END
            """
        ).bind(through).bind(size).bind(staleSize).bind(now).run()
    }
}

/// What can be found of an item, as `timeline` and `item_text` show it.
///
/// Its long texts are SQLite's own, without a copy: they are there within `read`.
struct SearchableRow {
    /// Parameter 1: the number of the row in the index (`SearchTables`), or the id.
    static let ofRow = sql(ShownRow.join(row: "?1"))
    static let ofID = sql(ShownRow.join(id: "?1"))
    static let ofDeleted = sql(
        "LEFT JOIN item ON item.id = ?1 \(ShownRow.joinsOfDeleted)", isShown: "item.id IS NOT NULL")

    private static func sql(_ join: String, isShown: String = ShownRow.isShown) -> String {
        """
        SELECT \(ShownRow.createdAt), \(ShownRow.type),
            \(ShownRow.title), \(ShownRow.summary), coalesce(body.content, item.content, made.content, \(WrittenHere.content)), body.transcription,
            \(listedTags), \(ShownRow.url)
        FROM (SELECT 1) \(join) LEFT JOIN item_body AS body ON body.item_id = \(ShownRow.id)
        WHERE \(isShown)
        """
    }
    /// Longer tags than these are no words of a person, and each would be a row. Lists leave them out: many such take all memory.
    static let listedTags = "CASE WHEN length(\(ShownRow.tags)) <= \(16 << 10) THEN \(ShownRow.tags) END"

    var createdAt: String
    var type: String?
    /// `nil` for what is not a list of texts. That is no error: SQLite would refuse to take it apart.
    var tags: String?
    private var tagWords: String?
    /// One for each column of the index, without the tags.
    private var texts: [UnsafeBufferPointer<UInt8>?]
    private static let tagColumn = 4

    /// - Returns: `nil` where `timeline` does not show the item.
    static func read<Result>(
        _ statement: Statement, _ body: (SearchableRow) throws -> Result
    ) throws -> Result? {
        try statement.first { row in
            guard let createdAt = row.text(0) else { return nil }
            return try body(SearchableRow(row, createdAt))
        }
    }

    private init(_ statement: Statement, _ createdAt: String) {
        self.createdAt = createdAt
        type = statement.text(1)
        let tags = statement.text(6)
        tagWords = Tags.parse(tags)?.joined(separator: ", ")
        self.tags = tagWords == nil ? nil : tags
        texts = (0..<6).map { $0 == Self.tagColumn ? nil : statement.bytes(Int32($0 + 2)) }
    }

    /// Bytes of text.
    var size: Int { texts.reduce(tags?.utf8.count ?? 0) { $0 + ($1?.count ?? 0) } }

    /// The columns of the index, with the beginning of each text.
    func words(atMost limit: Int) -> [String?] {
        var words = texts.map { $0.map { String(decoding: $0.prefix(limit), as: UTF8.self) } }
        words[Self.tagColumn] = tagWords
        return words
    }

    /// Bytes of a piece, without tags. Most articles are shorter.
    static let longestPiece = 32 << 10, shortestPiece = 2 << 10
    /// What a piece has of the one before it, so that words that belong together are found together.
    private static let overlap = 512
    /// Words up to this length are not cut.
    private static let longestWord = 64
    /// For less, no column is begun.
    private static let shortestRest = 2 * overlap

    /// What is indexed at once.
    ///
    /// SQLite keeps the words of a document in memory until it has all of them, with 128 bytes for each different one, and compares
    /// those that share a place in its table. So 8 MiB of different words take 300 MiB and 11 s. Of words that were chosen for it,
    /// 32 KiB take 30 ms, and 2 KiB a 250th of that: a text of which one piece was slow goes on in short ones.
    ///
    /// - Parameter position: in all texts, as if they were one.
    /// - Returns: The columns of the index, and where the next piece begins; `nil` for the last.
    func piece(from position: Int, atMost size: Int) -> (words: [String?], next: Int?) {
        var words = [String?](repeating: nil, count: texts.count)
        var room = size
        var start = 0
        if position == 0 { words[Self.tagColumn] = tagWords }
        for (column, text) in texts.enumerated() {
            guard let text else { continue }
            defer { start += text.count }
            let from = max(0, position - start)
            guard from < text.count else { continue }
            guard room >= Self.shortestRest else { return (words, start) }
            let end = text.count - from <= room ? text.count : Self.boundary(in: text, before: from + room)
            words[column] = String(decoding: text[from..<end], as: UTF8.self)
            guard end == text.count else {
                return (words, start + Self.boundary(in: text, before: end - min(Self.overlap, size / 8)))
            }
            room -= end - from
        }
        return (words, nil)
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
