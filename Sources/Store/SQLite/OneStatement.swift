import PRSNLCore

// Reads and writes of one statement, with the times that it is about.
extension Store {
    /// The first column of the first row. 0 where there is no row.
    func integer(_ sql: String, _ times: Timestamp...) throws(UserFacingError) -> Int {
        try read { connection in
            try connection.prepare(sql).bind(times).first { $0.int(0) } ?? 0
        }
    }

    func text(_ sql: String) throws(UserFacingError) -> String? {
        try read { connection in try connection.text(sql) }
    }

    /// Also asked before a write, so that none is begun that would change nothing.
    func hasRow(_ sql: String, _ times: Timestamp...) throws(UserFacingError) -> Bool {
        try read { connection in try connection.prepare(sql).bind(times).hasRow() }
    }

    func run(_ sql: String, _ times: Timestamp...) throws(UserFacingError) {
        try write { connection in try connection.prepare(sql).bind(times).run() }
    }
}

extension Statement {
    fileprivate func bind(_ times: [Timestamp]) -> Statement {
        for time in times { bind(time) }
        return self
    }
}
