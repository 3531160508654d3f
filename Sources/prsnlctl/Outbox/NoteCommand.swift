import Console
import PRSNLCore

/// `prsnlctl note`: a text.
enum NoteCommand {
    static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode {
        let text = try TextInput.read(arguments.operands.first ?? "", field: "note")
        let item = NewItem(title: arguments.value("--title"), note: text, tags: arguments.values("--tag"))
        return try WriteFlow.run(context, arguments, [.create(item)], names: ["note"])
    }
}
