package import PRSNLCore

// From `queued` to `sending`, and what the answer makes of an entry.
extension Store {
    /// `queued` to `sending`, on the disk before the first byte goes out.
    ///
    /// - Parameter task: as it was asked about: with these entries, and this payload.
    /// - Returns: False where one of the entries is no longer queued, or has its turn no more: a person was faster.
    package func beginSending(
        _ task: OutboxTask, evidence: SendEvidence?, now: Timestamp
    ) throws(UserFacingError) -> Bool {
        let isBegun = try moveEntries(now: now) { writer in
            defer { CrashPoint.beforeSending.reach() }
            return try writer.beginSending(task, evidence: evidence)
        }
        CrashPoint.afterSending.reach()
        if isBegun { noteSending(task) }
        return isBegun
    }

    /// Records what requests brought and, in the same transaction, begins to send the entries that are due next, as long as
    /// they are of one of the kinds in `unprepared`: many moves for one fsync.
    ///
    /// - Parameters:
    ///   - kinds: Those that may be sent now. An entry of another kind than `unprepared` that has waited longer is not passed
    ///     over.
    ///   - most: So many are begun at most.
    /// - Returns: The entries that are now `sending`, in their order. Where there are none, and no records, nothing was written.
    package func record(
        _ records: [WriteRecord], now: Timestamp, thenSending kinds: Set<OutboxEntry.Kind> = [],
        unprepared: Set<OutboxEntry.Kind> = [], excluding excluded: Set<Int64> = [], most: Int = 1
    ) throws(UserFacingError) -> [OutboxTask] {
        if records.isEmpty {
            guard !unprepared.isEmpty, let due = try dueEntry(now: now, sending: kinds, excluding: excluded),
                due.entry.state == .queued, unprepared.contains(due.entry.kind)
            else { return [] }
        }
        let (next, delivered) = try moveEntries(now: now) { writer in
            var delivered: [DeliveredWrite?] = []
            for record in records { delivered.append(try writer.record(record)) }
            let next = try Self.begin(&writer, kinds, unprepared: unprepared, excluding: excluded, most: most)
            CrashPoint.beforeSettling.reach()
            return (next, delivered)
        }
        CrashPoint.afterSettling.reach()
        for (record, write) in zip(records, delivered) { noteRecorded(record, write) }
        for task in next { noteSending(task) }
        return next
    }

    private static func begin(
        _ writer: inout OutboxWriter, _ kinds: Set<OutboxEntry.Kind>, unprepared: Set<OutboxEntry.Kind>,
        excluding excluded: Set<Int64>, most: Int
    ) throws -> [OutboxTask] {
        var begun: [OutboxTask] = []
        while !unprepared.isEmpty, begun.count < most,
            let due = try due(writer.connection, sending: kinds, excluding: excluded, now: writer.now),
            due.entry.state == .queued,
            unprepared.contains(due.entry.kind), try writer.beginSending(due, evidence: nil),
            let task = try OutboxTask.load(due.entry.id, writer.connection)
        {
            begun.append(task)
        }
        return begun
    }

    /// Makes `unknown` of what is `sending`. Call it only while nothing is being sent.
    package func markSendingUnknown() throws(UserFacingError) {
        try writeOutbox { connection in try Self.markSendingUnknown(connection) }
    }

    /// Under the lock no other process sends: what is still `sending` may have been applied before its process ended.
    static func markInterruptedSendsUnknown(_ connection: Connection) throws {
        try connection.synchronize(durably: true)
        try connection.transaction { try markSendingUnknown(connection) }
    }

    static let interruptedSends = """
        UPDATE outbox SET state = 'unknown', maybe_applied = 1,
            next_attempt_at = iif(EXISTS (SELECT 1 FROM outbox AS first WHERE first.item_id = outbox.item_id
                AND first.id < outbox.id AND first.state IN ('sending', 'unknown')), NULL, last_attempt_at)
        WHERE state = 'sending'
        """

    static func markSendingUnknown(_ connection: Connection) throws {
        let doubted = try connection.prepare(interruptedSends).run()
        guard doubted > 0 else { return }
        try connection.prepare("UPDATE copy SET unknown = unknown + ?").bind(doubted).run()
    }
}

extension OutboxWriter {
    /// - Returns: False where one of the entries is not queued any more, or a later deletion has its turn. Nothing was written then.
    mutating func beginSending(_ task: OutboxTask, evidence: SendEvidence?) throws -> Bool {
        let isToBeSent = try connection.cached(
            "SELECT 1 FROM outbox WHERE id = ?1 AND state = 'queued' AND (id != ?2 OR next_attempt_at IS NOT NULL)")
        for id in task.covered where try !isToBeSent.bind(Int(id)).bind(Int(task.entry.id)).hasRow() { return false }
        for id in task.covered {
            try change(id, from: .queued) { [now] standing in
                (standing.state, standing.lastAttemptAt) = (.sending, now)
                standing.evidence = standing.evidence ?? evidence?.json
                standing.attempts += 1
                standing.setError(nil, nil)
            }
            // What was sent is noted where the entry alone does not say it.
            let sent = id == task.entry.id && (task.entry.kind == .edit || !task.others.isEmpty)
            try connection.cached(
                """
                INSERT INTO outbox_attempt (entry_id, number, purpose, started_at, items_before, payload)
                SELECT ?1, coalesce(max(number), 0) + 1, 'send', ?2, coalesce((SELECT max(rowid) FROM item), 0), ?3
                FROM outbox_attempt WHERE entry_id = ?1
                """
            ).bind(Int(id)).bind(now).bind(sent ? task.entry.payload.fields.json : nil).run()
        }
        deltas.sends += 1
        return true
    }
}

// Which entry is due, and when the next one is.
extension Store {
    /// The entry that is due longest, lookups of unknown outcomes first: they may let others go on.
    ///
    /// A creation that could be confused with one whose outcome is not known is left out.
    ///
    /// - Parameter excluded: entries that are left alone for now.
    package func dueEntry(
        now: Timestamp, sending kinds: Set<OutboxEntry.Kind>, excluding excluded: Set<Int64> = []
    ) throws(UserFacingError) -> OutboxTask? {
        try read { connection in
            try Self.due(connection, sending: kinds, excluding: excluded, now: now)
        }
    }

    static func due(
        _ connection: Connection, sending kinds: Set<OutboxEntry.Kind>, excluding excluded: Set<Int64> = [],
        now: Timestamp
    ) throws -> OutboxTask? {
        let hasUnknown = try connection.cached("SELECT 1 FROM copy WHERE unknown > 0").hasRow()
        let ids = "[\(excluded.map(String.init).joined(separator: ","))]"
        if hasUnknown, let look = try due(connection, .unknown, Set(OutboxEntry.Kind.allCases), ids, now: now) {
            return look
        }
        return try due(connection, .queued, kinds, ids, now: now)
    }

    /// When the next entry becomes due after `now`. `nil` where none waits for a time to come.
    package func nextDue(after now: Timestamp) throws(UserFacingError) -> Timestamp? {
        try read { connection in
            var first: Timestamp?
            for kind in OutboxEntry.Kind.allCases {
                for state in [OutboxEntry.State.queued, .unknown] {
                    let next = try connection.cached(
                        """
                        SELECT next_attempt_at FROM outbox
                        WHERE state = ? AND kind = ? AND next_attempt_at > ? ORDER BY next_attempt_at LIMIT 1
                        """
                    ).bind(state.rawValue).bind(kind.rawValue).bind(now).first { $0.timestamp(0) }
                    if let next { first = min(first ?? next, next) }
                }
            }
            return first
        }
    }

    static func due(
        _ connection: Connection, _ state: OutboxEntry.State, _ kinds: Set<OutboxEntry.Kind>, _ excluded: String,
        now: Timestamp
    ) throws -> OutboxTask? {
        var best: OutboxTask?
        for kind in kinds {
            let id = try connection.cached(
                """
                SELECT id FROM outbox
                WHERE state = ?1 AND kind = ?2 AND next_attempt_at <= ?3
                    AND (state = 'unknown' OR fingerprint IS NULL OR NOT EXISTS (SELECT 1 \(OutboxEntry.unknownTwin)))
                    AND id NOT IN (SELECT value FROM json_each(?4))
                ORDER BY next_attempt_at, id LIMIT 1
                """
            ).bind(state.rawValue).bind(kind.rawValue).bind(now).bind(excluded).first { $0.int64(0) }
            guard let id, let task = try OutboxTask.load(id, connection) else { continue }
            let isEarlier = best.map { best in
                (task.entry.nextAttemptAt ?? now, task.entry.id) < (best.entry.nextAttemptAt ?? now, best.entry.id)
            }
            if isEarlier ?? true { best = task }
        }
        return best
    }

    /// Longer than any entry is made to wait.
    package static let longestWait: Duration = .seconds(12 * 3_600)

    /// A clock that was set back makes due times of the past look like times to come: such entries are due now. One that was
    /// tried at a time to come waits as long as after that try.
    package func distrustDueTimes(now: Timestamp) throws(UserFacingError) {
        try bringBackTries(now: now)
        let limit = now.advanced(by: Self.longestWait)
        // An edit that waits until the server has processed its item has a later time by right, and no more than that.
        let condition = """
            next_attempt_at > ?1 OR (next_attempt_at > iif(awaits_item, ?3, ?2) AND attempts = 0 AND state = 'queued')
            """
        let patience = now.advanced(by: OutboxWriter.settlingPatience)
        let isAhead = "SELECT 1 FROM outbox WHERE next_attempt_at IS NOT NULL AND (\(condition)) LIMIT 1"
        guard try hasRow(isAhead, limit, now, patience) else { return }
        try moveEntries(now: now) { writer in
            let ahead = try writer.connection.prepare(
                "SELECT id FROM outbox WHERE next_attempt_at IS NOT NULL AND (\(condition))"
            ).bind(limit).bind(now).bind(patience)
            try writer.change(each: ahead) { $0.dueAt = now }
        }
    }

    private func bringBackTries(now: Timestamp) throws(UserFacingError) {
        let tried = try read { connection in
            try connection.prepare(
                """
                SELECT id, last_attempt_at, next_attempt_at FROM outbox
                WHERE next_attempt_at IS NOT NULL AND last_attempt_at > ?
                """
            ).bind(now).all { row -> (id: Int64, wait: Duration)? in
                guard let last = row.timestamp(1), let next = row.timestamp(2) else { return nil }
                return (row.int64(0), max(.zero, next.duration(since: last)))
            }
        }
        guard !tried.isEmpty else { return }
        try moveEntries(now: now) { writer in
            for entry in tried {
                try writer.change(entry.id) { ($0.lastAttemptAt, $0.dueAt) = (now, now.advanced(by: entry.wait)) }
            }
        }
    }

    /// Whether an edit has to wait on for the server's processing of its item, although its time has come: that is an hour by a
    /// clock that may be wrong. Then it waits a little longer.
    package func awaitsOn(_ entry: OutboxEntry, now: Timestamp) throws(UserFacingError) -> Bool {
        guard entry.awaitsItem, entry.reachableAge < OutboxWriter.settlingPatience,
            try isUnsettled(entry.itemID, now: now)
        else { return false }
        try moveEntries(now: now) { writer in
            try writer.change(entry.id) { if $0.state == .queued { $0.dueAt = now.advanced(by: .seconds(300)) } }
        }
        return true
    }

    /// Whether the server still works on the item, as far as the copy knows.
    package func isUnsettled(_ item: String, now: Timestamp) throws(UserFacingError) -> Bool {
        try read { connection in try writer(connection, now: now).isUnsettled(item) }
    }

    /// A server that failed answers again: what it failed at is due now, but what was tried a moment ago, so that one that
    /// comes and goes is not asked for it without a pause.
    package func hastenFailed(now: Timestamp) throws(UserFacingError) {
        let condition = """
            ended_at IS NULL AND state = 'queued' AND next_attempt_at > ?1 AND last_attempt_at <= ?2
                AND error_code IN ('server_error', 'service_unavailable') AND follows IS NULL
            """
        let before = now.advanced(by: .seconds(-60))
        guard try hasRow("SELECT 1 FROM outbox WHERE \(condition) LIMIT 1", now, before) else { return }
        try moveEntries(now: now) { writer in
            let failed = try writer.connection.prepare("SELECT id FROM outbox WHERE \(condition)").bind(now).bind(
                before)
            try writer.change(each: failed) { $0.dueAt = now }
        }
    }

    /// The wall clock was set by `step`; forward is positive. Waiting entries wait as long as before, and due ones stay due.
    /// Times that were written since the step are by the new clock already.
    package func shiftDueTimes(by step: Duration, now: Timestamp) throws(UserFacingError) {
        let before = now.advanced(by: .zero - step)
        let (waiting, undecided) = try read { connection in
            func times(_ rows: Statement) throws -> [(id: Int64, at: Timestamp)] {
                try rows.all { row in row.timestamp(1).map { (row.int64(0), $0) } }
            }
            let waiting = try connection.prepare(
                """
                SELECT id, next_attempt_at FROM outbox
                WHERE ended_at IS NULL AND next_attempt_at > ?1 AND coalesce((SELECT ended_at FROM outbox_attempt
                    WHERE entry_id = outbox.id ORDER BY number DESC LIMIT 1), last_attempt_at, accepted_at) <= ?2
                """
            ).bind(step < .zero ? .earliest : before).bind(step < .zero ? .latest : before)
            let undecided = try connection.prepare(
                "SELECT id, undecided_here FROM outbox WHERE undecided_here IS NOT NULL")
            return (try times(waiting), try times(undecided))
        }
        guard !waiting.isEmpty || !undecided.isEmpty else { return }
        try moveEntries(now: now) { writer in
            for entry in undecided { try writer.change(entry.id) { $0.undecidedHere = entry.at.advanced(by: step) } }
            for entry in waiting { try writer.change(entry.id) { $0.dueAt = entry.at.advanced(by: step) } }
        }
    }
}
