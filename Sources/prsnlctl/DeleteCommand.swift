import Control
import PRSNLCore

/// `prsnlctl delete`: items, each by an entry of its own.
enum DeleteCommand {
    static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode {
        let items = arguments.operands
        return try WriteFlow.run(context, arguments, items.map { .delete(item: $0) }, names: items)
    }
}
