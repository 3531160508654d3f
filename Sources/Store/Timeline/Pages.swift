package import PRSNLCore

extension Store {
    // MARK: Before the proof

    /// Items that the server had when it was read last, from an instant on, oldest first.
    package func known(from instant: Timestamp, limit: Int) throws(UserFacingError) -> [KnownItem] {
        try read { connection throws(SQLiteFailure) in
            let rows = try connection.cached(
                """
                SELECT id, created_at FROM item
                WHERE created_at >= ? AND deleted_at IS NULL AND missing_since IS NULL
                ORDER BY created_at LIMIT ?
                """
            ).bind(instant).bind(limit)
            defer { rows.reset() }
            var known: [KnownItem] = []
            while try rows.step() {
                guard let id = rows.text(0), let createdAt = rows.timestamp(1) else { continue }
                known.append(KnownItem(id: id, createdAt: createdAt))
            }
            return known
        }
    }

    /// Some of the items that the copy has in the stretch that a page shows, where the page shows none of them.
    ///
    /// - Parameter few: Empty also where the copy has no more than so many there.
    package func unshared(by page: PageChange, moreThan few: Int) throws(UserFacingError) -> [String] {
        guard let proven = page.proven else { return [] }
        return try read { connection throws(SQLiteFailure) in
            let rows = try connection.cached(
                """
                SELECT id FROM item
                WHERE created_at BETWEEN ? AND ? AND deleted_at IS NULL AND missing_since IS NULL
                ORDER BY created_at DESC LIMIT ?
                """
            ).bind(proven.lowerBound).bind(proven.upperBound).bind(few + 1)
            defer { rows.reset() }
            var known: [String] = []
            while try rows.step() {
                if let id = rows.text(0) { known.append(id) }
            }
            guard known.count > few else { return [] }
            let shown = Set((page.items.map(\.id) + page.rejected.compactMap(\.id)).map(ByteText.init))
            guard !known.contains(where: { shown.contains(ByteText($0)) }) else { return [] }
            for item in page.items where proven.contains(item.createdAt) {
                let row = try connection.cached("SELECT 1 FROM item WHERE id = ? AND deleted_at IS NULL").bind(item.id)
                defer { row.reset() }
                if try row.step() { return [] }
            }
            return known
        }
    }

    /// What committing the pages would do. Stops looking at the first news.
    ///
    /// - Parameter now: by it, an item that is `pending` for too long counts as processed.
    package func novelty(of pages: [PageChange], now: Timestamp = .earliest) throws(UserFacingError) -> Novelty {
        let covered = coverage
        return try read { connection throws(SQLiteFailure) in
            guard let statements else { return .repeats }
            let rejected = try Self.rejectedIDs(connection)
            var isProven = false
            for page in pages {
                for item in page.items {
                    if inFlight.awaits(item, now: now) { return .news }
                    defer { statements.sameItem.reset() }
                    guard try statements.sameItem.bind(item).step() else { return .news }
                    // It could not be read for a while.
                    if rejected.contains(ByteText(item.id)) { return .news }
                    isProven = true
                }
                for rejected in page.rejected {
                    if try Self.isNews(rejected, connection) { return .news }
                }
                if let statement = statements.absentItem.binding(absenceOf: page) {
                    defer { statement.reset() }
                    if try statement.step() { return .news }
                }
                if let interval = page.coverage, !covered.covers(interval) { return .news }
                if try !Self.isKnown(page.crowded, provenIn: page.proven, connection) { return .news }
            }
            return isProven ? .repeats : .unproven
        }
    }

    /// Takes note of pages that only repeat what the copy holds: their coverage becomes newer, in memory. The file hears
    /// of it with the next write, or with `saveCoverage`.
    package func noteUnchanged(_ pages: [PageChange]) {
        noteRejected(pages)
        for interval in pages.compactMap(\.coverage) {
            let before = coverage
            coverage.insert(interval)
            if coverage != before { coverageIsNewer = true }
        }
    }

    // MARK: Committing

    /// Writes pages and the coverage that they prove in one transaction.
    ///
    /// - Parameters:
    ///   - now: The time that suspicions and first sightings get.
    ///   - record: The pull that the pages belong to; its row in the history is kept up to date, and `record.id` set.
    package func commit(
        _ pages: [PageChange], now: Timestamp, record: PullRecord
    ) throws(UserFacingError) -> (counts: ChangeCounts, record: PullRecord) {
        try requireRoom()
        var next = coverage
        for page in pages {
            if let interval = page.coverage { next.insert(interval) }
        }
        var record = record
        var counts = ChangeCounts()
        var processed: [String] = []
        try write { connection throws(SQLiteFailure) in
            processed = []
            var deltas = CounterDeltas()
            expectsCreations = try Self.expectsCreations(connection)
            for page in pages {
                counts += try self.apply(page, now: now, deltas: &deltas, connection)
                processed += try noteProcessed(page, now: now, connection)
            }
            record.pages += pages.count
            record.add(counts)
            if next != coverage || coverageIsNewer { try Self.save(next, connection) }
            try deltas.save(connection)
            record = try Self.save(record, connection)
        }
        coverage = next
        coverageIsNewer = false
        noteRejected(pages)
        inFlight.noteProcessed(processed)
        return (counts, record)
    }

    /// Lets go what waits in the outbox for items that the server has processed.
    private func noteProcessed(
        _ page: PageChange, now: Timestamp, _ connection: Connection
    ) throws(SQLiteFailure) -> [String] {
        let written = inFlight.writtenSince(page.asOf)
        let items = page.items.filter { inFlight.awaits($0, now: now) && written[ByteText($0.id)] == nil }.map(\.id)
        guard !items.isEmpty else { return [] }
        var writer = OutboxWriter(connection, now: now)
        for item in items { try writer.settled(item, reachable: reachable) }
        try writer.deltas.save(connection)
        return items
    }

    /// Call when the clock may have been set back: see `Coverage.distrust`. Times that lie after `limit` are taken out of
    /// the file at once, so that nobody reads them there.
    ///
    /// - Parameter now: In dialect C, nothing counts as covered beyond it.
    package func distrust(timesAfter limit: Timestamp, now: Timestamp) throws(UserFacingError) {
        var isWrong = coverage.distrust(readsAfter: limit)
        if binding.dialect == .cursor, coverage.clip(to: now) { isWrong = true }
        if isWrong { coverageIsNewer = true }
        let claimsTooMuch = try read { connection throws(SQLiteFailure) in
            let row = try connection.cached("SELECT 1 FROM copy WHERE new_as_of > ?").bind(limit)
            defer { row.reset() }
            return try row.step()
        }
        guard isWrong || claimsTooMuch else { return }
        try write { connection throws(SQLiteFailure) in
            try connection.prepare("UPDATE copy SET new_as_of = NULL WHERE new_as_of > ?").bind(limit).run()
            try Self.save(coverage, connection)
        }
        coverageIsNewer = false
    }

    /// Writes the coverage if only memory knows it.
    package func saveCoverage() throws(UserFacingError) {
        guard coverageIsNewer else { return }
        try write { connection throws(SQLiteFailure) in try Self.save(coverage, connection) }
        coverageIsNewer = false
    }

    private func apply(
        _ page: PageChange, now: Timestamp, deltas: inout CounterDeltas, _ connection: Connection
    ) throws(SQLiteFailure) -> ChangeCounts {
        guard let statements else { return ChangeCounts() }
        var counts = ChangeCounts()
        // Before the page's own items are there: in a backfill there is then nothing to compare with.
        if let statement = statements.suspectItems.binding(absenceOf: page) {
            counts.suspects += try statement.bind(now).run()
        }
        let written = inFlight.writtenSince(page.asOf)
        for id in written.keys {
            counts.suspects -= try connection.cached(
                "UPDATE item SET missing_since = NULL WHERE id = ? AND missing_since = ?"
            ).bind(id.text).bind(now).run()
        }
        for shown in page.items {
            let write = written[ByteText(shown.id)]
            guard let item = write == nil ? shown : write?.applied(to: shown) else { continue }
            if try statements.insertItem.bind(item).run() == 1 {
                counts.added += 1
                deltas.live += 1
                try noteArrival(item, connection)
                continue
            }
            statements.deletedItem.reset()
            let wasDeleted = try statements.deletedItem.bind(item.id).step()
            statements.deletedItem.reset()
            counts.changed += try statements.updateItem.bind(item).run()
            statements.reviveItem.reset()
            counts.restored += try statements.reviveItem.bind(item.id).run()
            if wasDeleted {
                deltas.live += 1
                deltas.deleted -= 1
            }
        }
        counts.rejected += try Self.keep(page.rejected, healed: page.items, now: now, connection)
        try Self.note(page.crowded, provenIn: page.proven, now: now, connection)
        return counts
    }

    // MARK: Rejected items

    /// By its id where there is one: the rest of its text may vary from answer to answer.
    private static func isKnown(_ rejected: RejectedItem, _ connection: Connection) throws(SQLiteFailure) -> Bool {
        try connection.prepare("SELECT 1 FROM rejected_item WHERE item_id = ?1 OR (?1 IS NULL AND raw = ?2)")
            .bind(rejected.id).bind(rejected.raw).step()
    }

    private static func keep(
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

    /// A server of nothing but broken items must not fill the disk. With so many the copy is incomplete whatever comes.
    private static let mostRejected = 1_000

    /// Whether it is to be kept.
    private static func isNews(_ rejected: RejectedItem, _ connection: Connection) throws(SQLiteFailure) -> Bool {
        if try isKnown(rejected, connection) { return false }
        return try connection.integer("SELECT count(*) FROM rejected_item") < mostRejected
    }

    private static func rejectedIDs(_ connection: Connection) throws(SQLiteFailure) -> Set<ByteText> {
        let rows = try connection.prepare("SELECT item_id FROM rejected_item WHERE item_id IS NOT NULL")
        var ids: Set<ByteText> = []
        while try rows.step() {
            if let id = rows.text(0) { ids.insert(ByteText(id)) }
        }
        return ids
    }

    private func noteRejected(_ pages: [PageChange]) {
        for item in pages.lazy.flatMap(\.rejected) { rejectedSeen?.insert(ByteText(item.id ?? item.raw)) }
    }

    /// Forgets rejected items that a whole read, from its beginning to its end by this process, did not see again.
    func forgetUnseenRejected(_ connection: Connection) throws(SQLiteFailure) {
        for raw in try unseenRejected(connection) {
            try connection.prepare("DELETE FROM rejected_item WHERE raw = ?").bind(raw).run()
        }
    }

    /// The texts of those; none where this process did not see the beginning of the read.
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

    // MARK: Crowded instants

    private static func isKnown(
        _ crowded: CrowdedInstant?, provenIn proven: ClosedRange<Timestamp>?, _ connection: Connection
    ) throws(SQLiteFailure) -> Bool {
        if let proven {
            let resolved = try connection.prepare("SELECT 1 FROM crowded_instant WHERE at BETWEEN ? AND ?")
            if try resolved.bind(proven.lowerBound).bind(proven.upperBound).step() { return false }
        }
        guard let crowded else { return true }
        return try connection.prepare("SELECT 1 FROM crowded_instant WHERE at = ? AND seen = ?")
            .bind(crowded.at).bind(crowded.seen).step()
    }

    private static func note(
        _ crowded: CrowdedInstant?, provenIn proven: ClosedRange<Timestamp>?, now: Timestamp,
        _ connection: Connection
    ) throws(SQLiteFailure) {
        if let proven {
            try connection.prepare("DELETE FROM crowded_instant WHERE at BETWEEN ? AND ?")
                .bind(proven.lowerBound).bind(proven.upperBound).run()
        }
        if let crowded {
            try connection.prepare(
                """
                INSERT INTO crowded_instant (at, seen, read_at) VALUES (?1, ?2, ?3)
                ON CONFLICT (at) DO UPDATE SET seen = ?2, read_at = ?3
                """
            ).bind(crowded.at).bind(crowded.seen).bind(now).run()
        }
    }

    // MARK: Coverage

    static func save(_ coverage: Coverage, _ connection: Connection) throws(SQLiteFailure) {
        try connection.execute("DELETE FROM coverage")
        let insert = try connection.prepare("INSERT INTO coverage (from_time, to_time, read_at) VALUES (?, ?, ?)")
        for interval in coverage.intervals {
            insert.reset()
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
        let rows = try connection.prepare("SELECT from_time, to_time, read_at FROM coverage")
        var intervals: [Coverage.Interval] = []
        while try rows.step() {
            guard let from = rows.timestamp(0), let to = rows.timestamp(1), let readAt = rows.timestamp(2) else {
                continue  // not ours; what it covered will be read again
            }
            intervals.append(Coverage.Interval(from: from, to: to, readAt: readAt))
        }
        let sweep = try connection.text("SELECT sweep_started_at FROM copy").flatMap { Timestamp($0) }
        return Coverage(intervals: intervals, sweepStart: sweep)
    }
}

/// Changes of the maintained counters, written once per transaction.
struct CounterDeltas {
    var live = 0
    var deleted = 0
    var waiting = 0
    var unknown = 0
    var parked = 0

    func save(_ connection: Connection) throws(SQLiteFailure) {
        guard live != 0 || deleted != 0 || waiting != 0 || unknown != 0 || parked != 0 else { return }
        try connection.cached(
            """
            UPDATE copy SET live = live + ?, deleted = deleted + ?, waiting = waiting + ?, unknown = unknown + ?,
                parked = parked + ?
            """
        ).bind(live).bind(deleted).bind(waiting).bind(unknown).bind(parked).run()
    }
}

extension Statement {
    /// Binds what tells which items a page lacks: the stretch that it proves, and the ids that it has. `nil` where nothing
    /// can be said: the page proves nothing, or has an element without a readable id, which could be any of them.
    fileprivate func binding(absenceOf page: PageChange) -> Statement? {
        guard let proven = page.proven, page.rejected.allSatisfy({ $0.id != nil }) else { return nil }
        var present: [UInt8] = [UInt8(ascii: "[")]
        for id in page.items.lazy.map(\.id) + page.rejected.compactMap(\.id) {
            if present.count > 1 { present.append(UInt8(ascii: ",")) }
            JSONText.appendString(id, to: &present)
        }
        present.append(UInt8(ascii: "]"))
        return reset().bind(proven.lowerBound).bind(proven.upperBound).bind(String(decoding: present, as: UTF8.self))
    }
}
