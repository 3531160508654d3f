package import PRSNLCore

/// What the file says about itself, in one read: the material of `prsnlctl status`.
package struct CopySummary: Sendable, Equatable {
    package var serverURL: String?
    package var dialect: Dialect?
    package var accountID: String?
    package var accountName: String?
    /// Whom the login token named when the account was bound.
    package var accountSubject: String?
    /// Made without a login: it holds everyone's items.
    package var isAnonymous: Bool { dialect == .cursor && accountID == nil }
    /// When the copy was bound to server and account.
    package var boundAt: Timestamp?
    /// New items are complete as of this time (T1): the last head read that reached what was already here.
    package var newAsOf: Timestamp?
    /// Edits and deletions are complete as of this time (T2): the start of the oldest read that still counts. `nil` while
    /// a part of the timeline was never read.
    package var editsAsOf: Timestamp?
    /// Nothing is known to be missing.
    package var isComplete = false
    package var gaps: [Gap] = []
    /// Times at which the server has more items than it shows.
    package var possiblyMoreAt: [Timestamp] = []
    package var live = 0
    package var deleted = 0
    package var rejected = 0
    /// Items that the server's list lacks and that are not yet proven to be deleted.
    package var suspects = 0
    /// More deletions at once than are believed: waiting for `sync --accept-deletions`.
    package var deletionsHeld = 0
    /// `nil` for a file of a version that had no texts.
    package var texts: Texts?
    /// `nil` for a file that has no index of words.
    package var search: SearchState?
    /// Writes that wait to be sent: `queued`, `sending` and `unknown`.
    package var waiting = 0
    /// Of these, the ones that may be there already.
    package var unknown = 0
    /// Writes that wait for a person.
    package var parked = 0
    /// Of the waiting ones, those that have failed at least four times, or were refused.
    package var failing: Failing?
    /// When the oldest waiting write was accepted.
    package var oldestWaiting: Timestamp?
    package var lastError: RecurringError?
    /// Bytes of the database, and of its write-ahead log beside it.
    package var databaseSize: Int64 = 0
    package var walSize: Int64 = 0
    package var schemaVersion = 0
    /// Whether the last owner of the file closed it, or has it open and has written nothing yet.
    package var wasClosed = true

    package init() {}

    /// A stretch of the timeline that the copy lacks. Both ends included.
    package struct Gap: Sendable, Equatable {
        package var from: Timestamp
        package var to: Timestamp
        package init(from: Timestamp, to: Timestamp) {
            self.from = from
            self.to = to
        }
    }

    /// Writes that fail again and again, or are refused.
    package struct Failing: Sendable, Equatable {
        package var count: Int
        /// Those of them that people asked for. The others are titles and tags that follow a capture.
        package var ownCount: Int
        /// The first of the former, else of all.
        package var entry: Int64
        /// Its last error.
        package var code: String?
        package var message: String?

        package init(count: Int, ownCount: Int, entry: Int64, code: String?, message: String?) {
            self.count = count
            self.ownCount = ownCount
            self.entry = entry
            self.code = code
            self.message = message
        }
    }

    /// Errors of one code at one endpoint, grouped.
    package struct RecurringError: Sendable, Equatable {
        package var code: String
        package var endpoint: String
        package var message: String
        package var first: Timestamp
        package var last: Timestamp
        package var count: Int
        /// Whether it went away since: something succeeded after `last`.
        package var isOver: Bool
        package init(
            code: String, endpoint: String, message: String, first: Timestamp, last: Timestamp, count: Int, isOver: Bool
        ) {
            self.code = code
            self.endpoint = endpoint
            self.message = message
            self.first = first
            self.last = last
            self.count = count
            self.isOver = isOver
        }
    }
}

extension StoreReader {
    package func summary() throws(UserFacingError) -> CopySummary {
        try readTogether { () throws(SQLiteFailure) in try CopySummary(connection, path: path) }
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
                account_subject, bound_at, stopped_cleanly
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
            wasClosed = row.int(15) != 0
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
        texts = try Texts(connection, self)
        if schemaVersion >= Schema.versionWithSearch { search = try SearchState(connection) }
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
