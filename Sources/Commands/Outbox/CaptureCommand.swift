import Console
import PRSNLCore

/// `prsnlctl capture`: a URL, or many from stdin.
enum CaptureCommand {
    static let command = Command(
        "capture", "Save a URL on the server.", operands: .atMostOne("URL"),
        options: [
            CommandOption("--stdin", nil, "Read many: a URL or a JSON object per line of stdin."),
            .text("--title", "TITLE", "The item's title."),
            .tag,
            .text("--note", "TEXT", "A remark; `-` reads it from stdin."),
            .text("--type", "TYPE", "The server's content type (`link`, unless said otherwise)."),
            CommandOption("--summarize", nil, "Ask the server to write a summary."),
            .wait,
        ], run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        if arguments.has("--stdin") {
            try checkForStdin(arguments)
            return try CaptureStdin.run(context, try WaitOption(arguments))
        }
        guard let url = arguments.operands.first else {
            throw arguments.failure("a URL, or --stdin, is missing")
        }
        var note = arguments.value("--note")
        if let text = note { note = try TextInput.read(text, field: "note") }
        let item = NewItem(
            url: url, title: arguments.value("--title"), note: note, tags: arguments.values("--tag"),
            type: arguments.value("--type"), summarize: arguments.has("--summarize"))
        return try WriteFlow.run(context, arguments, [.create(item)], names: [url])
    }

    /// What belongs to one item cannot be meant for many.
    private static func checkForStdin(_ arguments: ParsedArguments) throws(UserFacingError) {
        if let url = arguments.operands.first {
            throw arguments.failure("\(url) and --stdin exclude each other")
        }
        let ofMany = ["--stdin"] + [CommandOption.wait, .json, .help].map(\.name)
        for option in command.entry.options.map(\.name) where !ofMany.contains(option) && arguments.has(option) {
            throw arguments.failure("\(option) belongs to one URL; with --stdin, say it in the line")
        }
    }
}
