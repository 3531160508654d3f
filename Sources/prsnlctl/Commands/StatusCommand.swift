import Console
import PRSNLCore
import Reports
import Store

/// `prsnlctl status`: from the daemon when it runs, from the file when it does not.
enum StatusCommand {
    static func run(_ context: CommandContext) throws(UserFacingError) -> ExitCode {
        let report = try report(context)
        try context.write(report)
        return report.exitCode
    }

    private static func report(_ context: CommandContext) throws(UserFacingError) -> StatusReport {
        switch try context.ask(.status) {
        case .status(let report)
        where !context.isFileGiven || RealPath.isSameFile(report.file.path, context.paths.database):
            guard report.schemaVersion <= StatusReport.schemaVersion else {
                throw UserFacingError(.controlProtocol, "The daemon is newer than this prsnlctl.")
            }
            return report
        case .status, nil:
            let path = context.paths.database
            let summary = try StoreReader(path: path).summary()
            return StatusReport(summary: summary, path: path, daemon: nil, now: TimeSource.system.now())
        case let other?: throw other.unexpected()
        }
    }
}
