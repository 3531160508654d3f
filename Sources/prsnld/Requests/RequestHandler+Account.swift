import Configuration
import Console
import Control
import Glibc
import PRSNLClient
import PRSNLCore
import Reports
import Store
import SyncEngine

// Requests about whose copy it is, and how the server knows us.
extension RequestHandler {
    func addAccount(to table: inout RequestTable) {
        on(LoginCheckRequest.self, in: &table) { [self] _, _ throws(UserFacingError) in
            try login.refuseBesideKeyFile()
            return LoginReadiness(server: login.server.text)
        }
        on(LoginRequest.self, in: &table) { [self] request, _ throws(UserFacingError) in try logIn(request) }
        on(LogoutRequest.self, in: &table) { [self] _, _ throws(UserFacingError) in try await logOut() }
        on(WhoamiRequest.self, in: &table) { [self] _, _ throws(UserFacingError) in try await whoami() }
        on(AccountRequest.self, in: &table) { [self] request, conversation throws(UserFacingError) in
            guard request.acceptNew else { return try account() }
            return try await acceptNew(dryRun: request.dryRun, conversation)
        }
    }

    // MARK: Logging in and out

    /// Answers when the pair is stored and in use.
    private func logIn(_ request: LoginRequest) throws(UserFacingError) -> LoginReport {
        try login.take(StoredLogin(server: request.server, pair: request.pair))
        let copy = copyAtBest
        return LoginReport(
            source: .daemon, server: request.server, account: request.account,
            copyAccount: copy.flatMap { AccountName(known: $0.server.accountID, $0.server.accountName) },
            copyServer: copy?.server.url, isCopyAnonymous: copy?.isAnonymous ?? false)
    }

    /// What has been done is done, whether the copy can be read or not.
    private var copyAtBest: CopySummary? {
        do throws(UserFacingError) {
            return try StoreReader(path: database).summary()
        } catch {
            login.log(.warning, .store, error.inFull)
            return nil
        }
    }

    private func logOut() async throws(UserFacingError) -> LogoutReport {
        let outcome = try await login.logout()
        var report = LogoutReport(
            source: .daemon, wasLoggedIn: outcome.wasLoggedIn, server: outcome.wasLoggedIn ? login.server.text : nil)
        if outcome.wasLoggedIn { report.serverTold = outcome.serverFailure == nil }
        report.error = outcome.serverFailure
        if let copy = copyAtBest {
            report.items = copy.copy.live
            report.undelivered = copy.outbox.waiting + copy.outbox.parked
        }
        return report
    }

    // MARK: Whose copy it is

    private func whoami() async throws(UserFacingError) -> WhoamiReport {
        let copy = try StoreReader(path: database).summary()
        var account: AccountName?
        var failure: UserFacingError?
        let asked = client.credentials != .none
        do throws(APIError) {
            if asked { account = try await accountOrProof(client.dialect ?? copy.server.dialect) }
        } catch {
            failure = error.userFacing
        }
        if !asked, let problem = engine.state.problem, problem.code == .needsLogin { failure = problem }
        var report = WhoamiReport(
            source: .daemon, server: login.server.text, account: account,
            copyAccount: AccountName(known: copy.server.accountID, copy.server.accountName), credentials: credentials,
            asked: asked, now: time.now())
        if report.sameAccount == false, AccountChange.isOf(copy, client.credentials.subject) {
            failure = AccountChange.loginExpired
        }
        report.error = (failure ?? login.state.login?.saveFailure)
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
                let answer = try await client.session().account()
                return AccountName(id: answer.id, name: answer.email ?? answer.name)
            } catch {
                guard dialect == nil, case .notFound = error.kind else { throw error }
            }
        }
        _ = try await client.session().timeline(TimelineRequest(.page(1), limit: 1))
        return nil
    }

    private var credentials: CredentialsReport {
        let state = login.state
        switch state.source {
        case .none: return CredentialsReport(kind: .none)
        case .login:
            return CredentialsReport(
                kind: .login, path: state.loginFile, expiresAt: state.login?.expiresAt,
                refused: state.login?.isRefused == true ? true : nil)
        case .keyFile(let path):
            guard case .loginToken(let token) = client.credentials else {
                return CredentialsReport(kind: .apiKey, path: path)
            }
            return CredentialsReport(kind: .loginToken, path: path, expiresAt: AccessToken(token)?.expiresAt)
        }
    }

    private func account() throws(UserFacingError) -> AccountReport {
        let copy = try StoreReader(path: database).summary()
        let change = AccountChange.found(
            copy: copy, problem: engine.state.problem, subject: client.credentials.subject, server: login.server.text)
        return AccountReport(
            copy, source: .daemon, file: database, credentials: credentials, change: change, now: time.now())
    }

    // MARK: Another one

    /// - Returns: `nil` where the daemon answers later: when the file is set aside.
    private func acceptNew(
        dryRun: Bool, _ conversation: ControlConversation
    ) async throws(UserFacingError) -> AccountReport? {
        var report = try account()
        try AccountChange.require(report.change)
        try refuseExpiredToken(report.credentials)
        guard !dryRun else {
            report.plan(number: SetAsideName.firstFree(report.setAsideName), dryRun: true)
            return report
        }
        // Its reader would keep the copy from being set aside.
        guard await !store.awaitsCheck else {
            throw UserFacingError(
                .daemonBusy, "The copy was not closed properly the last time, and is being checked.",
                consequence: "Nothing was changed.",
                recoverySuggestion: "Give the command again when that is done; the log says when.")
        }
        guard !isEnding.exchange(true, ordering: .relaxed) else {
            try refuseWhileEnding()
            return nil
        }
        begin(NewCopy(report: report, conversation: conversation))
        // Only keeps the connection until the daemon answers.
        do { try await time.sleep(.seconds(60)) } catch { return nil }
        return nil
    }

    /// The server shows a test user's items to a token that has expired: a new copy would be of those.
    private func refuseExpiredToken(_ credentials: CredentialsReport) throws(UserFacingError) {
        guard credentials.kind == .loginToken, let end = credentials.expiresAt, end <= time.now() else { return }
        throw UserFacingError(
            .loginExpired, "The token in \(credentials.path ?? "api_key_file") has expired.",
            consequence: "Nothing was changed.")
    }
}
