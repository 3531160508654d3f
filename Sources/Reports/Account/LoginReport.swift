package import Console
import Control
package import PRSNLCore

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

    package init(
        source: StatusReport.Source, server: String, account: AccountName, copyAccount: AccountName?,
        copyServer: String?, isCopyAnonymous: Bool = false
    ) {
        self.source = source
        self.server = server
        self.account = account
        self.copyAccount = copyAccount
        inUse = source == .daemon
        sameAccount = AccountName.isSame(account, copyAccount)
        if let copyServer, copyServer != server { sameAccount = false }
        if isCopyAnonymous { sameAccount = false }
        if sameAccount == false {
            nextCommand = Self.acceptNew
        } else if source == .file {
            nextCommand = "systemctl start prsnld"
        }
    }

    private static let acceptNew: NextCommand = "prsnlctl account --accept-new"

    package var exitCode: ExitCode { sameAccount == false ? .needsAttention : .fine }
}

extension LoginReport: Report {
    package func text(_ style: TextStyle) -> String {
        var lines = ["logged in as \(account.text(style)) on \(style.safe(server))"]
        if let configuration { lines.append("server_url was written to \(style.safe(configuration))") }
        if sameAccount == false {
            let whose = copyAccount.map { "of \($0.text(style))" } ?? "of another server, or was made without a login"
            lines.append(
                style.paint("The copy on this machine is \(whose)", .yellow)
                    + ": nothing is pulled and nothing is sent until you decide.")
            lines.append("\(style.command(Self.acceptNew)) sets it aside and starts one of this account.")
        } else if inUse {
            lines.append(
                copyAccount == nil ? "The daemon is making the first copy." : "The daemon uses it now.")
        } else {
            lines.append("The daemon is not running. It will use the login when it starts.")
            if let next = style.next(nextCommand) { lines.append(next) }
        }
        return paragraphs(lines, style)
    }
}
