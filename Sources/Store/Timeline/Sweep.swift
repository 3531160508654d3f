package import PRSNLCore

extension Store {
    /// Records that a sweep has come by everything: what it did not see may now be asked for one by one.
    package func finishSweep(at end: Timestamp) throws(UserFacingError) {
        var next = coverage
        next.endSweep()
        try write { connection in
            try Self.save(next, connection)
            try connection.prepare("UPDATE copy SET swept_at = ?").bind(end).run()
            try forgetUnseenRejected(connection)
        }
        coverage = next
        savedCoverage = next
        rejectedSeen = nil
    }

    /// Marks the beginning of a sweep in the coverage. The next write puts it into the file.
    package func beginSweep(at start: Timestamp) {
        coverage.beginSweep(at: start)
        rejectedSeen = []
    }

    /// Gives up a sweep, because another one is to begin.
    package func abandonSweep() {
        if coverage.sweepStart != nil { coverage.endSweep() }
    }

    /// Notes that a deletion candidate was found by its id. Found a second time, later than a cache answers, it is no deletion candidate any more.
    package func noteFound(_ id: String, at now: Timestamp, cacheTime: Duration) throws(UserFacingError) {
        try write { connection in
            let cleared = try connection.prepare(
                "UPDATE item SET missing_since = NULL, found_at = NULL WHERE id = ? AND found_at <= ?"
            ).bind(id).bind(now.advanced(by: .zero - cacheTime)).run()
            guard cleared == 0 else { return }
            try connection.prepare("UPDATE item SET found_at = ?2 WHERE id = ?1 AND missing_since IS NOT NULL")
                .bind(id).bind(now).run()
        }
    }

    /// Turns deletion candidates into tombstones. Only those that are still deletion candidates: one may have come back in the meantime.
    ///
    /// - Parameter asOf: `deliveries` when they were asked for.
    package func deleteMissing(
        _ ids: [String], at now: Timestamp, record: PullRecord, asOf: Int = .max
    ) throws(UserFacingError) -> PullRecord {
        var record = record
        try write { connection in
            let tombstone = try connection.prepare(
                """
                UPDATE item SET deleted_at = ?2, missing_since = NULL, found_at = NULL
                WHERE id = ?1 AND missing_since IS NOT NULL AND deleted_at IS NULL
                """)
            var deltas = CounterDeltas()
            var writer = self.writer(connection, now: now)
            let written = inFlight.writtenSince(asOf)
            var deleted: [String] = []
            for id in ids where written[ByteText(id)] == nil {
                guard try tombstone.bind(id).bind(now).run() > 0 else { continue }
                try writer.releaseEdits(of: id)
                deleted.append(id)
            }
            try Self.noteGone(deleted, at: now, connection)
            deltas.live -= deleted.count
            deltas.deleted += deleted.count
            record.deleted += deleted.count
            try deltas.save(connection)
            record = try Self.save(record, connection)
        }
        return record
    }

    /// The same of an item that was made here, delivered, and never seen in a pull: what was written here becomes its tombstone.
    package func deleteCreation(_ id: String, at now: Timestamp) throws(UserFacingError) {
        try write { connection in
            var deltas = CounterDeltas()
            deltas.deleted += try connection.prepare(
                """
                INSERT INTO item (id, created_at, type, title, url, tags, deleted_at)
                SELECT id, created_at, type, title, url, tags, ?2 FROM local_item WHERE id = ?1 AND delivered_at IS NOT NULL
                ON CONFLICT DO NOTHING
                """
            ).bind(id).bind(now).run()
            // Where the item has a row, this keeps its text (`WrittenHere`).
            try connection.prepare("DELETE FROM local_item WHERE id = ? AND delivered_at IS NOT NULL").bind(id).run()
            var writer = self.writer(connection, now: now)
            try writer.releaseEdits(of: id)
            try Self.noteGone([id], at: now, connection)
            try deltas.save(connection)
        }
    }

    package func purgeFormerTexts(replacedBefore limit: Timestamp) throws(UserFacingError) {
        guard try hasRow("SELECT 1 FROM former_text WHERE replaced_at < ? LIMIT 1", limit) else { return }
        try run("DELETE FROM former_text WHERE replaced_at < ?", limit)
    }

    /// Removes tombstones older than `limit`, but never the newest row: its number would be given to another item, which would
    /// then count as known (`Schema.knownItems`).
    package func purgeTombstones(deletedBefore limit: Timestamp) throws(UserFacingError) {
        let isOld = "deleted_at < ? AND rowid < (SELECT max(rowid) FROM item)"
        guard try hasRow("SELECT 1 FROM item WHERE \(isOld) LIMIT 1", limit) else { return }
        try write { connection in
            var deltas = CounterDeltas()
            for table in ["item_body", "text_problem", "held_item"] {
                try connection.prepare(
                    "DELETE FROM \(table) WHERE item_id IN (SELECT id FROM item WHERE \(isOld))"
                ).bind(limit).run()
            }
            deltas.deleted -= try connection.prepare("DELETE FROM item WHERE \(isOld)").bind(limit).run()
            try deltas.save(connection)
        }
    }

    /// When items were created that the server was still working on when they were read, from one time up to another. Some of
    /// them, if they are many.
    package func pending(
        from: ServerTime, before: ServerTime = ServerTime(.latest)
    ) throws(UserFacingError) -> [ServerTime] {
        try read { connection in
            try connection.prepare(
                """
                SELECT created_at FROM item
                WHERE status = 'pending' AND created_at >= ? AND created_at < ? AND deleted_at IS NULL
                ORDER BY created_at DESC LIMIT 1000
                """
            ).bind(from.written).bind(before.written).all { $0.timestamp(0).map(ServerTime.init) }
        }
    }

    /// Live items and tombstones.
    package func rowCount() throws(UserFacingError) -> Int {
        try integer("SELECT live + deleted FROM copy")
    }

    package func liveCount(in intervals: [ClosedRange<Timestamp>]) throws(UserFacingError) -> Int {
        try read { connection in
            let count = try connection.cached(
                "SELECT count(*) FROM item WHERE created_at BETWEEN ? AND ? AND deleted_at IS NULL")
            return try intervals.reduce(0) { sum, interval in
                sum + (try count.bind(interval.lowerBound).bind(interval.upperBound).first { $0.int(0) } ?? 0)
            }
        }
    }

    package func liveCount() throws(UserFacingError) -> Int {
        try integer("SELECT live FROM copy")
    }
}

// Dialects P and E have no cursor, so nothing is proven before the last page of a pass: the ids seen are collected in a
// temporary table, outside the file and outside memory, and compared at the end.
extension Store {
    /// - Parameter goesOn: An earlier process has read all that is live in the copy.
    package func beginPass(goesOn: Bool = false) throws(UserFacingError) {
        rejectedSeen = goesOn ? nil : []
        try read { connection in
            try connection.execute("CREATE TEMP TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY) WITHOUT ROWID")
            try connection.execute("DELETE FROM temp.seen")
            guard goesOn else { return }
            try connection.execute("INSERT INTO temp.seen SELECT id FROM item WHERE deleted_at IS NULL")
        }
    }

    package func noteSeen(_ ids: [String]) throws(UserFacingError) {
        try read { connection in
            try connection.transaction {
                let insert = try connection.prepare("INSERT OR IGNORE INTO temp.seen (id) VALUES (?)")
                for id in ids { try insert.bind(id).run() }
            }
        }
    }

    /// Whether `finishPass` would change nothing but the time of reading.
    package func isAsSeen() throws(UserFacingError) -> Bool {
        try read { connection in
            guard try unseenRejected(connection).isEmpty else { return false }
            return try connection.integer(
                """
                SELECT (SELECT head_open FROM copy) = 0 AND NOT EXISTS (SELECT 1 FROM item
                    WHERE deleted_at IS NULL AND missing_since IS NULL AND id NOT IN (SELECT id FROM temp.seen))
                """) == 1
        }
    }

    /// Ends a pass whose pages fit together: what it did not see is suspected, and all of the timeline is covered.
    ///
    /// - Parameters:
    ///   - start: When the pass began.
    ///   - asOf: `deliveries` then.
    package func finishPass(
        startedAt start: Timestamp, at end: Timestamp, record: PullRecord, asOf: Int = .max
    ) throws(UserFacingError) -> PullRecord {
        var record = record
        var next = Coverage()
        next.insert(Coverage.Interval(from: .earliest, to: .latest, readAt: start))
        // What was written while the pass ran may have come too late for its page.
        try noteSeen(inFlight.writtenSince(asOf).keys.map(\.text))
        try write { connection in
            record.suspects += try connection.prepare(
                """
                UPDATE item SET missing_since = ?
                WHERE deleted_at IS NULL AND missing_since IS NULL AND id NOT IN (SELECT id FROM temp.seen)
                """
            ).bind(end).run()
            try Self.save(next, connection)
            try connection.prepare("UPDATE copy SET swept_at = ?, head_open = 0").bind(end).run()
            try forgetUnseenRejected(connection)
            record = try Self.save(record, connection)
        }
        coverage = next
        savedCoverage = next
        rejectedSeen = nil
        return record
    }

    /// Whether a poll of the newest pages was begun and did not reach what was known: what lies between is only found by
    /// a pass.
    package func headIsOpen() throws(UserFacingError) -> Bool {
        try integer("SELECT head_open FROM copy") == 1
    }

    package func setHeadOpen(_ isOpen: Bool) throws(UserFacingError) {
        guard try headIsOpen() != isOpen else { return }
        try run("UPDATE copy SET head_open = \(isOpen ? 1 : 0)")
    }
}

// Items that could not be read, as they came.
extension Store {
    package func rejectedCount() throws(UserFacingError) -> Int {
        try integer("SELECT count(*) FROM rejected_item")
    }

    static func keep(
        _ rejected: [RejectedItem], healed: [TimelineItem], now: Timestamp, _ connection: Connection
    ) throws -> Int {
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
        if known.isEmpty { return kept }
        for item in healed where known.contains(ByteText(item.id)) {
            try connection.prepare("DELETE FROM rejected_item WHERE item_id = ?").bind(item.id).run()
        }
        return kept
    }

    /// A server that sends only broken items must not fill the disk. With so many the copy is incomplete in any case.
    private static let mostRejected = 1_000

    /// Whether to keep it. It is known by its id where there is one: the rest of its text may vary from answer to answer.
    static func isNews(_ rejected: RejectedItem, _ connection: Connection) throws -> Bool {
        let known = try connection.prepare(
            "SELECT 1 FROM rejected_item WHERE item_id = ?1 OR (?1 IS NULL AND raw = ?2)")
        if try known.bind(rejected.id).bind(rejected.raw).hasRow() { return false }
        return try connection.integer("SELECT count(*) FROM rejected_item") < mostRejected
    }

    static func rejectedIDs(_ connection: Connection) throws -> Set<ByteText> {
        let ids = try connection.prepare("SELECT item_id FROM rejected_item WHERE item_id IS NOT NULL")
        return Set(try ids.all { $0.text(0).map(ByteText.init) })
    }

    func noteRejected(_ pages: [PageChange]) {
        for item in pages.lazy.flatMap(\.rejected) { rejectedSeen?.insert(ByteText(item.id ?? item.raw)) }
    }

    /// Forgets rejected items that a whole read, from its beginning to its end by this process, did not see again.
    func forgetUnseenRejected(_ connection: Connection) throws {
        for raw in try unseenRejected(connection) {
            try connection.prepare("DELETE FROM rejected_item WHERE raw = ?").bind(raw).run()
        }
    }

    /// Their texts, none where this process did not see the beginning of the read.
    func unseenRejected(_ connection: Connection) throws -> [String] {
        guard let seen = rejectedSeen else { return [] }
        return try connection.prepare("SELECT raw, item_id FROM rejected_item").all { row in
            guard let raw = row.text(0), !seen.contains(ByteText(row.text(1) ?? raw)) else { return nil }
            return raw
        }
    }
}
