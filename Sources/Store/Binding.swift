package import PRSNLCore

extension Store {
    /// Binds the file to a server, its dialect, and an account. Once: a bound file refuses another binding.
    ///
    /// - Parameter now: the time that a new binding is noted with.
    /// - Throws: `server_changed`, `account_changed`.
    package func bind(_ new: Binding, at now: Timestamp = TimeSource.system.now()) throws(UserFacingError) {
        if let url = binding.serverURL, url != new.serverURL {
            throw UserFacingError(
                .serverChanged, "This copy is of \(url), not of \(new.serverURL ?? "another server").",
                consequence: "Nothing was written.")
        }
        if let dialect = binding.dialect, let other = new.dialect, dialect != other {
            throw UserFacingError(
                .serverChanged,
                "The server answers in dialect \(other.rawValue); this copy was made from one with dialect "
                    + "\(dialect.rawValue).", consequence: "Nothing was written.")
        }
        if let account = binding.accountID, ByteText(account) != new.accountID.map(ByteText.init) {
            throw UserFacingError(
                .accountChanged, "The server now answers as another account than the one this copy is of.",
                consequence: "Nothing was written.")
        }
        guard binding != new else { return }
        try write { connection throws(SQLiteFailure) in
            try connection.prepare(
                """
                UPDATE copy SET server_url = ?, dialect = ?, account_id = ?, account_name = ?, account_subject = ?,
                    bound_at = coalesce(bound_at, ?)
                """
            ).bind(new.serverURL).bind(new.dialect?.rawValue).bind(new.accountID).bind(new.accountName)
                .bind(new.accountSubject).bind(now).run()
        }
        binding = new
    }

    static func readBinding(_ connection: Connection) throws(SQLiteFailure) -> Binding {
        let row = try connection.prepare(
            "SELECT server_url, dialect, account_id, account_name, account_subject FROM copy")
        guard try row.step() else { return Binding() }
        return Binding(
            serverURL: row.text(0), dialect: row.text(1).flatMap(Dialect.init), accountID: row.text(2),
            accountName: row.text(3), accountSubject: row.text(4))
    }

    /// Saves T1: new items are complete as of `time`. Called when something is written anyway, and before stopping; in
    /// between the engine keeps it in memory, so that a poll without news writes nothing. It may go back with the clock.
    package func saveNewAsOf(_ time: Timestamp) throws(UserFacingError) {
        try write { connection throws(SQLiteFailure) in
            try connection.prepare("UPDATE copy SET new_as_of = ?1 WHERE new_as_of IS NOT ?1")
                .bind(time).run()
        }
    }

    package func newAsOf() throws(UserFacingError) -> Timestamp? {
        try read { connection throws(SQLiteFailure) in
            try connection.text("SELECT new_as_of FROM copy").flatMap { Timestamp($0) }
        }
    }

    /// Instants of which the server may have more items than it shows, newest first.
    package func crowdedInstants() throws(UserFacingError) -> [Timestamp] {
        try read { connection throws(SQLiteFailure) in
            let rows = try connection.prepare("SELECT at FROM crowded_instant ORDER BY at DESC")
            var instants: [Timestamp] = []
            while try rows.step() {
                if let at = rows.timestamp(0) { instants.append(at) }
            }
            return instants
        }
    }

    /// Items that the server has and that could not be read.
    package func rejectedCount() throws(UserFacingError) -> Int {
        try read { connection throws(SQLiteFailure) in
            Int(try connection.integer("SELECT count(*) FROM rejected_item"))
        }
    }

    // MARK: History

    /// Writes the pull's row; a new one gets its id. The last 100 of each kind are kept.
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

extension PullRecord {
    mutating func add(_ counts: ChangeCounts) {
        added += counts.added
        changed += counts.changed + counts.restored
        suspects += counts.suspects
        rejected += counts.rejected
    }
}
