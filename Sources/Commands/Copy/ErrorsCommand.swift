import Console
import PRSNLCore
import Reports

/// `prsnlctl errors`: from the daemon when it runs, because this user may not be allowed to read the file.
enum ErrorsCommand {
    static let command = Command(
        "errors", "List the errors that the daemon has met, with what to do about each.",
        options: [CommandOption("--clear", nil, "Forget them; those that go on come back.")]
    ) { context, arguments throws(UserFacingError) in
        try context.write(arguments.has("--clear") ? try clear(context) : try report(context))
        return .fine
    }

    private static func report(_ context: CommandContext) throws(UserFacingError) -> ErrorsReport {
        try context.read(ErrorsRequest()) { path throws(UserFacingError) in
            try ErrorsReport(path: path, source: .file, now: TimeSource.system.now())
        }
    }

    private static func clear(_ context: CommandContext) throws(UserFacingError) -> ErrorsReport {
        var outbox = OutboxClient(context)
        return try outbox.perform(ClearErrorsRequest())
    }
}
