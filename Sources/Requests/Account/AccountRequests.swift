import Control
package import PRSNLCore
package import Store

/// Asks whose timeline the copy is of.
package struct AccountRequest: Request, BareRequest {
    package static let command = "account"
    package var isChange: Bool { false }
    package init() {}

    package func answer(_ context: RequestContext) throws(UserFacingError) -> AccountReport? {
        switch context.host {
        case .daemon(let daemon, _): try daemon.account(context)
        case .command(let command, _): try command.account()
        }
    }
}

extension RunningDaemon {
    fileprivate func account(_ context: RequestContext) throws(UserFacingError) -> AccountReport {
        let copy = try context.reader().summary()
        let login = parts.login
        let change = AccountChange.found(
            copy: copy, problem: parts.engine.state.problem, subject: parts.client.credentials.subject,
            server: login.server.text)
        return AccountReport(
            copy, source: .daemon, file: database, credentials: login.report, change: change, now: context.now)
    }
}

/// Whose timeline the copy is of: the JSON of `prsnlctl account --json`.
package struct AccountReport: ControlReply {
    package static let type = "account"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// `null` where the copy is not bound.
    @Nullable package var account: AccountName? = nil
    @Nullable package var server: String? = nil
    @Nullable package var dialect: Dialect? = nil
    /// When the copy was bound to it.
    @Nullable package var since: Timestamp? = nil
    package var items: Int
    /// Writes that are not on the server: waiting, and parked.
    package var waiting: Int
    package var parked: Int
    package var credentials: CredentialsReport
    /// Why a new copy may be started: the server or the account is another one now. `null` where they are the same. With the
    /// code `login_expired` the login has to be made again instead, because the server takes it for another account's.
    @Nullable package var change: UserFacingError? = nil
    package var file: String
    /// With `--accept-new`: where the copy is now, or with `--dry-run` would be.
    @Nullable package var setAside: String? = nil
    package var dryRun = false

    package init(
        _ summary: CopySummary, source: StatusReport.Source, file: String, credentials: CredentialsReport,
        change: UserFacingError?, now: Timestamp
    ) {
        (self.source, self.file, self.credentials) = (source, file, credentials)
        generatedAt = now
        (account, server, dialect) = (AccountName(summary), summary.server.url, summary.server.dialect)
        (since, items) = (summary.boundAt, summary.copy.live)
        (waiting, parked) = (summary.outbox.waiting, summary.outbox.parked)
        self.change = change
    }
}

/// Whether the copy is of another account or server than the one that is asked now. Only then may a new copy take its place:
/// a good copy should not be set aside by a slip.
package enum AccountChange {
    /// What a pull ends with that has found out.
    package static let codes: [ErrorCode] = [.accountChanged, .serverChanged]

    /// - Parameters:
    ///   - problem: what the last pull ended with, where it is one of `codes`.
    ///   - subject: the account that the login is for, by its token's own word.
    ///   - server: the server that is asked now.
    /// - Returns: what has changed, in words; `login_expired` where the login is the copy's account's, and the server takes it for
    ///   another account's; `nil` where nothing has.
    package static func found(
        copy: CopySummary, problem: UserFacingError?, subject: String?, server: String?
    ) -> UserFacingError? {
        if let problem, codes.contains(problem.code) {
            return problem.code == .accountChanged && isOf(copy, subject) ? loginExpired : problem
        }
        if let bound = copy.server.url, let server, bound != server {
            return UserFacingError(
                .serverChanged, "The copy is of \(bound), and the daemon is to ask \(server).",
                consequence: "Nothing is pulled and nothing is sent.")
        }
        if let bound = copy.accountSubject, let subject, ByteText(bound) != ByteText(subject) {
            return UserFacingError(
                .accountChanged, "The login is for another account than the one this copy is of.",
                consequence: "Nothing is pulled and nothing is sent.")
        }
        if copy.isAnonymous, subject != nil {
            return UserFacingError(
                .accountChanged, "This copy was made without a login and holds the items of all accounts.",
                consequence: "Nothing is pulled and nothing is sent.")
        }
        return nil
    }

    /// Whether the token names the account that the copy is of.
    package static func isOf(_ copy: CopySummary, _ subject: String?) -> Bool {
        guard let subject else { return false }
        return [copy.accountSubject, copy.server.accountID, copy.server.accountName].contains {
            $0.map(ByteText.init) == ByteText(subject)
        }
    }

    /// A new copy would be of the account that the server shows to a login that it does not take.
    package static let loginExpired = UserFacingError(
        .loginExpired, "The server does not take the login for the account's any more.",
        consequence: "The copy is of the right account, and was not changed.")
}
