import PRSNLCore

/// How far an entry is: all that ever changes of it. What was asked for stays as it was accepted.
struct Standing: Sendable, Equatable {
    var state: OutboxEntry.State
    /// The server's id, or a local one.
    var itemID: String
    var endedAt: Timestamp?
    /// When it is sent, or looked up. `nil` where another entry of its item comes first.
    var dueAt: Timestamp?
    var attempts: Int
    var failures: Int
    var failedLookups: Int
    var lastAttemptAt: Timestamp?
    var supersededBy: Int64?
    /// What it was before a deletion made it superfluous.
    var supersededFrom: OutboxEntry.State?
    var reason: OutboxEntry.Reason?
    var remark: String?
    var errorCode: String?
    var errorMessage: String?
    var isMaybeApplied: Bool
    var awaitsItem: Bool
    var isUnverified: Bool
    /// Delivered, and what it asked for besides is not wanted any more.
    var isWithdrawn: Bool
    var manual: OutboxTask.ManualDecision?
    /// JSON, as the other two.
    var evidence: String?
    var base: String?
    var theirs: String?
    var undecidedSince: Timestamp?
    var undecidedHere: Timestamp?

    mutating func setError(_ code: String?, _ message: String?) { (errorCode, errorMessage) = (code, message) }

    /// What follows from its state.
    private mutating func settle(at now: Timestamp) {
        if state != .queued, state != .unknown { (dueAt, awaitsItem) = (nil, false) }
        if state == .parked { (failures, manual) = (0, nil) }
        let isOpen = state.isWaiting || state == .parked
        endedAt = isOpen ? nil : endedAt ?? now
        if isOpen || state == .delivered { supersededBy = nil }
        if isOpen { reason = nil }
        if state != .superseded { supersededFrom = nil }
    }

    private static let columns = """
        state, item_id, ended_at, next_attempt_at, attempts, failures, failed_looks, last_attempt_at, superseded_by,
        superseded_from, remark, error_code, error_message, maybe_applied, awaits_item, is_unverified, by_hand, evidence, base,
        theirs, undecided_since, undecided_here, is_withdrawn, reason
        """

    private func write(_ id: Int64, _ connection: Connection) throws {
        try connection.cached(
            """
            UPDATE outbox SET (\(Self.columns))
                = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?
            """
        ).bind(state.rawValue).bind(itemID).bind(endedAt).bind(dueAt).bind(attempts).bind(failures).bind(failedLookups)
            .bind(lastAttemptAt).bind(supersededBy.map(Int.init)).bind(supersededFrom?.rawValue).bind(remark)
            .bind(errorCode).bind(errorMessage).bind(isMaybeApplied ? 1 : 0).bind(awaitsItem ? 1 : 0)
            .bind(isUnverified ? 1 : 0).bind(manual?.rawValue).bind(evidence).bind(base).bind(theirs)
            .bind(undecidedSince).bind(undecidedHere).bind(isWithdrawn ? 1 : 0)
            .bind(reason?.rawValue).bind(Int(id)).run()
    }

    /// - Returns: What it was, and what it is; `nil` where there is no such entry.
    fileprivate static func change(
        _ id: Int64, _ connection: Connection, now: Timestamp, _ body: (inout Standing) throws -> Void
    ) throws -> (before: Standing, after: Standing)? {
        let found =
            try connection.cached("SELECT \(columns) FROM outbox WHERE id = ?").bind(Int(id))
            .first { Standing($0) } ?? nil
        guard let before = found else { return nil }
        var after = before
        try body(&after)
        after.settle(at: now)
        if after != before { try after.write(id, connection) }
        return (before, after)
    }
}

extension Standing {
    private init?(_ row: Statement) {
        guard let state = row.text(0).flatMap(OutboxEntry.State.init), let itemID = row.text(1) else { return nil }
        self.init(
            state: state, itemID: itemID, endedAt: row.timestamp(2), dueAt: row.timestamp(3), attempts: row.int(4),
            failures: row.int(5), failedLookups: row.int(6), lastAttemptAt: row.timestamp(7),
            supersededBy: row.isNull(8) ? nil : row.int64(8),
            supersededFrom: row.text(9).flatMap(OutboxEntry.State.init),
            reason: row.text(23).flatMap(OutboxEntry.Reason.init), remark: row.text(10), errorCode: row.text(11),
            errorMessage: row.text(12), isMaybeApplied: row.int(13) == 1, awaitsItem: row.int(14) == 1,
            isUnverified: row.int(15) == 1, isWithdrawn: row.int(22) == 1,
            manual: row.text(16).flatMap(OutboxTask.ManualDecision.init),
            evidence: row.text(17), base: row.text(18), theirs: row.text(19), undecidedSince: row.timestamp(20),
            undecidedHere: row.timestamp(21))
    }
}

extension OutboxWriter {
    /// The one way in which an entry changes.
    ///
    /// - Parameter from: what it has to be. One that is something else is a defect, and rolls back.
    mutating func change(
        _ id: Int64, from: OutboxEntry.State? = nil, _ body: (inout Standing) -> Void
    ) throws {
        let changed = try Standing.change(id, connection, now: now) { standing in
            guard from == nil || standing.state == from else { throw stale("#\(id) is not \(from?.rawValue ?? "")") }
            body(&standing)
        }
        guard let (before, after) = changed else { throw stale("#\(id) is gone") }
        deltas.waiting += (after.state.isWaiting ? 1 : 0) - (before.state.isWaiting ? 1 : 0)
        deltas.unknown += (after.state == .unknown ? 1 : 0) - (before.state == .unknown ? 1 : 0)
        deltas.parked += (after.state == .parked ? 1 : 0) - (before.state == .parked ? 1 : 0)
    }

    /// Changes all entries that a query names.
    ///
    /// - Parameter ids: `SELECT id FROM outbox …`, bound.
    mutating func change(each ids: Statement, _ body: (inout Standing) -> Void) throws {
        for id in try ids.all({ $0.int64(0) }) { try change(id, body) }
    }

    /// Ends an entry, or parks it, without more ado.
    mutating func move(
        _ id: Int64, from: OutboxEntry.State, to state: OutboxEntry.State, supersededBy: Int64? = nil,
        reason: OutboxEntry.Reason? = nil, remark: String? = nil
    ) throws {
        try change(id, from: from) { standing in
            (standing.supersededFrom, standing.state) = (standing.state, state)
            (standing.supersededBy, standing.reason) = (supersededBy, reason)
            standing.remark = remark ?? standing.remark
        }
    }
}
