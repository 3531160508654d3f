package import PRSNLCore

/// Errors of one code at one endpoint, counted together: in the status the last one, in `prsnlctl errors` all.
package struct RecurringError: Sendable, Equatable, Codable {
    package var code: String
    package var endpoint: String
    /// The last one's words.
    package var message: String
    package var first: Timestamp
    package var last: Timestamp
    package var count: Int
    /// Something has succeeded after `last`.
    package var isOver: Bool
    /// `null` for a code of a newer daemon, and in place of commands that are not ours.
    @Nullable package var recoverySuggestion: Advice? = nil
    @Nullable package var nextCommand: NextCommand? = nil

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
        let known = ErrorCode(rawValue: code)
        recoverySuggestion = known?.recoverySuggestion
        nextCommand = known?.nextCommand
    }
}

// Errors, grouped by code and endpoint. There is no limit of rows: codes are a closed set, and endpoints are the names of
// requests, which have no ids in them.
extension Store {
    /// Counts an error with those of the same code at the same endpoint. Where the disk does not take it, it is remembered
    /// until it does.
    package func recordError(
        code: ErrorCode, endpoint: String, message: String, times: Int = 1, at now: Timestamp
    ) throws(UserFacingError) {
        var error = RecurringError(
            code: code.rawValue, endpoint: endpoint, message: message, first: now, last: now, count: times,
            isOver: false)
        if let known = unrecorded.firstIndex(where: { $0.code == error.code && $0.endpoint == endpoint }) {
            error.first = unrecorded[known].first
            error.count += unrecorded[known].count
            unrecorded[known] = error
        } else {
            unrecorded.append(error)
        }
        try saveUnrecorded()
    }

    /// Writes the errors that the disk has not taken when they were met.
    package func saveUnrecorded() throws(UserFacingError) {
        guard !unrecorded.isEmpty else { return }
        try write { connection in
            for error in unrecorded {
                try connection.prepare(
                    """
                    INSERT INTO recurring_error (code, endpoint, message, first_at, last_at, count)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                    ON CONFLICT (code, endpoint) DO UPDATE SET message = ?3, last_at = ?5, count = count + ?6, over = 0
                    """
                ).bind(error.code).bind(error.endpoint).bind(error.message).bind(error.first).bind(error.last)
                    .bind(error.count).run()
            }
        }
        unrecorded = []
    }

    /// Of what fails before a send, for all writes.
    package static let outboxEndpoint = "outbox"
    package static let searchEndpoint = "search index"

    package func endErrors(at endpoint: String) throws(UserFacingError) {
        guard try hasRow("SELECT 1 FROM recurring_error WHERE over = 0 AND endpoint = ?", endpoint) else { return }
        try run("UPDATE recurring_error SET over = 1 WHERE endpoint = ?", endpoint)
    }

    package static let textEndpoint = "GET /api/items/{id}"

    /// Marks all errors as over that a pull ends which has succeeded.
    package func noteSuccess() throws(UserFacingError) {
        let hasGone = try read { connection in try connection.hasGoneItems }
        // A damaged file does not heal by a pull, a deletion candidate that cannot be asked for is left where it is, and so are a
        // write and a text that still fail. The replayer itself says when it can send again, and the indexer when it can write.
        let isOver = """
            over = 0 AND endpoint NOT IN ('\(Self.outboxEndpoint)', '\(Self.searchEndpoint)')
                AND code != '\(ErrorCode.databaseDamaged.rawValue)'
                AND (code != '\(ErrorCode.captureGone.rawValue)' OR NOT \(hasGone))
                AND (code != '\(ErrorCode.deletionUndecided.rawValue)' OR NOT EXISTS (SELECT 1 FROM unanswered_suspect))
                AND (code != '\(ErrorCode.databaseRestored.rawValue)' OR NOT EXISTS (
                    SELECT 1 FROM outbox INDEXED BY outbox_open
                    WHERE ended_at IS NULL AND error_code = '\(ErrorCode.databaseRestored.rawValue)'))
                AND NOT EXISTS (
                    SELECT 1 FROM text_problem
                    WHERE kind = 'failing' AND error_code = code AND endpoint = '\(Self.textEndpoint)')
                AND NOT EXISTS (
                    SELECT 1 FROM outbox INDEXED BY outbox_failing
                    WHERE \(Tables.isFailing) AND 'outbox (' || kind || ')' = endpoint)
            """
        let isStanding = try hasRow("SELECT 1 FROM recurring_error WHERE \(isOver) LIMIT 1")
        guard isStanding || !unrecorded.isEmpty else { return }
        try saveUnrecorded()
        try run("UPDATE recurring_error SET over = 1 WHERE \(isOver)")
    }

    /// What `StoreReader` tells of the file, and what the disk has not taken.
    package func recurringErrors() throws(UserFacingError) -> [RecurringError] {
        unrecorded + (try StoreReader(path: path).recurringErrors())
    }

    /// Forgets all of them. Those that go on come back with their next occurrence.
    ///
    /// - Returns: how many there were.
    package func forgetErrors() throws(UserFacingError) -> Int {
        let count = try integer("SELECT count(*) FROM recurring_error")
        guard count + unrecorded.count > 0 else { return 0 }
        try run("DELETE FROM recurring_error")
        unrecorded = []
        return count
    }
}

extension StoreReader {
    /// The newest error of these codes that nothing has succeeded since.
    package func standingError(of codes: [ErrorCode]) throws(UserFacingError) -> UserFacingError? {
        try read {
            let rows = try connection.prepare(
                "SELECT code, message FROM recurring_error WHERE over = 0 ORDER BY last_at DESC")
            var standing: UserFacingError?
            try rows.rows(while: standing == nil) { row in
                guard let code = row.text(0).flatMap(ErrorCode.init), codes.contains(code) else { return }
                standing = UserFacingError(code, row.text(1) ?? "")
            }
            return standing
        }
    }

    /// Those that go on first, each half with the newest first.
    package func recurringErrors() throws(UserFacingError) -> [RecurringError] {
        try readTogether {
            let gone = try GoneItems(connection)
            let errors = try connection.prepare(
                "SELECT \(RecurringError.columns) FROM recurring_error ORDER BY over, last_at DESC, code, endpoint"
            ).all { row -> RecurringError? in
                var error = RecurringError(row)
                error?.describe(gone)
                return error
            }
            return errors.filter { !$0.isOver } + errors.filter(\.isOver)
        }
    }
}

extension RecurringError {
    /// A prepared file may have texts of any length.
    static let columns = """
        substr(code, 1, 100), substr(endpoint, 1, 200), substr(message, 1, 2000), first_at, last_at, count, over
        """

    /// From `columns`. `nil` where one cannot be read.
    init?(_ row: Statement) {
        guard let code = row.text(0), let endpoint = row.text(1), let message = row.text(2),
            let first = row.timestamp(3), let last = row.timestamp(4)
        else { return nil }
        self.init(
            code: code, endpoint: endpoint, message: message, first: first, last: last, count: row.int(5),
            isOver: row.int(6) == 1)
    }
}
