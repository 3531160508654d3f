import Console
import PRSNLCore
import Store

/// What can be offered for an option's value.
enum CompletionValue: Equatable {
    case files
    case words([String])
    /// prsnlctl is asked: `list --complete KIND:PREFIX`.
    case asked(String)
    /// Only a person knows.
    case free

    init(_ option: CommandOption) {
        switch option.form {
        case .none: self = .free
        case .required("FILE"), .required("PATH"): self = .files
        case .required("ID"): self = .asked("id")
        case .required("TAG"): self = .asked("tag")
        case .required("WORDS"): self = .asked("search")
        case .required("NAME"): self = .asked("instance")
        case .required("WHEN"): self = .words(["auto", "always", "never"])
        case .required("STATE"): self = .words(OutboxEntry.State.allCases.map(\.rawValue))
        case .required("TYPE"): self = .asked("type")
        case .required, .optional: self = .free
        }
    }
}

extension CommandOption {
    /// `--config FILE`: the next word is the value.
    var takesNextWord: Bool { if case .required = form { true } else { false } }
    var takesValue: Bool { form != .none }
    /// What stands for the value: `FILE`.
    var placeholder: String {
        switch form {
        case .none: ""
        case .required(let name), .optional(let name): name
        }
    }
    /// The summary without the tables' markup and the full stop.
    var shortSummary: String { CommandTable.short(summary) }
}

extension CommandTable {
    static func short(_ text: String) -> String {
        let plain = text.filter { $0 != "`" }
        return plain.hasSuffix(".") ? String(plain.dropLast()) : plain
    }

    /// Every option once; those of one name agree about their values' form (a test holds them to it).
    var everyOption: [CommandOption] {
        var seen: Set<String> = []
        return (options + commands.flatMap(\.options)).filter { seen.insert($0.name).inserted }
    }

    /// The first words of the commands, in order: `queue` once.
    var firstWords: [String] {
        var seen: Set<String> = []
        return commands.map { String($0.name.prefix { $0 != " " }) }.filter { seen.insert($0).inserted }
    }

    /// The commands of two words: `queue show`.
    var twoWordCommands: [CommandDescription] { commands.filter { $0.name.contains(" ") } }

    /// By first word, the commands of two words that begin with it.
    var families: [(first: String, commands: [CommandDescription])] {
        firstWords.compactMap { first in
            let members = twoWordCommands.filter { $0.name.hasPrefix(first + " ") }
            return members.isEmpty ? nil : (first, members)
        }
    }

    /// The program's options and then the command's, each name once.
    func options(of command: CommandDescription?) -> [CommandOption] {
        let own = command?.options ?? []
        return own + options.filter { option in !own.contains { $0.name == option.name } }
    }
}

extension CommandTable {
    /// Those that say which daemon, and so whose items, are meant.
    var meaningOptions: [String] {
        options.filter(\.takesNextWord).map(\.name)
    }

    /// Whether there is anything that prsnlctl is asked for.
    var asks: Bool { commands.contains { $0.kind != nil } }
}

extension CommandDescription {
    /// What its operands are, where prsnlctl is asked for them.
    var kind: String? {
        switch operands.usage.filter(\.isLetter) {
        case "ID": name == "restore" ? "deleted" : "id"
        case "TAGTAGID": "word"
        case "WORD": ["search", "list"].contains(name) ? "search" : nil
        default: nil
        }
    }
    var secondWord: String { String(name.drop { $0 != " " }.dropFirst()) }
}
