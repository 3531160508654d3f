import Commands
import Configuration
import Console
import TestSupport
import Testing

/// The manual pages say what the tables say, and what `--help` says.
@Suite struct ManualPageTests {
    @Test(arguments: WrittenPages.manuals)
    func noReaderOfManualPagesFindsAnythingWrong(manual: String) async throws {
        let pages = try await WrittenPages()
        let lint = try await Tool.run("mandoc", ["-T", "lint", pages.file(manual)])
        #expect(lint.output == "" && lint.errors == "")
        let groff = try await Tool.run("groff", ["-ww", "-man", "-Tutf8", pages.file(manual)])
        #expect(groff.errors == "")
        let man = try await Tool.run("man", ["-l", "--warnings", pages.file(manual)])
        #expect(man.errors == "")
        #expect(groff.output.contains(WrittenPages.date))
    }

    @Test(arguments: WrittenPages.manuals)
    func everyPageHasTheSectionsThatPeopleLookFor(manual: String) async throws {
        let lines = try await WrittenPages().rendered(manual)
        var wanted = ["NAME", "SYNOPSIS", "DESCRIPTION", "FILES", "ENVIRONMENT", "EXAMPLES", "SEE ALSO"]
        if manual != "man/prsnld.conf.5" { wanted += ["OPTIONS", "SIGNALS", "EXIT STATUS"] }
        for section in wanted { #expect(!WrittenPages.section(section, of: lines).isEmpty, "\(section)") }
    }

    @Test func everyCommandOptionAndExitCodeIsInThePageOfItsProgram() async throws {
        let pages = try await WrittenPages()
        for (table, manual) in [(CommandTable.prsnld, "man/prsnld.8"), (.prsnlctl, "man/prsnlctl.1")] {
            let lines = try await pages.rendered(manual)
            let options = WrittenPages.section("OPTIONS", of: lines)
            for option in table.options { #expect(WrittenPages.has(option.usage, option.summary, in: options)) }
            let codes = WrittenPages.section("EXIT STATUS", of: lines)
            for (code, meaning) in table.exitCodes {
                #expect(WrittenPages.has("\(code.rawValue)", meaning, in: codes), "\(code)")
            }
            for command in table.commands {
                let part = WrittenPages.section("\(table.program) \(command.name)", of: lines, indent: 3)
                let texts = part.map { String($0.drop { $0 == " " }) }
                #expect(texts.first?.split(separator: " ") == command.usage(of: table.program).split(separator: " "))
                #expect(texts.contains(command.summary.filter { $0 != "`" }), "\(command.name)")
                for option in command.options {
                    #expect(
                        WrittenPages.has(option.usage, option.summary, in: part), "\(command.name) \(option.name)")
                }
            }
            let documented = WrittenPages.section("COMMANDS", of: lines).filter { $0.hasPrefix("   prsnl") }
            #expect(documented == table.commands.map { "   \(table.program) \($0.name)" })
        }
    }

    @Test func everyKeyOfTheConfigurationIsInItsPageAndEveryVariableInTheDaemons() async throws {
        let pages = try await WrittenPages()
        let keys = WrittenPages.section("KEYS", of: try await pages.rendered("man/prsnld.conf.5"))
        let variables = WrittenPages.section("ENVIRONMENT", of: try await pages.rendered("man/prsnld.8"))
        for key in ConfigurationKey.all {
            #expect(WrittenPages.has("\(key.name) (\(key.type))", key.summary, in: keys), "\(key.name)")
            #expect(WrittenPages.has(key.variable, key.summary, in: variables), "\(key.variable)")
        }
        let documented = keys.filter { $0.hasPrefix("       ") && !$0.hasPrefix("        ") }
        #expect(documented.count == ConfigurationKey.all.count)
    }

    /// Text that troff would take for its own, and characters that it would turn into others.
    @Test func whatIsTypedCanBeCopiedFromThePage() async throws {
        let pages = try await WrittenPages()
        let source = try TestFile.text(pages.file("man/prsnlctl.1"))
        #expect(source.contains("\\fB\\-\\-config\\fR \\fIFILE\\fR"))
        #expect(source.contains("\\(aqFor the train\\(aq"))
        let shown = try await Tool.run("groff", ["-man", "-Tutf8", "-P", "-cbou", pages.file("man/prsnlctl.1")]).output
        #expect(shown.contains("prsnlctl capture https://example.org/ --title 'For the train' --tag later --wait"))
        let configuration = try await pages.rendered("man/prsnld.conf.5")
        #expect(configuration.contains { $0.contains("~/.config/prsnld/prsnld.conf") })
    }

    @Test func theExampleConfigurationHasEveryKeyWithItsDefaultAndSetsNone() async throws {
        let pages = try await WrittenPages()
        let text = try TestFile.text(pages.file("prsnld.conf"))
        #expect(Tool.lines(text).allSatisfy { $0.hasPrefix("#") })
        let keys = Tool.lines(text).filter { $0.contains(" =") && !$0.hasPrefix("# ") }
            .map { String($0.dropFirst().prefix { $0 != " " }) }
        #expect(keys == ConfigurationKey.all.map(\.name))

        // With every default taken out of its comment, it is still a configuration.
        let folder = TemporaryDirectory()
        let lines = Tool.lines(text).filter { !$0.hasPrefix("# ") && !$0.hasSuffix("=") }.map { String($0.dropFirst()) }
        let file = folder.file("prsnld.conf")
        try TestFile.write((["server_url = https://prsnl.example.org"] + lines).joined(separator: "\n"), to: file)
        try await Tool.run("\(Tool.binaries())/prsnld", ["--check-config", "--config", file])
    }

    @Test func theInstalledConfigurationSetsNothingAndNamesKeysThatExist() throws {
        let lines = Tool.lines(try TestFile.text("\(Tool.repository)/systemd/prsnld.conf"))
        #expect(lines.allSatisfy { $0.hasPrefix("#") })
        let keys = lines.filter { !$0.hasPrefix("# ") }.map { String($0.dropFirst().prefix { $0 != " " }) }
        #expect(keys.contains("server_url"))
        for key in keys { #expect(ConfigurationKey.named(key) != nil, "\(key)") }
    }
}
