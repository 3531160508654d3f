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
    static let command = Command(
        "logout", "Forget the login, here and on the server; copy and queue stay."
    ) { context, _ throws(UserFacingError) in
        Secrecy.begin()
        let report = try report(context)
        try context.write(report)
        return report.exitCode
    }

    private static let consequence = "Nothing was changed."

    private static func report(_ context: CommandContext) throws(UserFacingError) -> LogoutReport {
        var outbox = OutboxClient(context)
        return try outbox.changeAccount(LogoutRequest(), consequence: consequence) { () throws(UserFacingError) in
            try logOutHere(context)
        }
    }

    private static func logOutHere(_ context: CommandContext) throws(UserFacingError) -> LogoutReport {
        let database = context.paths.database
        var report = LogoutReport(source: .file, wasLoggedIn: false, server: nil)
        // Nothing is made where nothing is.
        if access(Folder.containing(database), F_OK) != 0, errno == ENOENT { return report }
        let login = try OutboxClient.withLock(context, consequence: consequence) { () throws(UserFacingError) in
            try remove(LoginFile(database: database), &report)
        }
        if let login { tell(login, context, &report) }
        if let copy = context.copyAtBest() {
            report.items = copy.copy.live
            report.undelivered = copy.outbox.waiting + copy.outbox.parked
        }
        return report
    }

    /// - Returns: the login that is no longer stored, where it could be read.
    private static func remove(_ file: LoginFile, _ report: inout LogoutReport) throws(UserFacingError) -> StoredLogin?
    {
        do throws(UserFacingError) {
            let login = try file.read()
            report.wasLoggedIn = login != nil
            report.server = login?.server
            try file.remove()
            return login
        } catch {
            // One that cannot be read is removed too: that is what was asked for.
            guard error.code != .loginNotStored else { throw error }
            try file.remove()
            report.wasLoggedIn = true
            report.serverTold = false
            report.error = error
            return nil
        }
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
            report.error = error
        }
    }
}
