package import PRSNLCore

// From `queued` to `sending`, and what the answer makes of an entry.
extension Store {
    /// `queued` to `sending`, on the disk before the first byte goes out.
    ///
    /// - Returns: False where the entry is no longer queued: a person was faster.
    package func beginSending(
        _ id: Int64, evidence: SendEvidence?, now: Timestamp
    ) throws(UserFacingError) -> Bool {
        let entry = try moveEntries(now: now) { writer throws(SQLiteFailure) in
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
        let (next, delivered) = try moveEntries(now: now) { writer throws(SQLiteFailure) in
            var delivered: [DeliveredWrite?] = []
            for settlement in settlements {
                delivered.append(try writer.settle(settlement))
            }
            let next = try Self.begin(&writer, kinds, unprepared: unprepared, excluding: excluded, most: most)
            CrashPoint.beforeSettling.reach()
            return (next, delivered)
        }
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

    /// Begins to send the entries that are due next. See `settle`. Writes nothing where none is.
    package func beginNext(
        now: Timestamp, of kinds: Set<OutboxEntry.Kind>, unprepared: Set<OutboxEntry.Kind>,
        excluding excluded: Set<Int64>, most: Int
    ) throws(UserFacingError) -> [OutboxTask] {
        guard !unprepared.isEmpty, let due = try dueEntry(now: now, sending: kinds, excluding: excluded),
            due.entry.state == .queued,
            unprepared.contains(due.entry.kind)
        else { return [] }
        let next = try moveEntries(now: now) { writer throws(SQLiteFailure) in
            try Self.begin(&writer, kinds, unprepared: unprepared, excluding: excluded, most: most)
        }
        for task in next { noteSending(task) }
        return next
    }

    /// Makes `unknown` of what is `sending`. Call it only while nothing is being sent.
    package func markSendingUnknown() throws(UserFacingError) {
        try writeOutbox { connection throws(SQLiteFailure) in try Self.markSendingUnknown(connection) }
    }

    /// Under the lock no other process sends: what is still `sending` may have been applied before its process ended.
    static func markInterruptedSendsUnknown(_ connection: Connection) throws(SQLiteFailure) {
        try connection.synchronize(durably: true)
        try connection.transaction { () throws(SQLiteFailure) in try markSendingUnknown(connection) }
    }

    static func markSendingUnknown(_ connection: Connection) throws(SQLiteFailure) {
        let doubted = try connection.prepare(
            """
            UPDATE outbox SET state = 'unknown', next_attempt_at = last_attempt_at, maybe_applied = 1
            WHERE state = 'sending'
            """
        ).run()
        guard doubted > 0 else { return }
        try connection.prepare("UPDATE copy SET unknown = unknown + ?").bind(doubted).run()
    }
}

extension OutboxWriter {
    /// - Returns: The task as it is now. `nil` where the entry is not queued any more.
    mutating func beginSending(_ id: Int64, evidence: SendEvidence?) throws(SQLiteFailure) -> OutboxTask? {
        let changed = try connection.cached(
            """
            UPDATE outbox SET state = 'sending', next_attempt_at = NULL, attempts = attempts + 1, last_attempt_at = ?2,
                evidence = ?3, error_code = NULL, error_message = NULL
            WHERE id = ?1 AND state = 'queued'
            """
        ).bind(Int(id)).bind(now).bind(evidence?.json).run()
        guard changed == 1 else { return nil }
        deltas.sends += 1
        try connection.cached(
            """
            INSERT INTO outbox_attempt (entry_id, number, purpose, started_at, items_before)
            SELECT ?1, coalesce(max(number), 0) + 1, 'send', ?2, coalesce((SELECT max(rowid) FROM item), 0)
            FROM outbox_attempt WHERE entry_id = ?1
            """
        ).bind(Int(id)).bind(now).run()
        return try task(id)
    }
}
