import Commands
import DevServer
import PRSNLCore
import Requests
import TestSupport
import Testing

/// Deleted items are listed, shown and captured again; the last command is taken back.
@Suite struct TrashCommandTests {
    private func fixture() async throws -> DaemonFixture {
        var items = DevItem.generate(count: 4)
        items[0].url = "https://example.org/kept"
        items[0].tags = ["later", "rust"]
        let fixture = try DaemonFixture(items: items, WriteScene.makeQuick)
        try fixture.configure("lookup_interval = 1s")
        let first = try await fixture.run(["--once"])
        try #require(first.exit == .status(0), "\(first.stderr)")
        return fixture
    }

    private func item(_ fixture: DaemonFixture) throws -> DevItem {
        try #require(fixture.server.items().first { $0.url == "https://example.org/kept" })
    }

    @Test func aDeletedItemIsListedShownAndCapturedAgainOnce() async throws {
        let fixture = try await fixture()
        let item = try item(fixture)
        let elsewhere = try #require(fixture.server.items().last { $0.id != item.id }).id
        let daemon = try await fixture.startReady()
        let delete = try await fixture.control("delete", item.id, "--wait")
        #expect(delete.exit == .status(0), "\(delete)")
        fixture.server.delete(elsewhere)
        let sync = try await fixture.control("sync", "--full", "--wait")
        #expect(sync.exit == .status(0), "\(sync)")
        let list = try await fixture.control("list", "--deleted")
        #expect(
            list.exit == .status(0) && list.stdout.contains("here (#1)") && list.stdout.contains("elsewhere"), "\(list)"
        )
        #expect(list.stdout.split(separator: "\n").count == 2)
        let show = try await fixture.control("show", String(item.id.prefix(8)))
        #expect(show.exit == .status(0) && show.stdout.contains(item.title), "\(show)")
        #expect(show.stdout.contains("restore \(item.id)"), "\(show)")
        let shown = try fixture.decode(ItemReport.self, try await fixture.control("show", elsewhere, "--json"))
        #expect(shown.deletion?.by == "elsewhere" && shown.deletion?.entry == nil)
        for _ in 0..<2 {
            let restore = try await fixture.control("restore", String(item.id.prefix(8)), "--wait")
            #expect(restore.exit == .status(0), "\(restore)")
        }
        #expect(fixture.server.captures.count == 1)
        // Where that is deleted too, it is captured once more.
        #expect(try await fixture.control("delete", fixture.server.captures[0].id, "--wait").exit == .status(0))
        #expect(try await fixture.control("restore", item.id, "--wait").exit == .status(0))
        #expect(fixture.server.captures.count == 2)
        let again = try self.item(fixture)
        #expect(again.id != item.id && Set(again.tags) == ["later", "rust"])
        let unknown = try await fixture.control("restore", "ffffffff")
        #expect(unknown.exit == .status(1) && unknown.stderr.contains("--deleted"), "\(unknown)")
        #expect(try await daemon.terminate() == .status(0))
    }

    /// The server shows a note at once, and its text only when it has worked on it.
    @Test func aNoteThatTheServerStillWorksOnIsNotLost() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 2)) {
            WriteScene.makeQuick(&$0)
            $0.settling = .after(.seconds(3_600))
        }
        let daemon = try await fixture.startReady()
        let note = try await fixture.control("note", "giraffe alpha text", "--wait")
        #expect(note.exit == .status(0), "\(note)")
        #expect(try await fixture.control("sync", "--wait").exit == .status(0))
        let id = try #require(fixture.server.captures.first).id
        let shown = try fixture.decode(ItemReport.self, try await fixture.control("show", id, "--json"))
        #expect(shown.content == "giraffe alpha text" && shown.textState == .written, "\(shown)")
        #expect(try await fixture.control("delete", id, "--wait").exit == .status(0))
        let restore = try await fixture.control("restore", id, "--wait")
        #expect(restore.exit == .status(0), "\(restore)")
        #expect(fixture.server.captures.map(\.content) == ["giraffe alpha text", "giraffe alpha text"])
        #expect(try await daemon.terminate() == .status(0))
    }

    /// No server writes a new one. And what was restored is not offered again.
    @Test func aRestoredItemKeepsItsSummary() async throws {
        let fixture = try await fixture()
        let item = try item(fixture)
        fixture.server.edit(item.id) { $0.summary = "Why it matters" }
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("sync", "--full", "--wait").exit == .status(0))
        #expect(try await fixture.control("delete", item.id, "--wait").exit == .status(0))
        for _ in 0..<2 {
            let restore = try await fixture.control("restore", item.id, "--wait")
            #expect(restore.exit == .status(0) && !restore.stderr.contains("summary"), "\(restore)")
        }
        let again = try self.item(fixture)
        #expect(again.id != item.id && again.summary == "Why it matters")
        #expect(fixture.server.captures.count == 1)
        let show = try await fixture.control("show", item.id)
        #expect(
            show.stdout.contains("restored as") && show.stdout.contains(again.id)
                && !show.stdout.contains("prsnlctl restore"), "\(show)")
        #expect(try await daemon.terminate() == .status(0))
    }

    /// Its values came from the server, or from another client of it: there is none that a person could correct.
    @Test(arguments: Dialect.allCases)
    func whatTheServerDoesNotTakeIsLeftOutAndNamed(_ dialect: Dialect) async throws {
        var items = DevItem.generate(count: 4)
        items[0].url = "https://example.org/kept"
        (items[0].title, items[0].tags) = (" ", ["later", "k\u{FC}che", "node.js", "a\u{1B}b"])
        items[0].summary = String(repeating: "s", count: 5_001)
        let fixture = try DaemonFixture(items: items, dialect: dialect, WriteScene.makeQuick)
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        let item = try item(fixture)
        #expect(try await fixture.control("delete", item.id, "--wait").exit == .status(0))
        let restore = try await fixture.control("restore", item.id, "--wait")
        #expect(restore.exit == .status(0), "\(restore)")
        #expect(restore.stderr.contains("5,001 characters") && !restore.stderr.contains("Change the value"))
        #expect(restore.stderr.contains("k\u{FC}che, node.js") == (dialect != .express), "\(restore)")
        #expect(!restore.stderr.contains("\u{1B}"))
        #expect(try await fixture.control("restore", item.id, "--wait").exit == .status(0))
        #expect(fixture.server.captures.count == 1)
        #expect(try self.item(fixture).tags.count == (dialect == .express ? 4 : 1))
        #expect(try await daemon.terminate() == .status(0))
    }

    /// The small server makes neither text nor summary, and takes both.
    @Test func theSmallServerGetsTextAndSummaryBack() async throws {
        var items = DevItem.generate(count: 4)
        items[0].url = "https://example.org/kept"
        (items[0].content, items[0].summary) = (String(repeating: "word ", count: 2_000), "Why it matters")
        let fixture = try DaemonFixture(items: items, dialect: .express, WriteScene.makeQuick)
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        let item = try item(fixture)
        #expect(try await fixture.control("delete", item.id, "--wait").exit == .status(0))
        let restore = try await fixture.control("restore", item.id, "--wait")
        #expect(restore.exit == .status(0) && !restore.stderr.contains("reads the page"), "\(restore)")
        let again = try self.item(fixture)
        #expect(again.id != item.id && again.content == item.content && again.summary == item.summary)
        #expect(try await daemon.terminate() == .status(0))
    }

    /// The other servers take no text with an address.
    @Test func itIsSaidThatThePageIsReadAgain() async throws {
        let fixture = try await fixture()
        let item = try item(fixture)
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("delete", item.id, "--wait").exit == .status(0))
        let restore = try await fixture.control("restore", item.id)
        #expect(restore.exit == .status(0) && restore.stderr.contains("reads the page"), "\(restore)")
        #expect(try await daemon.terminate() == .status(0))
    }

    /// What is left of it here is a text, and the person learns where.
    @Test func anItemThatTheServerDoesNotTakeAtAllIsSaidToBeStillHere() async throws {
        var items = DevItem.generate(count: 4)
        (items[0].url, items[0].content) = (nil, String(repeating: "t", count: 50_001))
        let fixture = try DaemonFixture(items: items, dialect: .express, WriteScene.makeQuick)
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        let id = try #require(fixture.server.items().first { $0.content?.utf8.count == 50_001 }).id
        #expect(try await fixture.control("delete", id, "--wait").exit == .status(0))
        let restore = try await fixture.control("restore", id)
        #expect(restore.exit == .status(1) && restore.stderr.contains("50,001 characters"), "\(restore)")
        #expect(restore.stderr.contains(" show \(id)`") && !restore.stderr.contains("Change the value"))
        #expect(try await daemon.terminate() == .status(0))
    }

    /// Both writes of the command.
    @Test func undoTakesARestoredItemBackWithItsSummary() async throws {
        let fixture = try await fixture()
        let item = try item(fixture)
        fixture.server.edit(item.id) { $0.summary = "Why it matters" }
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("sync", "--full", "--wait").exit == .status(0))
        #expect(try await fixture.control("delete", item.id, "--wait").exit == .status(0))
        #expect(try await daemon.terminate() == .status(0))
        #expect(try await fixture.control("restore", item.id).exit == .status(0))
        let undo = try await fixture.control("undo")
        #expect(undo.exit == .status(0) && undo.stdout.contains("#2") && undo.stdout.contains("#3"), "\(undo)")
        #expect(try await fixture.control("queue").stdout.contains("The queue is empty."))
    }

    /// Its text was another one by then.
    @Test func anOutdatedTextOfADeletedItemIsSaidToBe() async throws {
        var items = DevItem.generate(count: 4)
        for number in items.indices { items[number].url = nil }
        let fixture = try DaemonFixture(items: items) {
            WriteScene.makeQuick(&$0)
            $0.texts = DevServer.TextPlan(bytes: 100...200, seed: 3)
        }
        try fixture.configure("texts = yes")
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        let id = fixture.server.items()[1].id
        fixture.server.edit(id) { $0.title = "Changed" }
        try fixture.configure("texts = no")
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        let daemon = try await fixture.startReady()
        #expect(try await fixture.control("sync", "--full", "--wait").exit == .status(0))
        #expect(try await fixture.control("delete", id, "--wait").exit == .status(0))
        let shown = try fixture.decode(ItemReport.self, try await fixture.control("show", id, "--json"))
        #expect(shown.textState == .outdated && shown.deletion != nil, "\(shown)")
        let restore = try await fixture.control("restore", id, "--wait")
        #expect(restore.exit == .status(0) && restore.stderr.contains("this is an older one"), "\(restore)")
        #expect(try await daemon.terminate() == .status(0))
    }

    /// A server whose worker is dead calls each note "Untitled", and never has its text.
    @Test func aNoteThatTheServerNeverProcessesKeepsItsWords() async throws {
        let fixture = try DaemonFixture(items: DevItem.generate(count: 2)) {
            WriteScene.makeQuick(&$0)
            $0.settling = .after(.seconds(3_600))
            $0.quirks.untitledWhilePending = true
        }
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        #expect(try await fixture.control("note", "Giraffes of the north\nsleep standing", "--wait").exit == .status(0))
        #expect(try await fixture.control("sync", "--wait").exit == .status(0))
        let id = try #require(fixture.server.captures.first).id
        #expect(fixture.server.items().first { $0.id == id }?.title == "Untitled")
        for command in [["list"], ["changes"], ["show", id], ["export", "--format", "jsonl", "-"]] {
            let ended = try await fixture.control(command)
            #expect(
                ended.stdout.contains("Giraffes of the north") && !ended.stdout.contains("Untitled"), "\(ended)")
        }
        #expect(try await fixture.control("export", "--format", "jsonl", "-").stdout.contains("sleep standing"))
        #expect(try await fixture.control("export", fixture.folder.file("vault")).exit == .status(0))
        let files = try await ChildProcess.run("/bin/grep", ["-rl", "sleep standing", fixture.folder.file("vault")])
            .stdout
        #expect(files.contains("Giraffes of the north"), "\(files)")
        try await eventually("the index") {
            try await fixture.control("search", "standing").stdout.contains("Giraffes")
        }
        // A server that goes on so is no better for saying that it is done.
        fixture.server.edit(id) { $0.status = "completed" }
        #expect(try await fixture.control("sync", "--full", "--wait").exit == .status(0))
        #expect(try await fixture.control("list").stdout.contains("Giraffes of the north"))
        // Then the server's own title counts, and white space is none.
        for title in ["Theirs", " \t "] {
            fixture.server.edit(id) { $0.title = title }
            #expect(try await fixture.control("sync", "--full", "--wait").exit == .status(0))
            let list = try await fixture.control("list").stdout
            #expect(list.contains(title == "Theirs" ? "Theirs" : "Giraffes of the north"), "\(list)")
        }
        #expect(try await daemon.terminate() == .status(0))
    }

    @Test func aTitleOfWhiteSpaceIsNone() async throws {
        var items = DevItem.generate(count: 1)
        (items[0].title, items[0].url) = (" \u{3000} ", nil)
        let fixture = try DaemonFixture(items: items)
        #expect(try await fixture.run(["--once"]).exit == .status(0))
        for command in [["list"], ["show", items[0].id]] {
            #expect(try await fixture.control(command).stdout.contains("(no title)"))
        }
    }

    @Test func aDeletionThatWaitsIsTakenBack() async throws {
        let fixture = try await fixture()
        let item = try item(fixture)
        #expect(try await fixture.control("delete", item.id).exit == .status(0))
        let list = try await fixture.control("list", "--deleted")
        #expect(list.stdout.contains("(waits to be deleted (#1))"), "\(list)")
        let restore = try await fixture.control("restore", item.id)
        #expect(restore.exit == .status(0) && restore.stdout == "dropped #1\n", "\(restore)")
        #expect(restore.stderr.contains("\(item.id.prefix(8)) stays"), "\(restore)")
        #expect(try await fixture.control("show", item.id).stdout.contains("https://example.org/kept"))
        #expect(try await fixture.control("list", "--deleted").stdout.isEmpty)
    }

    /// An error of the server says as little as a lost answer.
    @Test func aDeletionThatMayHaveReachedTheServerIsNotTakenBack() async throws {
        let fixture = try await fixture()
        let item = try item(fixture)
        fixture.server.script(.answer(status: 500, body: "{}"), on: RequestMatcher { $0.method == "DELETE" })
        #expect(try await fixture.control("delete", item.id).exit == .status(0))
        _ = try await fixture.run(["--once"])
        #expect(fixture.server.item(item.id) != nil)
        let restore = try await fixture.control("restore", item.id)
        #expect(restore.exit == .status(1) && restore.stdout.isEmpty, "\(restore)")
        #expect(restore.stderr.contains("The deletion #1 of \(item.id) may have"), "\(restore)")
        let undo = try await fixture.control("undo")
        #expect(undo.exit == .status(1), "\(undo)")
        #expect(undo.stdout.contains("sent already, being sent, or sent in part: #1 delete"), "\(undo)")
        #expect(undo.stdout.contains("a deletion can be reversed once it is delivered"), "\(undo)")
    }

    @Test func theLastCommandIsTakenBackOrSaysWhatDoesTheOpposite() async throws {
        let fixture = try await fixture()
        let item = try item(fixture)
        #expect(try await fixture.control("undo").stdout == "There is no command to take back.\n")
        #expect(try await fixture.control("note", "A note").exit == .status(0))
        let undo = try await fixture.control("undo")
        #expect(undo.exit == .status(0) && undo.stdout == "taken back: #1 note A note\n", "\(undo)")
        let daemon = try await fixture.startReady()
        let edit = try await fixture.control("edit", item.id, "--title", "New title", "--wait")
        #expect(edit.exit == .status(0), "\(edit)")
        let sent = try await fixture.control("undo")
        #expect(sent.exit == .status(1), "\(sent)")
        #expect(
            sent.stdout.contains("prsnlctl") && sent.stdout.contains("edit \(item.id) --title '\(item.title)'"),
            "\(sent)")
        #expect(try await fixture.control("delete", item.id, "--wait").exit == .status(0))
        let report = try fixture.decode(UndoReport.self, try await fixture.control("undo", "--json"))
        #expect(!report.undone && report.count == 1 && report.offers.count == 1)
        #expect(try await daemon.terminate() == .status(0))
    }
}
