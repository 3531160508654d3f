import Console
import Control
import Glibc
import PRSNLCore
import Reports

/// `prsnlctl queue drop`: asks, unless told not to.
enum QueueDropCommand {
    static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode {
        let numbers = try EntryNumbers.parse(arguments)
        var door = OutboxDoor(context)
        if arguments.has("--yes") { return try drop(numbers, withDependents: true, &door) }
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw UserFacingError(
                .usage, "queue drop asks before it drops, and there is no terminal to ask on.",
                consequence: "Nothing was dropped.", recoverySuggestion: "Give --yes.",
                nextCommand: "prsnlctl queue drop --yes " + numbers.map(String.init).joined(separator: " "))
        }
        let reply = try door.perform(.drop(numbers, withDependents: true, dryRun: true))
        guard case .drop(let plan) = reply else { throw reply.unexpected() }
        guard try confirm(plan, context) else {
            context.say("nothing was dropped")
            return .error
        }
        // Only what was shown: whatever was queued behind it since then is not dropped unseen.
        return try drop(plan.dropped, withDependents: false, &door)
    }

    private static func drop(
        _ numbers: [Int64], withDependents: Bool, _ door: inout OutboxDoor
    ) throws(UserFacingError) -> ExitCode {
        let reply = try door.perform(.drop(numbers, withDependents: withDependents, dryRun: false))
        guard case .drop(let report) = reply else { throw reply.unexpected() }
        try door.context.write(report)
        return report.exitCode
    }

    /// Shows what would go, and asks.
    private static func confirm(_ plan: DropReport, _ context: CommandContext) throws(UserFacingError) -> Bool {
        for number in plan.dropped.prefix(ControlRequest.usuallyListed) {
            let reply = try OutboxDoor.read(.entry(number), context)
            guard case .entry(let report) = reply else { throw reply.unexpected() }
            let front = plan.dependents.contains(number) ? "  waits for one of them: " : "  "
            let what = context.errorStyle.safe("#\(number) \(report.entry.kind) \(report.entry.what)")
            StandardStream.error.write(front + what + "\n")
        }
        if plan.dropped.count > ControlRequest.usuallyListed {
            StandardStream.error.write("  and \(plan.dropped.count - ControlRequest.usuallyListed) more\n")
        }
        return Confirmation.ask("Give up \(plan.dropped.count == 1 ? "this write" : "these writes")?")
    }
}
