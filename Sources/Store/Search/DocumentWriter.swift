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
