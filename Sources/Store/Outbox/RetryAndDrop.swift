package import PRSNLCore

/// What `retry-queue` did.
package struct RetryOutcome: Sendable, Equatable, Codable {
    package enum Reason: String, Sendable, CaseIterable, Codable {
        case isBeingSent = "being_sent"
        case isDue = "already_due"
        case isBehind = "behind_another"
        case awaitsItem = "item_in_process"
        case wasTriedJustNow = "tried_just_now"
        case isParked = "parked"
        case wouldDeleteCapture = "would_delete_capture"
        case isOver = "over"
    }

    package struct Skipped: Sendable, Equatable, Codable {
        package var entry: Int64
        package var reason: Reason
    }

    package var touched = 0
    /// The first 50.
    package var touchedEntries: [Int64] = []
    /// The first 50.
    package var skipped: [Skipped] = []
    /// By a `Reason`; all are counted.
    package var skippedByReason: [String: Int] = [:]
}

/// What `queue drop` did, or would do.
package struct DropOutcome: Sendable, Equatable, Codable {
    /// Empty where dependents were found and were not to go too.
    package var dropped: [Int64] = []
    /// Entries behind a dropped creation, which can only go with it.
    package var dependents: [Int64] = []
    /// What a dropped deletion had taken the place of, and is sent after all.
    package var revived: [Int64] = []
    /// Of the dropped ones, those of which the server may have something.
    package var maybeApplied: [Int64] = []
}

// What people do with entries: try again, give up.
extension Store {
    /// Retrying more often than this does not help: the server is not asked as often.
    package static let retryPause: Duration = .seconds(10)
    /// Entries that an outcome names one by one.
    static let named = 50

    /// Makes waiting entries due now and resets their backoff. Done twice, the second time changes nothing.
    ///
    /// - Parameters:
    ///   - ids: `nil` for all that wait. A parked entry that is named gets one more attempt, in a conflict over what the
    ///     server has, and where its outcome could not be found out as if it had never been sent.
    ///   - parked: Gives all parked entries one more attempt too: conflicts are compared again, outcomes looked for again.
    ///   - dryRun: Only says what would be done.
    /// - Throws: `entry_unknown`. Nothing was done then.
    package func retry(
        _ ids: [Int64]?, parked: Bool, dryRun: Bool, now: Timestamp
    ) throws(UserFacingError) -> RetryOutcome {
        if let ids, let strange = try missing(ids) { throw Self.unknown(strange) }
        let open: [Int64]
        if let ids { open = ids } else { open = try openIDs() }
        return try moveEntries(now: now) { writer in
            var outcome = RetryOutcome()
            for id in open {
                let named = ids != nil
                if let reason = try writer.retry(id, isNamed: named, parked: parked, dryRun: dryRun) {
                    outcome.skippedByReason[reason.rawValue, default: 0] += 1
                    if outcome.skipped.count < Self.named { outcome.skipped.append(.init(entry: id, reason: reason)) }
                } else {
                    outcome.touched += 1
                    if outcome.touchedEntries.count < Self.named { outcome.touchedEntries.append(id) }
                }
            }
            return outcome
        }
    }

    /// Gives entries up. One whose outcome is not known may still be on the server.
    ///
    /// - Parameter withDependents: Also what is queued behind a creation, which could never be sent without it. Without
    ///   this, nothing is dropped where there is any.
    /// - Throws: `entry_unknown`, `entry_not_changeable`. Nothing was dropped then.
    package func drop(
        _ ids: [Int64], withDependents: Bool, dryRun: Bool, now: Timestamp
    ) throws(UserFacingError) -> DropOutcome {
        if let strange = try missing(ids) { throw Self.unknown(strange) }
        for entry in try outboxEntries(ids) where !entry.state.isDroppable {
            throw UserFacingError(
                .entryNotChangeable,
                entry.state == .dropped
                    ? "#\(entry.id) was dropped already."
                    : "#\(entry.id) cannot be dropped: it is \(entry.state.rawValue).",
                consequence: "Nothing was dropped.",
                recoverySuggestion: "Look at it with `prsnlctl queue show \(entry.id)`.")
        }
        let outcome = try moveEntries(now: now) { writer in
            var outcome = DropOutcome()
            let chosen = Set(ids)
            for id in chosen.sorted() {
                outcome.dependents += try writer.dependents(of: id).filter { !chosen.contains($0) }
            }
            guard outcome.dependents.isEmpty || withDependents else { return outcome }
            outcome.dropped = (chosen.union(outcome.dependents)).sorted()
            for id in outcome.dropped {
                let task = try OutboxTask.alone(id, writer.connection)
                guard let entry = task?.entry, entry.state.isDroppable else { throw writer.stale("#\(id) is over") }
                if entry.mayBeThere { outcome.maybeApplied.append(id) }
                outcome.revived += try writer.replaced(by: entry).filter { !outcome.dropped.contains($0) }
                if !dryRun { try writer.drop(entry) }
            }
            return outcome
        }
        if !dryRun { for id in outcome.dropped { inFlight.noteSettled(id) } }
        return outcome
    }

    private func openIDs() throws(UserFacingError) -> [Int64] {
        try read { connection in
            try connection.prepare("SELECT id FROM outbox WHERE ended_at IS NULL ORDER BY id").all { $0.int64(0) }
        }
    }

    private func missing(_ ids: [Int64]) throws(UserFacingError) -> Int64? {
        try read { connection in
            let row = try connection.cached("SELECT 1 FROM outbox WHERE id = ?")
            for id in ids where try !row.bind(Int(id)).hasRow() { return id }
            return nil
        }
    }

    static func unknown(_ id: Int64) -> UserFacingError {
        UserFacingError(.entryUnknown, "The outbox has no entry #\(id).")
    }
}

extension OutboxEntry.State {
    /// Whether a person may give it up. What is being sent has to be waited for.
    fileprivate var isDroppable: Bool { self == .queued || self == .unknown || self == .parked }
}

extension OutboxWriter {
    /// - Returns: Why the entry is left as it is. `nil` where it is tried again.
    fileprivate mutating func retry(
        _ id: Int64, isNamed: Bool, parked: Bool, dryRun: Bool
    ) throws -> RetryOutcome.Reason? {
        let row = try connection.cached(
            """
            SELECT state, item_id, next_attempt_at, coalesce((SELECT started_at FROM outbox_attempt
                WHERE entry_id = outbox.id ORDER BY number DESC LIMIT 1), last_attempt_at) AS last_request_at, error_code,
                maybe_applied, last_attempt_at, awaits_item, kind IN ('capture', 'note') AS is_creation,
                \(OutboxEntry.isOfCapture) AS would_delete_capture
            FROM outbox
            WHERE id = ?
            """
        ).bind(Int(id))
        defer { row.reset() }
        guard try row.step(), let state = row.text("state").flatMap(OutboxEntry.State.init),
            let item = row.text("item_id")
        else { return .isOver }
        let nextAttempt = row.timestamp("next_attempt_at")
        // Lookups count, but a person's decision about what one has just shown is carried out at once.
        let tried = state == .parked && isNamed ? row.timestamp("last_attempt_at") : row.timestamp("last_request_at")
        let wasJustTried = tried.map { now.duration(since: $0) < Store.retryPause && $0 <= now } ?? false
        switch state {
        case .sending: return .isBeingSent
        case .delivered, .dropped, .superseded: return .isOver
        case .queued, .unknown:
            guard let nextAttempt else { return .isBehind }
            if row.int("awaits_item") == 1, !isNamed { return .awaitsItem }
            if nextAttempt <= now { return .isDue }
            if wasJustTried { return .wasTriedJustNow }
            guard !dryRun else { return nil }
            try change(id) { [now] in ($0.dueAt, $0.failures, $0.failedLookups, $0.awaitsItem) = (now, 0, 0, false) }
        case .parked:
            guard isNamed || parked else { return .isParked }
            if row.int("would_delete_capture") == 1 { return .wouldDeleteCapture }
            if wasJustTried { return .wasTriedJustNow }
            guard !dryRun else { return nil }
            let code = row.text("error_code")
            // What may have been sent from another copy of the file is never sent unseen.
            let isLookedFor = row.int("maybe_applied") == 1 && (!isNamed || code == ErrorCode.databaseRestored.rawValue)
            try unpark(
                id, to: isLookedFor ? .unknown : .queued,
                manual: isNamed && code == ErrorCode.editConflict.rawValue ? .overwrite : .retry,
                isCreation: row.int("is_creation") == 1)
            try advance(item)
            try refreshLocalEdit(item)
        }
        return nil
    }

    mutating func unpark(
        _ id: Int64, to state: OutboxEntry.State, manual: OutboxTask.ManualDecision?, isCreation: Bool
    ) throws {
        try change(id, from: .parked) { [now] standing in
            (standing.state, standing.manual, standing.failures) = (state, manual, 0)
            standing.setError(nil, nil)
            standing.dueAt = state == .unknown ? now : nil
            // What is looked for was sent, and so was an edit that has no answer.
            if isCreation { standing.isMaybeApplied = state == .unknown }
            if state == .queued { standing.evidence = nil }
        }
    }

    /// What is queued behind a creation, in its order.
    fileprivate func dependents(of id: Int64) throws -> [Int64] {
        try connection.prepare(
            """
            SELECT later.id FROM outbox AS made JOIN outbox AS later
                ON later.item_id = made.item_id AND later.id > made.id AND later.ended_at IS NULL
            WHERE made.id = ? AND made.kind IN ('capture', 'note') ORDER BY later.id
            """
        ).bind(Int(id)).all { $0.int64(0) }
    }

    fileprivate mutating func drop(_ entry: OutboxEntry) throws {
        try move(entry.id, from: entry.state, to: .dropped)
        if entry.kind.isCreation { try removeLocalItem(entry: entry.id) }
        try followUp(entry.itemID)
        try refreshLocalEdit(entry.itemID)
        try advance(entry.itemID)
    }
}
