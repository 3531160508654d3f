package import PRSNLCore

/// A command line, checked against a program's table.
package struct ParsedArguments: Sendable {
    private let table: CommandTable
    /// `nil` where none was given, which only `--help` and `--version` allow for a program with commands.
    package private(set) var command: CommandDescription?
    /// What is no option: URLs, ids, numbers, texts. As many as the command's table allows, unless help is wanted.
    package private(set) var operands: [String] = []
    /// By the option's name; a switch, and an option whose optional value was left out, have no values.
    private var values: [String: [String]] = [:]

    package func has(_ option: String) -> Bool { values[option] != nil }
    /// The option's value; `nil` where it was not given or has none.
    package func value(_ option: String) -> String? { values[option]?.last }
    /// All values of a repeatable option, in the order in which they were given.
    package func values(_ option: String) -> [String] { values[option] ?? [] }

    /// - Parameter arguments: without the program's name.
    /// - Throws: `usage`, with what was probably meant.
    package init(_ arguments: [String], table: CommandTable) throws(UserFacingError) {
        self.table = table
        var rest = arguments[...]
        var optionsEnded = false
        var last: String?
        while let argument = rest.popFirst() {
            defer { last = optionsEnded ? nil : argument }
            if optionsEnded || !argument.hasPrefix("-") || argument == "-" || isOperandWithDash(argument) {
                try take(operand: argument, after: last)
            } else if argument == "--" {
                optionsEnded = true  // POSIX, Utility Syntax Guideline 10
            } else if argument == "-h" {
                values["--help"] = []
            } else {
                try take(option: argument, &rest)
            }
        }
        try judge()
    }

    private func isOperandWithDash(_ argument: String) -> Bool {
        command?.operands.mayBeginWithDash == true && !argument.hasPrefix("--") && argument != "-h"
    }

    private mutating func take(operand argument: String, after last: String?) throws(UserFacingError) {
        if let last, looksLikeValue(argument, of: last) {
            throw failure("\(last) takes its value with an equals sign", nearest: "\(last)=\(argument)")
        }
        guard let command else {
            if table.commands.isEmpty {
                throw failure("\(argument) is one argument too many: \(table.program) takes none")
            }
            // As they are typed to other programs: `help edit`, `version`.
            if argument == "help" || argument == "version" { return values["--\(argument)"] = [] }
            guard let found = table.command(named: argument) else {
                throw failure(
                    "\(argument) is not a command", explanation: table.explanations[argument],
                    nearest: EditDistance.allNearest(to: argument, among: table.commands.map(\.name)).or)
            }
            return self.command = found
        }
        if operands.isEmpty, let found = table.command(named: "\(command.name) \(argument)") {
            return self.command = found
        }
        guard operands.count < command.operands.maximum else {
            let words = table.secondWords(after: command.name)
            guard words.isEmpty else {
                throw failure(
                    "\(command.name) \(argument) is not a command",
                    nearest: EditDistance.allNearest(to: argument, among: words).map { "\(command.name) \($0)" }.or)
            }
            let most = command.operands.maximum
            let taken = most == 0 ? "none" : "\(most) \(command.operands.usage.filter(\.isLetter))"
            throw failure("\(argument) is one argument too many: \(command.name) takes \(taken)")
        }
        operands.append(argument)
    }

    /// `--wait 2s`, where the value may be left out and therefore needs the equals sign.
    private func looksLikeValue(_ argument: String, of option: String) -> Bool {
        let options = command?.options ?? []
        guard let known = options.first(where: { $0.name == option }), case .optional = known.form else { return false }
        if command?.operands.maximum == 0 { return true }
        // A number of the queue, or the beginning of an id, has no unit.
        return argument.utf8.first.map { (48...57).contains($0) } == true
            && argument.last.map { "smhd".contains($0) } == true
            && argument.utf8.allSatisfy { (48...57).contains($0) || "smhd".utf8.contains($0) }
    }

    private mutating func take(option argument: String, _ rest: inout ArraySlice<String>) throws(UserFacingError) {
        var parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        // An option may stand before its command. Those of one name agree about taking the next argument.
        let known = allowed() + table.commands.flatMap(\.options)
        // `-n1` (POSIX, Utility Syntax Guideline 6).
        if !argument.hasPrefix("--"), argument.count > 2,
            known.contains(where: { $0.takesNext && $0.short == String(argument.prefix(2)) })
        {
            parts = [String(argument.prefix(2)), String(argument.dropFirst(2))]
        }
        guard let option = known.first(where: { $0.name == parts[0] || $0.short == parts[0] }) else {
            let isWord = command.map { $0.operands.maximum > 0 } ?? false && !argument.hasPrefix("--")
            throw failure(
                "\(parts[0]) is not an option" + (isWord ? "; give -- in front of words that begin with a dash" : ""),
                nearest: EditDistance.allNearest(to: parts[0], among: allowed(command(in: rest)).map(\.name)).or)
        }
        if parts.count == 1, option.takesNext {
            guard let next = rest.popFirst() else { throw failure("\(option.usage): the value is missing") }
            parts.append(next)
        }
        values[option.name, default: []] += parts.dropFirst()
    }

    private func command(in words: ArraySlice<String>) -> CommandDescription? {
        let first = words.drop { table.command(named: $0) == nil }
        return table.command(named: first.prefix(2).joined(separator: " "))
            ?? first.first.flatMap(table.command(named:))
    }

    /// The options that the command takes, which may follow.
    private func allowed(_ following: CommandDescription? = nil) -> [CommandOption] {
        ((command ?? following)?.options ?? []) + table.options
    }

    /// What can only be said when the command is known.
    private func judge() throws(UserFacingError) {
        let allowed = allowed()
        for (name, given) in values.sorted(by: { $0.key < $1.key }) {
            guard let option = allowed.first(where: { $0.name == name }) else {
                let place = command.map { "an option of \($0.name)" } ?? "an option without its command"
                throw failure(
                    "\(name) is not \(place)",
                    explanation: command.flatMap { table.explanations["\($0.name) \(name)"] })
            }
            if option.form == .none, !given.isEmpty { throw failure("\(name) takes no value") }
            if given.count > 1, !option.isRepeatable { throw failure("\(name) is given \(given.count) times") }
            if !option.allowsEmpty, given.contains("") { throw failure("\(option.usage): the value is missing") }
        }
        guard !has("--help"), !has("--version") else { return }
        guard let command else {
            if table.commands.isEmpty { return }
            throw failure("a command is missing")
        }
        if operands.count < command.operands.minimum {
            let other = values.isEmpty ? nil : command.withoutOperands.flatMap(table.command(named:))
            let takesAll = other.map { values.keys.allSatisfy(($0.options + table.options).map(\.name).contains) }
            throw failure(
                "\(command.operands.usage) is missing", nearest: takesAll == true ? other?.name : nil)
        }
    }

    /// A mistake in what the command was given, in the words of all such mistakes.
    package func failure(_ reason: String, explanation: String? = nil, nearest: String? = nil) -> UserFacingError {
        UserFacingError(
            .usage, reason + (explanation ?? nearest.map { "; did you mean \($0)?" } ?? "."),
            recoverySuggestion: "See \(help).", nextCommand: help)
    }

    /// The command line that prints the help of the command.
    package var help: NextCommand {
        NextCommand(line: [table.program, command?.name, "--help"].compactMap(\.self).joined(separator: " "))
    }
}

extension [String] {
    /// `net or note`; `nil` where there is none.
    fileprivate var or: String? {
        guard let last else { return nil }
        return count == 1 ? last : "\(dropLast().joined(separator: ", ")) or \(last)"
    }
}

/// What the program was started with.
package enum ProgramArguments {
    /// The arguments without the program's name.
    ///
    /// From the raw vector, because `CommandLine.arguments` repairs what is not UTF-8 in silence, and a title or a path
    /// would become another one.
    ///
    /// - Throws: `usage` for an argument that is not UTF-8.
    package static func read(program: String) throws(UserFacingError) -> [String] {
        var arguments: [String] = []
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { break }
            arguments.append(try decode(argument, number: index, program: program))
        }
        return arguments
    }

    package static func decode(
        _ argument: UnsafePointer<CChar>, number: Int, program: String
    ) throws(UserFacingError) -> String {
        if let text = String(validatingCString: argument) { return text }
        throw UserFacingError(
            .usage, "argument \(number) is not UTF-8.",
            recoverySuggestion: "Check the terminal's character set: `locale` should name UTF-8.",
            nextCommand: "\(program) --help")
    }
}
