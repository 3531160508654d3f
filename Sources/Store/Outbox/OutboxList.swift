package import PRSNLCore

/// Which entries a list is of.
package enum OutboxFilter: Sendable, Equatable {
    /// `queued`, `sending`, `unknown` and `parked`: everything that is not over.
    case open
    case all
    case state(OutboxEntry.State)
}

/// A part of the outbox, and how many entries the whole has.
package struct OutboxList: Sendable, Equatable {
    package var entries: [OutboxEntry]
    package var total: Int

    package init(entries: [OutboxEntry], total: Int) {
        self.entries = entries
        self.total = total
    }
}

extension StoreReader {
    /// The live item that a person would delete by its id, or by the beginning of it.
    ///
    /// - Returns: its whole id, and its title.
    /// - Throws: `item_unknown`, also where the local id of a capture turned out to be an older item; `item_ambiguous`.
    package func itemToDelete(_ prefix: String) throws(UserFacingError) -> (id: String, title: String) {
        do {
            let id = try ItemPrefix(connection: connection, isForDeletion: true).resolve(prefix)
            let row = try connection.prepare("SELECT substr(title, 1, 500) FROM timeline WHERE id = ?").bind(id)
            return (id, try row.step() ? row.text(0) ?? "" : "")
        } catch let error as SQLiteFailure {
            throw error.userFacing(path: path)
        } catch let error as UserFacingError {
            throw error
        } catch {
            throw UserFacingError(.storeBug, "Looking for an item failed.", cause: "\(error)")
        }
    }

    /// Entries in their order, the ended ones newest first.
    package func outbox(_ filter: OutboxFilter, limit: Int) throws(UserFacingError) -> OutboxList {
        try readTogether { () throws(SQLiteFailure) in
            let rows = try connection.prepare(
                """
                SELECT \(OutboxEntry.columns) FROM outbox
                \(filter.condition) ORDER BY id \(filter.isNewestFirst ? "DESC" : "ASC") LIMIT ?
                """
            ).bind(limit)
            var list = OutboxList(entries: [], total: Int(try connection.integer(filter.count)))
            while try rows.step() {
                if let entry = OutboxEntry(row: rows) { list.entries.append(entry) }
            }
            return list
        }
    }

    /// One entry, and every request that was made for it.
    ///
    /// - Throws: `entry_unknown`.
    package func outboxEntry(_ id: Int64) throws(UserFacingError) -> (entry: OutboxEntry, attempts: [OutboxAttempt]) {
        let found = try readTogether { () throws(SQLiteFailure) -> (OutboxEntry, [OutboxAttempt])? in
            let row = try connection.prepare("SELECT \(OutboxEntry.columns) FROM outbox WHERE id = ?").bind(Int(id))
            guard try row.step(), let entry = OutboxEntry(row: row) else { return nil }
            row.reset()
            let rows = try connection.prepare(
                """
                SELECT purpose, started_at, ended_at, verdict, error_code, status, request_id FROM outbox_attempt
                WHERE entry_id = ? ORDER BY number
                """
            ).bind(Int(id))
            var attempts: [OutboxAttempt] = []
            while try rows.step() {
                guard let purpose = rows.text(0).flatMap(OutboxAttempt.Purpose.init), let start = rows.timestamp(1)
                else { continue }
                var attempt = OutboxAttempt(purpose, startedAt: start)
                attempt.endedAt = rows.timestamp(2)
                attempt.verdict = rows.text(3)
                attempt.errorCode = rows.text(4)
                attempt.status = rows.text(5) == nil ? nil : rows.int(5)
                attempt.requestID = rows.text(6)
                attempts.append(attempt)
            }
            return (entry, attempts)
        }
        guard let found else { throw Store.unknown(id) }
        return found
    }
}

extension OutboxFilter {
    fileprivate var condition: String {
        switch self {
        case .open: "WHERE ended_at IS NULL"
        case .all: ""
        case .state(let state):
            "WHERE state = '\(state.rawValue)'" + (state.isWaiting || state == .parked ? " AND ended_at IS NULL" : "")
        }
    }

    /// From the counters where there is one: counting 100,000 rows takes milliseconds.
    fileprivate var count: String {
        switch self {
        case .open: "SELECT waiting + parked FROM copy"
        case .all: "SELECT count(*) FROM outbox"
        case .state(.unknown): "SELECT unknown FROM copy"
        case .state(.parked): "SELECT parked FROM copy"
        case .state(let state): "SELECT count(*) FROM outbox WHERE state = '\(state.rawValue)'"
        }
    }

    fileprivate var isNewestFirst: Bool {
        switch self {
        case .open, .state(.queued), .state(.sending), .state(.unknown), .state(.parked): false
        case .all, .state(.delivered), .state(.dropped), .state(.superseded): true
        }
    }
}
