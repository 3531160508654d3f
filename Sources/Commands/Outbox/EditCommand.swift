import Console
import PRSNLCore

/// `prsnlctl edit`: new values for some of an item's fields.
enum EditCommand {
    static let command = Command(
        "edit", "Change an item's title, summary or tags.", operands: .one("ID"),
        options: [
            .text("--title", "TITLE", "The new title."),
            .text("--summary", "TEXT", "The new summary; `-` reads it from stdin."),
            .text(
                "--tag", "TAG", "A tag; may be given again. Together they replace all that the item has.",
                isRepeatable: true),
            CommandOption("--no-tags", nil, "Remove all tags."),
            .wait,
        ], run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let item = arguments.operands.first ?? ""
        var edit = ItemEdit(title: arguments.value("--title"))
        if let summary = arguments.value("--summary") {
            edit.summary = try TextInput.read(summary, field: "summary")
        }
        if arguments.has("--tag") { edit.tags = arguments.values("--tag") }
        if arguments.has("--no-tags") {
            if edit.tags != nil { throw arguments.failure("--tag and --no-tags exclude each other") }
            edit.tags = []
        }
        if edit.isEmpty {
            throw arguments.failure("--title, --summary, --tag or --no-tags is missing")
        }
        let code = try WriteFlow.run(context, arguments, [.edit(item: item, edit)], names: [item])
        if let tags = edit.tags, code != .error, context.isText {
            context.say(tags.isEmpty ? "all tags are removed" : "tags replaced: \(tags.joined(separator: ", "))")
        }
        return code
    }
}
