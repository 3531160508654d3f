import Configuration
import Control
import Glibc
import PRSNLClient
import PRSNLCore
import Reports
import Store
import SyncEngine

// Requests about whose copy it is, and how the server knows us.
extension RequestHandler {
    func answerAccount(_ request: ControlRequest, _ conversation: ControlConversation) async throws(UserFacingError) {
        switch request {
        case .loginCheck:
            try login.refuseBesideKeyFile()
            conversation.send(.loginReady(LoginReadiness(server: login.server.text)))
        case .login(let handover): conversation.send(.login(try logIn(handover)))
        case .logout: conversation.send(.logout(try await logOut()))
        case .whoami: conversation.send(.whoami(try await whoami()))
        case .account(acceptNew: false, dryRun: _): conversation.send(.account(try account()))
        case .account(acceptNew: true, let dryRun): try await acceptNew(dryRun: dryRun, conversation)
        default: throw UserFacingError(.controlProtocol, "This request cannot be answered here.")
        }
    }

    // MARK: Logging in and out

    /// Answers when the pair is stored and in use.
    private func logIn(_ handover: LoginHandover) throws(UserFacingError) -> LoginReport {
        try login.take(StoredLogin(server: handover.server, pair: handover.pair))
        let copy = copyAtBest
        return LoginReport(
            source: .daemon, server: handover.server, account: handover.account,
            copyAccount: copy.flatMap { AccountName(known: $0.accountID, $0.accountName) },
            copyServer: copy?.serverURL, isCopyAnonymous: copy?.isAnonymous ?? false)
    }

    /// What has been done is done, whether the copy can be read or not.
    private var copyAtBest: CopySummary? {
        do throws(UserFacingError) {
            return try StoreReader(path: database).summary()
        } catch {
            login.log(.warning, .store, error.description)
            return nil
        }
    }

    private func logOut() async throws(UserFacingError) -> LogoutReport {
        let outcome = try await login.logout()
        var report = LogoutReport(
            source: .daemon, wasLoggedIn: outcome.wasLoggedIn, server: outcome.wasLoggedIn ? login.server.text : nil)
        if outcome.wasLoggedIn { report.serverTold = outcome.serverFailure == nil }
        report.error = outcome.serverFailure.map(ErrorReport.init)
        if let copy = copyAtBest {
            report.items = copy.live
            report.undelivered = copy.waiting + copy.parked
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
            if asked { account = try await accountOrProof(client.dialect ?? copy.dialect) }
        } catch {
            failure = error.userFacing
        }
        if !asked, let problem = engine.state.problem, problem.code == .needsLogin { failure = problem }
        var report = WhoamiReport(
            source: .daemon, server: login.server.text, account: account,
            copyAccount: AccountName(known: copy.accountID, copy.accountName), credentials: credentials,
            asked: asked, now: time.now())
        if report.sameAccount == false, AccountChange.isOf(copy, client.credentials.subject) {
            failure = AccountChange.loginExpired
        }
        report.error = (failure ?? login.state.login?.saveFailure).map(ErrorReport.init)
        switch failure?.code {
        case .unauthorized?, .forbidden?, .loginExpired?: report.credentials.refused = true
        case nil where asked: report.credentials.refused = false
        default: break
        }
        return report
    }

    /// Whom the server takes us for. Only the main server says so; the others show by a page that they let us in.
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

    private func acceptNew(dryRun: Bool, _ conversation: ControlConversation) async throws(UserFacingError) {
        var report = try account()
        try AccountChange.require(report.change)
        try refuseExpiredToken(report.credentials)
        guard !dryRun else {
            report.plan(number: SetAsideName.firstFree(report.setAsideName), dryRun: true)
            return conversation.send(.account(report))
        }
        // Its reader would keep the copy from being set aside.
        guard await !store.awaitsCheck else {
            throw UserFacingError(
                .daemonBusy, "The copy was not closed properly the last time, and is being checked.",
                consequence: "Nothing was changed.",
                recoverySuggestion: "Give the command again when that is done; the log says when.")
        }
        guard !isEnding.exchange(true, ordering: .relaxed) else { return try refuseWhileEnding(.logout) }
        begin(NewCopy(report: report, conversation: conversation))
        // The daemon answers when the file is set aside; this only keeps the connection until then.
        do { try await time.sleep(.seconds(60)) } catch { return }
    }

    /// - Throws: `daemon_busy` for what would change the copy that is being set aside.
    func refuseWhileEnding(_ request: ControlRequest) throws(UserFacingError) {
        guard isEnding.load(ordering: .relaxed) else { return }
        switch request {
        case .write, .retry, .drop, .sync, .login, .logout, .account(acceptNew: true, dryRun: false):
            throw UserFacingError(
                .daemonBusy, "The daemon is starting a new copy.", consequence: "Nothing was changed.")
        default: return
        }
    }

    /// The server shows a test user's items to a token that has expired: a new copy would be of those.
    private func refuseExpiredToken(_ credentials: CredentialsReport) throws(UserFacingError) {
        guard credentials.kind == .loginToken, let end = credentials.expiresAt, end <= time.now() else { return }
        throw UserFacingError(
            .loginExpired, "The token in \(credentials.path ?? "api_key_file") has expired.",
            consequence: "Nothing was changed.")
    }
}
