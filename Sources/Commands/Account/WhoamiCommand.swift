import Console
import Glibc
import PRSNLCore
import Reports
import Store

/// `prsnlctl whoami`: the daemon asks the server. Where it cannot, what the files say, and the exit code of that.
enum WhoamiCommand {
    /// A name, a connection, a renewed login and an answer, each as slow as it usually may be.
    private static let patience: Duration = .seconds(150)

    static let command = Command("whoami", "Show which account the server sees.") {
        context, _ throws(UserFacingError) in
        let report: WhoamiReport
        switch try context.answer(WhoamiRequest(), timeout: patience) {
        case .success(let answer): report = answer
        case .failure(let error): report = try readHere(context, because: error)
        }
        try context.write(report)
        if let error = report.error, context.isText {
            StandardStream.error.write(FailureReport(error).text(program: "prsnlctl", context.errorStyle))
        }
        return report.exitCode
    }

    private static func readHere(
        _ context: CommandContext, because error: UserFacingError
    ) throws(UserFacingError) -> WhoamiReport {
        let database = context.paths.database
        let copy = access(database, F_OK) == 0 ? try StoreReader(path: database).summary() : nil
        let stored = try StoredCredentials(context)
        let configured = try context.configuration().configuration.serverURL?.text
        var report = WhoamiReport(
            source: .file,
            server: stored.login?.server ?? configured ?? copy?.server.url,
            account: nil, copyAccount: copy.flatMap { AccountName(known: $0.server.accountID, $0.server.accountName) },
            credentials: stored.report, asked: false, now: TimeSource.system.now())
        report.error = error.explainedRefusal(context.paths)
        report.error?.consequence = "The server was not asked: this is what the copy remembers."
        return report
    }
}
