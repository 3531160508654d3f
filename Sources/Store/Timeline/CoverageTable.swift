package import PRSNLCore

// What the copy holds, and as of when: in memory, and in the file.
extension Store {
    /// Call when the clock may have been set back: see `Coverage.distrust`. Times that lie after `now` are taken out of
    /// the file at once, so that no reader sees them. In dialect C, nothing counts as covered beyond it. What the clock before it
    /// had put off until a later time is due then.
    ///
    /// - Returns: Whether the file had such times.
    @discardableResult
    package func distrust(timesAfter now: Timestamp) throws(UserFacingError) -> Bool {
        var isWrong = coverage.distrust(readsAfter: now)
        if binding.dialect == .cursor, coverage.clip(to: now) { isWrong = true }
        if isWrong { coverageIsNewer = true }
        let isAhead = try read { connection throws(SQLiteFailure) in
            try connection.cached(
                """
                SELECT 1 FROM copy WHERE max(coalesce(new_as_of, ''), coalesce(swept_at, '')) > ?1
                UNION ALL SELECT 1 FROM item WHERE missing_since > ?1
                UNION ALL SELECT 1 FROM item WHERE missing_since IS NOT NULL AND found_at > ?1
                UNION ALL SELECT 1 FROM local_item WHERE delivered_at > ?1 LIMIT 1
                """
            ).bind(now).hasRow()
        }
        guard isWrong || isAhead else { return false }
        try write { connection throws(SQLiteFailure) in
            try connection.prepare("UPDATE copy SET new_as_of = NULL WHERE new_as_of > ?").bind(now).run()
            try Self.save(coverage, connection)
            // What a sweep has missed stays older than the sweep.
            try connection.prepare(
                """
                UPDATE item SET missing_since = iif(missing_since > (SELECT swept_at FROM copy), ?1, ?2)
                WHERE missing_since > ?1
                """
            ).bind(now).bind(now.previous).run()
            try connection.prepare(
                "UPDATE item SET found_at = ?1 WHERE missing_since IS NOT NULL AND found_at > ?1"
            ).bind(now).run()
            for (table, column) in [
                ("copy", "swept_at"), ("copy", "suspects_sampled_at"), ("text_problem", "next_at"),
                ("unanswered_suspect", "next_at"), ("local_item", "delivered_at"),
            ] {
                try connection.prepare("UPDATE \(table) SET \(column) = ?1 WHERE \(column) > ?2").bind(now.previous)
                    .bind(now).run()
            }
        }
        coverageIsNewer = false
        return true
    }

    /// Writes the coverage if only memory knows it.
    package func saveCoverage() throws(UserFacingError) {
        guard coverageIsNewer else { return }
        try write { connection throws(SQLiteFailure) in try Self.save(coverage, connection) }
        coverageIsNewer = false
    }

    /// Saves T1: new items are complete as of `time`. Called when something is written anyway, and before stopping. In
    /// between the engine keeps it in memory, so that a poll without news writes nothing. It may go back with the clock.
    ///
    /// - Parameter ahead: how far the server's clock was ahead of ours then.
    package func saveNewAsOf(_ time: Timestamp, serverAhead ahead: Duration?) throws(UserFacingError) {
        try write { connection throws(SQLiteFailure) in
            try connection.prepare("UPDATE copy SET new_as_of = ?1, server_ahead = ?2 WHERE new_as_of IS NOT ?1")
                .bind(time).bind(ahead.map { Int($0.wholeMicroseconds) }).run()
        }
    }

    /// How far the server's clock was ahead of ours when the newest items were last read, as the file has it.
    package func serverAhead() throws(UserFacingError) -> Duration? {
        try read { connection throws(SQLiteFailure) in
            try connection.text("SELECT server_ahead FROM copy").flatMap { Int64($0) }.map { .microseconds($0) }
        }
    }

    package func newAsOf() throws(UserFacingError) -> Timestamp? {
        try read { connection throws(SQLiteFailure) in
            try connection.text("SELECT new_as_of FROM copy").flatMap { Timestamp($0) }
        }
    }

    static func save(_ coverage: Coverage, _ connection: Connection) throws(SQLiteFailure) {
        try connection.execute("DELETE FROM coverage")
        let insert = try connection.prepare("INSERT INTO coverage (from_time, to_time, read_at) VALUES (?, ?, ?)")
        for interval in coverage.intervals {
            try insert.bind(interval.from).bind(interval.to).bind(interval.readAt).run()
        }
        try connection.prepare(
            """
            UPDATE copy SET complete = ?1, edits_as_of = ?2, sweep_started_at = ?3
            WHERE complete IS NOT ?1 OR edits_as_of IS NOT ?2 OR sweep_started_at IS NOT ?3
            """
        ).bind(coverage.isComplete ? 1 : 0).bind(coverage.oldestRead).bind(coverage.sweepStart).run()
    }

    static func readCoverage(_ connection: Connection) throws(SQLiteFailure) -> Coverage {
        let intervals = try connection.prepare("SELECT from_time, to_time, read_at FROM coverage").all { row in
            guard let from = row.timestamp(0), let to = row.timestamp(1), let readAt = row.timestamp(2) else {
                return nil as Coverage.Interval?  // not ours; what it covered will be read again
            }
            return Coverage.Interval(from: from, to: to, readAt: readAt)
        }
        let sweep = try connection.text("SELECT sweep_started_at FROM copy").flatMap { Timestamp($0) }
        return Coverage(intervals: intervals, sweepStart: sweep)
    }
}
