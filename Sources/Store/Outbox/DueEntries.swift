package import PRSNLCore

// The replayer's side of the outbox: what is due, and the moves of what is being sent.
extension Store {
    /// Seconds during which the server could be reached, over the file's life, by memory.
    var reachable: Double { savedReachable + unsavedReachable }

    /// Adds to the time during which the server could be reached. The file hears of it with the outbox's next move, or
    /// with `saveReachable`.
    package func noteReachable(_ duration: Duration) {
        unsavedReachable += Double(duration.wholeMicroseconds) / 1e6
    }

    package func saveReachable() throws(UserFacingError) {
        guard unsavedReachable > 0 else { return }
        try writeOutbox { _ throws(SQLiteFailure) in }
    }

    /// One durable transaction: what the outbox says must survive a power cut (`synchronous=FULL`; what can be pulled
    /// again is written with NORMAL).
    @discardableResult
    func writeOutbox<Result>(
        _ body: (Connection) throws(SQLiteFailure) -> Result
    ) throws(UserFacingError) -> Result {
        let saving = unsavedReachable
        let result = try write(durably: true) { connection throws(SQLiteFailure) in
            if saving > 0 {
                try connection.cached("UPDATE copy SET reachable_seconds = reachable_seconds + ?").bind(saving).run()
            }
            return try body(connection)
        }
        savedReachable += saving
        unsavedReachable -= saving
        return result
    }

    // MARK: What is due

    /// The entry that is due longest, lookups of unknown outcomes first: they may let others go on.
    ///
    /// A creation that could be confused with one whose outcome is not known is left out.
    ///
    /// - Parameter excluded: entries that are left alone for now.
    package func dueEntry(
        now: Timestamp, sending kinds: Set<OutboxEntry.Kind>, excluding excluded: Set<Int64> = []
    ) throws(UserFacingError) -> OutboxTask? {
        try read { connection throws(SQLiteFailure) in
            try Self.due(connection, sending: kinds, excluding: excluded, now: now)
        }
    }

    private static func due(
        _ connection: Connection, sending kinds: Set<OutboxEntry.Kind>, excluding excluded: Set<Int64> = [],
        now: Timestamp
    ) throws(SQLiteFailure) -> OutboxTask? {
        let count = try connection.cached("SELECT unknown FROM copy")
        let hasUnknown = try count.step() && count.int(0) > 0
        count.reset()
        let ids = "[\(excluded.map(String.init).joined(separator: ","))]"
        if hasUnknown, let look = try due(connection, .unknown, Set(OutboxEntry.Kind.allCases), ids, now: now) {
            return look
        }
        return try due(connection, .queued, kinds, ids, now: now)
    }

    /// When the next entry becomes due after `now`; `nil` where none waits for a time to come.
    package func nextDue(after now: Timestamp) throws(UserFacingError) -> Timestamp? {
        try read { connection throws(SQLiteFailure) in
            var first: Timestamp?
            for kind in OutboxEntry.Kind.allCases {
                for state in [OutboxEntry.State.queued, .unknown] {
                    let row = try connection.cached(
                        """
                        SELECT next_attempt_at FROM outbox
                        WHERE state = ? AND kind = ? AND next_attempt_at > ? ORDER BY next_attempt_at LIMIT 1
                        """
                    ).bind(state.rawValue).bind(kind.rawValue).bind(now)
                    defer { row.reset() }
                    if try row.step(), let at = row.timestamp(0) { first = min(first ?? at, at) }
                }
            }
            return first
        }
    }

    private static func due(
        _ connection: Connection, _ state: OutboxEntry.State, _ kinds: Set<OutboxEntry.Kind>, _ excluded: String,
        now: Timestamp
    ) throws(SQLiteFailure) -> OutboxTask? {
        var best: OutboxTask?
        for kind in kinds {
            let row = try connection.cached(
                """
                SELECT \(OutboxTask.columns) FROM outbox
                WHERE state = ?1 AND kind = ?2 AND next_attempt_at <= ?3
                    AND (state = 'unknown' OR fingerprint IS NULL OR NOT EXISTS (SELECT 1 FROM outbox AS other
                        WHERE other.maybe_applied IS 1 AND other.state = 'unknown'
                            AND other.fingerprint = outbox.fingerprint))
                    AND id NOT IN (SELECT value FROM json_each(?4))
                ORDER BY next_attempt_at, id LIMIT 1
                """
            ).bind(state.rawValue).bind(kind.rawValue).bind(now).bind(excluded)
            defer { row.reset() }
            guard try row.step(), let task = OutboxTask(row: row) else { continue }
            let isEarlier = best.map { best in
                (task.entry.nextAttemptAt ?? now, task.entry.id) < (best.entry.nextAttemptAt ?? now, best.entry.id)
            }
            if isEarlier ?? true { best = task }
        }
        return best
    }

    // MARK: Sending

    /// `queued` to `sending`, on the disk before the first byte goes out.
    ///
    /// - Returns: False where the entry is no longer queued: a person was faster.
    package func beginSending(
        _ id: Int64, evidence: SendEvidence?, now: Timestamp
    ) throws(UserFacingError) -> Bool {
        let entry = try writeOutbox { connection throws(SQLiteFailure) in
            let writer = OutboxWriter(connection, now: now)
            defer { CrashPoint.beforeSending.reach() }
            return try writer.beginSending(id, evidence: evidence)
        }
        CrashPoint.afterSending.reach()
        if let entry { noteSending(entry) }
        return entry != nil
    }

    /// Records what requests brought and, in the same transaction, begins to send the entries that are due next, as long as
    /// they are of one of the kinds in `unprepared`: many moves for one fsync.
    ///
    /// - Parameters:
    ///   - kinds: Those that may be sent now. An entry of another kind than `unprepared` that has waited longer is not passed
    ///     over.
    ///   - most: So many are begun at most.
    /// - Returns: The entries that are now `sending`, in their order.
    package func settle(
        _ settlements: [Settlement], now: Timestamp, thenSending kinds: Set<OutboxEntry.Kind> = [],
        unprepared: Set<OutboxEntry.Kind> = [], excluding excluded: Set<Int64> = [], most: Int = 1
    ) throws(UserFacingError) -> [OutboxTask] {
        let (next, delivered, awaited) = try writeOutbox { connection throws(SQLiteFailure) in
            var writer = OutboxWriter(connection, now: now)
            var delivered: [DeliveredWrite?] = []
            for settlement in settlements {
                delivered.append(try writer.settle(settlement, statements: statements, reachable: reachable))
            }
            let next = try Self.begin(&writer, kinds, unprepared: unprepared, excluding: excluded, most: most)
            try writer.deltas.save(connection)
            CrashPoint.beforeSettling.reach()
            return (next, delivered, writer.awaited)
        }
        inFlight.expectProcessing(of: awaited)
        CrashPoint.afterSettling.reach()
        for (settlement, write) in zip(settlements, delivered) { noteSettled(settlement, write) }
        for task in next { noteSending(task) }
        return next
    }

    private static func begin(
        _ writer: inout OutboxWriter, _ kinds: Set<OutboxEntry.Kind>, unprepared: Set<OutboxEntry.Kind>,
        excluding excluded: Set<Int64>, most: Int
    ) throws(SQLiteFailure) -> [OutboxTask] {
        var begun: [OutboxTask] = []
        while !unprepared.isEmpty, begun.count < most,
            let due = try due(writer.connection, sending: kinds, excluding: excluded, now: writer.now),
            due.entry.state == .queued,
            unprepared.contains(due.entry.kind), let task = try writer.beginSending(due.entry.id, evidence: nil)
        {
            begun.append(task)
        }
        return begun
    }

    /// Begins to send the entries that are due next; see `settle`. Writes nothing where none is.
    package func beginNext(
        now: Timestamp, of kinds: Set<OutboxEntry.Kind>, unprepared: Set<OutboxEntry.Kind>,
        excluding excluded: Set<Int64>, most: Int
    ) throws(UserFacingError) -> [OutboxTask] {
        guard !unprepared.isEmpty, let due = try dueEntry(now: now, sending: kinds, excluding: excluded),
            due.entry.state == .queued,
            unprepared.contains(due.entry.kind)
        else { return [] }
        let next = try writeOutbox { connection throws(SQLiteFailure) in
            var writer = OutboxWriter(connection, now: now)
            return try Self.begin(&writer, kinds, unprepared: unprepared, excluding: excluded, most: most)
        }
        for task in next { noteSending(task) }
        return next
    }

    /// Where entries stand: for whoever waits for them. Entries that are gone are left out.
    package func outboxEntries(_ ids: [Int64]) throws(UserFacingError) -> [OutboxEntry] {
        try read { connection throws(SQLiteFailure) in
            let row = try connection.cached("SELECT \(OutboxEntry.columns) FROM outbox WHERE id = ?")
            var entries: [OutboxEntry] = []
            for id in ids {
                row.reset()
                if try row.bind(Int(id)).step(), let entry = OutboxEntry(row: row) { entries.append(entry) }
            }
            row.reset()
            return entries
        }
    }

    /// Which of the entries are still to be sent or looked up.
    package func waiting(among ids: [Int64]) throws(UserFacingError) -> [Int64] {
        try read { connection throws(SQLiteFailure) in
            let row = try connection.cached(
                "SELECT 1 FROM outbox WHERE id = ? AND state IN ('queued', 'sending', 'unknown')")
            defer { row.reset() }
            var waiting: [Int64] = []
            for id in ids {
                row.reset()
                if try row.bind(Int(id)).step() { waiting.append(id) }
            }
            return waiting
        }
    }

    /// Which of the ids belong to creations from here already.
    package func boundIDs(among ids: [String]) throws(UserFacingError) -> Set<ByteText> {
        try read { connection throws(SQLiteFailure) in
            guard !ids.isEmpty else { return [] }
            // Without an index: this is asked when an answer was lost, and the index would cost every delivery a page.
            let rows = try connection.prepare(
                """
                SELECT item_id FROM outbox
                WHERE item_id IN (SELECT value FROM json_each(?)) AND kind IN ('capture', 'note') AND state = 'delivered'
                """
            ).bind(JSONText.array(ids))
            var bound: Set<ByteText> = []
            while try rows.step() {
                if let id = rows.text(0) { bound.insert(ByteText(id)) }
            }
            return bound
        }
    }

    /// The item of the copy that has exactly this URL, or the one that was made of it here.
    package func itemID(url: String) throws(UserFacingError) -> String? {
        try read { connection throws(SQLiteFailure) in
            let row = try connection.prepare(
                """
                SELECT id FROM item WHERE url = ?1 AND deleted_at IS NULL
                UNION ALL SELECT id FROM local_item WHERE url = ?1 AND delivered_at IS NOT NULL LIMIT 1
                """
            ).bind(url)
            return try row.step() ? row.text(0) : nil
        }
    }

    /// The base of an edit that was made before anybody knew what the server would make of the item.
    package func setBase(_ base: ItemEdit, of id: Int64) throws(UserFacingError) {
        try writeOutbox { connection throws(SQLiteFailure) in
            try connection.prepare("UPDATE outbox SET base = ? WHERE id = ? AND base IS NULL")
                .bind(base.fields.json).bind(Int(id)).run()
        }
    }

    /// Longer than any entry is made to wait.
    package static let longestWait: Duration = .seconds(12 * 3_600)

    /// A clock that was set back makes due times of the past look like times to come: such entries are due now.
    package func distrustDueTimes(now: Timestamp) throws(UserFacingError) {
        let limit = now.advanced(by: Self.longestWait)
        let condition = "next_attempt_at > ?1 OR (next_attempt_at > ?2 AND attempts = 0 AND state = 'queued')"
        let isAhead = try read { connection throws(SQLiteFailure) in
            try connection.prepare("SELECT 1 FROM outbox WHERE next_attempt_at IS NOT NULL AND (\(condition)) LIMIT 1")
                .bind(limit).bind(now).step()
        }
        guard isAhead else { return }
        try writeOutbox { connection throws(SQLiteFailure) in
            try connection.prepare(
                "UPDATE outbox SET next_attempt_at = ?2 WHERE next_attempt_at IS NOT NULL AND (\(condition))"
            ).bind(limit).bind(now).run()
        }
    }

    /// A server that failed answers again: what it failed at is due now, but what was tried a moment ago, so that one that
    /// comes and goes is not asked for it without a pause.
    package func hastenFailed(now: Timestamp) throws(UserFacingError) {
        let condition = """
            ended_at IS NULL AND state = 'queued' AND next_attempt_at > ?1 AND last_attempt_at <= ?2
                AND error_code IN ('server_error', 'service_unavailable') AND follows IS NULL
            """
        let before = now.advanced(by: .seconds(-60))
        let isAny = try read { connection throws(SQLiteFailure) in
            try connection.prepare("SELECT 1 FROM outbox WHERE \(condition) LIMIT 1").bind(now).bind(before).step()
        }
        guard isAny else { return }
        try writeOutbox { connection throws(SQLiteFailure) in
            try connection.prepare("UPDATE outbox SET next_attempt_at = ?1 WHERE \(condition)").bind(now).bind(before)
                .run()
        }
    }

    /// The wall clock was set by `step`, forward is positive: what was to wait waits as long as before, neither for ever nor
    /// all due at once; what was due is due. What was written since the step is by the new clock already.
    package func shiftDueTimes(by step: Duration, now: Timestamp) throws(UserFacingError) {
        let before = now.advanced(by: .zero - step)
        let waiting = try read { connection throws(SQLiteFailure) in
            let rows = try connection.prepare(
                """
                SELECT id, next_attempt_at FROM outbox
                WHERE ended_at IS NULL AND next_attempt_at > ?1 AND coalesce(last_attempt_at, accepted_at) <= ?2
                """
            ).bind(step < .zero ? .earliest : before).bind(step < .zero ? .latest : before)
            var waiting: [(id: Int64, at: Timestamp)] = []
            while try rows.step() {
                if let at = rows.timestamp(1) { waiting.append((rows.int64(0), at)) }
            }
            return waiting
        }
        let undecided = try read { connection throws(SQLiteFailure) in
            let rows = try connection.prepare("SELECT id, undecided_here FROM outbox WHERE undecided_here IS NOT NULL")
            var undecided: [(id: Int64, at: Timestamp)] = []
            while try rows.step() {
                if let at = rows.timestamp(1) { undecided.append((rows.int64(0), at)) }
            }
            return undecided
        }
        guard !waiting.isEmpty || !undecided.isEmpty else { return }
        try writeOutbox { connection throws(SQLiteFailure) in
            for entry in undecided {
                try connection.prepare("UPDATE outbox SET undecided_here = ? WHERE id = ?")
                    .bind(entry.at.advanced(by: step)).bind(Int(entry.id)).run()
            }
            for entry in waiting {
                try connection.prepare("UPDATE outbox SET next_attempt_at = ? WHERE id = ?")
                    .bind(entry.at.advanced(by: step)).bind(Int(entry.id)).run()
            }
        }
    }

    /// A deletion of the item that was accepted before the entry and is on its way. One that is parked waits for a person.
    package func openDeletion(of item: String, before entry: Int64) throws(UserFacingError) -> Int64? {
        try read { connection throws(SQLiteFailure) in
            let row = try connection.prepare(
                """
                SELECT min(id) FROM outbox
                WHERE item_id = ? AND kind = 'delete' AND ended_at IS NULL AND state != 'parked' AND id < ?
                """
            ).bind(item).bind(Int(entry))
            return try row.step() && row.text(0) != nil ? row.int64(0) : nil
        }
    }

    /// When the entry was first sent with an unknown outcome, the attempt under way not counted.
    package func firstUnknownSend(of id: Int64) throws(UserFacingError) -> Timestamp? {
        try read { connection throws(SQLiteFailure) in
            let row = try connection.prepare(
                """
                SELECT min(started_at) FROM outbox_attempt
                WHERE entry_id = ?1 AND purpose = 'send' AND (verdict IS NULL OR verdict = 'look')
                    AND NOT (EXISTS (SELECT 1 FROM outbox WHERE id = ?1 AND state = 'sending')
                        AND number = (SELECT max(number) FROM outbox_attempt WHERE entry_id = ?1))
                """
            ).bind(Int(id))
            return try row.step() ? row.timestamp(0) : nil
        }
    }

    /// Makes `unknown` of what is `sending`; only while nothing is being sent.
    package func markSendingUnknown() throws(UserFacingError) {
        try writeOutbox { connection throws(SQLiteFailure) in try Self.markSendingUnknown(connection) }
    }

    // MARK: Housekeeping

    /// Delivered creations that no pull has brought although one that began after the delivery has ended: the item may
    /// have been deleted elsewhere in between.
    package func missingCreations(
        deliveredBefore limit: Timestamp, now: Timestamp = .latest, most: Int = 50
    ) throws(UserFacingError) -> [String] {
        try read { connection throws(SQLiteFailure) in
            let rows = try connection.prepare(
                """
                SELECT id FROM local_item WHERE delivered_at < ?
                    AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = local_item.id)
                    AND NOT EXISTS
                        (SELECT 1 FROM unanswered_suspect WHERE item_id = local_item.id AND next_at > ?)
                ORDER BY delivered_at LIMIT ?
                """
            ).bind(limit).bind(now).bind(most)
            var ids: [String] = []
            while try rows.step() {
                if let id = rows.text(0) { ids.append(id) }
            }
            return ids
        }
    }

    /// Takes an item that was made here, delivered, and never seen in a pull out of the timeline: the server has it no more.
    package func forgetCreation(_ id: String) throws(UserFacingError) {
        try writeOutbox { connection throws(SQLiteFailure) in
            try connection.prepare("DELETE FROM local_item WHERE id = ? AND delivered_at IS NOT NULL").bind(id).run()
        }
    }

    /// Removes entries that have been over since before `limit`, with their attempts.
    package func purgeOutbox(endedBefore limit: Timestamp) throws(UserFacingError) {
        let old = try read { connection throws(SQLiteFailure) in
            try connection.prepare("SELECT 1 FROM outbox WHERE ended_at < ? LIMIT 1").bind(limit).step()
        }
        guard old else { return }
        try writeOutbox { connection throws(SQLiteFailure) in
            try connection.prepare(
                "DELETE FROM outbox_attempt WHERE entry_id IN (SELECT id FROM outbox WHERE ended_at < ?)"
            ).bind(limit).run()
            try connection.prepare("DELETE FROM outbox WHERE ended_at < ?").bind(limit).run()
        }
    }
}
