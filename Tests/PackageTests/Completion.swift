import TestSupport

/// A shell that is asked what it would offer.
enum Completion: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// What the shell offers for each line with the cursor at its end, sorted; `prsnlctl queue ` ends in a new word. One
    /// shell answers all of them, which are about one program.
    ///
    /// - Parameter path: of a folder whose programs the shell finds first.
    func offered(_ lines: [String], pages: WrittenPages, path: String? = nil) async throws -> [[String]] {
        let program = lines[0].prefix { $0 != " " }
        let output: String
        let search = ["PATH=\(path.map { $0 + ":" } ?? "")/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]
        switch self {
        case .bash:
            let script = ["--norc", "-c", Self.bashScript, "bash", pages.file("bash/\(program)")]
            output = try await Tool.run("env", search + ["bash"] + script + lines).output
        case .zsh:
            let script = ["-f", "-c", Self.zshScript, "zsh", pages.file("zsh")]
            output = try await Tool.run("env", search + ["zsh"] + script + lines).output
        case .fish:
            let script = ["--no-config", "-c", Self.fishScript, pages.file("fish/\(program).fish")]
            output = try await Tool.run("env", search + ["fish"] + script + lines).output
        }
        let answers = output.components(endingIn: "end:\n")
        guard answers.count == lines.count else {
            throw Tool.Failed(description: "\(rawValue) answered \(answers.count) of \(lines.count): \(output)")
        }
        return zip(lines, answers).map { line, answer in Self.words(answer, for: line) }
    }

    func offered(_ line: String, pages: WrittenPages, path: String? = nil) async throws -> [String] {
        try await offered([line], pages: pages, path: path)[0]
    }

    /// fish explains each behind a tab, and writes `--state=parked` where the others write `parked`.
    private static func words(_ answer: String, for line: String) -> [String] {
        let last = line.split(separator: " ", omittingEmptySubsequences: false).last ?? ""
        let front = last.hasPrefix("--") ? last.prefix { $0 != "=" } + "=" : ""
        return Tool.lines(answer).map { match in
            let text = match.prefix { $0 != "\t" }
            return String(front.isEmpty || !text.hasPrefix(front) ? text : text.dropFirst(front.count))
        }.sorted()
    }

    private static let fishScript = """
        source $argv[1]
        for line in $argv[2..]
            complete -C $line
            echo end:
        end
        """

    /// What readline does: words break at white space and before and after `=`, which is a word of its own.
    private static let bashScript = """
        source "$1"
        for line in "${@:2}"; do
            program=${line%% *}
            eval "$(complete -p "$program" | sed 's/^complete -F \\([^ ]*\\) .*/function=\\1/')"
            read -r -a COMP_WORDS <<<"${line//=/ = }"
            # Directly behind a `=`, the cursor is on it.
            [[ $line != *' ' ]] || COMP_WORDS+=('')
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            "$function" "$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
            printf '%s\\n' "${COMPREPLY[@]}" end:
        done
        """

    /// A zsh without a terminal completes nothing, so that one runs on a terminal of its own (zshmodules(1), zpty).
    private static let zshScript = """
        zmodload zsh/zpty || exit 1
        zpty session zsh -f -i
        () {
            zpty -w session "source $1"
            zpty -r session REPLY $'*\\r\\nready*' || exit 1
        } =( <<'SETUP'
        PROMPT=
        autoload -Uz compinit
        SETUP
        print -r -- "fpath=($1 \\$fpath); compinit -u -D"
        <<'SETUP'
        bindkey '^I' complete-word
        zstyle ':completion:*' insert-tab false
        # zsh forgets the hook after each completion.
        announce-end() { print -r -- 'end:'; comppostfuncs=(announce-end) }
        comppostfuncs=(announce-end)
        compadd() {
            # Not those that only ask what would match.
            if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then
                builtin compadd "$@"
                return
            fi
            local -a found
            local match
            builtin compadd -A found "$@"
            builtin compadd "$@"
            for match in $found; do print -r -- "match:$match"; done
        }
        print ready
        SETUP
        )
        for line in "${@:2}"; do
            # C-u: what the line before left.
            zpty -w -n session $'\\C-u'"$line"$'\\t'
            while zpty -r session REPLY; do
                REPLY=${REPLY%%$'\\r\\n'}
                case $REPLY in
                *match:*) print -r -- ${REPLY#*match:} ;;
                *end:*) break ;;
                esac
            done
            print end:
        done
        zpty -d session
        """
}

extension String {
    /// The parts that end in some text; what stands behind the last one is left out.
    fileprivate func components(endingIn end: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: end) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts
    }
}
