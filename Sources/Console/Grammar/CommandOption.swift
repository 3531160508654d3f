import PRSNLCore

/// One option of a program or a command.
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
        _ name: String, _ form: Form, _ summary: String, isRepeatable: Bool = false, allowsEmpty: Bool = false
    ) {
        self.name = name
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

    /// `--config FILE`, `--wait[=DURATION]`
    package var usage: String {
        switch form {
        case .none: name
        case .required(let value): "\(name) \(value)"
        case .optional(let value): "\(name)[=\(value)]"
        }
    }

    /// Whether the next argument is its value.
    package var takesNext: Bool { if case .required = form { true } else { false } }

    /// The option's row in docs/cli.md.
    package var documentationRow: String { "| `\(usage)` | \(summary) |" }
}

extension CommandOption {
    package static let help = CommandOption("--help", nil, "Print this help.")
    package static let version = CommandOption("--version", nil, "Print the version.")
    package static let json = CommandOption("--json", nil, "Print JSON instead of text.")
}

/// What a command takes besides options.
package struct CommandOperands: Sendable, Equatable {
    /// As the help writes it: `ID...`
    package let usage: String
    package let minimum: Int
    package let maximum: Int

    package static let none = CommandOperands(usage: "", minimum: 0, maximum: 0)

    package static func one(_ name: String) -> CommandOperands {
        CommandOperands(usage: name, minimum: 1, maximum: 1)
    }
    package static func atMostOne(_ name: String) -> CommandOperands {
        CommandOperands(usage: "[\(name)]", minimum: 0, maximum: 1)
    }
    package static func some(_ name: String) -> CommandOperands {
        CommandOperands(usage: "\(name)...", minimum: 1, maximum: CommandOperands.most)
    }
    package static func any(_ name: String) -> CommandOperands {
        CommandOperands(usage: "[\(name)]...", minimum: 0, maximum: CommandOperands.most)
    }

    /// As many as one request to the daemon may be about.
    package static let most = WriteLimits.together
}
