import Console
import PRSNLCore
import Reports

/// `prsnlctl errors`: from the daemon when it runs, from the file when it does not.
enum ErrorsCommand {
    static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode {
        try context.write(arguments.has("--clear") ? try clear(context) : try report(context))
        return .fine
    }

    private static func report(_ context: CommandContext) throws(UserFacingError) -> ErrorsReport {
        // The file holds all of it; the daemon is only asked because this user may not be allowed to read the file.
        if !context.isFileGiven, let reply = try context.ask(.errors(clear: false)) {
            guard case .errors(let report) = reply else { throw reply.unexpected() }
            return report
        }
        return try ErrorsReport(path: context.paths.database, source: .file, now: TimeSource.system.now())
    }

    private static func clear(_ context: CommandContext) throws(UserFacingError) -> ErrorsReport {
        var door = OutboxDoor(context)
        let reply = try door.perform(.errors(clear: true))
        guard case .errors(let report) = reply else { throw reply.unexpected() }
        return report
    }
}
