package import PRSNLCore

/// What the copy holds completely: closed intervals of createdAt, each with the time its oldest read began.
///
/// Pulling means closing the gaps between them, newest first. It is a value without I/O. The file keeps it in table `coverage`.
package struct Coverage: Sendable, Equatable {
    package struct Interval: Sendable, Equatable {
        package var from: Timestamp
        package var to: Timestamp
        /// When the read that proved the interval began; the oldest, of several.
        package var readAt: Timestamp

        package init(from: Timestamp, to: Timestamp, readAt: Timestamp) {
            self.from = from
            self.to = to
            self.readAt = readAt
        }

        /// The parts of it that none of the others has.
        ///
        /// - Parameter others: disjoint, oldest first.
        fileprivate func without(_ others: [Interval]) -> [Interval] {
            var parts: [Interval] = []
            var rest = self
            for other in others where other.to >= rest.from && other.from <= to {
                if rest.from < other.from {
                    parts.append(Interval(from: rest.from, to: other.from.previous, readAt: readAt))
                }
                if other.to >= to { return parts }
                rest.from = other.to.next
            }
            return parts + [rest]
        }
    }

    /// Disjoint, oldest first. Two of them touch only where a sweep has come by one and not yet by the other.
    package private(set) var intervals: [Interval] = []
    /// The start of the sweep under way: intervals read before it and since are kept apart, because the sweep has yet to
    /// read the former.
    package private(set) var sweepStart: Timestamp?

    package init() {}

    init(intervals: [Interval], sweepStart: Timestamp?) {
        self.intervals = intervals.sorted { $0.from < $1.from }
        self.sweepStart = sweepStart
    }

    /// Starts a sweep: from now on, what was read before it is stale for it. It begins after all reads that are known,
    /// also where the clock was set back since.
    package mutating func beginSweep(at start: Timestamp) {
        sweepStart = max(start, intervals.map(\.readAt).max()?.next ?? start)
        merge()
    }

    /// Forgets when intervals were read whose time lies in the future: the clock was set back, and the true time
    /// is not known. They still count as read. Edits and deletions in them are known as of no time until they are read again.
    ///
    /// - Returns: Whether there were any.
    mutating func distrust(readsAfter now: Timestamp) -> Bool {
        guard intervals.contains(where: { $0.readAt > now }) else { return false }
        for index in intervals.indices where intervals[index].readAt > now { intervals[index].readAt = .earliest }
        sweepStart = nil
        merge()
        return true
    }

    /// Forgets that anything was covered beyond the time that it is now: what arrives later would be missed there.
    ///
    /// - Returns: Whether there was anything.
    mutating func clip(to now: Timestamp) -> Bool {
        guard let newest, newest > now else { return false }
        intervals.removeAll { $0.from > now }
        if let last = intervals.indices.last { intervals[last].to = min(intervals[last].to, now) }
        return true
    }

    /// Ends the sweep, finished or given up.
    package mutating func endSweep() {
        sweepStart = nil
        merge()
    }

    /// Adds an interval. Where it overlaps others, the later read counts.
    package mutating func insert(_ new: Interval) {
        guard new.from <= new.to else { return }
        let later = intervals.filter { $0.readAt >= new.readAt }
        let earlier = intervals.filter { $0.readAt < new.readAt }
        intervals = (later + new.without(later) + earlier.flatMap { $0.without([new]) }).sorted { $0.from < $1.from }
        merge()
    }

    /// Joins neighbours that touch and lie on the same side of the sweep's start. The older read counts: what is said of
    /// the whole must be true of each part.
    private mutating func merge() {
        var result: [Interval] = []
        for interval in intervals {
            if let last = result.last, last.to.next >= interval.from, isSwept(last) == isSwept(interval) {
                result[result.count - 1].to = max(last.to, interval.to)
                result[result.count - 1].readAt = min(last.readAt, interval.readAt)
            } else {
                result.append(interval)
            }
        }
        intervals = result
    }

    private func isSwept(_ interval: Interval) -> Bool {
        guard let sweepStart else { return true }
        return interval.readAt >= sweepStart
    }

    package var newest: Timestamp? { intervals.last?.to }

    /// When what lies right below a gap was read. `nil` where the gap reaches down to the bottom.
    package func readAt(below gap: ClosedRange<Timestamp>) -> Timestamp? {
        intervals.last { $0.to < gap.lowerBound }?.readAt
    }

    /// When the read began that has covered an instant last.
    package func readAt(_ instant: Timestamp) -> Timestamp? {
        intervals.first { $0.from <= instant && instant <= $0.to }?.readAt
    }

    /// Whether everything from the bottom of the timeline to `newest` is covered.
    package var isComplete: Bool { !intervals.isEmpty && gaps().isEmpty }

    /// When the oldest read that still counts began: edits and deletions are known as of then. `nil` while there are gaps,
    /// or where it is not known.
    package var oldestRead: Timestamp? {
        guard isComplete, let oldest = intervals.map(\.readAt).min(), oldest > .earliest else { return nil }
        return oldest
    }

    /// The intervals below `newest` that are not covered, newest first. With `sweeping`, those that the sweep under way
    /// has not read.
    package func gaps(sweeping: Bool = false) -> [ClosedRange<Timestamp>] {
        var result: [ClosedRange<Timestamp>] = []
        var next = Timestamp.earliest
        for interval in intervals where !sweeping || isSwept(interval) {
            if next < interval.from { result.append(next...interval.from.previous) }
            next = interval.to.next
        }
        // A sweep has yet to read what lies above its newest interval.
        if sweeping, let newest, next <= newest { result.append(next...newest) }
        return result.reversed()
    }

    /// Whether all of the interval is covered already, however old the read.
    package func covers(_ interval: Interval) -> Bool {
        var next = interval.from
        for known in intervals where known.to >= next {
            if known.from > next { return false }
            if known.to >= interval.to { return true }
            next = known.to.next
        }
        return false
    }
}

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
        let isAhead = try read { connection in
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
        try write { connection in
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
        savedCoverage = coverage
        return true
    }

    /// Writes the coverage if only memory knows it.
    package func saveCoverage() throws(UserFacingError) {
        guard coverage != savedCoverage else { return }
        try write { connection in try Self.save(coverage, connection) }
        savedCoverage = coverage
    }

    /// Saves T1: new items are complete as of `time`. Called when something is written anyway, and before stopping. In
    /// between the engine keeps it in memory, so that a poll without news writes nothing. It may go back with the clock.
    ///
    /// - Parameter ahead: how far the server's clock was ahead of ours then.
    package func saveNewAsOf(_ time: Timestamp, serverAhead ahead: Duration?) throws(UserFacingError) {
        try write { connection in
            try connection.prepare("UPDATE copy SET new_as_of = ?1, server_ahead = ?2 WHERE new_as_of IS NOT ?1")
                .bind(time).bind(ahead.map { Int($0.wholeMicroseconds) }).run()
        }
    }

    /// How far the server's clock was ahead of ours when the newest items were last read, as the file has it.
    package func serverAhead() throws(UserFacingError) -> Duration? {
        try text("SELECT server_ahead FROM copy").flatMap { Int64($0) }.map { .microseconds($0) }
    }

    package func newAsOf() throws(UserFacingError) -> Timestamp? {
        try text("SELECT new_as_of FROM copy").flatMap { Timestamp($0) }
    }

    static func save(_ coverage: Coverage, _ connection: Connection) throws {
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

    static func readCoverage(_ connection: Connection) throws -> Coverage {
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

/// An instant of which the server may have more items than it shows.
package struct TimestampCollision: Sendable, Equatable {
    package var at: Timestamp
    /// How many of them could be reached.
    package var seen: Int

    package init(at: Timestamp, seen: Int) {
        self.at = at
        self.seen = seen
    }

    /// Their instants, newest first.
    static func all(_ connection: Connection) throws -> [Timestamp] {
        try connection.prepare("SELECT at FROM crowded_instant ORDER BY at DESC").all { $0.timestamp(0) }
    }
}

extension Store {
    /// Instants of which the server may have more items than it shows, newest first.
    package func timestampCollisions() throws(UserFacingError) -> [Timestamp] {
        try read { connection in try TimestampCollision.all(connection) }
    }

    static func isKnown(
        _ collision: TimestampCollision?, provenIn proven: ClosedRange<Timestamp>?, _ connection: Connection
    ) throws -> Bool {
        if let proven {
            let isResolved = try connection.prepare("SELECT 1 FROM crowded_instant WHERE at BETWEEN ? AND ?")
                .bind(proven.lowerBound).bind(proven.upperBound).hasRow()
            if isResolved { return false }
        }
        guard let collision else { return true }
        return try connection.prepare("SELECT 1 FROM crowded_instant WHERE at = ? AND seen = ?")
            .bind(collision.at).bind(collision.seen).hasRow()
    }

    static func note(
        _ collision: TimestampCollision?, provenIn proven: ClosedRange<Timestamp>?, now: Timestamp,
        _ connection: Connection
    ) throws {
        if let proven {
            try connection.prepare("DELETE FROM crowded_instant WHERE at BETWEEN ? AND ?")
                .bind(proven.lowerBound).bind(proven.upperBound).run()
        }
        if let collision {
            try connection.prepare(
                """
                INSERT INTO crowded_instant (at, seen, read_at) VALUES (?1, ?2, ?3)
                ON CONFLICT (at) DO UPDATE SET seen = ?2, read_at = ?3
                """
            ).bind(collision.at).bind(collision.seen).bind(now).run()
        }
    }
}
