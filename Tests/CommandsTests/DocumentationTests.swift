import CommandSamples
import Console
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Commands
@testable import Store

/// docs/cli.md is held to the tables in the code.
@Suite struct DocumentationTests {
    /// From below a heading to the next one.
    private func section(_ page: [String], under heading: String) -> Range<Int>? {
        guard let start = page.firstIndex(of: heading) else { return nil }
        return start + 1..<(page[(start + 1)...].firstIndex { $0.hasPrefix("#") } ?? page.count)
    }

    /// Where a section shows JSON: indented lines of which the first begins with `{"`.
    private func blocks(_ page: [String], _ section: Range<Int>) -> [Range<Int>] {
        let starts = section.filter { page[$0].hasPrefix("    {\"") && !page[$0 - 1].hasPrefix("    ") }
        return starts.map { start in start..<(page[start...].firstIndex { !$0.hasPrefix("    ") } ?? page.count) }
    }

    @Test func cliSaysWhichCommandHasNoJSON() throws {
        let commands = CommandTable.prsnlctl.commands.filter { !$0.options.contains(.json) }
        #expect(commands.map(\.name) == ["metrics", "browser-host"])
        let text = try RepositoryFile.text("docs/cli.md").replacing("\n", with: " ")
        #expect(text.contains("each but `metrics` and `browser-host` has `--json`"))
    }

    /// What options do is said by `--help` and the manual page.
    @Test func cliDocumentsEveryCommand() throws {
        let text = try RepositoryFile.text("docs/cli.md")
        for table in [CommandTable.prsnld, .prsnlctl] {
            for command in table.commands {
                let heading = "### \(table.program) \(command.name)"
                for term in command.language { #expect(text.contains("| \(term.form) | \(term.meaning) |")) }
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

    /// `PRSNL_WRITE_PAGES=yes` writes what has changed into the page.
    @Test func cliShowsTheJSONOfEveryCommand() throws {
        let samples: [(heading: String, json: [String])] = [
            ("status", [try JSONOutput.pretty(Samples.full)]),
            ("sync", [try JSONOutput.pretty(Samples.failedSync)]),
            ("list", [try JSONOutput.pretty(Samples.listedDeleted)]),
            ("tags", [try JSONOutput.pretty(TagsReport(tags: [TagCount(tag: "later", items: 2)]))]),
            ("stats", [try JSONOutput.pretty(Samples.stats)]),
            ("import", [try JSONOutput.pretty(Samples.importPlan)]),
            ("open", [try JSONOutput.pretty(AddressReport(url: "https://example.org/"))]),
            ("show", [try JSONOutput.pretty(Samples.shownDeleted)]),
            ("export", [try JSONOutput.pretty(Samples.export)]),
            (
                "verify",
                [
                    try JSONOutput.pretty(Samples.verified), try JSONOutput.pretty(Samples.fileCheck),
                    try JSONOutput.pretty(Samples.digest),
                ]
            ),
            ("history", [try JSONOutput.pretty(Samples.history)]),
            ("capture", [try JSONOutput.pretty(Samples.writes), try JSONOutput.pretty(Samples.captured)]),
            ("queue", [try JSONOutput.pretty(Samples.queue)]),
            ("queue show", [try JSONOutput.pretty(Samples.shown)]),
            ("queue drop", [try JSONOutput.pretty(Samples.dropped)]),
            ("undo", [try JSONOutput.pretty(Samples.notUndone)]),
            ("retry-queue", [try JSONOutput.pretty(Samples.retried)]),
            ("ping", [try JSONOutput.pretty(Samples.ping)]),
            ("net", [try JSONOutput.pretty(Samples.net), try JSONOutput.pretty(Samples.netChange)]),
            ("errors", [try JSONOutput.pretty(Samples.errors), try JSONOutput.pretty(CodeReport(.loginExpired))]),
            ("login", [try JSONOutput.pretty(Samples.login)]),
            ("logout", [try JSONOutput.pretty(Samples.logout)]),
            ("whoami", [try JSONOutput.pretty(Samples.whoami)]),
            ("account", [try JSONOutput.pretty(Samples.setAside)]),
            ("doctor", [try JSONOutput.pretty(Samples.doctor)]),
        ]
        var page = try RepositoryFile.text("docs/cli.md")
            .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        for (command, objects) in samples + [("", [try JSONOutput.pretty(Samples.problem)])] {
            let heading = command.isEmpty ? "### Errors" : "### prsnlctl \(command)"
            for (number, json) in objects.enumerated() {
                let place = try #require(section(page, under: heading), "\(heading)")
                let block = try #require(blocks(page, place).dropFirst(number).first, "\(heading)")
                let expected = try JSONExample.lines(json)
                if getenv("PRSNL_WRITE_PAGES") != nil { page.replaceSubrange(block, with: expected) }
                #expect(page.dropFirst(block.lowerBound).starts(with: expected), "\(heading)")
            }
            try expectNoOtherMember(page, heading, objects)
        }
        if getenv("PRSNL_WRITE_PAGES") != nil {
            try RepositoryFile.write(page.joined(separator: "\n"), to: "docs/cli.md")
        }
    }

    /// A table below an example is about members that are there.
    private func expectNoOtherMember(_ page: [String], _ heading: String, _ objects: [String]) throws {
        let place = try #require(section(page, under: heading))
        guard let table = place.first(where: { page[$0].hasPrefix("| member ") }) else { return }
        let documented = page[table..<place.upperBound].prefix { $0.hasPrefix("|") }.flatMap { row in
            row.split(separator: "|")[0].split(separator: "`").filter { $0.first?.isLetter == true }.map(String.init)
        }
        let paths = try objects.reduce(into: Set<String>()) { $0.formUnion(try JSONPaths.of($1)) }
        #expect(Set(documented).subtracting(paths).subtracting(["member"]).sorted() == [], "\(heading)")
    }
}
