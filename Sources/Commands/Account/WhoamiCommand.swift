package import Console
import Control
import Glibc
import PRSNLClient
package import PRSNLCore
import Store

/// `prsnlctl whoami`: the daemon asks the server. Where it cannot, what the files say, and the exit code of that.
enum WhoamiCommand {
    static let command = Command(
        "whoami", "Show which account the server sees.", asks: [WhoamiRequest.self],
        needsRoot: true
    ) { context, _ throws(UserFacingError) in
        let report = try context.answer(WhoamiRequest())
        try context.write(report, with: report.error)
        return report.exitCode
    }
}

/// Asks the server which account it takes the daemon for.
struct WhoamiRequest: Request, BareRequest {
    typealias Answer = WhoamiReport
    static let command = "whoami"
    static let asksServer = true
    var isChange: Bool { false }
    /// A name, a connection, a renewed login and an answer, each as slow as it usually may be.
    var patience: Duration? { .seconds(150) }

    func answer(_ context: RequestContext) async throws(UserFacingError) -> WhoamiReport? {
        switch context.host {
        case .daemon(let daemon, _): try await daemon.whoami(context)
        case .command(let command, let noDaemon): try Self.read(context, command, because: noDaemon)
        }
    }

    private static func read(
        _ context: RequestContext, _ command: CommandContext, because error: UserFacingError
    ) throws(UserFacingError) -> WhoamiReport {
        let copy = access(context.database, F_OK) == 0 ? try context.reader().summary() : nil
        let stored = try StoredCredentials(command)
        let configured = try command.configuration().configuration.serverURL?.text
        var report = WhoamiReport(
            source: .file, server: stored.login?.server ?? configured ?? copy?.server.url,
            account: nil, copyAccount: copy.flatMap(AccountName.init), credentials: stored.report, asked: false,
            now: context.now)
        report.error = error.explainedRefusal(command.paths)
        report.error?.consequence = "The server was not asked: this is what the copy remembers."
        return report
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
        self.source = source
        self.server = server
        self.account = account
        self.copyAccount = copyAccount
        self.credentials = credentials
        self.asked = asked
        generatedAt = now
        sameAccount = AccountName.isSame(account, copyAccount)
    }

    /// 4 where a person must decide or log in; 3 where there is no daemon to ask the server; 1 where it could not be asked
    /// otherwise.
    package var exitCode: ExitCode {
        if sameAccount == false || credentials.refused == true { return .needsAttention }
        switch error?.code {
        case .needsLogin?: return .needsAttention
        case .daemonNotRunning?: return .daemonNotRunning
        default: return error == nil ? .fine : .error
        }
    }
}

extension WhoamiReport: Report {
    package func text(_ style: TextStyle) -> String {
        fields(
            [
                ("Account", [accountText(style)]),
                ("Server", [server.map(style.safe) ?? Formatting.notKnown]),
                ("Copy", copyAccount.map { [copyText($0, style)] } ?? []),
                ("Credentials", credentials.paragraphs(style, now: generatedAt)),
            ], style)
    }

    private func accountText(_ style: TextStyle) -> String {
        if let account {
            guard let id = account.id, account.name != nil else { return account.text(style) }
            return "\(account.text(style)) (\(style.safe(id)))"
        }
        if source == .file { return "the server was not asked; this is what the copy remembers" }
        if !asked { return "none: there are no credentials" }
        guard let error else { return "this server has no accounts that it names" }
        return error.heading == ErrorTraits.Heading.login.rawValue
            ? "the server did not say\(error.code == .loginExpired ? " (login expired)" : "")"
            : "not known: the server could not be asked"
    }

    private func copyText(_ account: AccountName, _ style: TextStyle) -> String {
        switch sameAccount {
        case true?: "of the same account"
        case false? where error?.code == .loginExpired:
            "of \(account.text(style)), as the login says: \(style.command("prsnlctl login")) logs in again"
        case false?:
            "of \(account.text(style)), " + style.paint("another account", .red)
                + ": nothing is pulled and nothing is sent. \(style.command("prsnlctl account --accept-new")) sets the copy aside"
        case nil: "of \(account.text(style))"
        }
    }
}
