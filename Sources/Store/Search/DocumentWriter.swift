import PRSNLCore

/// Puts items into the index of words, within one transaction: first those that have changed, then new ones.
final class DocumentWriter {
    private let connection: Connection
    private let document: Statement
    private let row: Statement
    private var through: Int64
    private var size = 0
    private var staleSize = 0

    init(_ connection: Connection) throws(SQLiteFailure) {
        self.connection = connection
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
            if isEnough() { break }
        }
        if done > 0 {
            try connection.cached("DELETE FROM search_due WHERE item_id <= ?").bind(changed[done - 1].id).run()
        }
        guard done == changed.count, done < limit, !(done > 0 && isEnough()) else { return }
        let new = try ids(
            connection.cached("SELECT id, rowid FROM item WHERE rowid > ? ORDER BY rowid LIMIT ?").bind(Int(through))
                .bind(limit - done))
        for (id, rowid) in new {
            // It may have changed since it came, and be in the index already.
            if try !isIndexed(id) { try index(id) }
            through = rowid
            if isEnough() { break }
        }
    }

    private func ids(_ rows: Statement) throws(SQLiteFailure) -> [(id: String, rowid: Int64)] {
        defer { rows.reset() }
        var found: [(id: String, rowid: Int64)] = []
        while try rows.step() { found.append((rows.text(0) ?? "", rows.int64(1))) }
        return found
    }

    private func isIndexed(_ id: String) throws(SQLiteFailure) -> Bool {
        defer { document.reset() }
        return try document.reset().bind(id).step()
    }

    private func index(_ id: String) throws(SQLiteFailure) {
        try remove(id)
        guard let item = try SearchableRow(row, id: id) else { return }
        // What is no list of texts is no error here: SQLite would refuse to take it apart.
        let tags = Tags.parse(item.tags) == nil ? nil : item.tags
        try connection.cached(
            "INSERT INTO search_document (item_id, type, created_at, tags, size) VALUES (?, ?, ?, ?, ?)"
        ).bind(id).bind(item.type).bind(item.createdAt).bind(tags).bind(item.size).run()
        let docid = connection.lastInsertedRow
        size += item.size
        try insertWords(of: item, docid)
        guard let tags else { return }
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
