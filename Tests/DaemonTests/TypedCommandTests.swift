import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import TestSupport
import Testing

@testable import Store

/// What is printed does what it says: each command that a real screen tells a person to type is typed by a real shell, and the
/// situation is then as the sentence says.
@Suite struct TypedCommandTests {
    /// The commands of a screen, none of them broken.
    private func commands(_ ended: DaemonFixture.Ended) -> [String] {
        let found = PrintedCommands.found(in: ended.stdout + ended.stderr)
        #expect(found.broken.isEmpty, "\(ended)")
        for command in found.commands { print("typed: \(command)") }
        return found.commands
    }

    private func type(_ line: String, _ fixture: DaemonFixture) async throws -> DaemonFixture.Ended {
        let path = "\(try BuiltProducts.folder()):/usr/bin:/bin"
        return try await ChildProcess.run(
            "/bin/sh", ["-c", line], environment: fixture.environment(["PATH": path]), directory: fixture.folder.path)
    }

    /// The same on a terminal, with a yes to what is asked.
    private func confirm(_ line: String, _ fixture: DaemonFixture) async throws -> (ChildProcess.Exit, String) {
        let path = "\(try BuiltProducts.folder()):/usr/bin:/bin"
        let terminal = try TerminalProcess(
            "/bin/sh", ["-c", line], environment: fixture.environment(["PATH": path]), directory: fixture.folder.path)
        try await terminal.waitUntilShown("[y/N]")
        try terminal.type("y\n")
        return (try await terminal.waitForExit(), terminal.shown)
    }

    private func fixture(_ lines: String = "", items: [DevItem] = DevItem.generate(count: 4)) async throws
        -> DaemonFixture
    {
        let fixture = try DaemonFixture(items: items, WriteScene.makeQuick)
        try fixture.configure("lookup_interval = 1s\n\(lines)")
        let first = try await fixture.run(["--once"])
        try #require(first.exit == .status(0), "\(first.stderr)")
        return fixture
    }

    // MARK: Parked

    enum Parked: CaseIterable { case conflict, gone, capture, note, deletion }

    /// A write that was parked while a daemon ran, which has ended.
    private func park(_ kind: Parked) async throws -> DaemonFixture {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        let refusal = Fault.answer(status: 422, body: #"{"detail":[]}"#)
        var words = ["edit", item, "--title", "Ours"]
        switch kind {
        case .conflict: fixture.server.edit(item) { $0.title = "Theirs" }
        case .gone: fixture.server.delete(item)
        case .capture: words = ["capture", "https://example.org/new"]
        case .note: words = ["note", "Bread"]
        case .deletion: words = ["delete", item]
        }
        if kind == .capture || kind == .note { fixture.server.script(refusal, on: .capture) }
        if kind == .deletion { fixture.server.script(refusal, on: RequestMatcher { $0.method == "DELETE" }) }
        #expect(try await fixture.control(words).exit == .status(0))
        _ = try await fixture.run(["--once"])
        let shown = try await fixture.control("queue", "show", "1")
        try #require(try state(fixture) == .parked, "\(shown)")
        // As if it had been more than ten seconds ago.
        try Connection(path: fixture.database, mode: .readWrite).execute(
            "UPDATE outbox SET last_attempt_at = accepted_at, accepted_at = '2026-01-01T00:00:00.000000Z'")
        try Connection(path: fixture.database, mode: .readWrite).execute(
            "UPDATE outbox SET last_attempt_at = '2026-01-01T00:00:01.000000Z'")
        return fixture
    }

    private func state(_ fixture: DaemonFixture, _ entry: Int64 = 1) throws -> OutboxEntry.State {
        try StoreReader(path: fixture.database).outboxEntry(entry).entry.state
    }

    @Test(arguments: Parked.allCases)
    func whatIsOfferedForAParkedWriteDoesIt(kind: Parked) async throws {
        let fixture = try await park(kind)
        let item = fixture.server.items().first { $0.title == "Theirs" }?.id
        let offered = commands(try await fixture.control("queue"))
        #expect(offered.count == (kind == .gone ? 2 : 3), "\(offered)")
        for line in offered where line.contains("queue show") {
            let ended = try await type(line, fixture)
            #expect(ended.exit == .status(0), "\(line): \(ended)")
        }
        let (exit, shown) = try await confirm(try #require(offered.first { $0.contains("queue drop") }), fixture)
        #expect(exit == .status(0), "\(shown)")
        #expect(try state(fixture) == .dropped)

        // Once more, to send it.
        guard kind != .gone else { return }
        let other = try await park(kind)
        let again = try #require(commands(try await other.control("queue")).first { !$0.contains(" queue ") })
        let typed = try await type(again, other)
        #expect(typed.exit == .status(0), "\(again): \(typed)")
        _ = try await other.run(["--once"])
        let last = try #require(try StoreReader(path: other.database).outbox(.all, limit: 9).entries.map(\.id).max())
        let queue = try await other.control("queue", "--all")
        #expect(try state(other, last) == .delivered, "\(queue)")
        if kind == .conflict { #expect(other.server.items().contains { $0.title == "Ours" }, "\(item ?? "-")") }
    }

    @Test(arguments: Parked.allCases)
    func whatAnEntrySuggestsCanBeTyped(kind: Parked) async throws {
        let fixture = try await park(kind)
        // Where systemd does not run, its commands are not suggested.
        let hasSystemd = access("/run/systemd/system", F_OK) == 0
        let untyped = ["prsnld", "chown", "sudo", "su"] + (hasSystemd ? ["systemctl", "journalctl"] : [])
        for screen in [["queue", "show", "1"], ["status"], ["doctor"], ["errors"]] {
            for line in commands(try await fixture.control(screen))
            where !untyped.contains(String(line.prefix { $0 != " " })) {
                var ended = try await type(line, fixture)
                // It asks first; without a terminal it says how to answer before.
                if ended.stderr.contains("--yes") {
                    for line in commands(ended) { ended = try await type(line, fixture) }
                }
                #expect(ended.exit != .status(2) && ended.exit != .status(127), "\(screen): \(line): \(ended)")
            }
        }
    }

    // MARK: Other situations

    @Test func whatUndoOffersReversesIt() async throws {
        let fixture = try await fixture()
        let (item, title) = (fixture.server.items()[0].id, fixture.server.items()[0].title)
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        #expect(try await fixture.control("edit", item, "--title", "It's `new`", "--wait=60s").exit == .status(0))
        let offers = commands(try await fixture.control("undo"))
        #expect(offers.count == 1)
        for line in offers { #expect(try await type(line + " --wait=60s", fixture).exit == .status(0), "\(line)") }
        #expect(fixture.server.item(item)?.title == title)
        #expect(try await fixture.control("delete", item, "--wait=60s").exit == .status(0))
        let restore = commands(try await fixture.control("undo"))
        for line in restore { #expect(try await type(line + " --wait=60s", fixture).exit == .status(0), "\(line)") }
        #expect(restore.count == 1 && fixture.server.captures.count == 1)
        #expect(try await daemon.terminate() == .status(0))
    }

    /// A pull reads the list, which has no texts.
    @Test func whatVerifyAdvisesMakesTheCopyEqual() async throws {
        let fixture = try await fixture("texts = yes")
        let daemon = try await fixture.startReady()
        try await eventually("the texts") { try await fixture.status().copy.texts?.asOf != nil }
        try Connection(path: fixture.database, mode: .readWrite).execute(
            "UPDATE item_body SET content = 'another text' WHERE item_id = (SELECT min(item_id) FROM item_body)")
        let found = try await fixture.control("verify", "--texts")
        let advice = commands(found)
        #expect(found.exit == .status(4) && advice.count == 1, "\(found)")
        for line in advice { #expect(try await type(line, fixture).exit == .status(0), "\(line)") }
        let then = try await fixture.control("verify", "--texts")
        #expect(then.exit == .status(0), "\(then)")
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func withoutACopyTheFirstStepIsNamed() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 2))
        let advice = commands(try await fixture.control("list"))
        #expect(!advice.isEmpty)
        for line in advice { #expect(try await type(line, fixture).exit == .status(0), "\(line)") }
        #expect(try await fixture.control("list").exit == .status(0))
    }

    @Test func withoutADaemonItIsStarted() async throws {
        let fixture = try await fixture()
        let advice = commands(try await fixture.control("sync", "--wait"))
        let line = try #require(advice.first)
        #expect(Set(advice).count == 1, "\(advice)")
        let path = "\(try BuiltProducts.folder()):/usr/bin:/bin"
        let daemon = try ChildProcess(
            "/bin/sh", ["-c", "exec \(line)"], environment: fixture.environment(["PATH": path]),
            directory: fixture.folder.path)
        try await eventually("the control socket") { fixture.isListening }
        #expect(try await fixture.control("sync", "--wait").exit == .status(0))
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func theStatusNamesAReaderByTheConfigurationThatWasGiven() async throws {
        let fixture = try await fixture()
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        #expect(try await fixture.control("changes", "--cursor", "bad").exit == .status(0))
        try TestFile.write("{\"seq\":7}\n", to: fixture.folder.file(".local/state/prsnld/cursors/bad.failed"))
        let advice = commands(try await fixture.control("status")).filter { $0.contains("--failed") }
        let line = try #require(advice.first)
        let typed = try await type(line, fixture)
        #expect(typed.exit == .status(0) && typed.stdout == "{\"seq\":7}\n", "\(line): \(typed)")
        #expect(try await daemon.terminate() == .status(0))
    }

    /// Tags that this server does not take, from a time when it did.
    @Test func anItemWithAnOddTagIsRestoredWithoutIt() async throws {
        var items = DevItem.generate(count: 2)
        (items[0].url, items[0].tags) = ("https://example.org/kept", ["köln"])
        let fixture = try await fixture(items: items)
        let id = items[0].id
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        #expect(try await fixture.control("delete", id, "--wait=60s").exit == .status(0))
        let offered = commands(try await fixture.control("show", id)).filter { $0.contains("restore") }
        #expect(offered.count == 1)
        for line in offered { #expect(try await type(line + " --wait=60s", fixture).exit == .status(0), "\(line)") }
        #expect(fixture.server.captures.map(\.url) == ["https://example.org/kept"])
        let completed = try await fixture.control("list", "--complete", "deleted:")
        #expect(completed.stdout.hasPrefix(id), "\(completed)")
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func anExpiredLoginIsRenewedByWhatIsPrinted() async throws {
        let scene = try LoginScene()
        let daemon = try await scene.startWithCopy()
        scene.server.expireTokens()
        scene.server.revokeRefreshTokens()
        #expect(try await scene.fixture.control("note", "Bread").exit == .status(0))
        let advice = try await eventually("the advice to log in") { () -> [String]? in
            let found = commands(try await scene.fixture.control("status")).filter { $0.hasSuffix("login") }
            return found.isEmpty ? nil : found
        }
        let terminal = try TerminalProcess(
            "/bin/sh", ["-c", try #require(advice.first)],
            environment: scene.fixture.environment(["PATH": "\(try BuiltProducts.folder()):/usr/bin:/bin"]),
            directory: scene.fixture.folder.path)
        try await terminal.waitUntilShown("mail")
        try terminal.type(DevAccount.owner.email + "\n")
        try await terminal.waitUntilShown("assword")
        try terminal.type(DevAccount.owner.password + "\n")
        #expect(try await terminal.waitForExit() == .status(0), "\(terminal.shown)")
        try await eventually("the delivery") {
            try StoreReader(path: scene.fixture.database).summary().outbox.waiting == 0
        }
        #expect(try await daemon.terminate() == .status(0))
    }

    /// Whatever is wrong, what is printed is a command line of ours.
    @Test func whatIsSaidOfAMistakeCanBeTyped() async throws {
        let fixture = try await fixture()
        let note = fixture.server.items().first { $0.url == nil }?.id ?? fixture.server.items()[0].id
        let mistakes = [
            ["show", "zzzz"], ["show", "1"], ["queue", "show", "99"], ["queue", "drop", "99"], ["retry-queue", "99"],
            ["delete", "1"],
            ["edit", "zzzz", "--title", "a"], ["open", note], ["search", "--newest"], ["capture", "--stdn"], ["nte"],
            ["sync", "--text", "zzzz"], ["tag", "+a", "zzzz"], ["restore", "zzzz"], ["related", "zzzz"],
            ["list", "--tag"],
            ["status", "more"], ["account", "--accept-new"], ["verify", "--texts=x"], ["changes", "--cursor", "a/b"],
            ["search", "foo:bar"], ["list", "--since", "1y"], ["queue", "--state", "parkd"], ["ping"], ["whoami"],
            ["net"],
        ]
        for isRunning in [false, true] {
            let daemon = isRunning ? try await fixture.startReady() : nil
            for mistake in mistakes {
                for line in Set(commands(try await fixture.control(mistake)))
                where !line.hasPrefix("prsnld ") && !line.hasSuffix(" login") {
                    let ended = try await type(line, fixture)
                    #expect(ended.exit != .status(2) && ended.exit != .status(127), "\(mistake): \(line): \(ended)")
                }
            }
            if let daemon { #expect(try await daemon.terminate() == .status(0)) }
        }
    }
}
