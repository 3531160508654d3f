import Configuration
package import Console
import Control
import Glibc
import PRSNLClient
package import PRSNLCore
import Store

/// `prsnlctl logout`: the login goes, here first, so that nothing can use it any more whatever the server says.
enum LogoutCommand {
    static let command = Command(
        "logout", "Forget the login, here and on the server; copy and queue stay.", asks: [LogoutRequest.self]
    ) { context, _ throws(UserFacingError) in
        Secrecy.begin()
        var client = RequestClient(context)
        try context.write(try client.changeAccount(LogoutRequest()))
        return .fine
    }
}

/// Forgets the login, here and on the server.
struct LogoutRequest: Request, BareRequest {
    typealias Answer = LogoutReport
    static let command = "logout"
    var isChange: Bool { true }

    func answer(_ context: RequestContext) async throws(UserFacingError) -> LogoutReport? {
        var report =
            switch context.host {
            case .daemon(let daemon, _): try await daemon.parts.login.logout()
            case .command(let command, _): try await Self.logOutHere(context, command)
            }
        if let copy = context.copyAtBest() {
            report.items = copy.copy.live
            report.undelivered = copy.outbox.waiting + copy.outbox.parked
        }
        return report
    }

    private static func logOutHere(
        _ context: RequestContext, _ command: CommandContext
    ) async throws(UserFacingError) -> LogoutReport {
        var report = LogoutReport(source: .file, wasLoggedIn: false)
        // Nothing is made where nothing is.
        if access(Descriptors.folder(of: context.database), F_OK) != 0, errno == ENOENT { return report }
        let login = try context.withLock { () throws(UserFacingError) in
            try remove(LoginFile(database: context.database), &report)
        }
        if let login { await tell(login, command, &report) }
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
    private static func tell(_ login: StoredLogin, _ command: CommandContext, _ report: inout LogoutReport) async {
        do throws(UserFacingError) {
            let configuration = try command.configuration().configuration
            let client = try LoginPlan.client(login.server, configuration, .login(login.pair))
            defer { client.shutdown() }
            do throws(APIError) { try await client.logout() } catch { throw error.userFacing }
            report.serverTold = true
        } catch {
            report.serverTold = false
            report.error = error
        }
    }
}

extension RequestContext {
    /// What the copy says of itself, where it can be read: only to be told along with what was done.
    func copyAtBest() -> CopySummary? {
        do throws(UserFacingError) {
            return try reader().summary()
        } catch {
            switch host {
            case .daemon(let daemon, _): daemon.parts.login.log(.warning, .store, error.inFull)
            case .command(let command, _): if error.code != .noDatabase { command.say("warning: \(error.message)") }
            }
            return nil
        }
    }
}

/// What `prsnlctl logout` did: its JSON, and the daemon's answer.
package struct LogoutReport: ControlReply {
    package static let type = "logout"

    package var schemaVersion = 1
    package var source: StatusReport.Source
    /// There was a login to forget.
    package var wasLoggedIn: Bool
    @Nullable package var server: String? = nil
    /// The server was told, so that the login can no longer be used; `null` where there was none.
    @Nullable package var serverTold: Bool? = nil
    /// Why it could not be told.
    @Nullable package var error: UserFacingError? = nil
    /// What stays: items, and writes that are not delivered. `null` where there is no copy.
    @Nullable package var items: Int? = nil
    @Nullable package var undelivered: Int? = nil
}

extension LogoutReport: Report {
    package func text(_ style: TextStyle) -> String {
        var lines = [wasLoggedIn ? "logged out" + (server.map { " of \(style.safe($0))" } ?? "") : "not logged in"]
        if serverTold == false {
            lines.append(
                style.paint("The server could not be told", .yellow)
                    + (error.map { " (\(style.safe($0.message)))" } ?? "")
                    + ". The login is gone from this machine; on the server it ends by itself within a week.")
        }
        if let items {
            lines.append(
                "The copy stays: \(Formatting.count(items, "item"))"
                    + (undelivered.map { $0 > 0 ? ", and \(Formatting.count($0, "undelivered write"))" : "" } ?? "")
                    + ". The next login, or a key in api_key_file, keeps it up to date.")
        }
        return paragraphs(lines, style)
    }
}
