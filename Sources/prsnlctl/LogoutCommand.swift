import Configuration
import Control
import Glibc
import PRSNLClient
import PRSNLCore
import Store

/// `prsnlctl logout`: the login goes, here first, so that nothing can use it any more whatever the server says.
enum LogoutCommand {
    static func run(_ context: CommandContext) throws(UserFacingError) -> ExitCode {
        Secrecy.begin()
        let report: LogoutReport
        if let reply = try context.askToChange(.logout) {
            guard case .logout(let answer) = reply else { throw reply.unexpected() }
            report = answer
        } else {
            report = try logOutHere(context)
        }
        try context.write(report)
        return report.exitCode
    }

    private static func logOutHere(_ context: CommandContext) throws(UserFacingError) -> LogoutReport {
        let database = context.paths.database
        let file = LoginFile(database: database)
        var report = LogoutReport(source: .file, wasLoggedIn: false, server: nil)
        guard access(Folder.containing(database), F_OK) == 0 || errno != ENOENT else { return report }
        try FileOwner.become(ownerOfFolderOf: database, consequence: "Nothing was changed.")
        Secrecy.begin()  // a change of user makes a process dumpable again, by the system's settings (prctl(2))
        do throws(UserFacingError) {
            let login = try file.read()
            report.wasLoggedIn = login != nil
            report.server = login?.server
            try file.remove()
            if let login { tell(login, context, &report) }
        } catch {
            // One that cannot be read goes all the same: that is what was asked for.
            guard error.code != .loginNotStored else { throw error }
            try file.remove()
            report.wasLoggedIn = true
            report.serverTold = false
            report.error = ErrorReport(error)
        }
        if access(database, F_OK) == 0 {
            let copy = try StoreReader(path: database).summary()
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
