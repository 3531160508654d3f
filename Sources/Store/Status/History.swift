package import PRSNLCore

/// One pull that did something, as the history keeps it and `prsnlctl history --json` has it.
package struct PullRecord: Sendable, Equatable, Codable {
    package enum Kind: String, Sendable, CaseIterable, Codable { case backfill, head, sweep, pass, check, texts }
    package enum Outcome: String, Sendable, CaseIterable, Codable {
        case running, complete, incomplete, failed, interrupted
    }

    package var id: Int64 = 0
    package var kind: Kind
    package var startedAt: Timestamp
    @Nullable package var endedAt: Timestamp? = nil
    package var outcome: Outcome = .running
    package var requests = 0
    package var pages = 0
    package var added = 0
    package var changed = 0
    package var deleted = 0
    package var suspects = 0
    package var rejected = 0
    @Nullable package var errorCode: String? = nil

    package var hasChanges: Bool { added + changed + deleted + suspects > 0 }

    package init(kind: Kind, startedAt: Timestamp) {
        self.kind = kind
        self.startedAt = startedAt
    }
}

extension Store {
    /// Writes the pull's row. A new one gets its id. The last 100 of each kind are kept.
    static func save(_ record: PullRecord, _ connection: Connection) throws -> PullRecord {
        var record = record
        let isNew = record.id == 0
        let id = try connection.prepare(
            """
            INSERT OR REPLACE INTO pull (\(PullRecord.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            RETURNING id
            """
        ).bind(isNew ? nil : Int(record.id)).bind(record.kind.rawValue).bind(record.startedAt).bind(record.endedAt)
            .bind(record.outcome.rawValue).bind(record.requests).bind(record.pages).bind(record.added)
            .bind(record.changed).bind(record.deleted).bind(record.suspects).bind(record.rejected)
            .bind(record.errorCode).first { $0.int64(0) }
        record.id = id ?? record.id
        if isNew {
            try connection.prepare(
                """
                DELETE FROM pull WHERE kind = ?1 AND id <=
                    (SELECT id FROM pull WHERE kind = ?1 ORDER BY id DESC LIMIT 1 OFFSET 100)
                """
            ).bind(record.kind.rawValue).run()
        }
        return record
    }

    /// Closes the pull's row in the history. A pull that changed nothing and never wrote leaves no row.
    package func finish(_ record: PullRecord) throws(UserFacingError) {
        guard record.id != 0 else { return }
        try write { connection in _ = try Self.save(record, connection) }
    }
}

extension StoreReader {
    /// The newest pulls first.
    package func history(limit: Int = 100) throws(UserFacingError) -> [PullRecord] {
        try read {
            try connection.prepare("SELECT \(PullRecord.columns) FROM pull ORDER BY id DESC LIMIT ?").bind(limit)
                .all { PullRecord($0) }
        }
    }
}

extension PullRecord {
    fileprivate static let columns = """
        id, kind, started_at, ended_at, outcome, requests, pages, added, changed, deleted, suspects, rejected, error_code
        """

    /// `nil` for one of a kind that a newer version writes.
    fileprivate init?(_ row: Statement) {
        guard let kind = row.text("kind").flatMap(Kind.init), let start = row.timestamp("started_at") else {
            return nil
        }
        var record = PullRecord(kind: kind, startedAt: start)
        record.id = row.int64("id")
        record.endedAt = row.timestamp("ended_at")
        record.outcome = row.text("outcome").flatMap(Outcome.init) ?? .failed
        record.requests = row.int("requests")
        record.pages = row.int("pages")
        record.added = row.int("added")
        record.changed = row.int("changed")
        record.deleted = row.int("deleted")
        record.suspects = row.int("suspects")
        record.rejected = row.int("rejected")
        record.errorCode = row.text("error_code")
        self = record
    }
}

extension Store {
    static let keptTransitions = 200

    /// Keeps transitions, and forgets the oldest. What the file says already is not written again: a daemon that starts
    /// and finds its server has no news.
    package func saveTransitions(_ transitions: [ConnectivityTransition]) throws(UserFacingError) {
        let last = try text("SELECT state FROM connectivity_transition ORDER BY id DESC LIMIT 1")
        let news = transitions.drop { $0.state.rawValue == last ?? Connectivity.State.online.rawValue }
        guard !news.isEmpty else { return }
        try write { connection in
            for transition in news.suffix(Self.keptTransitions) {
                try connection.prepare(
                    "INSERT INTO connectivity_transition (at, state, error_code, reason) VALUES (?, ?, ?, ?)"
                ).bind(transition.at).bind(transition.state.rawValue).bind(transition.code)
                    .bind(transition.reason).run()
            }
            try connection.prepare(
                "DELETE FROM connectivity_transition WHERE id <= (SELECT max(id) FROM connectivity_transition) - ?"
            ).bind(Self.keptTransitions).run()
        }
    }
}

extension StoreReader {
    /// When the server could be used, and why not. Newest first.
    package func connectivityHistory(limit: Int = 20) throws(UserFacingError) -> [ConnectivityTransition] {
        try read {
            try connection.prepare(
                "SELECT at, state, error_code, reason FROM connectivity_history LIMIT ?"
            ).bind(limit).all { row in
                guard let at = row.timestamp(0), let state = row.text(1).flatMap(Connectivity.State.init) else {
                    return nil  // of a kind that a newer version writes
                }
                return ConnectivityTransition(at: at, state: state, code: row.text(2), reason: row.text(3))
            }
        }
    }
}
