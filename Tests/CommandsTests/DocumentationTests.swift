import CommandSamples
import Console
import PRSNLCore
import TestSupport
import Testing

@testable import Commands
@testable import Store

/// docs/cli.md is held to the tables in the code.
@Suite struct DocumentationTests {
    private func row(_ option: CommandOption) -> String { "| `\(option.usage)` | \(option.summary) |" }

    /// Those that not every command has; what they do is said by `--help`.
    private func options(_ command: CommandDescription) -> String? {
        let own = command.options.filter { $0 != .help && $0 != .json }
        return own.isEmpty ? nil : "Options: \(own.map { "`\($0.usage)`" }.joined(separator: ", "))."
    }

    /// Up to the next heading, on one line.
    private func section(_ text: String, under heading: String) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).drop { $0 != heading }.dropFirst()
        return lines.prefix { !$0.hasPrefix("#") }.joined(separator: " ")
    }

    @Test func cliSaysWhichCommandHasNoJSON() throws {
        let commands = CommandTable.prsnlctl.commands.filter { !$0.options.contains(.json) }
        #expect(commands.map(\.name) == ["metrics"])
        #expect(try RepositoryFile.text("docs/cli.md").contains("each but `metrics` has `--json`"))
    }

    @Test func cliDocumentsEveryCommandAndOption() throws {
        let text = try RepositoryFile.text("docs/cli.md")
        for table in [CommandTable.prsnld, .prsnlctl] {
            #expect(MarkdownTable.rows(text, under: "## \(table.program)") == table.options.map(row))
            for command in table.commands {
                let heading = "### \(table.program) \(command.name)"
                #expect(section(text, under: heading).contains(options(command) ?? " "), "\(command.name)")
                let shown = command.language.isEmpty ? [] : command.examples
                for term in command.language + shown { #expect(text.contains("| \(term.form) | \(term.meaning) |")) }
                #expect(text.contains("\(heading)\n\n\(command.summary.dropLast())"))
                if command.operands.maximum > 0 { #expect(text.contains("`\(command.usage(of: table.program))`\n")) }
            }
        }
        let documented = text.split(separator: "\n").filter { $0.hasPrefix("### prsnlctl ") }.map(String.init)
        #expect(documented == CommandTable.prsnlctl.commands.map { "### prsnlctl \($0.name)" })
    }

    @Test func cliNamesTheCommandsThatOnlyRead() throws {
        let text = try RepositoryFile.text("docs/cli.md").replacing("\n", with: " ")
        let names = CommandTable.prsnlctl.commands.filter(\.onlyReads).map { "`\($0.name)`" }
        let listed = "Those that only read (\(names.joined(separator: ", ")))"
        #expect(text.contains(listed), "\(listed)")
    }

    /// `Coverage`, `Replayer+Sending`, `Connection.bound`: by the parts that begin with a capital letter.
    @Test(arguments: ["architecture", "design"])
    func whatAPageNamesIsInTheCode(page: String) async throws {
        let code = try RepositoryFile.text("docs/\(page).md").split(separator: "`", omittingEmptySubsequences: false)
            .enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        let names = Set(
            code.flatMap { $0.split { !$0.isLetter && !$0.isNumber } }.map(String.init)
                .filter { $0.first!.isUppercase && $0.contains(where: \.isLowercase) })
        #expect(names.count >= 20)
        let places = ["Sources", "Tests", "Package.swift"].map { "\(RepositoryFile.root())/\($0)" }
        let words = try await ChildProcess.run(
            "/usr/bin/grep", ["-rhowF"] + names.flatMap { ["-e", $0] } + places)
        // Files are named after what is in them: `Replayer+Sending`.
        let files = try await ChildProcess.run("/usr/bin/find", places + ["-printf", "%f\n"])
        let known = Set(
            words.stdout.split(separator: "\n").map(String.init)
                + files.stdout.split { !$0.isLetter && !$0.isNumber }.map(String.init))
        #expect(names.subtracting(known).sorted() == [])
    }

    /// The last column of its special rules: `OutboxTests.aTwinOfAnUnknownCreationWaitsForIt`.
    @Test func eachSpecialRuleOfTheOutboxHasItsTest() async throws {
        let rows = MarkdownTable.rows(try RepositoryFile.text("docs/outbox.md"), under: "## Special rules")
        let tests = rows.compactMap { row in row.split(separator: "|").last { $0.contains(".") } }
        #expect(rows.count >= 10 && tests.count == rows.count)
        for test in tests {
            let name = test.split { !$0.isLetter && !$0.isNumber }.map(String.init)
            try #require(name.count == 2)
            let found = try await ChildProcess.run(
                "/usr/bin/grep",
                ["-rl", "func \(name[1])(", "--include=\(name[0]).swift", "\(RepositoryFile.root())/Tests"])
            #expect(!found.stdout.isEmpty, "\(test)")
        }
    }

    @Test func cliDocumentsEveryExitCode() throws {
        let text = try RepositoryFile.text("docs/cli.md")
        for table in [CommandTable.prsnld, .prsnlctl] {
            let rows = table.exitCodes.map { "| \($0.code.rawValue) | \($0.meaning) |" }
            #expect(text.contains("| exit code | meaning |\n| --- | --- |\n" + rows.joined(separator: "\n") + "\n\n"))
        }
        let documented = (CommandTable.prsnld.exitCodes + CommandTable.prsnlctl.exitCodes).map(\.code)
        #expect(Set(documented) == Set(ExitCode.allCases))
    }

    @Test func cliDocumentsEveryMemberOfTheJSON() throws {
        let text = try RepositoryFile.text("docs/cli.md")
        let samples: [(heading: String, json: String, skipped: Set<String>)] = [
            (
                "### status", try JSONOutput.pretty(Samples.full),
                // Documented once for all objects, and under "Errors" for all errors.
                ["schema_version", "daemon", "server", "copy", "file"]
            ),
            ("### sync", try JSONOutput.pretty(Samples.failedSync), ["schema_version"]),
            ("### search and list", try JSONOutput.pretty(Samples.listedDeleted), ["schema_version"]),
            (
                "### tags", try JSONOutput.pretty(TagsReport(tags: [TagCount(tag: "later", items: 2)])),
                ["schema_version", "tags[].tag", "tags[].items"]
            ),
            ("### open", try JSONOutput.pretty(AddressReport(url: "https://example.org/")), ["schema_version"]),
            ("### show", try JSONOutput.pretty(Samples.shownDeleted), ["schema_version"]),
            ("### export", try JSONOutput.pretty(Samples.export), ["schema_version"]),
            ("### verify", try JSONOutput.pretty(Samples.verified), ["schema_version"]),
            ("### verify --file", try JSONOutput.pretty(Samples.fileCheck), ["schema_version", "invariants"]),
            ("### verify --digest", try JSONOutput.pretty(Samples.digest), ["schema_version"]),
            ("### history", try JSONOutput.pretty(Samples.history), ["schema_version"]),
            ("### capture, note, edit, delete", try JSONOutput.pretty(Samples.writes), ["schema_version"]),
            ("### capture --stdin", try JSONOutput.pretty(Samples.captured), ["schema_version"]),
            ("### queue", try JSONOutput.pretty(Samples.queue), ["schema_version"]),
            ("### queue show", try JSONOutput.pretty(Samples.shown), ["schema_version"]),
            ("### queue drop", try JSONOutput.pretty(Samples.dropped), ["schema_version"]),
            ("### undo", try JSONOutput.pretty(Samples.notUndone), ["schema_version"]),
            ("### retry-queue", try JSONOutput.pretty(Samples.retried), ["schema_version"]),
            ("### ping", try JSONOutput.pretty(Samples.ping), ["schema_version"]),
            ("### net", try JSONOutput.pretty(Samples.net), ["schema_version"]),
            ("### net --watch", try JSONOutput.pretty(Samples.netChange), ["schema_version"]),
            ("### errors", try JSONOutput.pretty(Samples.errors), ["schema_version"]),
            ("### errors CODE", try JSONOutput.pretty(CodeReport(.loginExpired)), ["schema_version"]),
            ("### login", try JSONOutput.pretty(Samples.login), ["schema_version"]),
            ("### logout", try JSONOutput.pretty(Samples.logout), ["schema_version"]),
            ("### whoami", try JSONOutput.pretty(Samples.whoami), ["schema_version"]),
            ("### account", try JSONOutput.pretty(Samples.setAside), ["schema_version"]),
            ("### doctor", try JSONOutput.pretty(Samples.doctor), ["schema_version"]),
            ("### Errors", try JSONOutput.pretty(Samples.problem), []),
        ]
        for (heading, json, skipped) in samples {
            let paths = try JSONPaths.of(json)
            let documented = Set(
                MarkdownTable.rows(text, under: heading).flatMap { row in
                    row.split(separator: "|")[0].split(separator: "`").filter { $0.first?.isLetter == true }.map(
                        String.init)
                })
            let expected = paths.subtracting(skipped).filter { path in
                // Objects that are described in one place for all, or where they stand.
                ![
                    "outbox.failing.error.", "daemon.problem.", "daemon.connectivity.reason.", "connectivity.reason.",
                    "error.", "problem.",
                    "change.",
                    "copy.gaps[].", "copy.texts.problem.", "copy.texts.failure.", "writes[].error.",
                    "refusals[].error.",
                    "entries[].error.", "entry.", "base.", "theirs.", "skipped_by_reason.",
                ].contains { path.hasPrefix($0) }
            }
            #expect(expected.subtracting(documented).isEmpty, "\(heading): not documented")
            #expect(documented.subtracting(paths).isEmpty, "\(heading): documented but not there")
        }
    }
}
