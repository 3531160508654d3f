package import PRSNLCore

/// Which timeline the file is a copy of. Set once, at the first sync.
package struct Binding: Sendable, Equatable {
    package var serverURL: String?
    package var dialect: Dialect?
    /// `nil` where the server has no accounts, or none was asked for.
    package var accountID: String?
    package var accountName: String?
    /// Whom the login token named when the account was bound (`sub`, RFC 7519): tells another account's token before it is sent.
    package var accountSubject: String?

    package init(
        serverURL: String? = nil, dialect: Dialect? = nil, accountID: String? = nil, accountName: String? = nil,
        accountSubject: String? = nil
    ) {
        self.serverURL = serverURL
        self.dialect = dialect
        self.accountID = accountID
        self.accountName = accountName
        self.accountSubject = accountSubject
    }
}

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
                "The server answers in dialect \(other.rawValue). This copy was made from one with dialect "
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
        try connection.prepare("SELECT server_url, dialect, account_id, account_name, account_subject FROM copy")
            .first { row in
                Binding(
                    serverURL: row.text(0), dialect: row.text(1).flatMap(Dialect.init), accountID: row.text(2),
                    accountName: row.text(3), accountSubject: row.text(4))
            } ?? Binding()
    }
}
