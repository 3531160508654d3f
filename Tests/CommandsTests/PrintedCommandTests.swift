import CommandSamples
import FoundationEssentials
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Commands
@testable import Console
@testable import Requests
@testable import Store

/// What is printed can be typed: every command in the sources, the pages, the help and the reports is split by a shell, and its
/// words are a command line of ours. `TypedCommandTests` types what a daemon and its commands print.
@Suite struct PrintedCommandTests {
    /// A daemon that prsnlctl finds by `--config` alone, at a path that needs quotation marks.
    private static let unit = ServiceUnit(.manual("/srv/a b.conf"), options: ["--config", "/srv/a b.conf"])

    /// Why a line cannot be typed; `nil` where it can.
    private static func mistake(in commands: [[String]]?, needsConfig: Bool = false) -> String? {
        guard let commands else { return "no shell reads it" }
        if commands.isEmpty { return "there is no command in it" }
        for var words in commands {
            if words.first == "sudo" { words.removeFirst(words.dropFirst().first == "-u" ? 3 : 1) }
            guard let program = words.first else { return "sudo of nothing" }
            guard let table = [CommandTable.prsnlctl, .prsnld].first(where: { $0.program == program }) else {
                if PrintedCommands.programs.contains(program) { continue }
                return "\(program) is not a program that we name"
            }
            do throws(UserFacingError) {
                _ = try ParsedArguments(Array(words.dropFirst()), table: table)
            } catch {
                return error.message
            }
            if needsConfig, program == "prsnlctl", !words.contains("/srv/a b.conf") { return "--config is missing" }
        }
        return nil
    }

    private func expectTypable(
        _ lines: [(place: String, line: String)], needsConfig: Bool = false,
        isReference: (String) -> Bool = { _ in false }
    ) async throws {
        var seen: Set<String> = []
        let lines = lines.filter { seen.insert($0.line).inserted }
        let words = try await PrintedCommands.words(of: lines.map(\.line))
        try #require(words.count == lines.count)
        for ((place, line), words) in zip(lines, words) where !isReference(line) {
            if let mistake = Self.mistake(in: words, needsConfig: needsConfig) {
                Issue.record("\(place): \(line): \(mistake)")
            }
        }
        print("\(lines.count) different commands")
    }

    @Test(arguments: ["one\ntwo's\t\\three", "\u{1B}[2J\u{202E}\u{7F}é", "\n'; touch /nowhere #", "\r\u{1}2"])
    func aTextOfSeveralLinesIsReadByAShellAsItWas(text: String) async throws {
        let word = ShellText.word(text)
        #expect(!word.unicodeScalars.contains(where: SafeText.isHarmful))
        // A shell without such escapes takes the same for its end.
        #expect(word.dropFirst(2).dropLast().contains("'") == false)
        let folder = TemporaryDirectory("printed-word")
        let read = try await ChildProcess.run("/bin/bash", ["-c", "printf %s \(word)"], directory: folder.path)
        #expect(read.stdout == text)
    }

    // MARK: Literals

    /// With 7 for each value, which stands for a number, a file and the beginning of an id.
    @Test func everyCommandInTheSourcesCanBeTyped() async throws {
        var found: [(place: String, line: String)] = []
        let root = RepositoryFile.root() + "/Sources"
        for path in try FileManager.default.subpathsOfDirectory(atPath: root).sorted() where path.hasSuffix(".swift") {
            let text = try RepositoryFile.text("Sources/\(path)").split(separator: "\n").filter {
                !$0.drop { $0 == " " }.hasPrefix("//")
            }.joined(separator: "\n").replacing("\\\n", with: "\u{1}")
            let code = Self.withoutValues(text).replacing(/\u{1} */, with: "").replacing("\\\"", with: "\"")
            for line in code.split(separator: "\n") {
                let pieces = line.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
                found += pieces.enumerated().filter { $0.offset % 2 == 1 && PrintedCommands.isCommand($0.element) }
                    .map { (path, $0.element.replacing("COMMAND", with: "list")) }
                for literal in line.matches(of: /"((?:sudo )?(?:prsnlctl|prsnld|systemctl|journalctl) [^"`]*)"/) {
                    // The first lines of files, and what a program says of itself.
                    if !literal.1.contains(/^prsnl(d|ctl) (mark|verified|7)/) {
                        found.append((path, String(literal.1)))
                    }
                }
            }
        }
        #expect(found.count > 120)
        try await expectTypable(found) { Self.isOnlyNamed($0) }
    }

    /// `\(…)` becomes 7.
    private static func withoutValues(_ text: String) -> String {
        var result = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "\\(") {
            result += rest[..<start.lowerBound] + "7"
            rest = rest[start.upperBound...]
            var depth = 1
            while depth > 0, let character = rest.popFirst() {
                depth += character == "(" ? 1 : character == ")" ? -1 : 0
            }
        }
        return result + rest
    }

    /// A sentence may be about a command, and name it without what it needs: "`prsnlctl restore` takes it back".
    private static func isOnlyNamed(_ line: String) -> Bool {
        let name = String(line.dropFirst("prsnlctl ".count))
        return line.hasPrefix("prsnlctl ") && CommandTable.prsnlctl.command(named: name) != nil
            || ["sudo", "systemctl edit", "systemctl reload", "systemctl stop", "systemctl status"].contains(line)
    }

    @Test func everyCommandOfThePagesCanBeTyped() async throws {
        var found: [(place: String, line: String)] = []
        let pages = try FileManager.default.contentsOfDirectory(atPath: RepositoryFile.root() + "/docs").sorted()
        for path in pages.filter({ $0.hasSuffix(".md") }).map({ "docs/\($0)" }) + ["README.md"] {
            let page = try RepositoryFile.text(path)
            // Line by line: what is pasted from a page is a line.
            for line in page.split(separator: "\n") {
                if line.hasPrefix("    ") {
                    let words = line.drop { $0 == " " }
                    let typed = words.firstMatch(
                        of: /^(?:# |ada\$ |\$ |[0-9*\/]+ [0-9*]+ \* \* \*  )?(prsnlctl [^+|].*)$/)
                    guard let typed, !typed.1.hasPrefix("prsnlctl:"), !typed.1.hasPrefix("prsnlctl  ") else { continue }
                    found.append((path, String(typed.1)))
                } else {
                    found += PrintedCommands.found(in: String(line)).commands.map { (path, $0) }
                }
            }
        }
        // Nothing is written while the words are read; forms are not to be typed.
        found = found.filter { !$0.line.contains("[OPTION]") && !$0.line.contains("…") }.flatMap { place, line in
            let inner = line.matches(of: /\$\((prsnlctl [^)]*)\)/).map { (place, String($0.1)) }
            return inner + [(place, line.replacing(/\$\([^)]*\)/, with: "7").replacing(/[<>]+ *[^ ]+/, with: ""))]
        }
        #expect(found.count > 100)
        // docs/first-steps.md shows mistakes, with what is said of them.
        let mistakes = ["prsnlctl nte 'Something to keep'", "prsnlctl note 'Something to keep' --wait 5m"]
        try await expectTypable(found) { line in
            Self.isOnlyNamed(line) || mistakes.contains(line) || line == "prsnlctl --json" || line == "prsnlctl"
        }
    }

    @Test func everyExampleOfTheHelpCanBeTyped() async throws {
        let examples = CommandTable.prsnlctl.commands.flatMap { command in
            (command.examples.map(\.form) + command.language.map(\.meaning) + command.options.map(\.summary))
                .flatMap { PrintedCommands.found(in: $0).commands }
                .map { (command.name, $0.replacing(/[<>]+ *[^ ]+/, with: "")) }
        }
        try await expectTypable(examples) { Self.isOnlyNamed($0) }
        for command in CommandTable.prsnlctl.commands {
            let help = CommandTable.prsnlctl.help(for: command).split(separator: "\n").map(String.init)
            for example in command.examples {
                #expect(
                    help.contains { $0.hasPrefix("  " + example.form.filter { $0 != "`" }) },
                    "\(example.form) is broken")
            }
        }
    }

    // MARK: Values

    private static let codes = ErrorCode.allCases

    @Test func whatEachErrorSuggestsCanBeTyped() async throws {
        let advice = Self.codes.flatMap { code -> [(String, NextCommand)] in
            let error = UserFacingError(code: code.rawValue, message: "It failed.", entry: 12)
            return (error.recoverySuggestion.commands + [code.nextCommand].compactMap(\.self)).compactMap { command in
                Self.unit.fit(command).map { (code.rawValue, $0) }
            }
        }
        try await expectTypable(
            advice.filter { PrintedCommands.isCommand($0.1.line) }.map { ($0, $1.line) }, needsConfig: true)
    }

    /// Of a write, every kind in every state and with every error.
    private static var entries: [OutboxEntry] {
        OutboxEntry.Kind.allCases.flatMap { kind in
            OutboxEntry.State.allCases.flatMap { state in
                ([nil] + codes.map(\.rawValue) + ["from_tomorrow"]).map { code in
                    let payload: OutboxEntry.Payload =
                        switch kind {
                        case .capture: .create(NewItem(url: "https://example.org/"))
                        case .note: .create(NewItem(note: "Bread"))
                        case .edit: .edit(ItemEdit(title: "Ours"))
                        case .delete: .delete
                        }
                    var entry = Samples.entry(5, state, kind, payload: payload)
                    (entry.errorCode, entry.errorMessage) = (code, "It failed.")
                    return entry
                }
            }
        }
    }

    @Test(arguments: [40, 60, 80])
    func noScreenBreaksACommandOrLeavesItsDaemonOut(width: Int) async throws {
        var style = TextStyle()
        (style.width, style.rowWidth, style.unit) = (width, width, Self.unit)
        var screens: [(String, String)] = [
            ("status", Samples.full.text(style)), ("status", Samples.report(Samples.held).text(style)),
            ("status", Samples.report(Samples.withError).text(style)), ("sync", Samples.failedSync.text(style)),
            ("login", Samples.login.text(style)), ("login", Samples.otherLogin.text(style)),
            ("login", Samples.firstLogin.text(style)), ("logout", Samples.logout.text(style)),
            ("whoami", Samples.whoami.text(style)), ("account", Samples.account.text(style)),
            ("account", Samples.setAside.text(style)), ("doctor", Samples.doctor.text(style)),
            ("queue", Samples.queue.text(style)), ("queue show", Samples.shown.text(style)),
            ("note", Samples.writes.text(style)), ("retry-queue", Samples.retried.text(style)),
            ("queue drop", Samples.dropped.text(style)), ("undo", Samples.notUndone.text(style)),
            ("capture --stdin", Samples.captured.text(style)), ("verify", Samples.verified.text(style)),
            ("errors", Samples.errors.text(style)), ("show", Samples.shownItem.text(style)),
            ("show", Samples.shownDeleted.text(style)),
        ]
        for entry in Self.entries {
            let list = OutboxList(entries: [entry], total: 1)
            let what = "queue of \(entry.kind), \(entry.state), \(entry.errorCode ?? "-")"
            screens.append(
                (
                    what,
                    QueueReport(list, filter: .all, source: .file, connectivity: nil, wait: nil, now: Samples.now).text(
                        style)
                ))
            screens.append(
                (
                    what,
                    EntryReport(entry, [], source: .file, connectivity: nil, wait: nil, now: Samples.now).text(style)
                ))
        }
        for reason in RetryOutcome.Reason.allCases {
            for sending in [Sending.inTurn, .whenReachable, .whenAuthorized, .whenPossible, .whenDaemonRuns] {
                var outcome = RetryOutcome()
                (outcome.skipped, outcome.skippedByReason) = ([.init(entry: 14, reason: reason)], [reason.rawValue: 1])
                let report = RetryReport(outcome, dryRun: false, source: .daemon, sending: sending)
                screens.append(("retry-queue: \(reason)", report.text(style)))
            }
        }
        for code in Self.codes {
            let report = FailureReport(UserFacingError(code, "It failed."))
            screens.append(("error \(code)", report.text(program: "prsnlctl", style)))
            var report2 = Samples.report(Samples.complete)
            report2.daemon?.problem = report.error
            screens.append(("status with \(code)", report2.text(style)))
        }
        var found: [(place: String, line: String)] = []
        for (place, text) in screens {
            let (commands, broken) = PrintedCommands.found(in: text)
            #expect(broken.isEmpty, "\(place), \(width) columns")
            found += commands.map { (place, $0) }
        }
        #expect(found.count > 1_000)
        try await expectTypable(found, needsConfig: true)
    }

    // MARK: Misspelt

    /// A letter left out, added, replaced, or swapped: what is offered is an option of that very command.
    @Test func whatIsOfferedForAMisspeltOptionIsTaken() throws {
        var offers = 0
        let table = CommandTable.prsnlctl
        for command in table.commands {
            let everywhere = Set(table.commands.flatMap(\.options).map(\.name) + table.options.map(\.name))
            let allowed = Set((command.options + table.options).map(\.name))
            for option in everywhere.union(["--save", "--stdn"]) {
                let letters = Array(option)
                for place in 2..<letters.count {
                    let wrong = String(letters[..<place] + letters[(place + 1)...])
                    for words in [
                        command.name.split(separator: " ").map(String.init) + [wrong],
                        [wrong] + command.name.split(separator: " ").map(String.init),
                    ] {
                        do throws(UserFacingError) { _ = try ParsedArguments(words, table: table) } catch {
                            guard
                                let offer = error.message.firstMatch(
                                    of: /; did you mean (--[a-z-]+(?:(?:, | or )--[a-z-]+)*)\?$/)
                            else { continue }
                            for offered in offer.1.replacing(" or ", with: ", ").split(separator: ", ") {
                                offers += 1
                                #expect(allowed.contains(String(offered)), "\(words): \(error.message)")
                            }
                        }
                    }
                }
            }
        }
        #expect(offers > 500)
    }

    /// A command that is offered in place of one takes what was given.
    @Test func whatIsOfferedInPlaceOfACommandTakesItsOptions() throws {
        let table = CommandTable.prsnlctl
        for command in table.commands {
            guard let other = command.withoutOperands.flatMap(table.command(named:)) else { continue }
            for option in command.options where option.form == .none && option.name != "--help" {
                do throws(UserFacingError) { _ = try ParsedArguments([command.name, option.name], table: table) } catch
                {
                    guard error.message.contains("did you mean \(other.name)?") else { continue }
                    _ = try ParsedArguments([other.name, option.name], table: table)
                }
            }
        }
        #expect(throws: UserFacingError.self) { try ParsedArguments(["search", "--newest"], table: table) }
    }
}
