import Console
import PRSNLCore
import Reports

/// `prsnlctl retry-queue`
enum RetryQueueCommand {
    static let command = Command(
        "retry-queue", "Send waiting writes again now, instead of at their next attempt.", operands: .any("N"),
        options: [
            CommandOption("--parked", nil, "Give the parked ones one more attempt, too."),
            CommandOption("--dry-run", nil, "Only say what would be done."),
        ]
    ) { context, arguments throws(UserFacingError) in
        let numbers = try EntryNumbers.parse(arguments)
        var outbox = OutboxClient(context)
        try context.write(
            try outbox.perform(
                RetryRequest(
                    numbers.isEmpty ? nil : numbers, parked: arguments.has("--parked"),
                    dryRun: arguments.has("--dry-run"))))
        return .fine
    }
}
