import Console
import Glibc
import PRSNLCore
import Reports

/// `prsnlctl queue drop`: asks, unless told not to.
enum QueueDropCommand {
    static let command = Command(
        "queue drop", "Give up writes that are not sent.", operands: .some("N"),
        options: [CommandOption("--yes", nil, "Do not ask; drop what is queued behind them, too.")], run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let numbers = try EntryNumbers.parse(arguments)
        var outbox = OutboxClient(context)
        if arguments.has("--yes") { return try drop(numbers, withDependents: true, &outbox) }
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw UserFacingError(
                .usage, "queue drop asks before it drops, and there is no terminal to ask on.",
                consequence: "Nothing was dropped.", recoverySuggestion: "Give --yes.",
                nextCommand: NextCommand(["prsnlctl", "queue", "drop", "--yes"] + numbers.map(String.init)))
        }
        let plan = try outbox.perform(DropRequest(numbers, withDependents: true, dryRun: true))
        guard try confirm(plan, context) else {
            context.say("nothing was dropped")
            return .error
        }
        // Only what was shown: what was queued behind it since then is not dropped unseen.
        return try drop(plan.dropped, withDependents: false, &outbox)
    }

    private static func drop(
        _ numbers: [Int64], withDependents: Bool, _ outbox: inout OutboxClient
    ) throws(UserFacingError) -> ExitCode {
        let report = try outbox.perform(DropRequest(numbers, withDependents: withDependents, dryRun: false))
        try outbox.context.write(report)
        return report.exitCode
    }

    /// Shows what would go, and asks.
    private static func confirm(_ plan: DropReport, _ context: CommandContext) throws(UserFacingError) -> Bool {
        for number in plan.dropped.prefix(QueueRequest.usuallyListed) {
            let report = try QueueShowCommand.entry(number, context)
            let front = plan.dependents.contains(number) ? "  waits for one of them: " : "  "
            let what = context.errorStyle.safe("#\(number) \(report.entry.kind) \(report.entry.what)")
            StandardStream.error.write(front + what + "\n")
        }
        if plan.dropped.count > QueueRequest.usuallyListed {
            StandardStream.error.write("  and \(plan.dropped.count - QueueRequest.usuallyListed) more\n")
        }
        return Confirmation.ask("Give up \(plan.dropped.count == 1 ? "this write" : "these writes")?")
    }
}
