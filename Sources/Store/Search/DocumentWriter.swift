import PRSNLCore

/// Puts items into the index of words, within one transaction: first those that have changed, then new ones.
final class DocumentWriter {
    private let connection: Connection
    private let nextDue: Statement
    private let nextNew: Statement
    private let document: Statement
    private let row: Statement
    private var through: Int64
    private var size = 0
    private var staleSize = 0

    init(_ connection: Connection) throws(SQLiteFailure) {
        self.connection = connection
        nextDue = try connection.cached("SELECT item_id FROM search_due LIMIT 1")
        nextNew = try connection.cached("SELECT rowid, id FROM item WHERE rowid > ? ORDER BY rowid LIMIT 1")
        document = try connection.cached("SELECT docid, tags, size, created_at FROM search_document WHERE item_id = ?")
        row = try connection.cached(SearchableRow.sql)
        through = try connection.integer("SELECT through FROM search_state")
    }

    /// - Returns: False where nothing is due any more.
    func indexNext() throws(SQLiteFailure) -> Bool {
        if let id = try first(nextDue.reset(), column: 0) {
            try index(id)
            try connection.cached("DELETE FROM search_due WHERE item_id = ?").bind(id).run()
            return true
        }
        defer { nextNew.reset() }
        guard try nextNew.reset().bind(Int(through)).step() else { return false }
        through = nextNew.int64(0)
        // It may have changed since it came, and be in the index already.
        if let id = nextNew.text(1), try first(document.reset().bind(id), column: 0) == nil { try index(id) }
        return true
    }

    private func first(_ rows: Statement, column: Int32) throws(SQLiteFailure) -> String? {
        defer { rows.reset() }
        return try rows.step() ? rows.text(column) : nil
    }

    private func index(_ id: String) throws(SQLiteFailure) {
        try remove(id)
        guard let item = try SearchableRow(row, id: id) else { return }
        try connection.cached(
            "INSERT INTO search_document (item_id, type, created_at, tags, size) VALUES (?, ?, ?, ?, ?)"
        ).bind(id).bind(item.type).bind(item.createdAt).bind(item.tags).bind(item.size).run()
        let docid = connection.lastInsertedRow
        size += item.size
        try insertWords(of: item, docid)
        guard let tags = item.tags else { return }
        try connection.cached(
            "INSERT OR IGNORE INTO search_tag SELECT value, ?, ? FROM json_each(?) WHERE type = 'text'"
        ).bind(item.createdAt).bind(Int(docid)).bind(tags).run()
    }

    private func insertWords(of item: SearchableRow, _ docid: Int64) throws(SQLiteFailure) {
        let texts = item.words.map(SearchText.indexed)
        let words = try connection.cached(
            """
            INSERT INTO search_index (rowid, title, summary, content, transcription, tags, url)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """
        ).bind(Int(docid)).bind(texts[0]).bind(texts[1])
        // Long texts are not copied.
        try words.borrowing(texts[2]) { words throws(SQLiteFailure) in
            try words.borrowing(texts[3]) { words throws(SQLiteFailure) in
                _ = try words.bind(texts[4]).bind(texts[5]).run()
            }
        }
    }

    private func remove(_ id: String) throws(SQLiteFailure) {
        defer { document.reset() }
        guard try document.reset().bind(id).step() else { return }
        let docid = document.int(0)
        staleSize += document.int(2)
        if let tags = document.text(1) {
            try connection.cached(
                """
                DELETE FROM search_tag WHERE docid = ?1 AND created_at = ?2
                    AND tag IN (SELECT value FROM json_each(?3) WHERE type = 'text')
                """
            ).bind(docid).bind(document.text(3)).bind(tags).run()
        }
        try connection.cached("DELETE FROM search_document WHERE docid = ?").bind(docid).run()
    }

    /// Writes down how far it has come.
    func finish(now: Timestamp) throws(SQLiteFailure) {
        try connection.cached(
            """
            UPDATE search_state SET through = ?, size = size + ?, stale_size = stale_size + ?,
                as_of = CASE WHEN EXISTS (SELECT 1 FROM search_due)
                    OR ?1 < coalesce((SELECT max(rowid) FROM item), 0) THEN as_of ELSE ?4 END
            """
        ).bind(Int(through)).bind(size).bind(staleSize).bind(now).run()
    }
}
