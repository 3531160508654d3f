import Console
import PRSNLCore
import Reports
import Store

/// `prsnlctl history`: from the daemon when it runs, from the file when it does not.
enum HistoryCommand {
    static func run(_ context: CommandContext) throws(UserFacingError) -> ExitCode {
        try context.write(try report(context))
        return .fine
    }

    private static func report(_ context: CommandContext) throws(UserFacingError) -> HistoryReport {
        // The file holds all of it; the daemon is only asked because this user may not be allowed to read the file.
        if !context.isFileGiven, let reply = try context.ask(.history) {
            guard case .history(let report) = reply else { throw reply.unexpected() }
            return report
        }
        return HistoryReport(try StoreReader(path: context.paths.database).history(), source: .file)
    }
}
