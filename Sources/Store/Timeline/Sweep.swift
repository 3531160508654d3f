package import PRSNLCore

extension Store {
    /// Records that a sweep has come by everything: what it did not see may now be asked for one by one.
    package func finishSweep(at end: Timestamp) throws(UserFacingError) {
        var next = coverage
        next.endSweep()
        try write { connection throws(SQLiteFailure) in
            try Self.save(next, connection)
            try connection.prepare("UPDATE copy SET swept_at = ?").bind(end).run()
            try forgetUnseenRejected(connection)
        }
        coverage = next
        coverageIsNewer = false
        rejectedSeen = nil
    }

    /// Marks the beginning of a sweep in the coverage. The next write puts it into the file.
    package func beginSweep(at start: Timestamp) {
        coverage.beginSweep(at: start)
        coverageIsNewer = true
        rejectedSeen = []
    }

    /// Gives up a sweep, because another one is to begin.
    package func abandonSweep() {
        guard coverage.sweepStart != nil else { return }
        coverage.endSweep()
        coverageIsNewer = true
    }

    /// Notes that a deletion candidate was found by its id. Found a second time, later than a cache answers, it is no deletion candidate any more.
    package func noteFound(_ id: String, at now: Timestamp, cacheTime: Duration) throws(UserFacingError) {
        try write { connection throws(SQLiteFailure) in
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
        try write { connection throws(SQLiteFailure) in
            let bury = try connection.prepare(
                """
                UPDATE item SET deleted_at = ?2, missing_since = NULL, found_at = NULL
                WHERE id = ?1 AND missing_since IS NOT NULL AND deleted_at IS NULL
                """)
            var deltas = CounterDeltas()
            let written = inFlight.writtenSince(asOf)
            for id in ids where written[ByteText(id)] == nil {
                let buried = try bury.bind(id).bind(now).run()
                if buried > 0 { try Self.releaseEdits(of: id, connection, now: now) }
                deltas.live -= buried
                deltas.deleted += buried
                record.deleted += buried
            }
            try deltas.save(connection)
            record = try Self.save(record, connection)
        }
        return record
    }

    /// Nothing will be processed any more of an item that is gone: the server's answer to the edits that await it decides.
    static func releaseEdits(of item: String, _ connection: Connection, now: Timestamp) throws(SQLiteFailure) {
        try connection.cached(
            """
            UPDATE outbox SET awaits_item = 0, next_attempt_at = ?2
            WHERE item_id = ?1 AND ended_at IS NULL AND awaits_item = 1 AND state = 'queued'
            """
        ).bind(item).bind(now).run()
    }

    /// Removes tombstones older than `limit`, but never the newest row: its number would be given to another item, which would
    /// then count as known (`KnownItems`).
    package func purgeTombstones(deletedBefore limit: Timestamp) throws(UserFacingError) {
        let isOld = "deleted_at < ? AND rowid < (SELECT max(rowid) FROM item)"
        let old = try read { connection throws(SQLiteFailure) in
            try connection.prepare("SELECT 1 FROM item WHERE \(isOld) LIMIT 1").bind(limit).hasRow()
        }
        guard old else { return }
        try write { connection throws(SQLiteFailure) in
            var deltas = CounterDeltas()
            for table in ["item_body", "text_problem"] {
                try connection.prepare(
                    "DELETE FROM \(table) WHERE item_id IN (SELECT id FROM item WHERE \(isOld))"
                ).bind(limit).run()
            }
            deltas.deleted -= try connection.prepare("DELETE FROM item WHERE \(isOld)").bind(limit).run()
            try deltas.save(connection)
        }
    }

    /// The oldest item that the server is still working on, not older than `limit`: the head is read down to it.
    package func oldestPending(notBefore limit: ServerTime) throws(UserFacingError) -> ServerTime? {
        try read { connection throws(SQLiteFailure) in
            try connection.prepare(
                "SELECT min(created_at) FROM item WHERE status = 'pending' AND created_at >= ? AND deleted_at IS NULL"
            ).bind(limit.written).first { $0.timestamp(0).map(ServerTime.init) }
        }
    }

    /// Live items and tombstones.
    package func rowCount() throws(UserFacingError) -> Int {
        try read { connection throws(SQLiteFailure) in Int(try connection.integer("SELECT live + deleted FROM copy")) }
    }

    package func liveCount() throws(UserFacingError) -> Int {
        try read { connection throws(SQLiteFailure) in Int(try connection.integer("SELECT live FROM copy")) }
    }
}
