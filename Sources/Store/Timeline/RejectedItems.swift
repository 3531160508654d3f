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
            .bind(rejected.id).bind(rejected.raw).step()
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
        let rows = try connection.prepare("SELECT item_id FROM rejected_item WHERE item_id IS NOT NULL")
        var ids: Set<ByteText> = []
        while try rows.step() {
            if let id = rows.text(0) { ids.insert(ByteText(id)) }
        }
        return ids
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
        let all = try connection.prepare("SELECT raw, item_id FROM rejected_item")
        var gone: [String] = []
        while try all.step() {
            guard let raw = all.text(0) else { continue }
            if !seen.contains(ByteText(all.text(1) ?? raw)) { gone.append(raw) }
        }
        return gone
    }
}
