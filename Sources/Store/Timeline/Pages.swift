package import PRSNLCore

extension Store {
    // MARK: Before the proof

    /// Items that the server had when it was read last, from an instant on, oldest first.
    package func known(from instant: Timestamp, limit: Int) throws(UserFacingError) -> [KnownItem] {
        try read { connection throws(SQLiteFailure) in
            try connection.cached(
                """
                SELECT id, created_at FROM item
                WHERE created_at >= ? AND deleted_at IS NULL AND missing_since IS NULL
                ORDER BY created_at LIMIT ?
                """
            ).bind(instant).bind(limit).all { row in
                guard let id = row.text(0), let createdAt = row.timestamp(1) else { return nil }
                return KnownItem(id: id, createdAt: createdAt)
            }
        }
    }

    /// Some of the items that the copy has in the interval that a page shows, where the page shows none of them.
    ///
    /// - Parameter few: Empty also where the copy has no more than so many there.
    package func unshared(by page: PageChange, moreThan few: Int) throws(UserFacingError) -> [String] {
        guard let proven = page.proven else { return [] }
        return try read { connection throws(SQLiteFailure) in
            let known = try connection.cached(
                """
                SELECT id FROM item
                WHERE created_at BETWEEN ? AND ? AND deleted_at IS NULL AND missing_since IS NULL
                ORDER BY created_at DESC LIMIT ?
                """
            ).bind(proven.lowerBound).bind(proven.upperBound).bind(few + 1).all { $0.text(0) }
            guard known.count > few else { return [] }
            let shown = Set((page.items.map(\.id) + page.rejected.compactMap(\.id)).map(ByteText.init))
            guard !known.contains(where: { shown.contains(ByteText($0)) }) else { return [] }
            for item in page.items where proven.contains(item.createdAt) {
                let row = try connection.cached("SELECT 1 FROM item WHERE id = ? AND deleted_at IS NULL").bind(item.id)
                if try row.hasRow() { return [] }
            }
            return known
        }
    }

    /// What committing the pages would do. Stops looking at the first news.
    package func novelty(of pages: [PageChange]) throws(UserFacingError) -> Novelty {
        let covered = coverage
        let serverNow = serverNow
        return try read { connection throws(SQLiteFailure) in
            guard let statements else { return .repeats }
            let rejected = try Self.rejectedIDs(connection)
            var isProven = false
            for page in pages {
                for item in page.items {
                    if inFlight.awaits(item, now: serverNow) { return .news }
                    guard try statements.sameItem.bind(item).hasRow() else { return .news }
                    // It could not be read for a while.
                    if rejected.contains(ByteText(item.id)) { return .news }
                    isProven = true
                }
                for rejected in page.rejected {
                    if try Self.isNews(rejected, connection) { return .news }
                }
                if let absent = statements.absentItem.binding(absenceOf: page), try absent.hasRow() { return .news }
                if let interval = page.coverage, !covered.covers(interval) { return .news }
                if try !Self.isKnown(page.collision, provenIn: page.proven, connection) { return .news }
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
    ///   - record: The pull that the pages belong to. Its row in the history is kept up to date, and `record.id` set.
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
        let serverNow = serverNow
        let items = page.items.filter { inFlight.awaits($0, now: serverNow) && written[ByteText($0.id)] == nil }.map(
            \.id)
        guard !items.isEmpty else { return [] }
        var writer = OutboxWriter(connection, statements, now: now, serverNow: serverNow, reachable: reachable)
        var processed: [String] = []
        for item in items where try !writer.isUnsettled(item) {
            try writer.settled(item)
            processed.append(item)
        }
        try writer.deltas.save(connection)
        return processed
    }

    private func apply(
        _ page: PageChange, now: Timestamp, deltas: inout CounterDeltas, _ connection: Connection
    ) throws(SQLiteFailure) -> ChangeCounts {
        guard let statements else { return ChangeCounts() }
        var counts = ChangeCounts()
        // Before the page's own items are there: in a backfill there is then nothing to compare with.
        if let statement = statements.markMissing.binding(absenceOf: page) {
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
            let wasDeleted = try statements.deletedItem.bind(item.id).hasRow()
            counts.changed += try statements.updateItem.bind(item).run()
            counts.restored += try statements.reviveItem.bind(item.id).run()
            if wasDeleted {
                deltas.live += 1
                deltas.deleted -= 1
            }
        }
        counts.rejected += try Self.keep(page.rejected, healed: page.items, now: now, connection)
        try Self.note(page.collision, provenIn: page.proven, now: now, connection)
        return counts
    }
}

extension Statement {
    /// Binds what tells which items a page lacks: the interval that it proves, and the ids that it has. `nil` where nothing
    /// can be said: the page proves nothing, or has an element without a readable id, which could be any of them.
    fileprivate func binding(absenceOf page: PageChange) -> Statement? {
        guard let proven = page.proven, page.rejected.allSatisfy({ $0.id != nil }) else { return nil }
        let present = JSONText.array(page.items.map(\.id) + page.rejected.compactMap(\.id))
        return bind(proven.lowerBound).bind(proven.upperBound).bind(present)
    }
}
