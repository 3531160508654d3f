package import PRSNLCore

// Items that could not be read, as they came.
extension Store {
    /// Items that the server has and that could not be read.
    package func rejectedCount() throws(UserFacingError) -> Int {
        try read { connection throws(SQLiteFailure) in
            Int(try connection.integer("SELECT count(*) FROM rejected_item"))
        }
    }

    /// By its id where there is one: the rest of its text may vary from answer to answer.
    static func isKnown(_ rejected: RejectedItem, _ connection: Connection) throws(SQLiteFailure) -> Bool {
        try connection.prepare("SELECT 1 FROM rejected_item WHERE item_id = ?1 OR (?1 IS NULL AND raw = ?2)")
            .bind(rejected.id).bind(rejected.raw).hasRow()
    }

    static func keep(
        _ rejected: [RejectedItem], healed: [TimelineItem], now: Timestamp, _ connection: Connection
    ) throws(SQLiteFailure) -> Int {
        var kept = 0
        for item in rejected where try isNews(item, connection) {
            kept += try connection.prepare(
                """
                INSERT INTO rejected_item (raw, item_id, reason, first_seen) VALUES (?, ?, ?, ?)
                ON CONFLICT (raw) DO NOTHING
                """
            ).bind(item.raw).bind(item.id).bind(item.reason).bind(now).run()
        }
        let known = try rejectedIDs(connection)
        for item in healed where known.contains(ByteText(item.id)) {
            try connection.prepare("DELETE FROM rejected_item WHERE item_id = ?").bind(item.id).run()
        }
        return kept
    }

    /// A server that sends only broken items must not fill the disk. With so many the copy is incomplete in any case.
    private static let mostRejected = 1_000

    /// Whether to keep it.
    static func isNews(_ rejected: RejectedItem, _ connection: Connection) throws(SQLiteFailure) -> Bool {
        if try isKnown(rejected, connection) { return false }
        return try connection.integer("SELECT count(*) FROM rejected_item") < mostRejected
    }

    static func rejectedIDs(_ connection: Connection) throws(SQLiteFailure) -> Set<ByteText> {
        Set(
            try connection.prepare("SELECT item_id FROM rejected_item WHERE item_id IS NOT NULL").all { row in
                row.text(0).map(ByteText.init)
            })
    }

    func noteRejected(_ pages: [PageChange]) {
        for item in pages.lazy.flatMap(\.rejected) { rejectedSeen?.insert(ByteText(item.id ?? item.raw)) }
    }

    /// Forgets rejected items that a whole read, from its beginning to its end by this process, did not see again.
    func forgetUnseenRejected(_ connection: Connection) throws(SQLiteFailure) {
        for raw in try unseenRejected(connection) {
            try connection.prepare("DELETE FROM rejected_item WHERE raw = ?").bind(raw).run()
        }
    }

    /// Their texts, none where this process did not see the beginning of the read.
    func unseenRejected(_ connection: Connection) throws(SQLiteFailure) -> [String] {
        guard let seen = rejectedSeen else { return [] }
        return try connection.prepare("SELECT raw, item_id FROM rejected_item").all { row in
            guard let raw = row.text(0), !seen.contains(ByteText(row.text(1) ?? raw)) else { return nil }
            return raw
        }
    }
}
