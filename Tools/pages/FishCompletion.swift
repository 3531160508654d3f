import Console

/// Completion for fish (complete(1) of fish).
struct FishCompletion {
    private let table: CommandTable
    private var function: String { "__\(table.program)_command" }

    init(_ table: CommandTable) { self.table = table }

    var script: String {
        var lines = ["# fish completion for \(table.program); written by prsnl-pages from its table of commands."]
        if !table.commands.isEmpty { lines += walk }
        if table.asks { lines += asked }
        lines.append("complete -c \(table.program) -f")
        for option in table.options { lines.append(entry(option, condition: nil)) }
        for first in table.firstWords {
            let summary = table.command(named: first).map { CommandTable.short($0.summary) } ?? ""
            lines.append(word(first, summary, after: ""))
        }
        for (first, commands) in table.families {
            for command in commands {
                lines.append(word(command.secondWord, CommandTable.short(command.summary), after: first))
            }
        }
        for command in table.commands {
            guard let kind = command.kind else { continue }
            lines.append(
                "complete -c \(table.program) -n \(quoted(isCommand(command.name))) -a '(\(function)_asked \(kind))'")
        }
        for command in table.commands {
            for option in command.options where !table.options.contains(where: { $0.name == option.name }) {
                lines.append(entry(option, condition: isCommand(command.name)))
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Prints the command before the cursor, which options may precede; nothing where there is none yet.
    private var walk: [String] {
        let next = table.everyOption.filter(\.takesNextWord).map(\.name).joined(separator: " ")
        let pairs = table.twoWordCommands.map { quoted($0.name) }.joined(separator: " ")
        return [
            "function \(function)",
            "    set -l words (commandline -opc)",
            "    set -e words[1]",
            "    set -l command",
            "    set -l is_value 0",
            "    for word in $words",
            "        if test $is_value = 1",
            "            set is_value 0",
            "            continue",
            "        end",
            "        switch $word",
            "            case \(next)",
            "                set is_value 1",
            "            case '-*'",
            "            case '*'",
            "                set -a command $word",
            "        end",
            "    end",
            "    if set -q command[2]; and contains -- \"$command[1] $command[2]\" \(pairs)",
            "        echo $command[1..2]",
            "    else",
            "        echo $command[1]",
            "    end",
            "end",
        ]
    }

    /// Ids with their titles, of the daemon that is meant.
    private var asked: [String] {
        [
            "function \(function)_asked",
            "    set -l meant",
            "    set -l is_value 0",
            "    for word in (commandline -opc)",
            "        if test $is_value = 1",
            "            set -a meant $word",
            "            set is_value 0",
            "            continue",
            "        end",
            "        switch $word",
            "            case \(table.meaningOptions.joined(separator: " "))",
            "                set -a meant $word",
            "                set is_value 1",
            "            case \(table.meaningOptions.map { "'\($0)=*'" }.joined(separator: " "))",
            "                set -a meant $word",
            "        end",
            "    end",
            "    \(table.program) $meant list --complete $argv[1]:(commandline -ct | string replace -r '^--[a-z-]+=' '') 2>/dev/null",
            "end",
        ]
    }

    private func isCommand(_ command: String) -> String { "test \"$(\(function))\" = \(quoted(command))" }

    private func word(_ word: String, _ summary: String, after command: String) -> String {
        "complete -c \(table.program) -n \(quoted(isCommand(command))) -a \(word) -d \(quoted(summary))"
    }

    private func entry(_ option: CommandOption, condition: String?) -> String {
        var parts = ["complete -c \(table.program)"]
        if let condition { parts.append("-n \(quoted(condition))") }
        parts.append("-l \(option.name.dropFirst(2))")
        // -r: the next word is the value; -x: and no file's name is one.
        if option.takesNextWord { parts.append(CompletionValue(option) == .files ? "-r" : "-x") }
        switch CompletionValue(option) {
        case .free: break
        case .files: parts.append("-F")
        case .asked(let kind): parts.append("-a '(\(function)_asked \(kind))'")
        case .words(let words): parts.append("-a \(quoted(words.joined(separator: " ")))")
        }
        parts.append("-d \(quoted(option.shortSummary))")
        return parts.joined(separator: " ")
    }

    /// Single quotes: only `\` and `'` mean anything between them.
    private func quoted(_ text: String) -> String {
        "'\(text.escaping("\\'"))'"
    }
}
