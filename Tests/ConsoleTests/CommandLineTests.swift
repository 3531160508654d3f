import Commands
import PRSNLCore
import Testing

@testable import Console

@Suite struct CommandLineTests {
    private func failure(_ arguments: [String], _ table: CommandTable = .prsnlctl) -> UserFacingError? {
        do throws(UserFacingError) {
            _ = try ParsedArguments(arguments, table: table)
            return nil
        } catch {
            return error
        }
    }

    @Test func optionsMayStandAnywhereAndInBothForms() throws {
        let parsed = try ParsedArguments(
            ["--config", "a", "sync", "--wait", "--socket=b=c", "--full"], table: .prsnlctl)
        #expect(parsed.command?.name == "sync")
        #expect(parsed.value("--config") == "a")
        #expect(parsed.value("--socket") == "b=c")
        #expect(parsed.has("--wait") && parsed.has("--full") && !parsed.has("--json"))
        #expect(try ParsedArguments(["--wait", "sync"], table: .prsnlctl).has("--wait"))
        #expect(try ParsedArguments(["-h"], table: .prsnlctl).has("--help"))
        #expect(try ParsedArguments(["--once", "--config=x"], table: .prsnld).has("--once"))
    }

    @Test(arguments: [
        ([], "a command is missing"), (["stauts"], "did you mean stats or status?"),
        (["--jsno", "status"], "did you mean --json?"),
        (["status", "--wait"], "--wait is not an option of status"),
        (["status", "sync"], "sync is one argument too many: status takes none"),
        (["verify", "--texts", "1/7"], "did you mean --texts=1/7?"),
        (["metrics", "--json"], "not an option of metrics"),
        (["--config"], "the value is missing"), (["--config=", "status"], "the value is missing"),
        (["sync", "--full=yes"], "takes no value"), (["--json"], "--json is not an option without its command"),
        (["zzzzz"], "zzzzz is not a command."), (["-x", "status"], "-x is not an option"),
        (["edit"], "ID... is missing"), (["delete", "--json"], "ID... is missing"),
        (["related", "a", "b"], "b is one argument too many: related takes 1 ID."),
        (["nte"], "did you mean net or note?"),
        (["delete", "59ec6da4", "--wait", "2s"], "did you mean --wait=2s?"),
        (["note", "x", "--wait", "1h30m"], "did you mean --wait=1h30m?"),
        (["queue", "shwo", "3"], "did you mean queue show?"), (["queue", "3"], "queue 3 is not a command"),
        (["queue", "show"], "N is missing"), (["--title", "x", "queue"], "--title is not an option of queue"),
        (["note", "x", "--title"], "the value is missing"), (["note", "x", "--wait="], "the value is missing"),
        (["note", "x", "--title", "a", "--title", "b"], "--title is given 2 times"),
        (["sync", "--wait=3s"], "--wait takes no value"), (["--wait=3s", "sync"], "--wait takes no value"),
        (["related", "x", "--", "--json"], "--json is one argument too many"),
        (["whoami", "me"], "me is one argument too many: whoami takes none."),
        (["log"], "did you mean changes or history?"),
        (["edit", "x", "--note", "y"], "--note is not an option of edit: the server cannot change a text."),
        (["note", "x", "-t"], "-t is not an option"),
    ])
    func aWrongCommandLineSaysWhatIsWrong(arguments: [String], part: String) {
        let error = failure(arguments)
        #expect(error?.code == .usage)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test func operandsAndRepeatedOptionsKeepTheirOrder() throws {
        let parsed = try ParsedArguments(
            ["delete", "b", "--json", "a", "--", "-c", "--json"], table: .prsnlctl)
        #expect(parsed.operands == ["b", "a", "-c", "--json"])
        let tags = try ParsedArguments(["--tag", "x", "edit", "--tag=", "id", "--tag", "-"], table: .prsnlctl)
        #expect(tags.values("--tag") == ["x", "", "-"])
        #expect(tags.operands == ["id"])
    }

    @Test(arguments: [("ls", "list"), ("cat", "show"), ("pull", "sync"), ("rm", "delete"), ("find", "search")])
    func wordsOfOtherProgramsAreUnderstood(word: String, name: String) throws {
        #expect(
            try ParsedArguments([word, "x"].dropLast(word == "pull" ? 1 : 0), table: .prsnlctl).command?.name == name)
    }

    @Test func aSecondWordChoosesTheCommandBelow() throws {
        #expect(try ParsedArguments(["queue"], table: .prsnlctl).command?.name == "queue")
        let drop = try ParsedArguments(["--yes", "queue", "--json", "drop", "3", "#4"], table: .prsnlctl)
        #expect(drop.command?.name == "queue drop")
        #expect(drop.operands == ["3", "#4"])
        #expect(try ParsedArguments(["queue", "show", "--help"], table: .prsnlctl).command?.name == "queue show")
    }

    @Test(arguments: [["list", "-n", "12"], ["list", "-n12"], ["-n12", "list"], ["list", "--limit=12"]])
    func anOptionOfOneLetterHasItsValueBesideItOrBehindIt(arguments: [String]) throws {
        let parsed = try ParsedArguments(arguments, table: .prsnlctl)
        #expect(parsed.command?.name == "list" && parsed.value("--limit") == "12")
    }

    @Test func emptyValuesOfItemsReachTheirValidation() throws {
        let parsed = try ParsedArguments(["note", "", "--title", "", "--tag", ""], table: .prsnlctl)
        #expect(parsed.operands == [""])
        #expect(parsed.value("--title") == "")
        #expect(parsed.values("--tag") == [""])
    }

    @Test func aDashIsAnOperandOrAValue() throws {
        #expect(try ParsedArguments(["note", "-"], table: .prsnlctl).operands == ["-"])
        #expect(try ParsedArguments(["capture", "u", "--note", "-"], table: .prsnlctl).value("--note") == "-")
    }

    @Test func anOptionalValueNeedsItsEqualsSign() throws {
        let bare = try ParsedArguments(["delete", "--wait", "30ab"], table: .prsnlctl)
        #expect(bare.has("--wait") && bare.value("--wait") == nil)
        #expect(bare.operands == ["30ab"])
        #expect(try ParsedArguments(["delete", "a", "--wait=30s"], table: .prsnlctl).value("--wait") == "30s")
    }

    @Test func optionsOfOneNameAgreeAboutTheNextArgument() {
        for table in [CommandTable.prsnld, .prsnlctl] {
            let all = table.options + table.commands.flatMap(\.options)
            for option in all {
                #expect(all.allSatisfy { $0.name != option.name || $0.takesNext == option.takesNext }, "\(option.name)")
            }
        }
    }

    @Test func argumentsThatAreNotUTF8AreRefusedAndNotRepaired() throws {
        #expect(try ProgramArguments.decode("é", number: 1, program: "p") == "é")
        do throws(UserFacingError) {
            _ = try ProgramArguments.decode([0x61, -1, 0], number: 2, program: "p")
            Issue.record("accepted")
        } catch {
            #expect(error.code == .usage)
            #expect(error.message == "argument 2 is not UTF-8.")
        }
    }

    @Test(arguments: [
        ("a", "a"), ("", "''"), ("it's", "'it'\\''s'"), ("$(x)", "'$(x)'"), ("a b", "'a b'"), ("é", "'é'"),
        ("~/x", "'~/x'"),
    ])
    func commandsCanBeTypedAsTheyArePrinted(argument: String, quoted: String) {
        #expect(ShellText.quoted(argument) == quoted)
    }

    @Test func theErrorNamesTheHelpOfTheCommand() {
        #expect(failure(["status", "--wait"])?.nextCommand == "prsnlctl status --help")
        #expect(failure(["now"], .prsnld)?.nextCommand == "prsnld --help")
    }

    @Test func helpNamesEveryOptionIn80Columns() {
        for table in [CommandTable.prsnld, .prsnlctl] {
            let helps = [table.help()] + table.commands.map { table.help(for: $0) }
            for help in helps {
                for line in help.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
            }
            for option in table.options { #expect(helps[0].contains("  \(option.usage)  ")) }
            for command in table.commands {
                for option in command.options where option != .help && option != .json {
                    #expect(table.help(for: command).contains("  \(option.usage)  "))
                }
            }
        }
    }

    /// What all commands have in common is said once.
    @Test func theHelpOfAllCommandsIsShortAndHasExamples() {
        let table = CommandTable.prsnlctl
        let helps = [table.help()] + table.commands.map { table.help(for: $0) }
        #expect(helps.reduce(0) { $0 + $1.count { $0 == "\n" } } <= 600)
        for command in table.commands { #expect(!command.examples.isEmpty, "\(command.name)") }
        #expect(helps.count { $0.contains("--instance") } == 1 && helps.count { $0.contains("it is not running") } == 1)
        #expect(table.chapters.count == 5)
        for (name, title) in table.chapters { #expect(helps[0].contains("\n\n\(title):\n  \(name) ")) }
    }

    /// No terminal here.
    @Test func colourIsWhatTheEnvironmentSays() {
        func hasColour(_ environment: [String: String]) -> Bool {
            TextStyle(descriptor: -1, environment: environment.merging(["TERM": "xterm"]) { $1 }, ServiceUnit())
                .hasColour
        }
        #expect(!hasColour([:]))
        #expect(hasColour(["CLICOLOR_FORCE": "1"]) && hasColour(["CLICOLOR_FORCE": "1", "NO_COLOR": ""]))
        #expect(!hasColour(["CLICOLOR_FORCE": "1", "NO_COLOR": "1"]) && !hasColour(["CLICOLOR_FORCE": "0"]))
    }

    @Test func wideAndJoinedCharactersAreCountedAsTheyAreShown() {
        #expect(TextLayout.width("abc") == 3)
        #expect(TextLayout.width("漢字") == 4)
        #expect(TextLayout.width("e\u{301}") == 1)
        #expect(TextLayout.wrap("a 漢字漢字 b", width: 8) == ["a", "漢字漢字", "b"])
        var lines: [String] = []
        TextLayout.wrapProse("  one two\u{301}  three four ", width: 8) { lines.append($0) }
        #expect(lines == ["one two\u{301}", "three", "four"])
        lines = []
        TextLayout.parts(of: "\na\r\n\u{301}b\n", between: 0x0A) { lines.append(String($0)) }
        #expect(lines == ["", "a\r", "\u{301}b", ""])
    }

    @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (-1_234_567, "-1,234,567")])
    func countsHaveThousandsSeparators(number: Int, text: String) {
        #expect(Formatting.count(number) == text)
    }

    @Test(arguments: [
        (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1 << 20, "1.0 MiB"), (5 << 40, "5,120.0 GiB"),
    ])
    func sizesHaveAUnit(bytes: Int64, text: String) {
        #expect(Formatting.size(bytes) == text)
    }
}
