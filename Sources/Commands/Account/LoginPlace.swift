import Configuration
import Console
import Control
import Glibc
import PRSNLCore
import Reports
import Store

/// Where a login goes: to the daemon that runs, or into its file while none does.
enum LoginPlace {
    /// - Throws: `control_refused`, `not_owner` with the command that would do it; `credentials_conflict`,
    ///   `login_not_possible` where the daemon would not use it; `database_locked`.
    static func check(_ context: CommandContext, _ plan: LoginPlan) throws(UserFacingError) {
        // The lock is let go of again: while the password is typed, a daemon may start.
        guard case .daemon(.success(let readiness)) = try DaemonOrFile.find(LoginCheckRequest(), context) else {
            return
        }
        guard readiness.server == plan.server.text else {
            throw UserFacingError(
                .loginNotPossible,
                "The daemon works with \(readiness.server), and the configuration names \(plan.server.text).",
                consequence: "No login was made.", recoverySuggestion: "Restart the daemon first.",
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
        var wasAsked = false
        let place: DaemonOrFile<LoginReport>
        do throws(UserFacingError) {
            // Also where there was no daemon a minute ago: one that has started since would not look into the file again.
            place = try DaemonOrFile.find(request, context, wasAsked: &wasAsked)
        } catch {
            throw Failure(error: error, isCertain: !wasAsked)
        }
        switch place {
        case .daemon(.success(let report)): return report
        case .daemon(.failure(let report)): throw Failure(error: context.explained(report.userFacing), isCertain: true)
        case .file(let lock):
            defer { withExtendedLifetime(lock) {} }
            let login = StoredLogin(server: plan.server.text, pair: made.pair)
            let file = LoginFile(database: context.paths.database)
            do throws(UserFacingError) { try file.write(login) } catch {
                throw Failure(error: error, isCertain: !holds(login, file))
            }
            let copy = context.copyAtBest()
            return LoginReport(
                source: .file, server: plan.server.text, account: made.account,
                copyAccount: copy.flatMap { AccountName(known: $0.accountID, $0.accountName) },
                copyServer: copy?.serverURL, isCopyAnonymous: copy?.isAnonymous ?? false)
        }
    }

    /// It may be in its place though the disk did not confirm it.
    private static func holds(_ login: StoredLogin, _ file: LoginFile) -> Bool {
        do throws(UserFacingError) { return try file.read() == login } catch { return true }
    }
}

/// Who changes what belongs to the copy: the daemon that runs, or we, who have its lock.
enum DaemonOrFile<Answer> {
    /// Its answer, or its error.
    case daemon(Result<Answer, ErrorReport>)
    case file(DatabaseLock)

    /// How long a daemon that has the lock and no socket yet is given to make one.
    private static var startTime: Duration { .seconds(10) }
    private static var pause: UInt32 { 100_000 }  // microseconds

    static func find<Request: ControlRequest>(
        _ request: Request, _ context: CommandContext, consequence: String = "No login was made."
    ) throws(UserFacingError) -> DaemonOrFile where Request.Answer == Answer {
        var wasAsked = false
        let place = try find(request, context, consequence: consequence, wasAsked: &wasAsked)
        if case .daemon(.failure(let report)) = place { throw context.explained(report.userFacing) }
        return place
    }

    /// Asks the daemon. Where none runs, takes the lock as the owner of the folder; where that is taken, a daemon is about
    /// to start, or another prsnlctl works, and it is asked again.
    ///
    /// - Parameters:
    ///   - consequence: of not being the owner.
    ///   - wasAsked: whether a daemon got the request.
    /// - Throws: what `CommandContext.answerToChange` and `FileOwner.become` throw; `database_locked`.
    static func find<Request: ControlRequest>(
        _ request: Request, _ context: CommandContext, consequence: String = "No login was made.",
        wasAsked: inout Bool
    ) throws(UserFacingError) -> DaemonOrFile where Request.Answer == Answer {
        let end = ContinuousClock.now + startTime
        while true {
            if let reply = try context.answerToChange(request, wasAsked: &wasAsked) { return .daemon(reply) }
            try FileOwner.become(ownerOfFolderOf: context.paths.database, consequence: consequence)
            Secrecy.begin()  // a change of user makes a process dumpable again, by the system's settings (prctl(2))
            do throws(UserFacingError) {
                return .file(try DatabaseLock(database: context.paths.database))
            } catch {
                guard error.code == .databaseLocked, ContinuousClock.now < end else { throw error }
            }
            usleep(pause)
        }
    }
}
