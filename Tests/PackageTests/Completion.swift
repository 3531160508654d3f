import TestSupport

/// A shell that is asked what it would offer.
enum Completion: String, CaseIterable, Sendable {
    case bash, zsh, fish

    /// What the shell offers for a line with the cursor at its end, sorted; `prsnlctl queue ` ends in a new word.
    func offered(_ line: String, pages: WrittenPages) async throws -> [String] {
        let program = String(line.prefix { $0 != " " })
        let output: String
        switch self {
        case .bash:
            output = try await Tool.run(
                "bash", ["--norc", "-c", Self.bashScript, "bash", pages.file("bash/\(program)"), line]
            ).output
        case .zsh:
            output = try await Tool.run("zsh", ["-f", "-c", Self.zshScript, "zsh", pages.file("zsh"), line]).output
        case .fish:
            output = try await Tool.run(
                "fish",
                [
                    "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", pages.file("fish/\(program).fish"),
                    line,
                ]
            ).output
        }
        // fish explains each behind a tab, and writes `--state=parked` where the others write `parked`.
        let word = line.split(separator: " ", omittingEmptySubsequences: false).last ?? ""
        let front = word.hasPrefix("--") ? word.prefix { $0 != "=" } + "=" : ""
        return Tool.lines(output).map { match in
            let text = match.prefix { $0 != "\t" }
            return String(front.isEmpty || !text.hasPrefix(front) ? text : text.dropFirst(front.count))
        }.sorted()
    }

    /// What readline does: words break at white space and before and after `=`, which is a word of its own.
    private static let bashScript = """
        source "$1"
        line=$2
        program=${line%% *}
        eval "$(complete -p "$program" | sed 's/^complete -F \\([^ ]*\\) .*/function=\\1/')"
        COMP_LINE=$line COMP_POINT=${#line}
        spaced=${line//=/ = }
        read -r -a COMP_WORDS <<<"$spaced"
        case $line in
        *' ' | *=) COMP_WORDS+=('') ;;
        esac
        # Directly behind it, the cursor is on the `=`.
        [[ $line != *= ]] || unset 'COMP_WORDS[-1]'
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        "$function" "$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
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
        announce-end() { print -r -- 'end:' }
        comppostfuncs=(announce-end exit)
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
        zpty -w session "$2"$'\\t'
        while zpty -r session REPLY; do
            REPLY=${REPLY%%$'\\r\\n'}
            case $REPLY in
            *match:*) print -r -- ${REPLY#*match:} ;;
            *end:*) break ;;
            esac
        done
        zpty -d session
        """
}
