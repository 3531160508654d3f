import Console
import PRSNLCore
import Reports
import Store

/// `prsnlctl status`: from the daemon when it runs, from the file when it does not.
enum StatusCommand {
    static let command = Command(
        "status", "Show how complete and how fresh the copy is."
    ) { context, _ throws(UserFacingError) in
        let report = try report(context)
        try context.write(report)
        return report.exitCode
    }

    private static func report(_ context: CommandContext) throws(UserFacingError) -> StatusReport {
        guard let report = try context.ask(StatusRequest()) else {
            let path = context.paths.database
            let summary = try StoreReader(path: path).summary()
            return StatusReport(summary: summary, path: path, daemon: nil, now: TimeSource.system.now())
        }
        guard report.schemaVersion <= StatusReport.schemaVersion else {
            throw UserFacingError(.controlProtocol, "The daemon is newer than this prsnlctl.")
        }
        return report
    }
}
