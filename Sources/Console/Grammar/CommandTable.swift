/// One command of a program.
package struct CommandDescription: Sendable, Equatable {
    /// One word, or two: `queue show`.
    package let name: String
    package let summary: String
    package let operands: CommandOperands
    package let options: [CommandOption]

    package init(name: String, summary: String, operands: CommandOperands = .none, options: [CommandOption]) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.options = options
    }

    /// `prsnlctl edit [OPTION]... ID`
    package func usage(of program: String) -> String {
        ["\(program) \(name) [OPTION]...", operands.usage].filter { !$0.isEmpty }.joined(separator: " ")
    }
}

/// A program: the only list of its commands and options. Parsing, `--help` and docs/cli.md follow it.
package struct CommandTable: Sendable, Equatable {
    package let program: String
    package let summary: String
    package let options: [CommandOption]
    package let commands: [CommandDescription]
    package let exitCodes: [(code: ExitCode, meaning: String)]

    package static func == (left: CommandTable, right: CommandTable) -> Bool { left.program == right.program }

    package func command(named name: String) -> CommandDescription? { commands.first { $0.name == name } }

    /// The second words that may follow a command's name.
    package func secondWords(after name: String) -> [String] {
        commands.filter { $0.name.hasPrefix(name + " ") }.map { String($0.name.dropFirst(name.count + 1)) }
    }

    /// The exit code's row in docs/cli.md.
    package static func documentationRow(_ code: ExitCode, _ meaning: String) -> String {
        "| \(code.rawValue) | \(meaning) |"
    }
}

extension CommandTable {
    private static let help = CommandOption("--help", nil, "Print this help.")
    private static let version = CommandOption("--version", nil, "Print the version.")
    private static let json = CommandOption("--json", nil, "Print JSON instead of text.")
    private static let wait = CommandOption(
        "--wait", .optional("DURATION"), "Wait for the delivery, for ever or as long as is said (`30s`).")
    private static let tag = CommandOption.text("--tag", "TAG", "A tag; may be given again.", isRepeatable: true)

    package static let prsnld = CommandTable(
        program: "prsnld",
        summary: "Keeps a copy of a PRSNL server's timeline in one SQLite file.",
        options: [
            CommandOption("--config", "FILE", "Read this configuration file."),
            CommandOption("--once", nil, "Pull everything there is, then exit."),
            CommandOption("--check-config", nil, "Check the configuration, print what holds, and exit."),
            CommandOption("--service", nil, "With `--check-config`: as `prsnld.service` has it."),
            CommandOption("--instance", "NAME", "With `--check-config`: as `prsnld@NAME.service` has it."),
            help, version,
        ],
        commands: [],
        exitCodes: [
            (.fine, "Stopped by SIGTERM or SIGINT; or `--once` ended with a complete copy."),
            (.error, "It could not start or go on; the last message says why."),
            (.usage, "The command line is wrong."),
            (
                .needsAttention,
                "`--once` ended, and the copy is incomplete or a login is needed: `prsnlctl status` says what is missing."
            ),
            (
                .database,
                "The database is damaged, newer than this program, no copy, or a file of two names; systemd does not start it again."
            ),
            (
                .configuration,
                "The configuration or the credentials must be mended first; systemd does not start it again."
            ),
        ])

    package static let prsnlctl = CommandTable(
        program: "prsnlctl",
        summary: "Shows and steers prsnld, the daemon that keeps a copy of a PRSNL timeline.",
        options: [
            CommandOption("--config", "FILE", "Read this configuration file."),
            CommandOption("--instance", "NAME", "The daemon `prsnld@NAME`, with /etc/prsnld/NAME.conf."),
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
            CommandDescription(
                name: "ping",
                summary: "Ask the server now whether it can be reached, and show how long each step takes.",
                options: [json, help]),
            CommandDescription(
                name: "net", summary: "Show the network, the way to the server, and whether it can be reached.",
                options: [
                    CommandOption("--watch", nil, "Print each change as it happens, with its reason."), json, help,
                ]),
        ] + writes + queue + care + accounts,
        exitCodes: [
            (.fine, "Fine."),
            (.error, "An error; the message says what to do."),
            (.usage, "The command line is wrong."),
            (.daemonNotRunning, "The command needs the daemon, and it is not running."),
            (
                .needsAttention,
                "A person should look: the copy is incomplete, deletions are held back, a write is parked, or the daemon "
                    + "waits for help."
            ),
            (.notDelivered, "With `--wait`: the write is on disk, and was not delivered in time."),
        ])

    private static let writes = [
        CommandDescription(
            name: "capture", summary: "Save a URL on the server.", operands: .atMostOne("URL"),
            options: [
                CommandOption("--stdin", nil, "Read many: a URL or a JSON object per line of stdin."),
                .text("--title", "TITLE", "The item's title."),
                tag,
                .text("--note", "TEXT", "A remark; `-` reads it from stdin."),
                .text("--type", "TYPE", "The server's content type (`link`, unless said otherwise)."),
                CommandOption("--summarize", nil, "Ask the server to write a summary."),
                wait, json, help,
            ]),
        CommandDescription(
            name: "note", summary: "Save a note on the server; `-` reads the text from stdin.", operands: .one("TEXT"),
            options: [.text("--title", "TITLE", "The note's title."), tag, wait, json, help]),
        CommandDescription(
            name: "edit", summary: "Change an item's title, summary or tags.", operands: .one("ID"),
            options: [
                .text("--title", "TITLE", "The new title."),
                .text("--summary", "TEXT", "The new summary; `-` reads it from stdin."),
                .text(
                    "--tag", "TAG", "A tag; may be given again. Together they replace all that the item has.",
                    isRepeatable: true),
                CommandOption("--no-tags", nil, "Take all tags away."),
                wait, json, help,
            ]),
        CommandDescription(
            name: "delete", summary: "Delete items on the server; asks first, on a terminal.", operands: .some("ID"),
            options: [
                CommandOption("--yes", nil, "Do not ask. Without a terminal nothing is asked anyway."), wait, json,
                help,
            ]),
    ]

    private static let care = [
        CommandDescription(
            name: "errors", summary: "List the errors that the daemon has met, with what to do about each.",
            options: [CommandOption("--clear", nil, "Forget them; those that go on come back."), json, help]),
        CommandDescription(
            name: "doctor", summary: "Check everything from the configuration to the log, and say what to do.",
            options: [
                CommandOption("--repair", nil, "Mend the files beside the database first, as root or as its owner."),
                json, help,
            ]),
    ]

    private static let queue = [
        CommandDescription(
            name: "queue", summary: "List the writes that are not delivered yet.",
            options: [
                CommandOption("--all", nil, "List those that are over, too."),
                CommandOption("--state", "STATE", "List those in this state only."),
                json, help,
            ]),
        CommandDescription(
            name: "queue show", summary: "Show everything about one write, with every attempt to send it.",
            operands: .one("N"), options: [json, help]),
        CommandDescription(
            name: "queue drop", summary: "Give writes up that are not sent.", operands: .some("N"),
            options: [
                CommandOption("--yes", nil, "Do not ask; drop what is queued behind them, too."), json, help,
            ]),
        CommandDescription(
            name: "retry-queue", summary: "Send waiting writes again now, instead of at their next attempt.",
            operands: .any("N"),
            options: [
                CommandOption("--parked", nil, "Give the parked ones one more attempt, too."),
                CommandOption("--dry-run", nil, "Only say what would be done."), json, help,
            ]),
    ]
}

extension CommandTable {
    /// The text of `--help`, for the program or for one of its commands.
    package func help(for command: CommandDescription? = nil) -> String {
        var lines: [String] = []
        if let command {
            lines +=
                ["usage: " + command.usage(of: program), ""] + TextLayout.wrap(Self.plain(command.summary), width: 80)
        } else {
            lines += ["usage: \(program) [OPTION]..." + (commands.isEmpty ? "" : " COMMAND"), "", summary]
        }
        if command == nil, !commands.isEmpty {
            lines += ["", "Commands:"] + Self.aligned(commands.map { ($0.name, Self.plain($0.summary)) })
        }
        if let command {
            lines += ["", "Options:"] + Self.aligned(command.options.map { ($0.usage, Self.plain($0.summary)) })
        }
        let general = command == nil ? options : options.filter { option in command?.options.contains(option) == false }
        lines += ["", command == nil ? "Options:" : "General options:"]
        lines += Self.aligned(general.map { ($0.usage, Self.plain($0.summary)) })
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
