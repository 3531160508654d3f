package import PRSNLCore

/// One page of the timeline, and what it proves.
package struct PageChange: Sendable, Equatable {
    package var items: [TimelineItem]
    package var rejected: [RejectedItem]
    /// The interval of createdAt that the page shows whole: what the copy has there and the page lacks, the server lacks.
    package var proven: ClosedRange<Timestamp>?
    /// The interval to count as covered.
    package var coverage: Coverage.Interval?
    /// An instant with at least as many items as fit on a page.
    package var collision: TimestampCollision?
    /// How many writes had been delivered when the page was asked for (`Store.deliveries`): what it says of items that were
    /// written to since is out of date.
    package var asOf = Int.max
    /// About how much memory it takes.
    package var bytes = 0

    package init(
        items: [TimelineItem], rejected: [RejectedItem] = [], proven: ClosedRange<Timestamp>? = nil,
        coverage: Coverage.Interval? = nil, collision: TimestampCollision? = nil
    ) {
        self.items = items
        self.rejected = rejected
        self.proven = proven
        self.coverage = coverage
        self.collision = collision
    }
}

/// An item of the copy by its place on the timeline.
package struct KnownItem: Sendable, Equatable {
    package var id: String
    package var createdAt: Timestamp

    package init(id: String, createdAt: Timestamp) {
        self.id = id
        self.createdAt = createdAt
    }
}

/// What a group of pages would do to the copy.
package enum Novelty: Sendable, Equatable {
    /// It only repeats what the copy holds, and so proves that it comes from the copy's account.
    case repeats
    /// An empty page cannot identify the account: it looks the same for every account.
    case unproven
    /// It would change the copy.
    case news
}

extension Store {
    // MARK: Before the proof

    /// Items that the server had when it was read last, from an instant on, oldest first.
    package func known(from instant: Timestamp, limit: Int) throws(UserFacingError) -> [KnownItem] {
        try read { connection in
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
    /// - Returns: Their ids, and `deliveries` then: what asks for the next page needs it, and need not come here again for it.
    package func unshared(
        by page: PageChange, moreThan few: Int
    ) throws(UserFacingError) -> (ids: [String], deliveries: Int) {
        guard let proven = page.proven else { return ([], deliveries) }
        let ids: [String] = try read { connection in
            let known = try connection.cached(
                """
                SELECT id FROM item
                WHERE created_at BETWEEN ? AND ? AND deleted_at IS NULL AND missing_since IS NULL
                ORDER BY created_at DESC LIMIT ?
                """
            ).bind(proven.lowerBound).bind(proven.upperBound).bind(few + 1).all { $0.text(0) }
            guard known.count > few else { return [] }
            // Few, and mostly the first of them is the page's first: a set of the page's ids would cost more.
            let isShared = known.contains { id in
                page.items.contains { ByteText($0.id) == ByteText(id) }
                    || page.rejected.contains { $0.id.map(ByteText.init) == ByteText(id) }
            }
            guard !isShared else { return [] }
            for item in page.items where proven.contains(item.createdAt) {
                let row = try connection.cached("SELECT 1 FROM item WHERE id = ? AND deleted_at IS NULL").bind(item.id)
                if try row.hasRow() { return [] }
            }
            return known
        }
        return (ids, deliveries)
    }

    /// What committing the pages would do. Stops looking at the first news.
    package func novelty(of pages: [PageChange]) throws(UserFacingError) -> Novelty {
        let covered = coverage
        let serverNow = serverNow
        // Each read by itself would take and give back the file's locks.
        return try readTogether { connection in
            guard let statements else { return .repeats }
            let rejected = try Self.rejectedIDs(connection)
            var isProven = false
            for page in pages {
                if !inFlight.awaitsNothing, page.items.contains(where: { inFlight.awaits($0, now: serverNow) }) {
                    return .news
                }
                // It could not be read for a while.
                if !rejected.isEmpty, page.items.contains(where: { rejected.contains(ByteText($0.id)) }) {
                    return .news
                }
                for rejected in page.rejected {
                    if try Self.isNews(rejected, connection) { return .news }
                }
                guard try statements.isInCopy(page) else { return .news }
                if !page.items.isEmpty { isProven = true }
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
        for interval in pages.compactMap(\.coverage) { coverage.insert(interval) }
    }

    // MARK: Committing

    /// Writes pages and the coverage that they prove in one transaction.
    ///
    /// - Parameters:
    ///   - now: The time that suspicions and first sightings get.
    ///   - record: The pull that the pages belong to. Its row in the history is kept up to date.
    ///   - formerSize: bytes that texts which were replaced may have together (`FormerTexts`).
    /// - Returns: The record with what has changed, and with its id.
    package func commit(
        _ pages: [PageChange], now: Timestamp, record: PullRecord, formerSize: Int = 0
    ) throws(UserFacingError) -> PullRecord {
        try requireRoom()
        var next = coverage
        for page in pages {
            if let interval = page.coverage { next.insert(interval) }
        }
        var record = record
        var processed: [String] = []
        try write { connection in
            var deltas = CounterDeltas()
            expectsCreations = try Self.expectsCreations(connection)
            for page in pages {
                try self.apply(page, now: now, formerSize: formerSize, &record, &deltas, connection)
                processed += try noteProcessed(page, now: now, connection)
            }
            record.pages += pages.count
            if next != savedCoverage { try Self.save(next, connection) }
            try deltas.save(connection)
            record = try Self.save(record, connection)
        }
        coverage = next
        savedCoverage = next
        noteRejected(pages)
        inFlight.noteProcessed(processed)
        return record
    }

    /// Lets go what waits in the outbox for items that the server has processed.
    private func noteProcessed(
        _ page: PageChange, now: Timestamp, _ connection: Connection
    ) throws -> [String] {
        if inFlight.awaitsNothing { return [] }
        let written = inFlight.writtenSince(page.asOf)
        let serverNow = serverNow
        let items = page.items.filter { inFlight.awaits($0, now: serverNow) && written[ByteText($0.id)] == nil }
            .map(\.id)
        guard !items.isEmpty else { return [] }
        var writer = self.writer(connection, now: now)
        var processed: [String] = []
        for item in items where try !writer.isUnsettled(item) {
            try writer.settled(item)
            processed.append(item)
        }
        try writer.deltas.save(connection)
        return processed
    }

    private func apply(
        _ page: PageChange, now: Timestamp, formerSize: Int, _ record: inout PullRecord,
        _ deltas: inout CounterDeltas, _ connection: Connection
    ) throws {
        guard let statements else { return }
        // Before the page's own items are there: in a backfill there is then nothing to compare with.
        // An element without a readable id could be any of those that the page lacks.
        if let proven = page.proven, page.rejected.allSatisfy({ $0.id != nil }) {
            let present = JSONText.array(page.items.map(\.id) + page.rejected.compactMap(\.id))
            record.suspects += try statements.markMissing.bind(proven.lowerBound).bind(proven.upperBound)
                .bind(present).bind(now).run()
        }
        let written = inFlight.writtenSince(page.asOf)
        for id in written.keys {
            record.suspects -= try connection.cached(
                "UPDATE item SET missing_since = NULL WHERE id = ? AND missing_since = ?"
            ).bind(id.text).bind(now).run()
        }
        let hasWaitingEdit = try connection.cached("SELECT 1 FROM local_edit WHERE item_id = ?")
        var edited: [String] = []
        for shown in page.items {
            let write = written.isEmpty ? nil : written[ByteText(shown.id)]
            guard let item = write == nil ? shown : write?.applied(to: shown) else { continue }
            if try statements.insertItem.bind(item).run() == 1 {
                record.added += 1
                deltas.live += 1
                try noteArrival(item, connection)
                continue
            }
            if let content = item.content {
                var text = ItemText(id: item.id)
                text.content = content
                try FormerTexts.keep(item.id, replacedBy: text, at: now, limit: formerSize, connection)
            }
            let wasDeleted = try statements.deletedItem.bind(item.id).hasRow()
            let changed = try statements.updateItem.bind(item).run()
            record.changed += changed
            if changed > 0, try hasWaitingEdit.bind(item.id).hasRow() { edited.append(item.id) }
            // Those that had been missing or deleted, and are back.
            record.changed += try statements.reviveItem.bind(item.id).run()
            if wasDeleted {
                deltas.live += 1
                deltas.deleted -= 1
            }
        }
        if !edited.isEmpty {
            // Tags that wait are shown with those that the server has now.
            let writer = self.writer(connection, now: now)
            for id in edited { try writer.refreshLocalEdit(id) }
        }
        record.rejected += try Self.keep(page.rejected, healed: page.items, now: now, connection)
        try Self.note(page.collision, provenIn: page.proven, now: now, connection)
    }
}

/// The statements that run once per item or page, prepared once (preparing one costs more than running it).
final class ItemStatements {
    let insertItem: Statement
    let updateItem: Statement
    private let itemByID: Statement
    private let itemsByTime: Statement
    let reviveItem: Statement
    let markMissing: Statement
    let deletedItem: Statement

    /// Bytes: more than the texts of nearly all items have.
    private static let roomForTexts = 8 << 10

    init(_ connection: Connection) throws {
        // Parameters 1 and up, in the order of the columns. The first is the id.
        let columns = ItemColumn.all.enumerated().map { (name: $1.name, parameter: "?\($0 + 1)") }
        func list(_ separator: String, _ make: (_ name: String, _ parameter: String) -> String) -> String {
            columns.dropFirst().map { make($0.name, $0.parameter) }.joined(separator: separator)
        }
        insertItem = try connection.prepare(
            roomForTexts: Self.roomForTexts,
            """
            INSERT INTO item (id, \(list(", ") { name, _ in name })) VALUES (?1, \(list(", ") { $1 }))
            ON CONFLICT (id) DO NOTHING
            """)
        updateItem = try connection.prepare(
            roomForTexts: Self.roomForTexts,
            """
            UPDATE item SET \(list(", ") { "\($0) = \($1)" })
            WHERE id = ?1 AND (\(list(" OR ") { "\($0) IS NOT \($1)" }))
            """)
        let live = "SELECT \(columns.map(\.name).joined(separator: ", ")) FROM item WHERE"
        let isLive = "deleted_at IS NULL AND missing_since IS NULL"
        itemByID = try connection.prepare("\(live) id = ? AND \(isLive)")
        itemsByTime = try connection.prepare(
            "\(live) created_at BETWEEN ? AND ? AND \(isLive) ORDER BY created_at DESC")
        reviveItem = try connection.prepare(
            """
            UPDATE item SET deleted_at = NULL, missing_since = NULL, found_at = NULL
            WHERE id = ?1 AND (deleted_at IS NOT NULL OR missing_since IS NOT NULL)
            """)
        deletedItem = try connection.prepare("SELECT 1 FROM item WHERE id = ?1 AND deleted_at IS NOT NULL")
        markMissing = try connection.prepare(
            """
            UPDATE item SET missing_since = ?4
            WHERE created_at BETWEEN ?1 AND ?2 AND deleted_at IS NULL AND missing_since IS NULL
                AND id NOT IN (SELECT value FROM json_each(?3))
            """)
    }

    /// Whether the copy has what a page shows, as the page shows it, and nothing else in the interval that the page proves.
    fileprivate func isInCopy(_ page: PageChange) throws -> Bool {
        guard let proven = page.proven else {
            // Its items may be of any time.
            for item in page.items where try itemByID.bind(item.id).first({ $0.isSame(as: item) }) != true {
                return false
            }
            return true
        }
        let times = page.items.map(\.createdAt)
        // An element without a readable id could be any of those that the page lacks.
        let mayLack = page.rejected.contains { $0.id == nil }
        let broken = Set(page.rejected.compactMap(\.id).map(ByteText.init))
        var found = 0
        var isKnown = true
        try itemsByTime.bind(min(times.min() ?? proven.lowerBound, proven.lowerBound))
            .bind(max(times.max() ?? proven.upperBound, proven.upperBound))
            .rows(while: isKnown) { row in
                // Both are in the order of time, but for those of the same time.
                let isNext = found < page.items.count && row.has(page.items[found].id, 0)
                if let place = isNext ? found : page.items.firstIndex(where: { row.has($0.id, 0) }) {
                    // Not taken out of the array, which would count a reference to each of its texts.
                    isKnown = page.items.withUnsafeBufferPointer { row.isSame(as: $0[place]) }
                    found += 1
                } else if !mayLack, let createdAt = row.timestamp(1), proven.contains(createdAt) {
                    isKnown = broken.contains(ByteText(row.text(0) ?? ""))
                }
            }
        return isKnown && found == page.items.count
    }
}

extension Statement {
    /// Whether the row, which is the item's by its id, has the item's values.
    fileprivate func isSame(as item: TimelineItem) -> Bool {
        // By its number: a column that is taken out of the array counts a reference to each of its closures.
        ItemColumn.all.indices.dropFirst().allSatisfy { ItemColumn.all[$0].isSame(item, self, Int32($0)) }
    }

    /// Binds an item to parameters 1 and up, as the item statements have them.
    func bind(_ item: TimelineItem) -> Statement {
        for number in ItemColumn.all.indices { ItemColumn.all[number].bind(item, self) }
        return self
    }
}

/// Changes of the maintained counters, written once per transaction.
struct CounterDeltas {
    var live = 0
    var deleted = 0
    var waiting = 0
    var unknown = 0
    var parked = 0
    /// Sends that were begun: the file's mark follows them.
    var sends = 0

    func save(_ connection: Connection) throws {
        guard live != 0 || deleted != 0 || waiting != 0 || unknown != 0 || parked != 0 || sends != 0 else { return }
        try connection.cached(
            """
            UPDATE copy SET live = live + ?, deleted = deleted + ?, waiting = waiting + ?, unknown = unknown + ?,
                parked = parked + ?, sends = sends + ?
            """
        ).bind(live).bind(deleted).bind(waiting).bind(unknown).bind(parked).bind(sends).run()
    }
}
