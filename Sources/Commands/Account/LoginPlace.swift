import Configuration
import Console
import Control
import Glibc
import PRSNLCore
import Reports
import Store

/// Where a login goes: to the daemon that runs, or into its file while none does.
enum LoginPlace {
    private static let consequence = "No login was made."

    /// - Throws: `control_refused`, `not_owner` with the command that would do it; `credentials_conflict`,
    ///   `login_not_possible` where the daemon would not use it; `database_locked`.
    static func check(_ context: CommandContext, _ plan: LoginPlan) throws(UserFacingError) {
        var outbox = OutboxClient(context)
        let readiness = try outbox.changeAccount(LoginCheckRequest(), consequence: consequence) {
            () throws(UserFacingError) in
            // The lock is released again: while the password is typed, a daemon may start.
            try OutboxClient.withLock(context, consequence: consequence) { () throws(UserFacingError) in }
            return LoginReadiness(server: plan.server.text)
        }
        guard readiness.server == plan.server.text else {
            throw UserFacingError(
                .loginNotPossible,
                "The daemon works with \(readiness.server), and the configuration names \(plan.server.text).",
                consequence: consequence, recoverySuggestion: "Restart the daemon first.",
                nextCommand: "systemctl restart prsnld")
        }
    }

    /// Why a login was not stored.
    struct Failure: Error {
        let error: UserFacingError
        /// Whether that is certain: a daemon that was asked and gave no answer may have stored it.
        let isCertain: Bool
    }

    static func store(
        _ made: LoginCommand.Made, _ context: CommandContext, _ plan: LoginPlan
    ) throws(Failure) -> LoginReport {
        let request = LoginRequest(server: plan.server.text, pair: made.pair, account: made.account)
        var outbox = OutboxClient(context)
        var isInFile = false
        do throws(UserFacingError) {
            // The daemon is asked also where there was none a minute ago: one that has started since would not read the
            // file again.
            return try outbox.changeAccount(request, consequence: consequence) { () throws(UserFacingError) in
                try OutboxClient.withLock(context, consequence: consequence) { () throws(UserFacingError) in
                    try write(made, context, plan, &isInFile)
                }
            }
        } catch {
            throw Failure(error: error, isCertain: !outbox.isUnanswered && !isInFile)
        }
    }

    /// - Parameter isInFile: after an error, whether the login may be stored.
    private static func write(
        _ made: LoginCommand.Made, _ context: CommandContext, _ plan: LoginPlan, _ isInFile: inout Bool
    ) throws(UserFacingError) -> LoginReport {
        let login = StoredLogin(server: plan.server.text, pair: made.pair)
        let file = LoginFile(database: context.paths.database)
        do throws(UserFacingError) {
            try file.write(login)
        } catch {
            isInFile = holds(login, file)
            throw error
        }
        let copy = context.copyAtBest()
        return LoginReport(
            source: .file, server: plan.server.text, account: made.account,
            copyAccount: copy.flatMap { AccountName(known: $0.server.accountID, $0.server.accountName) },
            copyServer: copy?.server.url, isCopyAnonymous: copy?.isAnonymous ?? false)
    }

    /// It may be in its place though the disk did not confirm it.
    private static func holds(_ login: StoredLogin, _ file: LoginFile) -> Bool {
        do throws(UserFacingError) { return try file.read() == login } catch { return true }
    }
}
