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

    package init(kind: Kind, startedAt: Timestamp) {
        self.kind = kind
        self.startedAt = startedAt
    }
}

extension PullRecord {
    mutating func add(_ counts: ChangeCounts) {
        added += counts.added
        changed += counts.changed + counts.restored
        suspects += counts.suspects
        rejected += counts.rejected
    }
}

extension Store {
    /// Writes the pull's row. A new one gets its id. The last 100 of each kind are kept.
    static func save(_ record: PullRecord, _ connection: Connection) throws(SQLiteFailure) -> PullRecord {
        var record = record
        let isNew = record.id == 0
        let statement = try connection.prepare(
            """
            INSERT INTO pull (id, kind, started_at, ended_at, outcome, requests, pages, added, changed, deleted,
                suspects, rejected, error_code)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
            ON CONFLICT (id) DO UPDATE SET ended_at = ?4, outcome = ?5, requests = ?6, pages = ?7, added = ?8,
                changed = ?9, deleted = ?10, suspects = ?11, rejected = ?12, error_code = ?13
            RETURNING id
            """
        ).bind(isNew ? nil : Int(record.id)).bind(record.kind.rawValue).bind(record.startedAt).bind(record.endedAt)
            .bind(record.outcome.rawValue).bind(record.requests).bind(record.pages).bind(record.added)
            .bind(record.changed).bind(record.deleted).bind(record.suspects).bind(record.rejected)
            .bind(record.errorCode)
        if try statement.step() { record.id = statement.int64(0) }
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
        try write { connection throws(SQLiteFailure) in _ = try Self.save(record, connection) }
    }
}

extension StoreReader {
    /// The newest pulls first.
    package func history(limit: Int = 100) throws(UserFacingError) -> [PullRecord] {
        try read { () throws(SQLiteFailure) in
            let rows = try connection.prepare(
                """
                SELECT id, kind, started_at, ended_at, outcome, requests, pages, added, changed, deleted, suspects,
                    rejected, error_code
                FROM pull ORDER BY id DESC LIMIT ?
                """
            ).bind(limit)
            var records: [PullRecord] = []
            while try rows.step() {
                guard let kind = rows.text(1).flatMap(PullRecord.Kind.init), let start = rows.timestamp(2) else {
                    continue  // of a kind that a newer version writes
                }
                var record = PullRecord(kind: kind, startedAt: start)
                record.id = rows.int64(0)
                record.endedAt = rows.timestamp(3)
                record.outcome = rows.text(4).flatMap(PullRecord.Outcome.init) ?? .failed
                record.requests = rows.int(5)
                record.pages = rows.int(6)
                record.added = rows.int(7)
                record.changed = rows.int(8)
                record.deleted = rows.int(9)
                record.suspects = rows.int(10)
                record.rejected = rows.int(11)
                record.errorCode = rows.text(12)
                records.append(record)
            }
            return records
        }
    }
}
