import Configuration
package import Console
import Glibc
import PRSNLClient
import PRSNLCore
package import Requests

/// `prsnlctl login`: asks for the password, makes the login itself, and hands the pair of tokens over. The password never
/// leaves this process but to the server, and the pair never leaves this machine.
enum LoginCommand {
    static let command = Command(
        "login", "Log in to the server; the password is asked for on the terminal.",
        examples: [("--server https://prsnl.example.org", "Log in for the first time.")],
        options: [
            CommandOption("--email", "EMAIL", "Whose account it is; asked for where it is not given."),
            CommandOption("--server", "URL", "The server; written into the configuration where that names none."),
            CommandOption("--password-stdin", nil, "Read the password from the first line of stdin."),
        ], needsRoot: true, run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        Secrecy.begin()
        let plan = try LoginPlan(context, given: arguments.value("--server"))
        // Everything that could refuse the login is asked before the password is typed.
        try checkDaemon(context, plan)
        let client = try LoginPlan.client(plan.server.text, plan.configuration.network, .none)
        defer { client.shutdown() }
        let (email, password) = try credentials(arguments, client, plan)
        let made = try request(client, plan, email: email, password: password)
        password.wipe()
        // The daemon is asked also where there was none a minute ago: one that has started since would not read the file again.
        var report = try context.answer(
            LoginRequest(server: plan.server.text, pair: made.pair, account: made.account))
        if let path = plan.writesServerTo {
            if try ServerSetting.write(plan.server.text, to: path) {
                let isMachines = DefaultPaths.unit(ofConfigurationFile: path) != nil
                context.say("made \(path)" + (isMachines ? " (owner root, mode 0644)" : ""))
            }
            report.configuration = path
        }
        if report.source == .file, context.unit.kind == .manual(nil) {
            context.say(
                "the login is beside \(context.database), where `prsnld` finds it when this user starts it")
        }
        return try context.write(report)
    }

    /// A pair of tokens, and whose.
    typealias Made = (pair: TokenPair, account: AccountName)

    /// - Throws: `control_refused`, `not_owner` with the command that would do it; `credentials_conflict`,
    ///   `login_not_possible` where the daemon would not use it; `database_locked`.
    private static func checkDaemon(_ context: CommandContext, _ plan: LoginPlan) throws(UserFacingError) {
        guard let server = try context.answer(LoginCheckRequest()).server, server != plan.server.text else { return }
        throw UserFacingError(
            .loginNotPossible,
            "The daemon works with \(server), and the configuration names \(plan.server.text).",
            consequence: LoginRequest.refused, recoverySuggestion: "Restart the daemon first.",
            nextCommand: "systemctl restart prsnld")
    }

    // MARK: Asking

    private static func credentials(
        _ arguments: ParsedArguments, _ client: PRSNLClient, _ plan: LoginPlan
    ) throws(UserFacingError) -> (email: String, password: SecretBytes) {
        if arguments.has("--password-stdin") {
            let password = SecretBytes()
            guard password.readLine(from: STDIN_FILENO), !password.isEmpty else {
                throw UserFacingError(
                    .usage, "--password-stdin: stdin holds no line with a password.",
                    consequence: "No login was made.")
            }
            let email = try email(arguments)
            try requirePRSNL(client, plan)
            return (email, password)
        }
        let email = try email(arguments)
        guard let terminal = Terminal() else { throw noTerminal("the password") }
        // Before it is asked for.
        try requirePRSNL(client, plan)
        return (email, try terminal.askSecret("Password for \(SafeText.harmless(email)): "))
    }

    private static func email(_ arguments: ParsedArguments) throws(UserFacingError) -> String {
        if let email = arguments.value("--email") { return email }
        guard let terminal = Terminal() else { throw noTerminal("the e-mail address") }
        return try terminal.ask("E-mail: ")
    }

    private static func noTerminal(_ what: String) -> UserFacingError {
        UserFacingError(
            .usage, "There is no terminal to ask for \(what) on.", consequence: "No login was made.",
            recoverySuggestion: "Give --email, and the password on stdin with --password-stdin.",
            nextCommand: "prsnlctl login --help")
    }

    // MARK: The server

    /// A password is for PRSNL alone: whatever else answers at this address does not get it.
    private static func requirePRSNL(_ client: PRSNLClient, _ plan: LoginPlan) throws(UserFacingError) {
        let ping = try blocking { () async throws(UserFacingError) in await client.ping() }
        guard let error = ping.error else { return }
        let told = error.userFacing.with(consequence: "No password was sent, and no login was made.")
        switch error.kind {
        case .notFound: break
        case .unauthorized, .forbidden:
            throw UserFacingError(
                told.code,
                "\(plan.server.text) wants credentials before it says what it is: a proxy in front of PRSNL, perhaps.",
                consequence: told.consequence,
                recoverySuggestion: "Check the address, and what stands in front of the server.", cause: told.cause)
        default: throw told
        }
        throw UserFacingError(
            .notFound,
            "There is no PRSNL server at \(plan.server.text): a web server answers there, and knows no /api/health.",
            consequence: told.consequence, recoverySuggestion: "Check the address, and its path above all.",
            cause: told.cause)
    }

    private static func request(
        _ client: PRSNLClient, _ plan: LoginPlan, email: String, password: SecretBytes
    ) throws(UserFacingError) -> Made {
        guard let text = password.text else {
            throw UserFacingError(.usage, "The password is not UTF-8.", consequence: "No login was made.")
        }
        return try blocking { () async throws(UserFacingError) -> Made in
            do throws(APIError) {
                let (pair, account) = try await client.login(email: email, password: text)
                return (pair, AccountName(id: account.id, name: account.email ?? account.name))
            } catch {
                throw explained(error, plan)
            }
        }
    }

    /// A server that knows no logins says so in its own way: it does not know the address.
    private static func explained(_ error: APIError, _ plan: LoginPlan) -> UserFacingError {
        let isUnknown =
            switch error.kind {
            case .notFound: true
            case .unknown(let status, _): status == 405 || status == 501
            default: false
            }
        guard isUnknown else {
            let told = error.userFacing
            guard told.code == .loginFailed else { return told }
            // With the server, where that was given.
            return told.with(next: NextCommand(["prsnlctl"] + CommandLine.arguments.dropFirst()))
        }
        return UserFacingError(
            .loginNotPossible, "\(plan.server.text) knows no logins.", consequence: "No login was made.",
            recoverySuggestion:
                "Servers of this kind take an API key: put it into a file of mode 0600, and name that with api_key_file in the "
                + "configuration.")
    }
}

extension LoginReport: Report {
    package var exitCode: ExitCode { sameAccount == false ? .needsAttention : .fine }

    package func text(_ style: TextStyle) -> String {
        paragraphs(style) {
            "logged in as \(account.text(style)) on \(style.safe(server))"
            if let configuration { "server_url was written to \(style.safe(configuration))" }
            if sameAccount == false {
                let whose = copyAccount.map { $0.text(style) } ?? "another server, or was made without a login"
                style.paint("The copy on this machine is of \(whose)", .yellow)
                    + ": nothing is pulled and nothing is sent until you decide."
                style.text("To set it aside and begin one of this account: \(Advice.newCopy).")
            } else if inUse {
                copyAccount == nil ? "The daemon is making the first copy." : "The daemon uses it now."
            } else {
                "The daemon is not running. It will use the login when it starts."
                if let next = style.next(nextCommand) { next }
            }
        }
    }
}
