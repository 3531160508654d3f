import Console
import PRSNLCore

/// `prsnlctl retry-queue`
enum RetryQueueCommand {
    static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode {
        let numbers = try EntryNumbers.parse(arguments)
        var door = OutboxDoor(context)
        let reply = try door.perform(
            .retry(
                numbers.isEmpty ? nil : numbers, parked: arguments.has("--parked"),
                dryRun: arguments.has("--dry-run")))
        guard case .retry(let report) = reply else { throw reply.unexpected() }
        try context.write(report)
        return .fine
    }
}
