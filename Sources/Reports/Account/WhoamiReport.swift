package import Console
import Control
package import PRSNLCore

/// Asks the server which account it takes the daemon for.
package struct WhoamiRequest: BareRequest {
    package typealias Answer = WhoamiReport
    package static let command = "whoami"
    package static let asksServer = true
    package var isChange: Bool { false }

    package init() {}
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
        var fields: [[String]] = [
            field("Account", [accountText(style)], style),
            field("Server", [server.map(style.safe) ?? Formatting.notKnown], style),
        ]
        if let copyAccount { fields.append(field("Copy", [copyText(copyAccount, style)], style)) }
        fields.append(field("Credentials", credentials.paragraphs(style, now: generatedAt), style))
        return fields.joined().map { $0 + "\n" }.joined()
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
            ? "the server named no account" : "not known: the server could not be asked"
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
