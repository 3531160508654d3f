import Configuration
package import Console
import Glibc
import PRSNLClient
import PRSNLCore
package import Requests

/// `prsnlctl logout`: the login goes, here first, so that nothing can use it any more whatever the server says.
enum LogoutCommand {
    static let command = Command(
        "logout", "Forget the login, here and on the server; copy and queue stay.",
        examples: [("", "Forget the login.")]
    ) { context, _ throws(UserFacingError) in
        Secrecy.begin()
        return try context.write(try context.answer(LogoutRequest()))
    }
}

extension CommandContext {
    /// In the daemon's place.
    func logout() async throws(UserFacingError) -> LogoutReport {
        var report = LogoutReport(source: .file, wasLoggedIn: false)
        // Nothing is made where nothing is.
        if access(Descriptors.folder(of: database), F_OK) != 0, errno == ENOENT { return report }
        let end = try withLock(refused: LogoutRequest.refused) { () throws(UserFacingError) in
            try LoginStorage(LoginFile(database: database)).end {}
        }
        report.wasLoggedIn = end.wasThere
        if let login = end.login {
            report.server = login.server
            await tell(login, &report)
        } else if let failure = end.failure {
            (report.serverTold, report.error) = (false, failure)
        }
        return report
    }

    /// Best effort: without the server, the login ends there by itself.
    private func tell(_ login: StoredLogin, _ report: inout LogoutReport) async {
        do throws(UserFacingError) {
            let configuration = try configuration().configuration
            let client = try LoginPlan.client(login.server, configuration.network, .login(login.pair))
            defer { client.shutdown() }
            do throws(APIError) { try await client.logout() } catch { throw error.userFacing }
            report.serverTold = true
        } catch {
            report.serverTold = false
            report.error = error
        }
    }
}

extension LogoutReport: Report {
    package func text(_ style: TextStyle) -> String {
        paragraphs(style) {
            wasLoggedIn ? "logged out" + (server.map { " of \(style.safe($0))" } ?? "") : "not logged in"
            if serverTold == false {
                style.paint("The server could not be told", .yellow)
                    + (error.map { " (\(style.safe($0.message)))" } ?? "")
                    + ". The login is gone from this machine; on the server it ends by itself within a week."
            }
            if let items {
                "The copy stays: \(Formatting.count(items, "item"))"
                    + (undelivered.map { $0 > 0 ? ", and \(Formatting.count($0, "undelivered write"))" : "" } ?? "")
                    + ". The next login, or a key in api_key_file, keeps it up to date."
            }
        }
    }
}
