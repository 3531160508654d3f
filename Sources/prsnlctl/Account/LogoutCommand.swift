import Configuration
import Console
import Control
import Glibc
import PRSNLClient
import PRSNLCore
import Reports
import Store

/// `prsnlctl logout`: the login goes, here first, so that nothing can use it any more whatever the server says.
enum LogoutCommand {
    static func run(_ context: CommandContext) throws(UserFacingError) -> ExitCode {
        Secrecy.begin()
        let report = try report(context)
        try context.write(report)
        return report.exitCode
    }

    private static func report(_ context: CommandContext) throws(UserFacingError) -> LogoutReport {
        // Nothing is made where nothing is.
        if access(Folder.containing(context.paths.database), F_OK) != 0, errno == ENOENT {
            guard let reply = try context.askToChange(.logout) else {
                return LogoutReport(source: .file, wasLoggedIn: false, server: nil)
            }
            guard case .logout(let report) = reply else { throw reply.unexpected() }
            return report
        }
        switch try DaemonOrFile.find(.logout, context, consequence: "Nothing was changed.") {
        case .daemon(.logout(let report)): return report
        case .daemon(let reply): throw reply.unexpected()
        case .file(let lock): return try logOutHere(context, lock)
        }
    }

    private static func logOutHere(
        _ context: CommandContext, _ lock: DatabaseLock
    ) throws(UserFacingError) -> LogoutReport {
        let file = LoginFile(database: context.paths.database)
        var report = LogoutReport(source: .file, wasLoggedIn: false, server: nil)
        do throws(UserFacingError) {
            let login = try file.read()
            report.wasLoggedIn = login != nil
            report.server = login?.server
            try file.remove()
            withExtendedLifetime(lock) {}
            if let login { tell(login, context, &report) }
        } catch {
            // One that cannot be read goes all the same: that is what was asked for.
            guard error.code != .loginNotStored else { throw error }
            try file.remove()
            report.wasLoggedIn = true
            report.serverTold = false
            report.error = ErrorReport(error)
        }
        if let copy = context.copyAtBest() {
            report.items = copy.live
            report.undelivered = copy.waiting + copy.parked
        }
        return report
    }

    /// Best effort: without the server, the login ends there by itself.
    private static func tell(_ login: StoredLogin, _ context: CommandContext, _ report: inout LogoutReport) {
        do throws(UserFacingError) {
            let configuration = try context.configuration().configuration
            let client = try LoginPlan.client(login.server, configuration, .login(login.pair))
            try blocking { () async throws(UserFacingError) in
                defer { client.shutdown() }
                do throws(APIError) { try await client.logout() } catch { throw error.userFacing }
            }
            report.serverTold = true
        } catch {
            report.serverTold = false
            report.error = ErrorReport(error)
        }
    }
}
