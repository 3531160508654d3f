import Control
import Glibc
import PRSNLCore
import Store

/// `prsnlctl whoami`: the daemon asks the server; without it, what the files say.
enum WhoamiCommand {
    /// A name, a connection, a renewed login and an answer, each as slow as it usually may be.
    private static let patience: Duration = .seconds(150)

    static func run(_ context: CommandContext) throws(UserFacingError) -> ExitCode {
        let report: WhoamiReport
        if !context.isFileGiven, let reply = try context.ask(.whoami, timeout: patience) {
            guard case .whoami(let answer) = reply else { throw reply.unexpected() }
            report = answer
        } else {
            report = try readHere(context)
        }
        try context.write(report)
        if let error = report.error, context.isText {
            StandardStream.error.write(FailureReport(error).text(program: "prsnlctl", context.errorStyle))
        }
        return report.exitCode
    }

    private static func readHere(_ context: CommandContext) throws(UserFacingError) -> WhoamiReport {
        let database = context.paths.database
        let copy = access(database, F_OK) == 0 ? try StoreReader(path: database).summary() : nil
        let stored = try StoredCredentials(context)
        let configured = try context.configuration().configuration.serverURL?.text
        return WhoamiReport(
            source: .file,
            server: stored.login?.server ?? configured ?? copy?.serverURL,
            account: nil, copyAccount: copy.flatMap { AccountName(known: $0.accountID, $0.accountName) },
            credentials: stored.report, asked: false, now: TimeSource.system.now())
    }
}
