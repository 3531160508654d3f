import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// Writes on their route to a server that answers, in every dialect.
@Suite struct ReplayTests {
    @Test(arguments: [Dialect.cursor, .page, .express])
    func offlineWritesAreShownAtOnceAndArriveOnce(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 5, seed: 1))
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.pull()
        let ids = fixture.server.items().map(\.id)
        fixture.server.refuseConnections()
        let written = try await fixture.accept([
            .url("https://example.org/a", title: "A", tags: ["x"]), .note("Some text of a note"),
            .edit(item: ids[0], ItemEdit(title: "Edited here")), .delete(item: ids[1]),
        ])
        #expect(written.map(\.entry) == [1, 2, 3, 4])
        let shown = try fixture.shown()
        #expect(shown.contains("A (creation)"))
        #expect(shown.contains("Some text of a note (creation)"))
        #expect(shown.contains("Edited here (edit)"))
        #expect(shown.count == 6)
        _ = try await fixture.pull()
        #expect(try fixture.states() == [.queued, .queued, .queued, .queued])
        try fixture.server.acceptConnections()
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .delivered, .delivered, .delivered])
        #expect(try fixture.query("SELECT count(request_id) FROM outbox_attempt WHERE verdict = 'delivered'") == "4")
        fixture.server.settle()
        fixture.time.advance(by: .seconds(60))
        try await fixture.pull(full: true)
        try fixture.expectExact()
        try fixture.expectSound()
        #expect(fixture.server.items().count == 6)
        #expect(try !fixture.shown().contains { $0.hasSuffix(")") })
    }

    @Test func anOfflineItemThatIsEditedAndDeletedCollapsesToNothing() async throws {
        let fixture = try PullFixture()
        let made = try await fixture.accept(.note("First words", tags: ["a"]))
        let edited = try await fixture.accept(.edit(item: made.itemID, ItemEdit(title: "Named", tags: ["b"])))
        #expect(edited.behind == 1)
        #expect(try fixture.shown() == ["Named (creation)"])
        let deleted = try await fixture.accept(.delete(item: String(made.itemID.prefix(14))))
        #expect(deleted.state == .superseded)
        try await fixture.pull()
        #expect(fixture.server.requests(.write).isEmpty)
        #expect(try fixture.shown() == [])
        #expect(try fixture.states() == [.superseded, .superseded, .superseded])
        try fixture.expectSound()
    }

    @Test func editsAndDeletionsFollowTheirCreationUnderTheServersID() async throws {
        let fixture = try PullFixture()
        fixture.server.setQuirks { $0.patchFails = false }
        let made = try await fixture.accept(.url("https://example.org/a"))
        let edit = try await fixture.accept(.edit(item: made.itemID, ItemEdit(summary: "Read this")))
        #expect(edit.behind == 1)
        try await fixture.pull()
        // The server would overwrite it while it works on the item.
        #expect(try fixture.states() == [.delivered, .queued])
        fixture.server.settle()
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .delivered])
        let item = try #require(fixture.server.items().first)
        #expect(item.summary == "Read this")
        // The local id goes on to name the item.
        try await fixture.accept(.delete(item: made.itemID))
        #expect(try fixture.shown() == [])
        try await fixture.pull()
        #expect(fixture.server.itemCount == 0)
        try fixture.expectSound()
    }

    @Test func aURLThatWasThereAlreadyIsDeliveredAndItsDifferencesFollow() async throws {
        let fixture = try PullFixture()
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.accept(.url("https://example.org/a", title: "First", tags: ["x"]))
        try await fixture.pull()
        fixture.server.settle()
        fixture.time.advance(by: .seconds(3_600))
        try await fixture.pull()
        #expect(fixture.server.items().map(\.title) == ["First"])
        try await fixture.accept(.url("https://example.org/a", title: "Second", tags: ["y"]))
        try await fixture.pull()
        #expect(
            try fixture.outbox() == [
                "#1 capture delivered", "#2 edit delivered",
                "#3 capture delivered was already there", "#4 edit delivered",
            ])
        #expect(fixture.server.items().map(\.title) == ["Second"])
        #expect(fixture.server.items().map { Set($0.tags) } == [["x", "y"]])
        try fixture.expectSound()
    }

    @Test func anEditMadeElsewhereIsNotOverwrittenUnasked() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 3, seed: 1))
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.pull()
        let id = fixture.server.items()[0].id
        try await fixture.accept(.edit(item: id, ItemEdit(title: "Ours")))
        fixture.server.edit(id) { $0.title = "Theirs" }
        try await fixture.pull()
        #expect(try fixture.outbox() == ["#1 edit parked edit_conflict"])
        #expect(fixture.server.item(id)?.title == "Theirs")
        #expect(try StoreReader(path: fixture.path).outboxEntry(1).entry.theirs == ItemEdit(title: "Theirs"))
        // Asked again for all parked ones, it is compared again and not forced.
        fixture.time.advance(by: .seconds(60))
        try await fixture.withEngine { engine, store in
            let outcome = try await store.retry(nil, parked: true, dryRun: false, now: fixture.time.now)
            #expect(outcome.touched == 1)
            _ = await engine.runOnce()
            #expect(try fixture.outbox() == ["#1 edit parked edit_conflict"])
            fixture.time.advance(by: .seconds(60))
            _ = try await store.retry([1], parked: false, dryRun: false, now: fixture.time.now)
            _ = await engine.runOnce()
        }
        #expect(try fixture.outbox() == ["#1 edit delivered"])
        #expect(fixture.server.item(id)?.title == "Ours")
        try fixture.expectSound()
    }

    @Test func aServerThatFailsOnEveryEditIsAskedEightTimesOverADay() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 3, seed: 1))
        try await fixture.pull()
        let id = fixture.server.items()[0].id
        try await fixture.accept(.edit(item: id, ItemEdit(title: "Never accepted")))
        try await fixture.run(for: .seconds(86_400))
        #expect(try fixture.states() == [.queued])
        try await fixture.run(for: .seconds(86_400))
        #expect(try fixture.outbox() == ["#1 edit parked server_error"])
        let sent = fixture.server.requests(.write)
        #expect(sent.count == 8)
        try fixture.expectSound()
    }

    @Test func theServersPaceIsLearntFromItsFirstRefusal() async throws {
        let fixture = try PullFixture()
        try await fixture.accept((0..<300).map { .url("https://example.org/\($0)") })
        let start = fixture.time.elapsed
        try await fixture.run(for: .seconds(11 * 60))
        #expect(fixture.server.requests(.capture).filter { $0.status == 429 }.count == 1)
        #expect(try fixture.states().allSatisfy { $0 == .delivered })
        #expect(fixture.time.elapsed - start <= .seconds(11 * 60))
        try fixture.expectSound()
    }

    @Test func aRefusedLoginStopsTheQueueAndCostsNothing() async throws {
        let fixture = try PullFixture()
        try await fixture.pull()
        try await fixture.accept(.url("https://example.org/a"))
        fixture.server.expireTokens()
        let old = fixture.credentials
        fixture.server.expireTokens()
        try await fixture.pull(credentials: old)
        #expect(try fixture.states() == [.queued])
        #expect(fixture.server.requests(.write).isEmpty)
        #expect(try fixture.query("SELECT failures FROM outbox") == "0")
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered])
    }

    @Test func refusedInputIsParkedAndBlocksNothingElse() async throws {
        let fixture = try PullFixture()
        fixture.server.script(
            .answer(status: 422, body: #"{"detail":[{"loc":["body","url"],"msg":"no good"}]}"#), on: .capture)
        try await fixture.accept([.url("https://example.org/a"), .url("https://example.org/b")])
        try await fixture.pull()
        #expect(try fixture.outbox() == ["#1 capture parked invalid_input", "#2 capture delivered"])
        let shown = try fixture.shown()
        #expect(shown.contains("https://example.org/a (creation)"))
        // Dropping it takes it out of the timeline.
        let store = try Store(path: fixture.path)
        _ = try await store.drop([1], withDependents: false, dryRun: false, now: fixture.time.now)
        await store.close()
        #expect(try fixture.shown().count == 1)
        try fixture.expectSound()
    }
}
