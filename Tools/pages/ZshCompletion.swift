import Console

/// Completion for zsh (zshcompsys(1), `_arguments`).
struct ZshCompletion {
    private let table: CommandTable
    private var function: String { "_\(table.program)" }

    init(_ table: CommandTable) { self.table = table }

    var script: String {
        var lines = [
            "#compdef \(table.program)",
            "# Written by prsnl-pages from the table of commands.",
            "",
            "\(function)() {",
        ]
        if table.commands.isEmpty {
            lines += arguments(of: nil, indent: "    ", last: [])
        } else {
            lines += commands
        }
        lines.append("}")
        if table.asks { lines += asked }
        return (lines + ["", "\(function) \"$@\""]).map { $0 + "\n" }.joined()
    }

    private var asked: [String] {
        [
            "",
            "\(function)_asked() {",
            "    local -a items",
            "    items=(${(f)\"$(\(table.program) $meant list --complete \"${@[-1]}:$PREFIX\" 2>/dev/null)\"})",
            "    items=(\"${(@)items//:/\\\\:}\")",
            "    items=(\"${(@)items/$'\\t'/:}\")",
            "    _describe -t words word items",
            "}",
        ]
    }

    private var commands: [String] {
        var lines = [
            "    local curcontext=$curcontext state state_descr line option",
            "    typeset -A opt_args",
            "    local -a commands meant",
        ]
        lines += arguments(
            of: nil, indent: "    ", flags: "-C -S", last: ["'(-): :->command'", "'(-)*:: :->arguments'"])
        lines += [
            "    for option in \(table.meaningOptions.joined(separator: " ")); do",
            "        if [[ -n ${opt_args[$option]} ]]; then meant+=($option ${opt_args[$option]}); fi",
            "    done",
            "    if [[ $state == command ]]; then",
        ]
        lines += described(
            table.firstWords.map { ($0, table.command(named: $0)?.summary ?? "") }, indent: "        ")
        lines += ["        return", "    fi", "    case $words[1] in"]
        for first in table.firstWords {
            lines.append("    \(first))")
            if let family = table.families.first(where: { $0.first == first }) {
                lines += second(family.commands)
            }
            if let command = table.command(named: first) {
                lines += arguments(of: command, indent: "        ", last: operands(command))
            }
            lines.append("        ;;")
        }
        return lines + ["    esac"]
    }

    /// The second words, and what comes after one of them.
    private func second(_ commands: [CommandDescription]) -> [String] {
        var lines = ["        case $words[2] in"]
        for command in commands {
            lines += [
                "        \(command.secondWord))",
                "            if ((CURRENT > 2)); then",
                "                shift words",
                "                ((CURRENT--))",
            ]
            lines += arguments(of: command, indent: "                ", last: operands(command))
            lines += ["                return", "            fi", "            ;;"]
        }
        lines += ["        esac", "        if ((CURRENT == 2)); then"]
        lines += described(commands.map { ($0.secondWord, $0.summary) }, indent: "            ")
        return lines + ["        fi"]
    }

    private func described(_ words: [(name: String, summary: String)], indent: String) -> [String] {
        ["\(indent)commands=("]
            + words.map { "\(indent)    \(quoted("\($0.name):\(CommandTable.short($0.summary))"))" }
            + ["\(indent))", "\(indent)_describe -t commands command commands"]
    }

    private func arguments(
        of command: CommandDescription?, indent: String, flags: String = "-S", last: [String]
    ) -> [String] {
        let specifications = table.options(of: command).map(specification) + last
        return ["\(indent)_arguments \(flags) \\"]
            + specifications.enumerated().map { index, text in
                "\(indent)    \(text)\(index == specifications.count - 1 ? "" : " \\")"
            }
    }

    private func operands(_ command: CommandDescription) -> [String] {
        let name = command.operands.usage.filter(\.isLetter)
        let action = command.kind.map { "\(function)_asked \($0)" } ?? " "
        switch command.operands.maximum {
        case 0: return []
        case 1: return [quoted("\(command.operands.minimum == 0 ? "::" : ":")\(name):\(action)")]
        default: return [quoted("*:\(name):\(action)")]
        }
    }

    /// `'*--tag=[A tag]:TAG: '`
    private func specification(_ option: CommandOption) -> String {
        let summary = option.shortSummary.escaping("[]\\:")
        var text = option.isRepeatable ? "*" : ""
        text += option.name
        switch option.form {
        case .none: text += "[\(summary)]"
        case .required: text += "=[\(summary)]:\(option.placeholder):\(action(option))"
        // The value only ever stands in the same word, behind the equals sign.
        case .optional: text += "=-[\(summary)]::\(option.placeholder):\(action(option))"
        }
        return quoted(text)
    }

    private func action(_ option: CommandOption) -> String {
        switch CompletionValue(option) {
        case .free: " "
        case .files: "_files"
        case .asked(let kind): "\(function)_asked \(kind)"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }

    private func quoted(_ text: String) -> String {
        "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
    }
}
