import Configuration
import Control
import Glibc
import PRSNLCore
import Store

/// Where a login goes: to the daemon that runs, or into its file while none does.
enum LoginPlace {
    case daemon
    case file

    /// - Throws: `control_refused`, `not_owner` with the command that would do it; `credentials_conflict`,
    ///   `login_not_possible` where the daemon would not use it.
    static func find(_ context: CommandContext, _ plan: LoginPlan) throws(UserFacingError) -> LoginPlace {
        if let reply = try context.askToChange(.loginCheck) {
            guard case .loginReady(let readiness) = reply else { throw reply.unexpected() }
            guard readiness.server == plan.server.text else {
                throw UserFacingError(
                    .loginNotPossible,
                    "The daemon works with \(readiness.server), and the configuration names \(plan.server.text).",
                    consequence: "Nobody was logged in.", recoverySuggestion: "Restart the daemon first.",
                    nextCommand: "systemctl restart prsnld")
            }
            return .daemon
        }
        try FileOwner.become(ownerOfFolderOf: context.paths.database)
        Secrecy.begin()  // a change of user makes a process dumpable again, by the system's settings (prctl(2))
        return .file
    }

    func store(
        _ made: LoginCommand.Made, _ context: CommandContext, _ plan: LoginPlan
    ) throws(UserFacingError) -> LoginReport {
        let handover = LoginHandover(server: plan.server.text, pair: made.pair, account: made.account)
        // Also where there was none a minute ago: a daemon that has started since would not look into the file again.
        if let reply = try context.askToChange(.login(handover)) {
            guard case .login(let report) = reply else { throw reply.unexpected() }
            return report
        }
        if case .daemon = self {
            // It has ended since. The file will do; root must first become its owner.
            try FileOwner.become(ownerOfFolderOf: context.paths.database)
        }
        let database = context.paths.database
        try LoginFile(database: database).write(StoredLogin(server: plan.server.text, pair: made.pair))
        let copy = access(database, F_OK) == 0 ? try StoreReader(path: database).summary() : nil
        return LoginReport(
            source: .file, server: plan.server.text, account: made.account,
            copyAccount: copy.flatMap { AccountName(known: $0.accountID, $0.accountName) }, copyServer: copy?.serverURL)
    }
}
