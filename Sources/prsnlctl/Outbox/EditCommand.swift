import Console
import PRSNLCore

/// `prsnlctl edit`: new values for some of an item's fields.
enum EditCommand {
    static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode {
        let item = arguments.operands.first ?? ""
        var edit = ItemEdit(title: arguments.value("--title"))
        if let summary = arguments.value("--summary") {
            edit.summary = try TextInput.read(summary, field: "summary")
        }
        if arguments.has("--tag") { edit.tags = arguments.values("--tag") }
        if arguments.has("--no-tags") {
            if edit.tags != nil { throw arguments.failure("--tag and --no-tags exclude each other", table: .prsnlctl) }
            edit.tags = []
        }
        if edit.isEmpty {
            throw arguments.failure("--title, --summary, --tag or --no-tags is missing", table: .prsnlctl)
        }
        return try WriteFlow.run(context, arguments, [.edit(item: item, edit)], names: [item])
    }
}
