package import PRSNLCore

// Dialects P and E have no cursor, so nothing is proven before the last page of a pass: the ids seen are collected in a
// temporary table, outside the file and outside memory, and compared at the end.
extension Store {
    package func beginPass() throws(UserFacingError) {
        rejectedSeen = []
        try read { connection throws(SQLiteFailure) in
            try connection.execute("CREATE TEMP TABLE IF NOT EXISTS seen (id TEXT PRIMARY KEY) WITHOUT ROWID")
            try connection.execute("DELETE FROM temp.seen")
        }
    }

    package func noteSeen(_ ids: [String]) throws(UserFacingError) {
        try read { connection throws(SQLiteFailure) in
            try connection.transaction { () throws(SQLiteFailure) in
                let insert = try connection.prepare("INSERT OR IGNORE INTO temp.seen (id) VALUES (?)")
                for id in ids { try insert.bind(id).run() }
            }
        }
    }

    /// Whether `finishPass` would change nothing but the time of reading.
    package func isAsSeen() throws(UserFacingError) -> Bool {
        try read { connection throws(SQLiteFailure) in
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
        try write { connection throws(SQLiteFailure) in
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
        coverageIsNewer = false
        rejectedSeen = nil
        return record
    }

    /// Whether a poll of the newest pages was begun and did not reach what was known: what lies between is only found by
    /// a pass.
    package func headIsOpen() throws(UserFacingError) -> Bool {
        try read { connection throws(SQLiteFailure) in
            try connection.integer("SELECT head_open FROM copy") == 1
        }
    }

    package func setHeadOpen(_ isOpen: Bool) throws(UserFacingError) {
        guard try headIsOpen() != isOpen else { return }
        try write { connection throws(SQLiteFailure) in
            try connection.execute("UPDATE copy SET head_open = \(isOpen ? 1 : 0)")
        }
    }

    /// A pass that found everything as it was: the coverage is newer, in memory.
    package func notePassUnchanged(startedAt start: Timestamp) {
        noteUnchanged([
            PageChange(items: [], coverage: Coverage.Interval(from: .earliest, to: .latest, readAt: start))
        ])
    }
}
