import Commands
import Console
import PRSNLCore
import Store
import TestSupport
import Testing

/// Real shells offer what the tables have, and nothing else.
@Suite struct CompletionTests {
    private static let table = CommandTable.prsnlctl

    private func names(_ options: [CommandOption]) -> [String] { Set(options.map(\.name)).sorted() }
    private var firstWords: [String] {
        Set(Self.table.commands.map { String($0.name.prefix { $0 != " " }) }).sorted()
    }

    @Test func everyShellReadsItsFiles() async throws {
        let pages = try await WrittenPages()
        for table in WrittenPages.programs {
            try await Tool.run("bash", ["-n", pages.file("bash/\(table.program)")])
            try await Tool.run("shellcheck", ["--shell=bash", pages.file("bash/\(table.program)")])
            try await Tool.run("zsh", ["-f", "-n", pages.file("zsh/_\(table.program)")])
            try await Tool.run("fish", ["--no-config", "-n", pages.file("fish/\(table.program).fish")])
        }
    }

    @Test(arguments: Completion.allCases)
    func theCommandsAreOffered(shell: Completion) async throws {
        let pages = try await WrittenPages()
        #expect(try await shell.offered("prsnlctl ", pages: pages) == firstWords)
        #expect(try await shell.offered("prsnlctl --config x ", pages: pages) == firstWords)
        #expect(try await shell.offered("prsnlctl statu", pages: pages) == ["status"])
        #expect(try await shell.offered("prsnld --", pages: pages) == names(CommandTable.prsnld.options))
        #expect(try await shell.offered("prsnld ", pages: pages).filter { !$0.hasPrefix("--") } == [])
    }

    @Test(arguments: Completion.allCases)
    func eachCommandHasItsOptionsAndSecondWords(shell: Completion) async throws {
        let pages = try await WrittenPages()
        let commands = Self.table.commands
        let options = try await shell.offered(commands.map { "prsnlctl \($0.name) --" }, pages: pages)
        let words = try await shell.offered(commands.map { "prsnlctl \($0.name) " }, pages: pages)
        for (command, (options, words)) in zip(commands, zip(options, words)) {
            #expect(options == names(command.options + Self.table.options), "\(command.name)")
            let second = commands.filter { $0.name.hasPrefix(command.name + " ") }
                .map { String($0.name.dropFirst(command.name.count + 1)) }
            // zsh offers options without being asked where a command has no arguments.
            #expect(words.filter { !$0.hasPrefix("-") } == second.sorted(), "\(command.name)")
        }
    }

    @Test(arguments: Completion.allCases)
    func valuesThatAreKnownAreOffered(shell: Completion) async throws {
        let pages = try await WrittenPages()
        let states = OutboxEntry.State.allCases.map(\.rawValue).sorted()
        #expect(try await shell.offered("prsnlctl queue --state ", pages: pages) == states)
        #expect(try await shell.offered("prsnlctl queue --state=", pages: pages) == states)
        #expect(try await shell.offered("prsnlctl queue --state p", pages: pages) == ["parked"])
        #expect(try await shell.offered("prsnlctl queue --state=p", pages: pages) == ["parked"])
        // What only a person knows is not guessed.
        #expect(try await shell.offered("prsnlctl note --title ", pages: pages) == [])
    }

    /// prsnlctl is asked for them, about the daemon that the line names.
    @Test(arguments: Completion.allCases)
    func idsAreOfferedWithTheirTitles(shell: Completion) async throws {
        let pages = try await WrittenPages()
        let folder = TemporaryDirectory("ids")
        try TestFile.write(
            """
            #!/bin/sh
            printf '%s\\n' "$*" >>'\(folder.file("asked"))'
            printf '59ec6da4-1\\tBread: a title\\n59ec6da4-2\\tIt'"'"'s $(odd)\\n'

            """, to: folder.file("prsnlctl"), mode: 0o700)
        for line in ["show ", "edit ", "delete 59ec6da4-1 ", "open 59", "sync --text "] {
            let offered = try await shell.offered("prsnlctl --database /x/y \(line)", pages: pages, path: folder.path)
            let ids = offered.filter { !$0.hasPrefix("-") }.map { String($0.prefix { $0 != " " }) }
            #expect(ids == ["59ec6da4-1", "59ec6da4-2"], "\(line): \(offered)")
        }
        let asked = try TestFile.text(folder.file("asked")).split(separator: "\n")
        #expect(asked.allSatisfy { $0.hasPrefix("--database /x/y list --complete id:") }, "\(asked)")
        // Numbers of the queue are no items.
        #expect(
            try await shell.offered("prsnlctl queue show ", pages: pages, path: folder.path).filter {
                !$0.hasPrefix("-")
            } == [])
    }

    /// What is asked for, and of which kind it is.
    @Test(arguments: Completion.allCases)
    func tagsSearchesAndInstancesAreAskedFor(shell: Completion) async throws {
        let pages = try await WrittenPages()
        let folder = TemporaryDirectory("tags")
        try TestFile.write(
            """
            #!/bin/sh
            for word; do :; done
            printf '%s\\n' "$word" >>'\(folder.file("asked"))'
            printf '%slater\\twhat it is\\n' "${word#*:}"

            """, to: folder.file("prsnlctl"), mode: 0o700)
        for (line, asked) in [
            ("list --tag ", "tag:"), ("edit --add-tag a", "tag:a"), ("capture --tag=a", "tag:a"), ("tag +a", "word:+a"),
            ("search @a", "search:@a"), ("tag --query @a", "search:@a"), ("search --type a", "type:a"),
            ("capture --type a", "type:a"),
            ("export --query @a", "search:@a"), ("--instance a", "instance:a"),
        ] {
            try TestFile.write("", to: folder.file("asked"))
            let offered = try await shell.offered("prsnlctl \(line)", pages: pages, path: folder.path)
            let word = asked.drop { $0 != ":" }.dropFirst() + "later"
            #expect(offered.map { String($0.prefix { $0 != " " }) }.contains(String(word)), "\(line): \(offered)")
            let last = try TestFile.text(folder.file("asked")).split(separator: "\n").last
            #expect(last.map(String.init) == asked, "\(line)")
        }
    }

    /// Menu completion (37), M-* (42) and what is yet to come put the matches themselves into the line, where a title would be
    /// more words, and commands among them. Only lists have the titles.
    @Test(arguments: [9, 33, 37, 42, 63, 64, 99, nil])
    func bashPutsNothingButIDsIntoTheLine(type: Int?) async throws {
        let pages = try await WrittenPages()
        let folder = TemporaryDirectory("ids")
        try TestFile.write(
            #"""
            #!/bin/sh
            printf '59ec6da4-1\t$(touch run)\n59ec6da4-2\t`touch run`\n'
            """#, to: folder.file("prsnlctl"), mode: 0o700)
        let script = #"""
            source "$1"
            PATH=$2:$PATH
            COMP_WORDS=(prsnlctl show 59)
            COMP_CWORD=2
            _prsnlctl prsnlctl 59 show
            printf '%s\n' "${COMPREPLY[@]}"
            """#
        let set = type.map { "COMP_TYPE=\($0)" } ?? "OTHER=1"
        let result = try await Tool.run(
            "env", [set, "bash", "--norc", "-c", script, "bash", pages.file("bash/prsnlctl"), folder.path])
        let isListed = [9, 33, 63, 64].contains(type)
        let titles = isListed ? ["  $(touch run)", "  `touch run`"] : ["", ""]
        #expect(Tool.lines(result.output) == ["59ec6da4-1\(titles[0])", "59ec6da4-2\(titles[1])"])
    }

    @Test(arguments: Completion.allCases)
    func filesAreOfferedWhereAPathIsWanted(shell: Completion) async throws {
        let pages = try await WrittenPages()
        let folder = TemporaryDirectory("files")
        try TestFile.write("", to: folder.file("some.conf"))
        for option in Self.table.options where option.usage.hasSuffix(" FILE") || option.usage.hasSuffix(" PATH") {
            let found = try await shell.offered("prsnlctl \(option.name) \(folder.path)/so", pages: pages)
            // zsh names the file alone.
            #expect(found == [folder.file("some.conf")] || found == ["some.conf"], "\(option.name): \(found)")
        }
    }

    /// What `--help` prints is what the completions and the manual pages were held to.
    @Test func helpNamesTheSameCommandsAndOptions() async throws {
        let program = try BuiltProducts.executable("prsnlctl")
        let commands = try await Tool.run(program, ["--help"]).output
        for command in Self.table.commands {
            #expect(commands.contains("\n  \(command.name)  "), "\(command.name)")
            let help = try await Tool.run(program, command.name.split(separator: " ").map(String.init) + ["--help"])
            // What all have in common, the program's help has. An option of one letter stands in front: `-n, --limit N`.
            let named = (Tool.lines(commands) + Tool.lines(help.output)).filter {
                $0.hasPrefix("  --") || $0.dropFirst(4).hasPrefix(", --")
            }.map { line in
                String(line.dropFirst(line.hasPrefix("  --") ? 2 : 6).prefix { !" [".contains($0) })
            }
            let json = help.output.contains("\nAlso --json.") ? ["--json"] : []
            #expect((named + json).sorted() == names(command.options + Self.table.options), "\(command.name)")
        }
    }
}
