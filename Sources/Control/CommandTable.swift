/// One option of a program or a command.
public struct CommandOption: Sendable, Equatable {
    /// `--config`
    public let name: String
    /// What stands for its value in the help; `nil` for a switch.
    public let value: String?
    public let summary: String

    init(_ name: String, _ value: String? = nil, _ summary: String) {
        self.name = name
        self.value = value
        self.summary = summary
    }

    /// `--config FILE`
    public var usage: String { value.map { "\(name) \($0)" } ?? name }
    /// The option's row in docs/cli.md.
    public var documentationRow: String { "| `\(usage)` | \(summary) |" }
}

/// One command of a program.
public struct CommandDescription: Sendable, Equatable {
    public let name: String
    public let summary: String
    public let options: [CommandOption]
}

/// A program: the only list of its commands and options. Parsing, `--help` and docs/cli.md follow it.
public struct CommandTable: Sendable, Equatable {
    public let program: String
    public let summary: String
    public let options: [CommandOption]
    public let commands: [CommandDescription]
    public let exitCodes: [(code: ExitCode, meaning: String)]

    public static func == (left: CommandTable, right: CommandTable) -> Bool { left.program == right.program }

    public func command(named name: String) -> CommandDescription? { commands.first { $0.name == name } }

    /// The exit code's row in docs/cli.md.
    public static func documentationRow(_ code: ExitCode, _ meaning: String) -> String {
        "| \(code.rawValue) | \(meaning) |"
    }
}

extension CommandTable {
    private static let help = CommandOption("--help", nil, "Print this help.")
    private static let version = CommandOption("--version", nil, "Print the version.")
    private static let json = CommandOption("--json", nil, "Print JSON instead of text.")

    public static let prsnld = CommandTable(
        program: "prsnld",
        summary: "Keeps a copy of a PRSNL server's timeline in one SQLite file.",
        options: [
            CommandOption("--config", "FILE", "Read this configuration file."),
            CommandOption("--once", nil, "Pull everything there is, then exit."),
            CommandOption("--check-config", nil, "Check the configuration, print what holds, and exit."),
            help, version,
        ],
        commands: [],
        exitCodes: [
            (.fine, "Stopped by SIGTERM or SIGINT; or `--once` ended with a complete copy."),
            (.error, "It could not start or go on; the last message says why."),
            (.usage, "The command line is wrong."),
            (.needsAttention, "`--once` ended, and the copy is incomplete: `prsnlctl status` says what is missing."),
        ])

    public static let prsnlctl = CommandTable(
        program: "prsnlctl",
        summary: "Shows and steers prsnld, the daemon that keeps a copy of a PRSNL timeline.",
        options: [
            CommandOption("--config", "FILE", "Read this configuration file."),
            CommandOption("--socket", "PATH", "The daemon's control socket."),
            CommandOption("--database", "PATH", "The SQLite file of the copy."),
            help, version,
        ],
        commands: [
            CommandDescription(
                name: "status", summary: "Show how complete and how fresh the copy is.", options: [json, help]),
            CommandDescription(
                name: "sync", summary: "Pull now.",
                options: [
                    CommandOption("--full", nil, "Read the whole timeline again: edits and deletions too."),
                    CommandOption("--wait", nil, "Wait for the end, showing progress."),
                    CommandOption("--accept-deletions", nil, "Believe the deletions that were held back."),
                    json, help,
                ]),
            CommandDescription(name: "history", summary: "List the last pulls.", options: [json, help]),
        ],
        exitCodes: [
            (.fine, "Fine."),
            (.error, "An error; the message says what to do."),
            (.usage, "The command line is wrong."),
            (.daemonNotRunning, "The command needs the daemon, and it is not running."),
            (
                .needsAttention,
                "A person should look: the copy is incomplete, deletions are held back, or the daemon waits for help."
            ),
        ])
}

extension CommandTable {
    /// The text of `--help`, for the program or for one of its commands.
    public func help(for command: CommandDescription? = nil) -> String {
        var lines: [String] = []
        if let command {
            lines += ["usage: \(program) \(command.name) [OPTION]...", "", command.summary]
        } else {
            lines += ["usage: \(program) [OPTION]..." + (commands.isEmpty ? "" : " COMMAND"), "", summary]
        }
        if command == nil, !commands.isEmpty {
            lines += ["", "Commands:"] + Self.aligned(commands.map { ($0.name, $0.summary) })
        }
        if let command { lines += ["", "Options:"] + Self.aligned(command.options.map { ($0.usage, $0.summary) }) }
        let general = command == nil ? options : options.filter { option in command?.options.contains(option) == false }
        lines += ["", command == nil ? "Options:" : "General options:"]
        lines += Self.aligned(general.map { ($0.usage, $0.summary) })
        lines += ["", "Exit codes:"] + Self.aligned(exitCodes.map { ("\($0.code.rawValue)", Self.plain($0.meaning)) })
        return lines.map { $0 + "\n" }.joined()
    }

    private static func plain(_ text: String) -> String { text.filter { $0 != "`" } }

    private static func aligned(_ rows: [(String, String)]) -> [String] {
        let column = (rows.map { $0.0.count }.max() ?? 0) + 4
        return rows.flatMap { name, text in
            TextLayout.wrap(text, width: 80 - column).enumerated().map { index, line in
                TextLayout.padRight(index == 0 ? "  \(name)" : "", to: column) + line
            }
        }
    }
}
