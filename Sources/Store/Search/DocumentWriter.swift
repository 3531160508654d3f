import Glibc
import PRSNLCore

/// Puts items into the full-text index, within one transaction: first those that have changed, then new ones.
final class DocumentWriter {
    private let connection: Connection
    private let document: Statement
    private let row: Statement
    private var through: Int64
    private var size = 0
    private var staleSize = 0
    /// The first piece of a long text is the last of its step: see `DocumentPiece`.
    private var hasLongText = false
    /// Parts of the index that pieces of long texts make: each has one.
    private(set) var parts = 0
    /// Bytes of a piece. Few once one took too long.
    private(set) var pieceSize: Int

    /// Of CPU. A piece of ordinary words takes some two milliseconds.
    private static let slowPiece: Duration = .milliseconds(10)

    /// The item of which only the beginnings are indexed, because its texts have ended the process.
    private let fatal: ByteText?

    /// Notes the item that comes next, in the order of `index`.
    static let noteAttempt = """
        UPDATE search_state SET (attempt, attempts) = (SELECT next.id, 1 + CASE WHEN next.id IS attempt THEN attempts ELSE 0 END
            FROM (SELECT coalesce((SELECT item_id FROM search_due ORDER BY item_id LIMIT 1),
                (SELECT item_id FROM search_document WHERE position IS NOT NULL ORDER BY docid LIMIT 1),
                (SELECT id FROM item WHERE item.rowid > through ORDER BY item.rowid LIMIT 1)) AS id) AS next)
        RETURNING attempt, attempts
        """

    init(
        _ connection: Connection, fatal: String?, pieceSize: Int
    ) throws(SQLiteFailure) {
        self.connection = connection
        self.pieceSize = pieceSize
        self.fatal = fatal.map(ByteText.init)
        document = try connection.cached("SELECT docid, tags, size, created_at FROM search_document WHERE item_id = ?")
        row = try connection.cached(SearchableRow.sql)
        through = try connection.integer("SELECT through FROM search_state")
    }

    /// Indexes some of what is due.
    ///
    /// - Parameters:
    ///   - limit: So many at the most.
    ///   - isEnough: Asked after each.
    func index(atMost limit: Int, isEnough: () -> Bool) throws(SQLiteFailure) {
        let changed = try ids(
            connection.cached("SELECT item_id, 0 FROM search_due ORDER BY item_id LIMIT ?").bind(limit))
        var done = 0
        for (id, _) in changed {
            try index(id)
            done += 1
            if hasLongText || isEnough() { break }
        }
        if done > 0 {
            try connection.cached("DELETE FROM search_due WHERE item_id <= ?").bind(changed[done - 1].id).run()
        }
        guard done == changed.count, done < limit, !(done > 0 && (hasLongText || isEnough())) else { return }
        if try goOn(isEnough) { return }
        let new = try ids(
            connection.cached("SELECT id, rowid FROM item WHERE rowid > ? ORDER BY rowid LIMIT ?").bind(Int(through))
                .bind(limit - done))
        for (id, rowid) in new {
            // It may have changed since it came, and be in the index already.
            if try !isIndexed(id) { try index(id) }
            through = rowid
            if hasLongText || isEnough() { break }
        }
    }

    private func ids(_ rows: Statement) throws(SQLiteFailure) -> [(id: String, rowid: Int64)] {
        try rows.all { (id: $0.text(0) ?? "", rowid: $0.int64(1)) }
    }

    private func isIndexed(_ id: String) throws(SQLiteFailure) -> Bool {
        try document.bind(id).hasRow()
    }

    private func index(_ id: String) throws(SQLiteFailure) {
        try remove(id)
        pieceSize = SearchableRow.longestPiece
        _ = try SearchableRow.read(row, id: id) { item throws(SQLiteFailure) in
            if ByteText(id) != fatal { CrashPoint.whileIndexing.reach() }
            let piece = ByteText(id) == fatal ? item.beginnings : item.piece(from: 0, atMost: pieceSize)
            try connection.cached(
                """
                INSERT INTO search_document (item_id, type, created_at, tags, size, position) VALUES (?, ?, ?, ?, ?, ?)
                """
            ).bind(id).bind(item.type).bind(item.createdAt).bind(item.tags).bind(item.size).bind(piece.next).run()
            let docid = connection.lastInsertedRow
            size += item.size
            try insert(piece, docid)
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
    private func goOn(_ isEnough: () -> Bool) throws(SQLiteFailure) -> Bool {
        let unfinished = try connection.cached(
            "SELECT docid, item_id, position FROM search_document WHERE position IS NOT NULL ORDER BY docid LIMIT 1"
        ).first { ($0.int64(0), $0.text(1), $0.int(2)) }
        guard case (let document, let id?, let position)? = unfinished else { return false }
        // An item that is not shown any more is due as well.
        let next = try SearchableRow.read(row, id: id) { item throws(SQLiteFailure) -> Int? in
            if ByteText(id) == fatal { return nil }
            var position = position
            while true {
                let piece = item.piece(from: position, atMost: pieceSize)
                let docid = try takeNumber()
                try insert(piece, docid)
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

    /// A number of `search_document` that no other document gets (https://sqlite.org/autoinc.html).
    private func takeNumber() throws(SQLiteFailure) -> Int64 {
        try connection.integer(
            "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'search_document' RETURNING seq")
    }

    private func note(_ piece: Int64, of document: Int64) throws(SQLiteFailure) {
        hasLongText = true
        parts += 1
        try connection.cached("INSERT INTO search_piece (docid, document) VALUES (?, ?)").bind(Int(piece))
            .bind(Int(document)).run()
    }

    private func insert(_ piece: DocumentPiece, _ docid: Int64) throws(SQLiteFailure) {
        let words = try connection.cached(
            """
            INSERT INTO search_index (rowid, title, summary, content, transcription, tags, url)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """
        ).bind(Int(docid))
        for text in piece.words { words.bind(SearchText.indexed(text)) }
        let began = TimeSource.clock(CLOCK_THREAD_CPUTIME_ID)
        try words.run()
        // Words that share a place in SQLite's table: what they cost grows with the square of the piece.
        if TimeSource.clock(CLOCK_THREAD_CPUTIME_ID) - began > Self.slowPiece {
            pieceSize = SearchableRow.shortestPiece
        }
    }

    private func remove(_ id: String) throws(SQLiteFailure) {
        try document.bind(id).rows { row throws(SQLiteFailure) in
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
    func finish(now: Timestamp) throws(SQLiteFailure) {
        try connection.cached(
            """
            UPDATE search_state SET through = ?, size = size + ?, stale_size = stale_size + ?, attempt = NULL, attempts = 0,
                as_of = CASE WHEN EXISTS (SELECT 1 FROM search_due)
                    OR EXISTS (SELECT 1 FROM search_document WHERE position IS NOT NULL)
                    OR ?1 < coalesce((SELECT max(rowid) FROM item), 0) THEN as_of ELSE ?4 END
            """
        ).bind(Int(through)).bind(size).bind(staleSize).bind(now).run()
    }
}

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
