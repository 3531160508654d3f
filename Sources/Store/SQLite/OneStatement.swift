import PRSNLCore

// Reads and writes of one statement, with its parameters.
extension Store {
    /// The first column of the first row. 0 where there is no row.
    func integer(_ sql: String, _ values: any SQLValue...) throws(UserFacingError) -> Int {
        try read { connection in
            try connection.prepare(sql).bind(values).first { $0.int(0) } ?? 0
        }
    }

    func text(_ sql: String) throws(UserFacingError) -> String? {
        try read { connection in try connection.text(sql) }
    }

    /// Also asked before a write, so that none is begun that would change nothing.
    func hasRow(_ sql: String, _ values: any SQLValue...) throws(UserFacingError) -> Bool {
        try read { connection in try connection.prepare(sql).bind(values).hasRow() }
    }

    func run(_ sql: String, _ values: any SQLValue...) throws(UserFacingError) {
        try write { connection in try connection.prepare(sql).bind(values).run() }
    }
}

/// What a parameter can be.
protocol SQLValue {
    func bind(to statement: Statement)
}

extension String: SQLValue { func bind(to statement: Statement) { statement.bind(self) } }
extension Int: SQLValue { func bind(to statement: Statement) { statement.bind(self) } }
extension Timestamp: SQLValue { func bind(to statement: Statement) { statement.bind(self) } }

extension Statement {
    @discardableResult
    func bind(_ values: [any SQLValue]) -> Statement {
        for value in values { value.bind(to: self) }
        return self
    }
}
