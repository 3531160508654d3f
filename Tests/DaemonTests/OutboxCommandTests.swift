import Commands
import Console
import Control
import DevServer
import Glibc
import PRSNLCore
import Requests
import Store
import TestSupport
import Testing

/// The commands that write, end to end: with a daemon, and without one.
@Suite struct OutboxCommandTests {
    private func fixture(
        items: [DevItem] = DevItem.generate(count: 6), dialect: Dialect = .cursor
    ) async throws -> DaemonFixture {
        let fixture = try DaemonFixture(items: items, dialect: dialect, WriteScene.makeQuick)
        try fixture.configure("lookup_interval = 1s")
        let first = try await fixture.run(["--once"])
        try #require(first.exit == .status(0), "\(first.stderr)")
        return fixture
    }

    private func entries(_ fixture: DaemonFixture) throws -> [OutboxEntry] {
        try StoreReader(path: fixture.database).outbox(.all, limit: 1_000).entries
    }

    private func error(_ fixture: DaemonFixture, _ ended: DaemonFixture.Ended) throws -> UserFacingError {
        try fixture.decode(FailureReport.self, ended).error
    }

    // MARK: With a daemon

    @Test(arguments: Dialect.allCases)
    func eachCommandIsDeliveredAndSaysSo(dialect: Dialect) async throws {
        let fixture = try await fixture(dialect: dialect)
        let items = fixture.server.items()
        let daemon = try await fixture.startReady()
        let capture = try await fixture.control(
            "capture", "https://example.com/a", "--title", "A title", "--tag", "work", "--tag", "later", "--note",
            "a remark", "--type", "article", "--summarize", "--wait")
        #expect(capture.exit == .status(0), "\(capture)")
        let made = try #require(fixture.server.captures.first)
        #expect(capture.stdout == "delivered #1 → \(made.id.prefix(8))\n")
        #expect(made.url == "https://example.com/a" && made.title == "A title" && made.tags == ["work", "later"])
        #expect(made.type == "article")
        #expect((dialect == .express ? made.content : made.highlight) == "a remark")

        let note = try await fixture.control("note", "-", "--wait", "--json", input: "from stdin\n")
        let report = try fixture.decode(WriteReport.self, note)
        #expect(report.source == .daemon && report.waited)
        #expect(report.writes.map(\.state) == [.delivered])
        #expect(fixture.server.captures.last?.content == "from stdin")

        let edit = try await fixture.control("edit", items[0].id, "--summary", "new", "--tag", "x", "--wait")
        #expect(edit.exit == .status(0), "\(edit)")
        #expect(fixture.server.item(items[0].id)?.summary == "new")
        #expect(fixture.server.item(items[0].id)?.tags == ["x"])

        let delete = try await fixture.control("delete", items[1].id, items[2].id, "--wait")
        #expect(delete.exit == .status(0), "\(delete)")
        #expect(delete.stdout.split(separator: "\n").count == 2)
        #expect(fixture.server.item(items[1].id) == nil && fixture.server.item(items[2].id) == nil)
        let queue = try fixture.decode(QueueReport.self, try await fixture.control("queue", "--all", "--json"))
        // The main server may have replaced the title by now: then an edit follows.
        let given = queue.entries.filter { $0.follows == nil }
        #expect(queue.source == .daemon && given.count == 5)
        #expect(given.allSatisfy { $0.state == .delivered })
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aNoteNeedsNoQuotationMarksAndMayComeFromAnEditor() async throws {
        let fixture = try await fixture()
        #expect(try await fixture.control("note", "Milk,", "bread", "--tag", "Shopping").exit == .status(0))
        let piped = try await fixture.control("note", input: "from a pipe\n")
        #expect(piped.exit == .status(0), "\(piped)")
        let notes = try entries(fixture).sorted { $0.id < $1.id }.compactMap { entry in
            if case .create(let item) = entry.payload { (item.note, item.tags) } else { nil }
        }
        #expect(notes.map(\.0) == ["Milk, bread", "from a pipe"] && notes.map(\.1) == [["shopping"], []])
        func edited(by editor: String) throws -> TerminalProcess {
            try TerminalProcess(
                BuiltProducts.executable("prsnlctl"), ["--config", fixture.configuration, "note"],
                environment: [
                    "HOME": fixture.folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "EDITOR": editor,
                    "TMPDIR": fixture.folder.path,
                ], directory: fixture.folder.path)
        }
        #expect(try await edited(by: "printf 'typed in an editor' >").waitForExit() == .status(0))
        #expect(
            try StoreReader(path: fixture.database).outboxEntry(3).entry.payload
                == .create(NewItem(note: "typed in an editor")))
        let empty = try edited(by: "true")
        #expect(
            try await empty.waitForExit() == .status(1) && empty.shown.contains("the note is empty"), "\(empty.shown)")
        let failed = try edited(by: "false")
        #expect(
            try await failed.waitForExit() == .status(1) && failed.shown.contains("The editor false failed."),
            "\(failed.shown)")
        let overview = try await ChildProcess.run(BuiltProducts.executable("prsnlctl"), [])
        #expect(overview.exit == .status(0) && overview.stdout.contains("capture"), "\(overview)")
        let help = try await fixture.control("help", "queue", "drop")
        #expect(help.exit == .status(0) && help.stdout.hasPrefix("usage: prsnlctl queue drop"), "\(help)")
    }

    /// The next file or socket would get the number of a stdout that is closed, and the answer with it.
    @Test(arguments: ["note x", "capture https://example.org/closed", "list", "queue"])
    func aClosedStdoutIsAnError(words: String) async throws {
        let fixture = try await fixture()
        let daemon = try await fixture.startReady()
        let control = try BuiltProducts.executable("prsnlctl")
        let ended = try await ChildProcess.run(
            "/bin/sh", ["-c", "'\(control)' --config '\(fixture.configuration)' \(words) >&-"])
        #expect(ended.exit == .status(1) && ended.stderr.contains("could not be written to stdout"), "\(ended)")
        let writes = words.hasPrefix("note") || words.hasPrefix("capture")
        #expect(ended.stderr.contains("carried out") == writes && ended.stderr.contains("queue`") == writes, "\(ended)")
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func anItemIsEditedInAnEditor() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0]
        func edited(by editor: String) throws -> TerminalProcess {
            try TerminalProcess(
                BuiltProducts.executable("prsnlctl"), ["--config", fixture.configuration, "edit", item.id],
                environment: [
                    "HOME": fixture.folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "EDITOR": editor,
                    "TMPDIR": fixture.folder.path,
                ], directory: fixture.folder.path)
        }
        let same = try edited(by: "true")
        #expect(
            try await same.waitForExit() == .status(0) && same.shown.contains("nothing was changed"), "\(same.shown)")
        let title = try edited(by: #"sed -i 's/^title: .*/title: A new title/'"#)
        #expect(try await title.waitForExit() == .status(0), "\(title.shown)")
        // The second time it is right.
        let twice = try edited(
            by:
                #"sh -c 'grep -q "^# prsnlctl: line" "$0" && sed -i "s/^tittle/title/" "$0" || sed -i "s/^title:.*/tittle: Last/" "$0"'"#
        )
        #expect(
            try await twice.waitForExit() == .status(0) && twice.shown.contains("tittle cannot be edited"),
            "\(twice.shown)")
        let broken = try edited(by: #"sed -i 's/^---$//'"#)
        #expect(
            try await broken.waitForExit() == .status(1) && broken.shown.contains("What was written is in"),
            "\(broken.shown)")
        // As git has it: an empty text gives up. One that stays wrong is not shown forever.
        let emptied = try edited(by: ":>")
        #expect(
            try await emptied.waitForExit() == .status(0) && emptied.shown.contains("nothing was changed"),
            "\(emptied.shown)")
        let wrong = try edited(by: "printf '%s' --- >")
        #expect(
            try await wrong.waitForExit() == .status(1) && wrong.shown.contains("What was written is in"),
            "\(wrong.shown)")
        let edits = try entries(fixture).sorted { $0.id < $1.id }.compactMap { entry in
            if case .edit(let edit) = entry.payload { edit.title } else { nil }
        }
        #expect(edits.last == "Last" && edits.count == 2)
    }

    @Test func waitingEndsWithFiveWhenTheTimeIsUp() async throws {
        let fixture = try await fixture()
        let daemon = try await fixture.startReady()
        fixture.server.refuseConnections()
        let one = try await fixture.control("note", "a note", "--wait=50ms")
        #expect(one.exit == .status(5), "\(one)")
        #expect(one.stdout.hasPrefix("queued #1 (on disk, not delivered yet"), "\(one)")
        let many = try await fixture.control(
            "capture", "--stdin", "--wait=50ms", "--json", input: "https://example.com/a\nhttps://example.com/b\n")
        #expect(many.exit == .status(5), "\(many)")
        let report = try fixture.decode(BatchReport.self, many)
        #expect(report.accepted == 2 && report.delivered == 0)
        let wrong = try await fixture.control("note", "a note", "--wait=soon")
        #expect(wrong.exit == .status(2))
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func waitingEndsWithFourWhenThePersonMustDecide() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0]
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("sync", "--wait").exit == .status(0))
        // In the copy it is as it was, until the next pull.
        fixture.server.edit(item.id) { $0.title = "changed elsewhere" }
        let ended = try await fixture.control("edit", item.id, "--title", "changed here", "--wait")
        #expect(ended.exit == .status(4), "\(ended)")
        #expect(ended.stdout.hasPrefix("parked #1:"), "\(ended)")
        #expect(try await fixture.control("status").exit == .status(4))
        let health = try await fixture.control("status", "--quiet")
        #expect(health.exit == .status(0) && health.stdout + health.stderr == "", "a restart would not help: \(health)")
        let shown = try fixture.decode(EntryReport.self, try await fixture.control("queue", "show", "#1", "--json"))
        #expect(shown.write["title"] == .text("changed here"))
        #expect(shown.base?["title"] == .text(item.title))
        #expect(shown.theirs?["title"] == .text("changed elsewhere"))
        #expect(!shown.requests.isEmpty)
        #expect(fixture.server.item(item.id)?.title == "changed elsewhere")
        // A person who has looked may overwrite it.
        #expect(try await fixture.control("retry-queue", "1").exit == .status(0))
        try await eventually("the edit") { fixture.server.item(item.id)?.title == "changed here" }
        #expect(try await daemon.terminate() == .status(0))
        let ill = try await fixture.control("status", "--quiet")
        #expect(ill.exit == .status(3) && ill.stdout == "" && ill.stderr.contains("No daemon listens"), "\(ill)")
        #expect(try await fixture.control("status", "--quiet", "--watch").exit == .status(2))
    }

    @Test func whoWaitsIsToldWhatFor() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0]
        fixture.server.script(
            .answer(status: 500, body: #"{"detail":"Failed to update item: column \"x\" does not exist"}"#), on: .change
        )
        let daemon = try await fixture.startReady()
        let edit = try fixture.startControl(["edit", item.id, "--title", "New", "--wait=1h"])
        let line = try await edit.waitForErrorLine(containing: "#1 waits: ")
        #expect(
            line.hasPrefix(
                "prsnlctl: #1 waits: Server error: Failed to update item: column … does not exist; next attempt in "),
            "\(line)")
        // A person repairs it, and says so.
        try await eventually("the retry to be taken") {
            let retry = try await fixture.control("retry-queue", "1", "--json")
            return try fixture.decode(RetryReport.self, retry).touched == 1
        }
        #expect(try await edit.waitForExit() == .status(0), "\(edit.stderr)")

        fixture.server.refuseConnections()
        #expect(try await fixture.control("ping").exit != .status(0))
        let note = try fixture.startControl(["note", "a note", "--wait=1h"])
        let away = try await note.waitForErrorLine(containing: "#2 waits: ")
        #expect(away.contains("due when the server is reachable"), "\(away)")
        try fixture.server.acceptConnections()
        #expect(try await fixture.control("ping").exit == .status(0))
        #expect(try await note.waitForExit() == .status(0), "\(note.stderr)")
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func retryingTwiceChangesNothingMore() async throws {
        let fixture = try await fixture()
        fixture.server.script(
            .answer(status: 503, body: #"{"error":{"code":"SERVICE_UNAVAILABLE","message":"later"}}"#),
            on: .capture, times: .max)
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("capture", "https://example.com/a").exit == .status(0))
        try await eventually("the first attempt") { try entries(fixture)[0].attempts == 1 }
        let first = try fixture.decode(RetryReport.self, try await fixture.control("retry-queue", "--json"))
        let second = try fixture.decode(RetryReport.self, try await fixture.control("retry-queue", "--json"))
        // It was tried a moment ago: asking again and again does not make the server be asked as often.
        #expect(first.touched == 0 && second.touched == 0)
        #expect(second.skipped.map(\.entry) == [1])
        #expect(try entries(fixture)[0].attempts == 1)
        #expect(try await daemon.terminate() == .status(0))

        let alone = try fixture.decode(
            RetryReport.self, try await fixture.control("retry-queue", "--dry-run", "--json"))
        #expect(alone.head.source == .file && alone.head.dryRun == true)
        let unknown = try await fixture.control("retry-queue", "99", "--json")
        #expect(unknown.exit == .status(1))
        #expect(try error(fixture, unknown).codeName == "entry_unknown")
    }

    // MARK: Without one

    @Test func withoutADaemonAllIsWrittenToTheFileAndDeliveredByTheNextOnce() async throws {
        let fixture = try await fixture()
        let items = fixture.server.items()
        let ended = try await fixture.control("capture", "https://example.com/a", "--wait=1s")
        #expect(ended.exit == .status(5), "\(ended)")
        #expect(ended.stdout == "queued #1 (on disk, not delivered yet; will be sent when the daemon runs)\n")
        #expect(ended.stderr.contains("the daemon is not running: written to \(fixture.database)"))
        let report = try fixture.decode(
            WriteReport.self, try await fixture.control("edit", items[0].id, "--summary", "new", "--json"))
        #expect(report.source == .file && report.sending == .whenDaemonRuns)
        #expect(try await fixture.control("delete", items[1].id).exit == .status(0))
        #expect(try await fixture.control("note", "a note").exit == .status(0))

        let list = try await fixture.control("queue")
        #expect(list.exit == .status(0) && list.stdout.contains("https://example.com/a"))
        let json = try fixture.decode(
            QueueReport.self, try await fixture.control("queue", "--state", "queued", "--json"))
        #expect(json.source == .file && json.entries.map(\.entry) == [1, 2, 3, 4])
        let shell = try await ChildProcess.run(
            "/usr/bin/sqlite3",
            ["-readonly", fixture.database, "SELECT pending, count(*) FROM timeline GROUP BY 1 ORDER BY 1"])
        #expect(shell.stdout == "|4\ncreation|2\nedit|1\n")

        // Without a terminal nothing is given up unasked.
        #expect(try await fixture.control("queue", "drop", "4").exit == .status(2))
        #expect(try await fixture.control("queue", "drop", "4", "--yes").stdout == "dropped #4\n")
        let gone = try await fixture.control("queue", "drop", "4", "--yes", "--json")
        #expect(try error(fixture, gone).codeName == "entry_not_changeable")

        let once = try await fixture.run(["--once"])
        #expect(once.exit == .status(0), "\(once.stderr)")
        #expect(fixture.server.captures.map(\.url) == ["https://example.com/a"])
        #expect(fixture.server.item(items[0].id)?.summary == "new")
        #expect(fixture.server.item(items[1].id) == nil)
        #expect(try await fixture.control("queue", "--json").stdout.contains(#""total" : 0"#))
    }

    @Test func whatWasNeverSentCollapses() async throws {
        let fixture = try await fixture()
        let made = try fixture.decode(
            WriteReport.self, try await fixture.control("note", "a note", "--json"))
        let id = try #require(made.writes[0].itemID)
        let edited = try fixture.decode(
            WriteReport.self, try await fixture.control("edit", id, "--title", "A title", "--json"))
        #expect(edited.writes[0].behind == 1)
        let deleted = try await fixture.control("delete", id)
        #expect(deleted.exit == .status(0))
        #expect(deleted.stdout.hasPrefix("nothing to send for #3"), "\(deleted)")
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        #expect(fixture.server.appliedWrites.total == 0)
    }

    @Test func droppingACreationDropsWhatIsQueuedBehindIt() async throws {
        let fixture = try await fixture()
        let made = try fixture.decode(
            WriteReport.self, try await fixture.control("capture", "https://example.com/a", "--json"))
        let id = try #require(made.writes[0].itemID)
        #expect(try await fixture.control("edit", id, "--summary", "later").exit == .status(0))
        let report = try fixture.decode(
            DropReport.self, try await fixture.control("queue", "drop", "1", "--yes", "--json"))
        #expect(report.dropped == [1, 2] && report.dependents == [2])
        #expect(try StoreReader(path: fixture.database).summary().outbox.waiting == 0)
    }

    // MARK: What is meant

    @Test(arguments: [true, false])
    func aBeginningOfAnIDIsEnoughIfItIsUnique(isDaemonRunning: Bool) async throws {
        var items = DevItem.generate(count: 6)
        items[0].id = "aaaa1111-0000-4000-8000-000000000001"
        items[1].id = "aaaa2222-0000-4000-8000-000000000002"
        let fixture = try await fixture(items: items)
        let daemon = isDaemonRunning ? try await fixture.startReady() : nil
        let ambiguous = try await fixture.control("edit", "aaaa", "--title", "x", "--json")
        #expect(ambiguous.exit == .status(1))
        let refused = try fixture.decode(WriteReport.self, ambiguous).writes[0].error
        #expect(refused?.codeName == "item_ambiguous")
        #expect(refused?.message.contains(items[0].id) ?? false && refused?.message.contains(items[1].id) ?? false)
        let unknown = try await fixture.control("delete", "aaaa1", "bbbbbbbbbbbbbbbb")
        #expect(unknown.exit == .status(1))
        #expect(unknown.stdout.hasPrefix("queued #1"), "\(unknown)")
        #expect(unknown.stderr.contains("bbbbbbbbbbbbbbbb"), "\(unknown)")
        #expect(try entries(fixture).map(\.itemID) == [items[0].id])
        if let daemon { #expect(try await daemon.terminate() == .status(0)) }
    }

    @Test(arguments: [true, false])
    func theLocalIDOfACaptureDeletesNoItemThatWasThereBefore(isDaemonRunning: Bool) async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0]
        let url = try #require(item.url)
        let first = try await fixture.startReady()
        #expect(try await fixture.control("capture", url, "--wait").exit == .status(0))
        let rows = try await ChildProcess.run("/usr/bin/sqlite3", [fixture.database, "SELECT local_id FROM outbox"])
        let local = String(rows.stdout.dropLast())
        try #require(local.hasPrefix("local-"), "\(rows)")
        #expect(try await first.terminate() == .status(0))
        let daemon = isDaemonRunning ? try await fixture.startReady() : nil
        let ended = try await fixture.control("delete", local)
        #expect(ended.exit == .status(1), "\(ended)")
        #expect(ended.stderr.contains("delete \(item.id)`."), "\(ended)")
        #expect(try entries(fixture).map(\.kind) == [.capture])
        if let daemon { #expect(try await daemon.terminate() == .status(0)) }
    }

    @Test(arguments: ["1", "#1", "59e", "123456"])
    func whatIsNoIDDeletesNothingAndANumberOfTheQueueGetsAHint(text: String) async throws {
        var items = DevItem.generate(count: 3)
        items[0].id = "1aaa1111-0000-4000-8000-000000000001"
        items[1].id = "59ec2222-0000-4000-8000-000000000002"
        let fixture = try await fixture(items: items)
        #expect(try await fixture.control("note", "a write").exit == .status(0))
        let ended = try await fixture.control("delete", text, "--json")
        #expect(ended.exit == .status(1))
        let error = try #require(try fixture.decode(WriteReport.self, ended).writes[0].error)
        #expect(error.codeName == "item_unknown")
        let isWrite = text.hasSuffix("1")
        #expect(error.recoverySuggestion.description.contains("queue show 1`") == isWrite, "\(error)")
        #expect(try entries(fixture).count == 1)
    }

    @Test func aDeletionShowsTheTitleAndOnATerminalAsks() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0]
        func delete(_ words: String...) throws -> TerminalProcess {
            try TerminalProcess(
                BuiltProducts.executable("prsnlctl"), ["--config", fixture.configuration, "delete"] + words,
                environment: ["HOME": fixture.folder.path, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"],
                directory: fixture.folder.path)
        }
        for (answer, exit, total) in [("n", Int32(1), 0), ("y", 0, 1)] {
            let terminal = try delete(String(item.id.prefix(8)))
            try await terminal.waitUntilShown("Delete this item on the server? [y/N]")
            #expect(terminal.shown.contains("\(item.id)  \(item.title)"), "\(terminal.shown)")
            try terminal.type(answer + "\n")
            #expect(try await terminal.waitForExit() == .status(exit))
            #expect(try entries(fixture).count == total)
        }
        let both = try delete(fixture.server.items()[2].id, fixture.server.items()[3].id)
        try await both.waitUntilShown("Delete these 2 items on the server? [y/N]")
        try both.type("n\n")
        #expect(try await both.waitForExit() == .status(1))
        #expect(try await delete("--yes", fixture.server.items()[1].id).waitForExit() == .status(0))
        #expect(try entries(fixture).count == 2)
        let unknown = try delete("ffffffffffff")
        #expect(try await unknown.waitForExit() == .status(1))
        #expect(unknown.shown.contains("no item with the id") && !unknown.shown.contains("[y/N]"), "\(unknown.shown)")
    }

    @Test func anItemThatWasDeletedIsSaidToBe() async throws {
        let fixture = try await fixture()
        let id = fixture.server.items()[0].id
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("delete", id, "--wait").exit == .status(0))
        let again = try await fixture.control("edit", id, "--title", "x", "--json")
        let error = try #require(try fixture.decode(WriteReport.self, again).writes[0].error)
        #expect(error.codeName == "item_unknown" && error.message == "The item \(id) was deleted.", "\(error)")
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aRefusedWriteIsNotCalledDue() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0]
        fixture.server.script(.answer(status: 403, body: "no"), on: .change, times: .max)
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("edit", item.id, "--title", "New").exit == .status(0))
        try await eventually("the refusal") { try entries(fixture)[0].errorCode == "forbidden" }
        let queue = try await eventually("when it is tried again") {
            let text = try await fixture.control("queue").stdout
            return text.contains("next attempt in ") ? text : nil
        }
        #expect(!queue.contains("due now"), "\(queue)")
        let status = try await fixture.control("status")
        #expect(status.exit == .status(4) && status.stdout.contains("1 fails or is refused; #1: "), "\(status)")
        #expect(try await fixture.control("errors").stdout.contains("forbidden at outbox (edit)"))
        #expect(try await fixture.control("doctor").stdout.contains("1 fails or is refused; #1: "))
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func withoutADaemonNothingIsSaidToBeWrittenThatIsNot() async throws {
        let fixture = try await fixture()
        for command in [["capture", "no URL"], ["retry-queue"], ["errors", "--clear"]] {
            let ended = try fixture.startControl(command)
            _ = try await ended.waitForExit()
            #expect(ended.stderr.contains("this is what \(fixture.database) says"), "\(ended.stderr)")
            #expect(!ended.stderr.contains("written to") && !ended.stderr.contains("changed /"), "\(ended.stderr)")
        }
    }

    @Test func aDaemonThatDoesNotAnswerIsSaidToBeSilent() async throws {
        let fixture = try await fixture()
        let daemon = try await fixture.startReady()
        daemon.signal(SIGSTOP)
        async let health = fixture.control("status", "--quiet")
        let queue = try await fixture.control("queue")
        #expect(queue.exit == .status(0))
        #expect(queue.stderr.contains("the daemon is not responding; waiting"), "\(queue.stderr)")
        #expect(queue.stderr.contains("showing data from the file"), "\(queue.stderr)")
        let ill = try await health
        #expect(ill.exit == .status(1) && ill.stderr.contains("did not answer in time"), "\(ill)")
        #expect(!ill.stderr.contains("Start it") && !ill.stderr.contains("showing"), "nothing is shown: \(ill)")
        daemon.signal(SIGCONT)
        #expect(try await daemon.terminate() == .status(0))
    }

    // MARK: What is refused

    @Test(arguments: [true, false])
    func linesThatAreRefusedAreNamedAndTheOthersAccepted(isDaemonRunning: Bool) async throws {
        let fixture = try await fixture()
        let daemon = isDaemonRunning ? try await fixture.startReady() : nil
        fixture.server.refuseConnections()
        let lines = [
            "https://example.com/first",
            "not a URL",
            "",
            #"{"note": "half a pair: \ud800"}"#,
            #"{"note": "the other half: \udc00 "}"#,
            #"{"note": "a whole pair: \ud83d\ude00"}"#,
            #"{"note": "a NUL: \u0000"}"#,
            #"{"note": "fine", "tags": ["work", "\ud83d"]}"#,
            #"{"url": "https://example.com/b", "titel": "misspelt"}"#,
            #"{"url": "https://example.com/c", "type": "auto"}"#,
            #"{"note": "truncated"#,
            "https://example.com/last",
        ]
        let ended = try await fixture.control("capture", "--stdin", "--json", input: lines.joined(separator: "\n"))
        #expect(ended.exit == .status(1))
        let report = try fixture.decode(BatchReport.self, ended)
        #expect(report.lines == 12 && report.accepted == 3 && report.refused == 8)
        #expect(report.refusals.compactMap(\.line).sorted() == [2, 4, 5, 7, 8, 9, 10, 11])
        let reasons = Dictionary(report.refusals.map { ($0.line, $0.error.message) }) { first, _ in first }
        for line in [4, 5, 8] { #expect(reasons[line]?.contains("surrogate") ?? false, "\(reasons)") }
        #expect(reasons[7]?.contains("NUL") ?? false)
        #expect(reasons[9]?.contains("titel") ?? false)
        #expect(reasons[10]?.contains("not one that the server knows") ?? false)
        for line in [2, 4, 5, 7, 8, 9, 10, 11] { #expect(ended.stderr.contains("line \(line): "), "\(ended.stderr)") }
        let accepted = try entries(fixture).sorted { $0.id < $1.id }.map(\.payload)
        #expect(
            accepted == [
                .create(NewItem(url: "https://example.com/first")), .create(NewItem(note: "a whole pair: 😀")),
                .create(NewItem(url: "https://example.com/last")),
            ])
        if let daemon { #expect(try await daemon.terminate() == .status(0)) }
    }

    @Test func whatTheServerWouldRefuseIsRefusedWithFieldAndLength() async throws {
        let fixture = try await fixture()
        let cases: [([String], String)] = [
            (["note", String(repeating: "x", count: 50_001)], "note: 50,001 characters, at most 50,000 are allowed"),
            (["note", "x", "--title", String(repeating: "é", count: 501)], "title: 501 characters, at most 500"),
            (["note", "x", "--tag", "no_underscores"], "tag"),
            (["note", "x", "--title", ""], "The title is empty."),
            (["note", "x", "--title", "   "], "title: it is nothing but white space"),
            (["capture", "ftp://example.com/"], "url: "),
            (["capture", "https://example.com/", "--type", "auto"], "type: not one that the server knows"),
            (["edit", "0", "--summary", String(repeating: "s", count: 5_001)], "summary: 5,001 characters"),
        ]
        for (arguments, words) in cases {
            let child = try fixture.startControl(arguments)
            #expect(try await child.waitForExit() == .status(1), "\(arguments.prefix(2))")
            let talk = child.stderr.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(talk.contains(words), "\(child.stderr)")
            #expect(talk.contains("Nothing was queued."), "\(child.stderr)")
        }
        #expect(try entries(fixture).isEmpty)
    }

    @Test func argumentsThatAreNotUTF8AreAUsageError() async throws {
        let fixture = try await fixture()
        let child = try ChildProcess(
            "/bin/sh",
            [
                "-c", #"exec "$0" --config "$1" note "$(printf 'caf\351')""#,
                try BuiltProducts.executable("prsnlctl"), fixture.configuration,
            ])
        #expect(try await child.waitForExit() == .status(2), "\(child.stderr)")
        let piped = try ChildProcess(
            "/bin/sh",
            [
                "-c", #"printf 'caf\351' | "$0" --config "$1" note -"#, try BuiltProducts.executable("prsnlctl"),
                fixture.configuration,
            ])
        #expect(try await piped.waitForExit() == .status(1))
        #expect(piped.stderr.contains("not UTF-8"), "\(piped.stderr)")
        #expect(try entries(fixture).isEmpty)
    }

    // MARK: Who has the file

    @Test func aDaemonThatStartsWhileCommandsWriteWaitsForThemAndTheyForIt() async throws {
        let fixture = try await fixture()
        // Long ones, so that they are several groups.
        let lines = (1...2_000).map { "https://example.com/\($0)?\(String(repeating: "x", count: 1_000))\n" }
        let many = try fixture.startControl(["capture", "--stdin"], input: lines.joined())
        // Some of the lines have been written, and more are to come.
        try await eventually("the first group") { try StoreReader(path: fixture.database).summary().outbox.waiting > 0 }
        let daemon = try fixture.start()
        let one = try await fixture.control("note", "meanwhile")
        #expect(one.exit == .status(0), "\(one)")
        #expect(try await many.waitForExit() == .status(0), "\(many.stderr)")
        try await eventually("everything to be sent") {
            try StoreReader(path: fixture.database).summary().outbox.waiting == 0
        }
        #expect(fixture.server.captures.count == 2_001)
        #expect(Set(fixture.server.captures.map { $0.url ?? "" }).count == 2_001)
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aCommandWaitsForADaemonThatIsStarting() async throws {
        let fixture = try await fixture()
        // Each daemon is hardly there when it is asked.
        for number in 1...5 {
            let daemon = try fixture.start()
            let ended = try await fixture.control("capture", "https://example.com/\(number)")
            #expect(ended.exit == .status(0), "\(ended)")
            try await eventually("the daemon to run") { daemon.stderr.contains("prsnld \(ProductVersion.current)") }
            #expect(try await daemon.terminate() == .status(0), "\(daemon.stderr)")
        }
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        #expect(fixture.server.captures.count == 5)
    }

    /// The file is open only while lines are written.
    @Test func whoTypesLinesKeepsNoDaemonFromStarting() async throws {
        let fixture = try await fixture()
        let pipe = fixture.folder.file("lines")
        try #require(mkfifo(pipe, 0o600) == 0)
        let typing = try ChildProcess(
            "/bin/sh",
            [
                "-c", "exec \"$0\" --config \"$1\" capture --stdin <\"$2\"", BuiltProducts.executable("prsnlctl"),
                fixture.configuration, pipe,
            ])
        defer { typing.signal(SIGKILL) }
        let keyboard = open(pipe, O_WRONLY)
        try #require(keyboard >= 0)
        defer { close(keyboard) }
        for number in 1...2 {
            let line = "https://example.com/\(number)\n"
            try #require(write(keyboard, line, line.utf8.count) == line.utf8.count)
            try await eventually("line \(number) to be on the disk") {
                try StoreReader(path: fixture.database).summary().outbox.waiting == number
            }
            try await eventually("the file to be free") { (try? DatabaseLock(database: fixture.database)) != nil }
        }
    }
}
