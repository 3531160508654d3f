package import Console
import Glibc
import PRSNLClient
import PRSNLCore
package import Requests

/// `prsnlctl whoami`: the daemon asks the server. Where it cannot, what the files say, and the exit code of that.
enum WhoamiCommand {
    static let command = Command(
        "whoami", "Show which account the server sees.", examples: [("", "Ask the server.")], needsRoot: true
    ) { context, _ throws(UserFacingError) in
        let report = try context.answer(WhoamiRequest())
        return try context.write(report, with: report.error)
    }
}

extension CommandContext {
    func whoami(because noDaemon: UserFacingError) throws(UserFacingError) -> WhoamiReport {
        let copy = access(database, F_OK) == 0 ? try reader().summary() : nil
        let configuration = try configuration().configuration
        let stored = CredentialFile.used(self, configuration)
        var report = WhoamiReport(
            source: .file, server: stored?.server ?? configuration.serverURL?.text ?? copy?.server.url, account: nil,
            copyAccount: copy.flatMap(AccountName.init), credentials: stored?.report ?? CredentialsReport(kind: .none),
            asked: false, now: TimeSource.system.now())
        report.error = noDaemon.explainedRefusal(paths)
        report.error?.consequence = "The server was not asked: this is what the copy remembers."
        return report
    }
}

extension WhoamiReport: Report {
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
                + ": nothing is pulled and nothing is sent. "
                + style.text("To set the copy aside and begin one of this account: \(Advice.newCopy).")
        case nil: "of \(account.text(style))"
        }
    }
}
