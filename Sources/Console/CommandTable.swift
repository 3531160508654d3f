import PRSNLCore

package struct CommandDescription: Sendable, Equatable {
    /// One word, or two: `queue show`.
    package let name: String
    /// Words that other programs have for it.
    package let aliases: [String]
    package let summary: String
    package let operands: CommandOperands
    /// The command that has the same options and needs no operands.
    package let withoutOperands: String?
    package let options: [CommandOption]
    /// What the operands may say, part by part.
    package let language: [Term]
    /// Whole commands, and what they do.
    package let examples: [Term]

    /// It shows what the file or the daemon says, and needs no more of the configuration than where they are.
    package let onlyReads: Bool

    package typealias Term = (form: String, meaning: String)

    package init(
        name: String, aliases: [String] = [], summary: String, operands: CommandOperands = .none,
        options: [CommandOption], language: [Term] = [], examples: [Term] = [], withoutOperands: String? = nil,
        onlyReads: Bool = false
    ) {
        self.name = name
        self.aliases = aliases
        (self.language, self.examples, self.withoutOperands) = (language, examples, withoutOperands)
        self.summary = summary
        self.operands = operands
        self.options = options
        self.onlyReads = onlyReads
    }

    package static func == (left: CommandDescription, right: CommandDescription) -> Bool { left.name == right.name }

    /// `prsnlctl edit [OPTION]... ID`
    package func usage(of program: String) -> String {
        ["\(program) \(name) [OPTION]...", operands.usage].filter { !$0.isEmpty }.joined(separator: " ")
    }
}

/// A program: the only list of its commands and options. Parsing, `--help` and docs/cli.md follow it.
package struct CommandTable: Sendable {
    package let program: String
    package let summary: String
    package let options: [CommandOption]
    package let commands: [CommandDescription]
    /// The chapters of `--help`, by the command that each begins with.
    package let chapters: [String: String]
    package let exitCodes: [(code: ExitCode, meaning: String)]
    /// How the sentence ends about what people expect and there is not: a command, or a command with an option.
    let explanations: [String: String]

    package init(
        program: String, summary: String, options: [CommandOption], commands: [CommandDescription],
        chapters: [String: String] = [:],
        exitCodes: [(code: ExitCode, meaning: String)], explanations: [String: String] = [:]
    ) {
        self.program = program
        self.summary = summary
        self.options = options
        (self.commands, self.chapters) = (commands, chapters)
        self.exitCodes = exitCodes
        self.explanations = explanations
    }

    package func command(named name: String) -> CommandDescription? {
        commands.first { $0.name == name || $0.aliases.contains(name) }
    }

    /// The second words that may follow a command's name.
    package func secondWords(after name: String) -> [String] {
        commands.filter { $0.name.hasPrefix(name + " ") }.map { String($0.name.dropFirst(name.count + 1)) }
    }
}

extension CommandTable {
    package static let prsnld = CommandTable(
        program: "prsnld",
        summary: "Keeps a copy of a PRSNL server's timeline in one SQLite file.",
        options: [
            CommandOption("--config", "FILE", "Read this configuration file."),
            CommandOption("--once", nil, "Pull everything there is, then exit."),
            CommandOption("--no-texts", nil, "With `--once`: without the texts of items."),
            CommandOption("--check-config", nil, "Check the configuration, print the values in effect, and exit."),
            CommandOption("--service", nil, "With `--check-config`: as `prsnld.service` has it."),
            CommandOption("--instance", "NAME", "With `--check-config`: as `prsnld@NAME.service` has it."),
            .help, .version,
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
                "The database is damaged, newer than this program, no copy, on a network, or a file with a second hard link; systemd does not start it again."
            ),
            (
                .configuration,
                "The configuration or the credentials must be corrected first; systemd does not start it again."
            ),
        ])
}

extension CommandTable {
    /// The text of `--help`, for the program or for one of its commands. What all commands share is said by the program's alone.
    package func help(for command: CommandDescription? = nil) -> String {
        var lines: [String]
        if let command {
            let aliases = command.aliases.isEmpty ? "" : " Also: \(command.aliases.joined(separator: ", "))."
            lines =
                ["usage: " + command.usage(of: program)]
                + TextLayout.wrap(Self.plain(command.summary + aliases), width: 80)
            lines += Self.part("\(command.operands.usage) may be:", command.language)
            lines += Self.part("Examples:", command.examples)
            let own = command.options.filter { $0 != .help && $0 != .json }
            lines += Self.part("Options:", own.map { ($0.usage, $0.summary) })
            let json = command.options.contains(.json) ? "Also --json. " : ""
            lines += ["", "\(json)General options and exit codes: \(program) --help"]
        } else {
            lines = ["usage: \(program) [OPTION]..." + (commands.isEmpty ? "" : " COMMAND"), "", summary]
            for command in commands {
                if let title = chapters[command.name] { lines += ["", "\(title):"] }
                lines += Self.aligned([(command.name, command.summary)], column: 16)
            }
            lines += Self.part("Options:", options.map { ($0.usage, $0.summary) })
            lines += Self.part("Exit codes:", exitCodes.map { ("\($0.code.rawValue)", $0.meaning) })
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// What a program prints that is called with nothing: the commands that most people need.
    package func overview(of names: [String], more: String) -> String {
        let named = names.compactMap(command(named:))
        let lines =
            ["usage: \(program) [OPTION]... COMMAND", "", summary, ""]
            + Self.aligned(named.map { ($0.name, Self.plain($0.summary)) }) + ["", more]
        return lines.map { $0 + "\n" }.joined()
    }

    private static func plain(_ text: String) -> String { text.filter { $0 != "`" } }

    private static func part(_ title: String, _ rows: [CommandDescription.Term]) -> [String] {
        rows.isEmpty ? [] : ["", title] + aligned(rows)
    }

    /// Two columns. What is too long for the first has the line, and its text behind it or below.
    private static func aligned(_ rows: [CommandDescription.Term], column: Int? = nil) -> [String] {
        let rows = rows.map { (plain($0), plain($1)) }
        let column = column ?? min(44, (rows.map { $0.0.count }.max() ?? 0) + 4)
        return rows.flatMap { name, text in
            let isWide = name.count + 4 > column
            if isWide, name.count + text.count + 4 <= 80 { return ["  \(name)  \(text)"] }
            return (isWide ? ["  " + name] : [])
                + TextLayout.wrap(text, width: 80 - column).enumerated().map { index, line in
                    TextLayout.padRight(index == 0 && !isWide ? "  \(name)" : "", to: column) + line
                }
        }
    }
}

package struct CommandOption: Sendable, Equatable {
    /// Whether, and how, an option has a value.
    package enum Form: Sendable, Equatable {
        /// A switch.
        case none
        /// `--config FILE` or `--config=FILE`.
        case required(String)
        /// `--wait` or `--wait=DURATION`, but not `--wait DURATION`, which could be meant as an operand.
        case optional(String)
    }

    /// `--config`
    package let name: String
    /// `-n`
    package let short: String?
    package let form: Form
    package let summary: String
    /// Whether it may be given again, each time with one more value.
    package let isRepeatable: Bool
    /// Whether an empty value is one: `--title ''` is for the validation of titles to judge.
    package let allowsEmpty: Bool

    package init(_ name: String, _ value: String? = nil, _ summary: String) {
        self.init(name, value.map(Form.required) ?? .none, summary)
    }

    package init(
        _ name: String, short: String? = nil, _ form: Form, _ summary: String, isRepeatable: Bool = false,
        allowsEmpty: Bool = false
    ) {
        self.name = name
        self.short = short
        self.form = form
        self.summary = summary
        self.isRepeatable = isRepeatable
        self.allowsEmpty = allowsEmpty
    }

    /// A text that becomes a part of an item.
    package static func text(_ name: String, _ value: String, _ summary: String, isRepeatable: Bool = false)
        -> CommandOption
    {
        CommandOption(name, .required(value), summary, isRepeatable: isRepeatable, allowsEmpty: true)
    }

    /// `--config FILE`, `--wait[=DURATION]`, `-n, --limit N`
    package var usage: String {
        let names = [short, name].compactMap(\.self).joined(separator: ", ")
        return switch form {
        case .none: names
        case .required(let value): "\(names) \(value)"
        case .optional(let value): "\(names)[=\(value)]"
        }
    }

    /// Whether the next argument is its value.
    package var takesNext: Bool { if case .required = form { true } else { false } }
}

extension CommandOption {
    package static let help = CommandOption("--help", nil, "Print this help.")
    package static let version = CommandOption("--version", nil, "Print the version.")
    package static let json = CommandOption("--json", nil, "Print JSON instead of text.")
}

/// What a command takes besides options.
package struct CommandOperands: Sendable {
    /// As the help writes it: `ID...`
    package let usage: String
    package let minimum: Int
    package let maximum: Int
    /// Whether `-word` is an operand too, where it is no option of one letter.
    package var mayBeginWithDash = false

    package static let none = CommandOperands(usage: "", minimum: 0, maximum: 0)

    package static func one(_ name: String) -> CommandOperands {
        CommandOperands(usage: name, minimum: 1, maximum: 1)
    }
    package static func atMostOne(_ name: String) -> CommandOperands {
        CommandOperands(usage: "[\(name)]", minimum: 0, maximum: 1)
    }
    package static func some(_ name: String, most: Int = CommandOperands.most) -> CommandOperands {
        CommandOperands(usage: "\(name)...", minimum: 1, maximum: most)
    }
    package static func any(_ name: String, most: Int = CommandOperands.most) -> CommandOperands {
        CommandOperands(usage: "[\(name)]...", minimum: 0, maximum: most)
    }

    /// As many as one request to the daemon may be about.
    package static let most = WriteLimits.together
}
