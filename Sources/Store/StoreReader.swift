package import PRSNLCore

/// A read-only look at the file, by any process, at any time, whether the daemon runs or not. It never reads the file but
/// through SQLite, so it is safe in the daemon's own process too.
package final class StoreReader {
    let path: String
    let connection: Connection

    /// - Parameters:
    ///   - leavingNoTrace: makes nothing beside the file, where there is nothing yet; for a look while no daemon runs.
    ///   - patience: For all that is read, but for `damage`; then `database_unreadable`.
    /// - Throws: `UserFacingError` with `no_database`, `other_application`, `newer_schema`, `not_a_database`,
    ///   `database_damaged`, `database_unreadable`.
    package init(
        path: String, leavingNoTrace: Bool = false, patience: Duration = StoreReader.patience
    ) throws(UserFacingError) {
        // SQLite, too, looks for the log beside the file itself.
        let owner = try FolderOwner.begin(path: path)
        defer { owner.end() }
        let path = owner.path
        self.path = path
        guard try FileIdentity.isRegularFile(path: path) else {
            throw UserFacingError(.noDatabase, "There is no copy yet at \(path).")
        }
        try FileIdentity.checkBeside(path: path)
        do {
            // What a log holds is a part of the database; without one, the database is all there is.
            let isImmutable = leavingNoTrace && FileIdentity.size(path: path + "-wal") == 0
            connection = try Connection(path: path, mode: isImmutable ? .immutable : .readOnly)
            try connection.bound(to: patience)
            try checkHeader()
        } catch let error as SQLiteFailure {
            throw error.userFacing(path: path)
        } catch let error as UserFacingError {
            throw error
        } catch {
            throw UserFacingError(.storeBug, "Opening \(path) failed.", cause: "\(error)")
        }
    }

    /// A healthy file of a million items answers in some milliseconds.
    package static let patience: Duration = .seconds(10)

    /// What readers take for a table. A view in its place could be anything.
    private static let tables = [
        "copy", "coverage", "crowded_instant", "item", "local_edit", "local_item", "outbox", "outbox_attempt", "pull",
        "recurring_error", "rejected_item", "connectivity_transition",
    ]

    /// In one transaction, because a daemon may be making the file: it is empty first, and then has its whole schema.
    private func checkHeader() throws(UserFacingError) {
        var foreign: String?
        let header = try readTogether { () throws(SQLiteFailure) -> DatabaseHeader? in
            if try connection.integer("PRAGMA page_count") == 0 { return nil }
            foreign = try connection.text(
                """
                SELECT name FROM sqlite_schema
                WHERE name IN (\(Self.tables.map { "'\($0)'" }.joined(separator: ", ")))
                    AND (type != 'table' OR sql NOT LIKE 'CREATE TABLE%')
                """)
            return DatabaseHeader(
                applicationID: UInt32(truncatingIfNeeded: try connection.integer("PRAGMA application_id")),
                userVersion: UInt32(truncatingIfNeeded: try connection.integer("PRAGMA user_version")))
        }
        guard let header else { throw UserFacingError(.noDatabase, "There is no copy yet at \(path).") }
        try header.check(path: path)
        if let foreign {
            throw UserFacingError(
                .otherApplication, "\(path) was not made by prsnld: what should be its table \(foreign) is none.")
        }
    }

    package func summary() throws(UserFacingError) -> CopySummary {
        try readTogether { () throws(SQLiteFailure) in try CopySummary(connection, path: path) }
    }

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

    /// The newest error of these codes that nothing has succeeded since.
    package func standingError(of codes: [ErrorCode]) throws(UserFacingError) -> UserFacingError? {
        try read { () throws(SQLiteFailure) in
            let rows = try connection.prepare(
                "SELECT code, message FROM recurring_error WHERE over = 0 ORDER BY last_at DESC")
            while try rows.step() {
                guard let code = rows.text(0).flatMap(ErrorCode.init), codes.contains(code) else { continue }
                return UserFacingError(code, rows.text(1) ?? "")
            }
            return nil
        }
    }

    /// What SQLite's `quick_check` finds (https://sqlite.org/pragma.html#pragma_quick_check); empty when all is well.
    /// Reads the whole file, which has no deadline here: it takes minutes for a large one.
    package func damage() throws(UserFacingError) -> [String] {
        try read { () throws(SQLiteFailure) in
            connection.removeDeadline()
            let rows = try connection.prepare("PRAGMA quick_check(10)")
            var findings: [String] = []
            while try rows.step() {
                if let text = rows.text(0), text != "ok" { findings.append(text) }
            }
            return findings
        }
    }

    func read<Result>(_ body: () throws(SQLiteFailure) -> Result) throws(UserFacingError) -> Result {
        do {
            return try body()
        } catch {
            throw error.userFacing(path: path)
        }
    }

    /// Several reads in one transaction, so that they are of one moment.
    func readTogether<Result>(_ body: () throws(SQLiteFailure) -> Result) throws(UserFacingError) -> Result {
        try read { () throws(SQLiteFailure) in
            try connection.execute("BEGIN")
            defer { try? connection.execute("COMMIT") }  // ends a read; there is nothing that it could lose
            return try body()
        }
    }
}

extension CopySummary {
    fileprivate init(_ connection: Connection, path: String) throws(SQLiteFailure) {
        self.init()
        schemaVersion = Int(try connection.integer("PRAGMA user_version"))
        let row = try connection.prepare(
            """
            SELECT server_url, dialect, account_id, account_name, new_as_of, edits_as_of, deletions_held, live, deleted,
                waiting, unknown, parked,
                (SELECT accepted_at FROM outbox WHERE ended_at IS NULL AND state != 'parked' ORDER BY id LIMIT 1),
                account_subject, bound_at
            FROM copy
            """)
        if try row.step() {
            serverURL = row.text(0)
            dialect = row.text(1).flatMap(Dialect.init)
            accountID = row.text(2)
            accountName = row.text(3)
            newAsOf = row.timestamp(4)
            editsAsOf = row.timestamp(5)
            deletionsHeld = row.int(6)
            live = row.int(7)
            deleted = row.int(8)
            waiting = row.int(9)
            unknown = row.int(10)
            parked = row.int(11)
            oldestWaiting = row.timestamp(12)
            accountSubject = row.text(13)
            self.boundAt = row.timestamp(14)
        }
        let coverage = try Store.readCoverage(connection)
        gaps = coverage.gaps().map { Gap(from: $0.lowerBound, to: $0.upperBound) }
        let crowded = try connection.prepare("SELECT at FROM crowded_instant ORDER BY at DESC")
        while try crowded.step() {
            if let at = crowded.timestamp(0) { possiblyMoreAt.append(at) }
        }
        rejected = Int(try connection.integer("SELECT count(*) FROM rejected_item"))
        suspects = Int(try connection.integer("SELECT count(*) FROM item WHERE missing_since IS NOT NULL"))
        isComplete = coverage.isComplete && possiblyMoreAt.isEmpty && rejected == 0
        failing = try Self.failing(connection)
        lastError = try Self.lastError(connection)
        walSize = Int64(FileIdentity.size(path: path + "-wal"))
        databaseSize = Int64(FileIdentity.size(path: path))
    }

    private static func failing(_ connection: Connection) throws(SQLiteFailure) -> Failing? {
        let row = try connection.prepare(
            """
            SELECT id, substr(error_code, 1, 100), substr(error_message, 1, 2000), count(*) OVER (), sum(follows IS NULL) OVER ()
            FROM outbox INDEXED BY outbox_failing WHERE \(Tables.isFailing) ORDER BY follows IS NOT NULL, id LIMIT 1
            """)
        guard try row.step() else { return nil }
        return Failing(
            count: row.int(3), ownCount: row.int(4), entry: row.int64(0), code: row.text(1), message: row.text(2))
    }

    private static func lastError(_ connection: Connection) throws(SQLiteFailure) -> RecurringError? {
        let row = try connection.prepare(
            """
            SELECT substr(code, 1, 100), substr(endpoint, 1, 200), substr(message, 1, 2000), first_at, last_at, count, over FROM recurring_error
            ORDER BY last_at DESC LIMIT 1
            """)
        return try row.step() ? RecurringError(row) : nil
    }
}
