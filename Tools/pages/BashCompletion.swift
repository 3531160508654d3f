import Console

/// Completion for bash (bash(1), "Programmable Completion"). It stands alone: bash-completion only loads it.
struct BashCompletion {
    private let table: CommandTable
    private var function: String { "_\(table.program)" }

    init(_ table: CommandTable) { self.table = table }

    var script: String {
        let head = [
            "# bash completion for \(table.program); written by prsnl-pages from its table of commands.",
            "\(function)() {",
            "    COMPREPLY=()",
            "    local current=${COMP_WORDS[COMP_CWORD]} command='' operands=0 option='' word i",
        ]
        let tail = ["}"] + (table.asks ? asked : []) + ["complete -F \(function) \(table.program)"]
        let lines = head + walk + values + words + tail
        return lines.map { $0 + "\n" }.joined()
    }

    /// Finds the command before the cursor, and the option whose value the cursor is on. `=` is a word of its own.
    private var walk: [String] {
        let next = table.everyOption.filter(\.takesNextWord).map(\.name)
        let optional = table.everyOption.filter { $0.takesValue && !$0.takesNextWord }.map(\.name)
        var lines = [
            "    for ((i = 1; i < COMP_CWORD; i++)); do",
            "        word=${COMP_WORDS[i]}",
            "        case $word in",
        ]
        if !next.isEmpty {
            lines += [
                "        \(next.joined(separator: " | ")))",
                "            ((i += 1))",
                "            if [[ ${COMP_WORDS[i]} == '=' ]]; then",
                "                if ((i == COMP_CWORD)); then current=; else ((i += 1)); fi",
                "            fi",
                "            if ((i == COMP_CWORD)); then option=$word; fi",
                "            ;;",
            ]
        }
        if !optional.isEmpty {
            lines += [
                "        \(optional.joined(separator: " | ")))",
                "            if [[ ${COMP_WORDS[i + 1]} == '=' ]]; then",
                "                ((i += 1))",
                "                if ((i < COMP_CWORD)); then ((i += 1)); fi",
                "                if ((i == COMP_CWORD)); then option=$word; fi",
                "            fi",
                "            ;;",
            ]
        }
        lines += ["        -*) ;;", "        *)", "            if [[ -z $command ]]; then command=$word"]
        if !table.twoWordCommands.isEmpty {
            let pairs = table.twoWordCommands.map { "'\($0.name)'" }.joined(separator: " | ")
            lines += [
                "            else",
                "                case \"$command $word\" in",
                "                \(pairs)) command+=\" $word\" ;;",
                "                *) ((operands += 1)) ;;",
                "                esac",
                "            fi",
            ]
        } else {
            lines += ["            else ((operands += 1)); fi"]
        }
        return lines + ["            ;;", "        esac", "    done"]
    }

    private var values: [String] {
        var lines = ["    case $option in", "    '') ;;"]
        let files = table.everyOption.filter { CompletionValue($0) == .files }.map(\.name)
        if !files.isEmpty {
            lines += [
                "    \(files.joined(separator: " | ")))",
                "        compopt -o filenames 2>/dev/null",
                "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")",
                "        return",
                "        ;;",
            ]
        }
        for option in table.everyOption {
            guard case .words(let words) = CompletionValue(option) else { continue }
            lines += [
                "    \(option.name))",
                "        mapfile -t COMPREPLY < <(compgen -W '\(words.joined(separator: " "))' -- \"$current\")",
                "        return",
                "        ;;",
            ]
        }
        for option in table.everyOption {
            guard case .asked(let kind) = CompletionValue(option) else { continue }
            lines += [
                "    \(option.name))", "        \(function)_asked \(kind):\"$current\"", "        return", "        ;;",
            ]
        }
        return lines + ["    *) return ;;", "    esac"]
    }

    /// Ids stand with their titles in a list. Only an id is ever put into the line: readline inserts what all matches begin
    /// with (types 9, 33 and 64 of COMP_TYPE, bash(1)), which is no more than an id because no two are the same, or the
    /// matches themselves (37, 42 and what is yet to be invented), which are ids alone then.
    private var asked: [String] {
        [
            "\(function)_asked() {",
            "    local -a meant=() found=()",
            "    local i",
            "    for ((i = 1; i < COMP_CWORD; i++)); do",
            "        case ${COMP_WORDS[i]} in",
            "        \(table.meaningOptions.joined(separator: " | ")))",
            "            meant+=(\"${COMP_WORDS[i]}\")",
            "            if [[ ${COMP_WORDS[i + 1]} == '=' ]]; then ((i += 1)); fi",
            "            meant+=(\"${COMP_WORDS[i + 1]}\")",
            "            ;;",
            "        esac",
            "    done",
            "    mapfile -t found < <(\(table.program) \"${meant[@]}\" list --complete \"$1\" 2>/dev/null)",
            "    case ${#found[@]}:${COMP_TYPE-} in",
            "    0:* | 1:*) COMPREPLY=(\"${found[@]%%$'\\t'*}\") ;;",
            "    *:9 | *:33 | *:63 | *:64) COMPREPLY=(\"${found[@]//$'\\t'/  }\") ;;",
            "    *) COMPREPLY=(\"${found[@]%%$'\\t'*}\") ;;",
            "    esac",
            "}",
        ]
    }

    private var words: [String] {
        var lines = ["    local words=''", "    case $command in"]
        let first = table.firstWords.joined(separator: " ")
        lines += ["    '')", "        words='\(first)'", "        \(optionWords(nil))", "        ;;"]
        for command in table.commands {
            lines.append("    '\(command.name)')")
            if let family = table.families.first(where: { $0.first == command.name }) {
                let second = family.commands.map(\.secondWord).joined(separator: " ")
                lines.append("        if ((operands == 0)); then words='\(second)'; fi")
            }
            lines += ["        \(optionWords(command))"]
            if let kind = command.kind {
                // Where a word breaks at `@`, the second argument still has it.
                lines += [
                    "        if [[ $current != -* ]]; then", "            \(function)_asked \(kind):\"$2\"",
                    "            return",
                    "        fi",
                ]
            }
            lines += ["        ;;"]
        }
        return lines + [
            "    *) return ;;", "    esac", "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")",
        ]
    }

    private func optionWords(_ command: CommandDescription?) -> String {
        let names = table.options(of: command).map(\.name).joined(separator: " ")
        return "if [[ $current == -* ]]; then words='\(names)'; fi"
    }
}
