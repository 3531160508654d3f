import Configuration
package import Control
import PRSNLClient
package import PRSNLCore
import Store

/// A login that prsnlctl has made, on its way to the daemon: the one request that carries a secret. It is never logged, and
/// the pair shows nothing of itself when it is printed.
package struct LoginRequest: Request {
    package static let command = "login"
    package static let refused = "No login was made."

    /// Whose pair it is: a pair is never sent to another server.
    package let server: String
    package let pair: TokenPair
    /// As the server named it with the pair.
    package let account: AccountName
    package var isChange: Bool { true }

    package init(server: String, pair: TokenPair, account: AccountName) {
        (self.server, self.pair, self.account) = (server, pair, account)
    }

    /// - Throws: what is missing or cannot be; never with any of the value.
    package init(_ members: RequestMembers) throws(RequestRefusal) {
        func member(_ name: String, isOptional: Bool = false) throws(RequestRefusal) -> String {
            let text = try members.text(name) ?? ""
            guard isOptional || !text.isEmpty else { throw RequestRefusal(reason: "\(name) is missing") }
            return text
        }
        server = try member("server")
        let life = try members.number("access_life").map { Duration.seconds($0) }
        guard
            let pair = TokenPair(
                access: try member("access_token"), refresh: try member("refresh_token"), life: life)
        else {
            throw RequestRefusal(reason: "access_token or refresh_token is not a token")
        }
        self.pair = pair
        let id = try member("account_id", isOptional: true)
        let name = try member("account_name", isOptional: true)
        account = AccountName(id: id.isEmpty ? nil : id, name: name.isEmpty ? nil : name)
    }

    package func write(to line: inout RequestLine) {
        line.add("server", server)
        line.add("access_token", pair.access)
        line.add("refresh_token", pair.refresh)
        if let life = pair.life { line.add("access_life", life.components.seconds) }
        line.add("account_id", account.id ?? "")
        line.add("account_name", account.name ?? "")
    }

    /// Answers when the pair is stored, and in use where a daemon runs.
    package func answer(_ context: RequestContext) throws(UserFacingError) -> LoginReport? {
        let login = StoredLogin(server: server, pair: pair)
        switch context.host {
        case .daemon(let daemon, _): try daemon.parts.login.take(login)
        case .command(let command, _):
            try command.withLock(refused: Self.refused) { () throws(UserFacingError) in
                try LoginFile(database: context.database).write(login)
            }
        }
        return LoginReport(source: context.source, server: server, account: account, context.copyAtBest())
    }
}

/// Whether a login would be taken, before a password is typed.
package struct LoginCheckRequest: Request, BareRequest {
    package static let command = "login"
    package static let variant: String? = "check"
    package static let refused = LoginRequest.refused
    /// Those who may not log in are to learn it now.
    package var isChange: Bool { true }
    package init() {}

    package func answer(_ context: RequestContext) throws(UserFacingError) -> LoginReadiness? {
        switch context.host {
        case .daemon(let daemon, _):
            try daemon.parts.login.refuseBesideKeyFile()
            return LoginReadiness(server: daemon.parts.login.server.text)
        case .command(let command, _):
            // The lock is released again: while the password is typed, a daemon may start.
            try command.withLock(refused: Self.refused) { () throws(UserFacingError) in }
            return LoginReadiness(server: nil)
        }
    }
}

/// What a daemon says that would take a login.
package struct LoginReadiness: ControlReply {
    package static let type = "login_ready"

    /// The server that it asks; `null` where no daemon runs.
    package var server: String?
}

/// What `prsnlctl login` did: its JSON, and the daemon's answer to the pair.
package struct LoginReport: ControlReply {
    package static let type = "login"

    package var schemaVersion = 1
    /// Who stored the login: the daemon, which uses it by now, or prsnlctl itself, for the next start.
    package var source: StatusReport.Source
    package var server: String
    /// Who is logged in.
    package var account: AccountName
    /// Whose timeline the copy is of; `null` where there is none yet.
    @Nullable package var copyAccount: AccountName? = nil
    /// Whether the two are the same; `null` where one of them is not known.
    @Nullable package var sameAccount: Bool? = nil
    /// The daemon shows it to the server from now on.
    package var inUse: Bool
    /// The configuration file that `server_url` was written to; `null` where nothing had to be written.
    @Nullable package var configuration: String? = nil
    /// What comes next, where something does.
    @Nullable package var nextCommand: NextCommand? = nil

    /// - Parameter copy: the copy on this machine, where there is one that can be read.
    init(source: StatusReport.Source, server: String, account: AccountName, _ copy: CopySummary?) {
        (self.source, self.server, self.account) = (source, server, account)
        copyAccount = copy.flatMap(AccountName.init)
        inUse = source == .daemon
        sameAccount = AccountName.isSame(account, copyAccount)
        if let copy, copy.isAnonymous || copy.server.url ?? server != server { sameAccount = false }
        if sameAccount == false {
            nextCommand = "prsnlctl account --accept-new"
        } else if source == .file {
            nextCommand = "systemctl start prsnld"
        }
    }
}

/// Forgets the login, here and on the server.
package struct LogoutRequest: Request, BareRequest {
    package static let command = "logout"
    package var isChange: Bool { true }
    package init() {}

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> LogoutReport? {
        var report =
            switch context.host {
            case .daemon(let daemon, _): try await daemon.parts.login.logout()
            case .command(let command, _): try await command.logout()
            }
        if let copy = context.copyAtBest() {
            report.items = copy.copy.live
            report.undelivered = copy.outbox.waiting + copy.outbox.parked
        }
        return report
    }
}

/// What `prsnlctl logout` did: its JSON, and the daemon's answer.
package struct LogoutReport: ControlReply {
    package static let type = "logout"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    /// There was a login to forget.
    package var wasLoggedIn: Bool
    @Nullable package var server: String? = nil
    /// The server was told, so that the login can no longer be used; `null` where there was none.
    @Nullable package var serverTold: Bool? = nil
    /// Why it could not be told.
    @Nullable package var error: UserFacingError? = nil
    /// What stays: items, and writes that are not delivered. `null` where there is no copy.
    @Nullable package var items: Int? = nil
    @Nullable package var undelivered: Int? = nil

    package init(source: StatusReport.Source, wasLoggedIn: Bool) {
        (self.source, self.wasLoggedIn) = (source, wasLoggedIn)
    }
}

/// Asks the server which account it takes the daemon for.
package struct WhoamiRequest: Request, BareRequest {
    package static let command = "whoami"
    package static let asksServer = true
    package var isChange: Bool { false }
    /// A name, a connection, a renewed login and an answer, each as slow as it usually may be.
    package var patience: Duration? { .seconds(150) }
    package init() {}

    package func answer(_ context: RequestContext) async throws(UserFacingError) -> WhoamiReport? {
        switch context.host {
        case .daemon(let daemon, _): try await daemon.whoami(context)
        case .command(let command, let noDaemon): try command.whoami(because: noDaemon)
        }
    }

}

extension RunningDaemon {
    fileprivate func whoami(_ context: RequestContext) async throws(UserFacingError) -> WhoamiReport {
        let copy = try context.reader().summary()
        let (client, login) = (parts.client, parts.login)
        var account: AccountName?
        var failure: UserFacingError?
        let asked = client.credentials != .none
        do throws(APIError) {
            if asked { account = try await accountOrProof(client.dialect ?? copy.server.dialect) }
        } catch {
            failure = error.userFacing
        }
        if !asked, let problem = parts.engine.state.problem, problem.code == .needsLogin { failure = problem }
        var report = WhoamiReport(
            source: .daemon, server: login.server.text, account: account, copyAccount: AccountName(copy),
            credentials: login.report, asked: asked, now: context.now)
        if report.sameAccount == false, AccountChange.isOf(copy, client.credentials.subject) {
            failure = AccountChange.loginExpired
        }
        report.error = (failure ?? client.loginStatus?.saveFailure)
        switch failure?.code {
        case .unauthorized?, .forbidden?, .loginExpired?: report.credentials.refused = true
        case nil where asked: report.credentials.refused = false
        default: break
        }
        return report
    }

    /// Which account the server sees. Only the main server says so; the others show by a page that they let us in.
    private func accountOrProof(_ dialect: Dialect?) async throws(APIError) -> AccountName? {
        if dialect == nil || dialect == .cursor {
            do throws(APIError) {
                let answer = try await parts.client.session().account()
                return AccountName(id: answer.id, name: answer.email ?? answer.name)
            } catch {
                guard dialect == nil, case .notFound = error.kind else { throw error }
            }
        }
        _ = try await parts.client.session().timeline(TimelineRequest(.page(1), limit: 1))
        return nil
    }
}

/// The account that the server sees: the JSON of `prsnlctl whoami --json`.
package struct WhoamiReport: ControlReply {
    package static let type = "whoami"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    @Nullable package var server: String? = nil
    /// The server was asked just now.
    package var asked: Bool
    /// As the server answered; `null` where it was not asked, or named none.
    @Nullable package var account: AccountName? = nil
    /// Whose timeline the copy is of; `null` where it is not bound.
    @Nullable package var copyAccount: AccountName? = nil
    @Nullable package var sameAccount: Bool? = nil
    package var credentials: CredentialsReport
    /// Why the server named no account, or could not be asked.
    @Nullable package var error: UserFacingError? = nil

    package init(
        source: StatusReport.Source, server: String?, account: AccountName?, copyAccount: AccountName?,
        credentials: CredentialsReport, asked: Bool, now: Timestamp
    ) {
        (self.source, self.server, self.account, self.copyAccount) = (source, server, account, copyAccount)
        (self.credentials, self.asked) = (credentials, asked)
        generatedAt = now
        sameAccount = AccountName.isSame(account, copyAccount)
    }
}
