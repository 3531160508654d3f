public import PRSNLCore

/// A command line, checked against a program's table.
public struct ParsedArguments: Sendable, Equatable {
    /// `nil` where none was given, which only `--help` and `--version` allow for a program with commands.
    public private(set) var command: CommandDescription?
    /// By the option's name; a switch has the value "".
    private var values: [String: String] = [:]

    public func has(_ option: String) -> Bool { values[option] != nil }
    public func value(_ option: String) -> String? { values[option] }

    /// - Parameter arguments: without the program's name.
    /// - Throws: `usage`, with what was probably meant.
    public init(_ arguments: [String], table: CommandTable) throws(UserFacingError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "-h" {
                values["--help"] = ""
            } else if argument.hasPrefix("-"), argument != "-" {
                try take(argument, &rest, table)
            } else if command != nil || table.commands.isEmpty {
                throw Self.failure(table, command, "\(argument) is one argument too many")
            } else {
                guard let found = table.command(named: argument) else {
                    throw Self.failure(
                        table, nil, "\(argument) is not a command",
                        nearest: EditDistance.nearest(to: argument, among: table.commands.map(\.name)))
                }
                command = found
            }
        }
        // An option may stand before its command, so that it can only be judged here.
        let allowed = Set((table.options + (command?.options ?? [])).map(\.name))
        if let strange = values.keys.sorted().first(where: { !allowed.contains($0) }) {
            let place = command.map { "an option of \($0.name)" } ?? "an option without its command"
            throw Self.failure(table, command, "\(strange) is not \(place)")
        }
        if command == nil, !table.commands.isEmpty, !has("--help"), !has("--version") {
            throw Self.failure(table, nil, "a command is missing")
        }
    }

    private mutating func take(
        _ argument: String, _ rest: inout ArraySlice<String>, _ table: CommandTable
    ) throws(UserFacingError) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let known = table.options + table.commands.flatMap(\.options)
        guard let option = known.first(where: { $0.name == parts[0] }) else {
            throw Self.failure(
                table, command, "\(parts[0]) is not an option",
                nearest: EditDistance.nearest(to: parts[0], among: known.map(\.name)))
        }
        guard option.value != nil else {
            guard parts.count == 1 else { throw Self.failure(table, command, "\(option.name) takes no value") }
            values[option.name] = ""
            return
        }
        guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty else {
            throw Self.failure(table, command, "\(option.usage): the value is missing")
        }
        values[option.name] = value
    }

    private static func failure(
        _ table: CommandTable, _ command: CommandDescription?, _ reason: String, nearest: String? = nil
    ) -> UserFacingError {
        let help = ([table.program] + [command?.name].compactMap(\.self) + ["--help"]).joined(separator: " ")
        return UserFacingError(
            .usage, reason + (nearest.map { "; did you mean \($0)?" } ?? "."),
            recoverySuggestion: "See `\(help)`.", nextCommand: help)
    }
}
