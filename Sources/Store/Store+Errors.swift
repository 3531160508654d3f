public import PRSNLCore

// Errors, grouped by code and endpoint. There is no limit of rows: codes are a closed set, and endpoints are the names of
// requests, which have no ids in them.
extension Store {
    /// Forgets all of them; those that go on come back with their next occurrence.
    ///
    /// - Returns: how many there were.
    public func forgetErrors() throws(UserFacingError) -> Int {
        let count = try read { connection throws(SQLiteFailure) in
            Int(try connection.integer("SELECT count(*) FROM recurring_error"))
        }
        guard count > 0 else { return 0 }
        try write { connection throws(SQLiteFailure) in
            try connection.execute("DELETE FROM recurring_error")
        }
        return count
    }
}

extension StoreReader {
    /// Those that go on first, each half with the newest first.
    public func recurringErrors() throws(UserFacingError) -> [CopySummary.RecurringError] {
        try read { () throws(SQLiteFailure) in
            let rows = try connection.prepare(
                """
                SELECT code, endpoint, message, first_at, last_at, count, over FROM recurring_error
                ORDER BY over, last_at DESC, code, endpoint
                """)
            var errors: [CopySummary.RecurringError] = []
            while try rows.step() {
                if let error = CopySummary.RecurringError(rows) { errors.append(error) }
            }
            return errors
        }
    }
}

extension CopySummary.RecurringError {
    /// From the columns code, endpoint, message, first_at, last_at, count, over; `nil` where one cannot be read.
    init?(_ row: Statement) {
        guard let code = row.text(0), let endpoint = row.text(1), let message = row.text(2),
            let first = row.timestamp(3), let last = row.timestamp(4)
        else { return nil }
        self.init(
            code: code, endpoint: endpoint, message: message, first: first, last: last, count: row.int(5),
            isOver: row.int(6) == 1)
    }
}
