public import PRSNLCore

extension Store {
    /// Records that a sweep has come by everything: what it did not see may now be asked for one by one.
    public func finishSweep(at end: Timestamp) throws(UserFacingError) {
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

    /// Marks the beginning of a sweep in the coverage; the file hears of it with the next write.
    public func beginSweep(at start: Timestamp) {
        coverage.beginSweep(at: start)
        coverageIsNewer = true
        rejectedSeen = []
    }

    /// Gives up a sweep, because another one is to begin.
    public func abandonSweep() {
        guard coverage.sweepStart != nil else { return }
        coverage.endSweep()
        coverageIsNewer = true
    }

    /// Items that the last complete sweep did not see, and that are to be asked for by id now.
    ///
    /// - Parameter foundBefore: One that was found when it was asked for is asked for again only if that was before this
    ///   time: servers cache single items for half an hour.
    public func suspects(foundBefore: Timestamp, limit: Int = 1_000) throws(UserFacingError) -> [String] {
        try read { connection throws(SQLiteFailure) in
            let rows = try connection.prepare(
                """
                SELECT item.id FROM item, copy
                WHERE missing_since IS NOT NULL AND missing_since <= copy.swept_at
                    AND (found_at IS NULL OR found_at <= ?)
                ORDER BY item.created_at DESC LIMIT ?
                """
            ).bind(foundBefore).bind(limit)
            var ids: [String] = []
            while try rows.step() {
                if let id = rows.text(0) { ids.append(id) }
            }
            return ids
        }
    }

    /// How many suspects `suspects` would name without a limit.
    public func suspectCount(foundBefore: Timestamp) throws(UserFacingError) -> Int {
        try read { connection throws(SQLiteFailure) in
            let row = try connection.prepare(
                """
                SELECT count(*) FROM item, copy
                WHERE missing_since IS NOT NULL AND missing_since <= copy.swept_at
                    AND (found_at IS NULL OR found_at <= ?)
                """
            ).bind(foundBefore)
            return try row.step() ? row.int(0) : 0
        }
    }

    /// Since when a suspect waits to be asked for: `earliest` for one that never was, else when it was last found. `nil`
    /// where there is none, or where their number is held back.
    public func suspectsWaitSince() throws(UserFacingError) -> Timestamp? {
        try read { connection throws(SQLiteFailure) in
            try connection.text(
                """
                SELECT min(coalesce(found_at, '\(Timestamp.earliest)')) FROM item, copy
                WHERE missing_since IS NOT NULL AND missing_since <= copy.swept_at AND copy.deletions_held = 0
                """
            ).flatMap { Timestamp($0) }
        }
    }

    /// Notes that a suspect was found by its id. Found a second time, it is there, whatever the list says.
    public func noteFound(_ id: String, at now: Timestamp) throws(UserFacingError) {
        try write { connection throws(SQLiteFailure) in
            let cleared = try connection.prepare(
                "UPDATE item SET missing_since = NULL, found_at = NULL WHERE id = ? AND found_at IS NOT NULL"
            ).bind(id).run()
            guard cleared == 0 else { return }
            try connection.prepare("UPDATE item SET found_at = ?2 WHERE id = ?1 AND missing_since IS NOT NULL")
                .bind(id).bind(now).run()
        }
    }

    /// Turns suspects into tombstones. Only those that are still suspects: one may have come back in the meantime.
    ///
    /// - Parameter asOf: `deliveries` when they were asked for.
    public func bury(
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
            let written = meanwhile.writtenSince(asOf)
            for id in ids where !written.contains(id) {
                bury.reset()
                let buried = try bury.bind(id).bind(now).run()
                deltas.live -= buried
                deltas.deleted += buried
                record.deleted += buried
            }
            try deltas.save(connection)
            record = try Self.save(record, connection)
        }
        return record
    }

    /// Removes tombstones older than `limit`.
    public func purgeTombstones(deletedBefore limit: Timestamp) throws(UserFacingError) {
        let old = try read { connection throws(SQLiteFailure) in
            try connection.prepare("SELECT 1 FROM item WHERE deleted_at < ? LIMIT 1").bind(limit).step()
        }
        guard old else { return }
        try write { connection throws(SQLiteFailure) in
            var deltas = CounterDeltas()
            deltas.deleted -= try connection.prepare("DELETE FROM item WHERE deleted_at < ?").bind(limit).run()
            try deltas.save(connection)
        }
    }

    /// Remembers, for people, how many deletions wait for their word; 0 when none do.
    public func setDeletionsHeld(_ count: Int) throws(UserFacingError) {
        let known = try read { connection throws(SQLiteFailure) in
            try connection.integer("SELECT deletions_held FROM copy")
        }
        guard known != Int64(count) else { return }
        try write { connection throws(SQLiteFailure) in
            try connection.prepare("UPDATE copy SET deletions_held = ?").bind(count).run()
        }
    }

    /// Deletions that wait for a person's word.
    public func deletionsHeld() throws(UserFacingError) -> Int {
        try read { connection throws(SQLiteFailure) in
            Int(try connection.integer("SELECT deletions_held FROM copy"))
        }
    }

    /// The oldest item that the server is still working on, not older than `limit`: the head is read down to it.
    public func oldestPending(notBefore limit: Timestamp) throws(UserFacingError) -> Timestamp? {
        try read { connection throws(SQLiteFailure) in
            let row = try connection.prepare(
                "SELECT min(created_at) FROM item WHERE status = 'pending' AND created_at >= ? AND deleted_at IS NULL"
            ).bind(limit)
            return try row.step() ? row.timestamp(0) : nil
        }
    }

    public func liveCount() throws(UserFacingError) -> Int {
        try read { connection throws(SQLiteFailure) in Int(try connection.integer("SELECT live FROM copy")) }
    }
}
