import Configuration
package import Console
import Control
package import PRSNLCore
import Store

/// A login that prsnlctl has made, on its way to the daemon: the one request that carries a secret. It is never logged, and
/// the pair shows nothing of itself when it is printed.
struct LoginRequest: Request {
    typealias Answer = LoginReport
    static let command = "login"
    static let refused = "No login was made."

    /// Whose pair it is: a pair is never sent to another server.
    let server: String
    let pair: TokenPair
    /// As the server named it with the pair.
    let account: AccountName
    var isChange: Bool { true }

    /// Bytes of one member. A token is a header line to the server, which allows no more.
    static let longestMember = 8_192
}

extension LoginRequest {
    /// - Throws: what is missing or cannot be; never with any of the value.
    init(_ members: RequestMembers) throws(RequestRefusal) {
        func member(_ name: String, isOptional: Bool = false) throws(RequestRefusal) -> String {
            let text = try members.text(name) ?? ""
            guard isOptional || !text.isEmpty else { throw RequestRefusal(reason: "\(name) is missing") }
            guard text.utf8.count <= Self.longestMember else {
                throw RequestRefusal(reason: "\(name) is longer than \(Self.longestMember) bytes")
            }
            return text
        }
        server = try member("server")
        let life = try members.number("access_life").map { Duration.seconds($0) }
        guard
            let pair = TokenPair(
                access: try member("access_token"), refresh: try member("refresh_token"), life: life)
        else {
            throw RequestRefusal(reason: "access_token or refresh_token is no token")
        }
        self.pair = pair
        let id = try member("account_id", isOptional: true)
        let name = try member("account_name", isOptional: true)
        account = AccountName(id: id.isEmpty ? nil : id, name: name.isEmpty ? nil : name)
    }

    func write(to line: inout RequestLine) {
        line.add("server", server)
        line.add("access_token", pair.access)
        line.add("refresh_token", pair.refresh)
        if let life = pair.life { line.add("access_life", life.components.seconds) }
        line.add("account_id", account.id ?? "")
        line.add("account_name", account.name ?? "")
    }

    /// Answers when the pair is stored, and in use where a daemon runs.
    func answer(_ context: RequestContext) throws(UserFacingError) -> LoginReport? {
        let login = StoredLogin(server: server, pair: pair)
        if let daemon = context.daemon {
            try daemon.parts.login.take(login)
        } else {
            try context.withLock { () throws(UserFacingError) in
                try LoginFile(database: context.database).write(login)
            }
        }
        return LoginReport(source: context.source, server: server, account: account, context.copyAtBest())
    }
}

/// Whether a login would be taken, before a password is typed.
struct LoginCheckRequest: Request, BareRequest {
    typealias Answer = LoginReadiness
    static let command = "login"
    static let variant: String? = "check"
    static let refused = LoginRequest.refused
    /// Those who may not log in are to learn it now.
    var isChange: Bool { true }

    func answer(_ context: RequestContext) throws(UserFacingError) -> LoginReadiness? {
        guard let login = context.daemon?.parts.login else {
            // The lock is released again: while the password is typed, a daemon may start.
            try context.withLock { () throws(UserFacingError) in }
            return LoginReadiness(server: nil)
        }
        try login.refuseBesideKeyFile()
        return LoginReadiness(server: login.server.text)
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
        self.source = source
        self.server = server
        self.account = account
        copyAccount = copy.flatMap(AccountName.init)
        inUse = source == .daemon
        sameAccount = AccountName.isSame(account, copyAccount)
        if let copy, copy.isAnonymous || copy.server.url ?? server != server { sameAccount = false }
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
