package import Console
import PRSNLCore

/// A command of prsnlctl: its entry in the table, and what it does.
struct Command: Sendable {
    typealias Body = @Sendable (CommandContext, ParsedArguments) throws(UserFacingError) -> ExitCode

    let entry: CommandDescription
    /// It has a step that root alone can do, such as reading a key of root's. Others run as the owner of the copy.
    let needsRoot: Bool
    /// It says itself what is wrong with the configuration, which keeps others from running.
    let judgesConfiguration: Bool
    let run: Body
}

extension Command {
    /// What follows the command's name, and what that does.
    typealias Example = (rest: String, meaning: String)

    /// - Parameter options: those beside `--help`, which all commands have, and `--json`.
    init(
        _ name: String, or aliases: [String] = [], _ summary: String, examples: [Example],
        operands: CommandOperands = .none, withoutOperands: String? = nil, options: [CommandOption] = [],
        language: [CommandDescription.Term] = [], hasJSON: Bool = true, onlyReads: Bool = false,
        needsRoot: Bool = false, judgesConfiguration: Bool = false, run: @escaping Body
    ) {
        let entry = CommandDescription(
            name: name, aliases: aliases, summary: summary, operands: operands,
            options: options + (hasJSON ? [.json] : []) + [.help], language: language,
            examples: examples.map { rest, meaning in
                ("`\(["prsnlctl", name, rest].filter { !$0.isEmpty }.joined(separator: " "))`", meaning)
            }, withoutOperands: withoutOperands, onlyReads: onlyReads)
        self.init(entry: entry, needsRoot: needsRoot, judgesConfiguration: judgesConfiguration) {
            context, arguments throws(UserFacingError) in
            do throws(UserFacingError) { return try run(context, arguments) } catch {
                guard error.recoverySuggestion == ErrorCode.usage.recoverySuggestion else { throw error }
                throw error.with(suggestion: "See \(arguments.help).", next: arguments.help)
            }
        }
    }

    /// All of them, in the order of `--help`.
    static let all: [Command] = [
        SearchCommand.command, RelatedCommand.command, ListCommand.command, TagsCommand.command, StatsCommand.command,
        ShowCommand.command,
        OpenCommand.command,
        ExportCommand.command, ChangesCommand.command, StatusCommand.command, MetricsCommand.command,
        SyncCommand.command, VerifyCommand.command,
        HistoryCommand.command,
        PingCommand.command, NetCommand.command,
        CaptureCommand.command, ImportCommand.command, NoteCommand.command, EditCommand.command, TagCommand.command,
        DeleteCommand.command,
        RestoreCommand.command, UndoCommand.command,
        QueueCommand.command, QueueShowCommand.command, QueueDropCommand.command, RetryQueueCommand.command,
        ErrorsCommand.command, DoctorCommand.command, MCPCommand.command, BrowserHostCommand.command,
        LoginCommand.command, LogoutCommand.command, WhoamiCommand.command, AccountCommand.command,
    ]
}

extension CommandTable {
    package static let prsnlctl = CommandTable(
        program: "prsnlctl",
        summary: "Shows and steers prsnld, the daemon that keeps a copy of a PRSNL timeline.",
        options: [
            CommandOption("--config", "FILE", "Read this configuration file."),
            CommandOption("--instance", "NAME", "The daemon `prsnld@NAME`, with /etc/prsnld/NAME.conf."),
            CommandOption("--socket", "PATH", "The daemon's control socket."),
            CommandOption("--database", "PATH", "The SQLite file of the copy."),
            CommandOption("--color", "WHEN", "`auto` (on a terminal), `always` or `never`."),
            .help, .version,
        ],
        commands: Command.all.map(\.entry),
        chapters: [
            "search": "Find and read", "status": "The copy and the server", "capture": "Write",
            "queue": "Writes that wait", "errors": "Set up and look after",
        ],
        exitCodes: [
            (.fine, "Success."),
            (.error, "An error; the message says what to do."),
            (.usage, "The command line is wrong."),
            (.daemonNotRunning, "The command needs the daemon, and it is not running."),
            (
                .needsAttention,
                "A person should look: the copy is incomplete, deletions are held back, a write is parked, or the daemon "
                    + "waits for help."
            ),
            (.notDelivered, "With `--wait`: the write is on disk, and was not delivered in time."),
        ],
        explanations: [
            "log": "; did you mean changes or history?", "edit --note": ": the server cannot change a text.",
        ])
}

extension CommandOption {
    static let wait = CommandOption(
        "--wait", .optional("DURATION"), "Wait for the delivery, without a limit or for this long (`30s`).")
    static let tag = CommandOption.text("--tag", "TAG", "A tag; may be given again.", isRepeatable: true)
}
