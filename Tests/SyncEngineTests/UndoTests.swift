import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// After `undo`, the file says what it said before the command.
@Suite struct UndoTests {
    private static let seed = SeededRandom("UndoTests").seed
    private static let runs = LongSearch.cases(20, of: 500)

    private func fixture(count: Int = 3) async throws -> PullFixture {
        let fixture = try PullFixture(items: DevItem.generate(count: count)) {
            $0.quirks.patchFails = false
            $0.quirks.capturesPerMinute = nil
        }
        try await fixture.pull()
        return fixture
    }

    private func undo(_ fixture: PullFixture) async throws -> UndoOutcome {
        let store = try Store(path: fixture.path)
        let outcome = try await store.undo(now: fixture.time.now)
        await store.close()
        return outcome
    }

    /// All that people and the replayer go by, but for times that were set again.
    private func snapshot(_ fixture: PullFixture) throws -> [String] {
        try fixture.list(
            """
            SELECT 'open ' || json_array(id, kind, state, item_id, payload, base, follows, next_attempt_at IS NULL, awaits_item)
                FROM outbox WHERE ended_at IS NULL
            UNION ALL SELECT 'made ' || json_array(entry_id, id, created_at, title, url, content, tags) FROM local_item
            UNION ALL SELECT 'edit ' || json_array(item_id, title, summary, tags, is_deleted) FROM local_edit
            UNION ALL SELECT 'shown ' || json_array(id, title, tags, pending) FROM timeline
            UNION ALL SELECT 'counts ' || json_array(waiting, parked, unknown, live, deleted) FROM copy
            ORDER BY 1
            """)
    }

    @Test(arguments: 0..<5)
    func theFileIsAsItWasBefore(_ part: Int) async throws {
        for run in 0..<Self.runs {
            let seed = Self.seed &+ UInt64(part * Self.runs + run)
            var random = SeededRandom(seed: seed)
            let fixture = try await fixture()
            let store = try Store(path: fixture.path)
            var story = ["seed \(seed)"]
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let before = try snapshot(fixture)
                let last = try fixture.query("SELECT max(id) FROM outbox")
                fixture.time.advance(by: .seconds(1))
                let drafts = try (0..<Int.random(in: 1...2, using: &random)).map { _ in try draft(fixture, &random) }
                story.append("\(drafts)")
                _ = try await store.accept(drafts, now: fixture.time.now)
                // A deletion that waits already is no new write.
                guard try fixture.query("SELECT max(id) FROM outbox") != last, Bool.random(using: &random) else {
                    continue
                }
                fixture.time.advance(by: .seconds(1))
                let outcome = try await store.undo(now: fixture.time.now)
                story.append("undone \(outcome.writes.map(\.entry)), again \(outcome.revived)")
                #expect(outcome.taken > 0 && outcome.taken == outcome.count)
                let after = try snapshot(fixture)
                #expect(after == before, "\(story.joined(separator: "\n"))")
                if after != before { return await store.close() }
            }
            await store.close()
            try fixture.expectSound()
        }
    }

    private func draft(_ fixture: PullFixture, _ random: inout SeededRandom) throws -> WriteDraft {
        let number = Int.random(in: 1...1_000, using: &random)
        let item = try fixture.list("SELECT id FROM timeline ORDER BY created_at, id").randomElement(using: &random)
        guard let item, Int.random(in: 0..<3, using: &random) > 0 else {
            return Bool.random(using: &random)
                ? .url("https://example.org/\(number)", title: "T \(number)", tags: ["a"]) : .note("Note \(number)")
        }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return .delete(item: item)
        case 1: return .edit(item: item, ItemEdit(title: "Title \(number)", tags: ["x", "y"]))
        case 2: return .edit(item: item, ItemEdit(summary: "S \(number)"))
        default: return .edit(item: item, ItemEdit(tagChange: TagChange(added: ["t\(number)"], removed: ["x"])))
        }
    }

    @Test func aCommandIsTakenBackAsAWholeAndThenTheOneBefore() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.note("First"))
        fixture.time.advance(by: .seconds(1))
        try await fixture.accept([.note("Second"), .note("Third")])
        #expect(try await undo(fixture).writes.map(\.entry) == [2, 3])
        #expect(try await undo(fixture).writes.map(\.entry) == [1])
        let none = try await undo(fixture)
        #expect(none.count == 0 && none.taken == 0)
        try await fixture.carryAll()
        #expect(fixture.server.captures.isEmpty)
        try fixture.expectSound()
    }

    @Test func whatTheServerMayHaveIsNotTakenBack() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.note("Delivered"))
        try await fixture.carryAll()
        let delivered = try await undo(fixture)
        #expect(delivered.taken == 0 && delivered.kept.map(\.state) == [.delivered])
        fixture.time.advance(by: .seconds(1))
        try await fixture.accept([.note("Lost"), .note("Waits")])
        fixture.server.script(.closeAfterApplying, on: .change, times: 1)
        try await fixture.pull()
        let lost = try await undo(fixture)
        #expect(lost.count == 2 && lost.taken == 0)
        // Of a command that is under way, the rest is stopped.
        fixture.time.advance(by: .seconds(1))
        try await fixture.accept([.note("Goes"), .note("Is stopped")])
        let before = fixture.server.captures.count
        fixture.server.script(.rateLimit(.seconds(600)), on: .capture, times: .max, skip: 1)
        try await fixture.pull()
        let stopped = try await undo(fixture)
        #expect(stopped.count == 2 && stopped.taken == 1 && stopped.kept.map(\.entry) == [4])
        fixture.server.removeFaults()
        try await fixture.carryAll()
        #expect(fixture.server.captures.count == before + 1)
        try fixture.expectSound()
    }

    @Test func anEditThatItReplacedIsDeliveredAfterAll() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Kept")))
        fixture.time.advance(by: .seconds(1))
        try await fixture.accept(.delete(item: item))
        #expect(try await undo(fixture).revived == [1])
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Kept")
        try fixture.expectSound()
    }
}

/// What an independent tester found: the way back from `superseded`.
@Suite struct RevivalTests {
    private func fixture() async throws -> PullFixture {
        let fixture = try PullFixture(items: DevItem.generate(count: 3)) { $0.quirks.patchFails = false }
        try await fixture.pull()
        return fixture
    }

    private func store<Result: Sendable>(
        _ fixture: PullFixture, _ body: (Store) async throws -> Result
    ) async throws -> Result {
        let store = try Store(path: fixture.path)
        let result = try await body(store)
        await store.close()
        return result
    }

    @Test func aDroppedDeletionLetsTheEditsGoThatItHadReplaced() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine")))
        fixture.time.advance(by: .seconds(1))
        try await fixture.accept(.delete(item: item))
        let now = fixture.time.now
        let outcome = try await store(fixture) {
            try await $0.drop([2], withDependents: false, dryRun: false, now: now)
        }
        #expect(outcome.revived == [1])
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Mine")
        try fixture.expectSound()
    }

    /// Neither a retry, which forgets failures, nor a conflict that was found before a send, says by its counters what it was.
    @Test func anEntryIsWhatItWasBefore() async throws {
        let fixture = try await fixture()
        let ids = fixture.server.items().map(\.id)
        let busy = Fault.answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#)
        let fault = fixture.server.script(
            busy, on: .path("/api/items/\(ids[0])").and { $0.method == "PATCH" }, times: .max)
        try await fixture.accept([
            .edit(item: ids[0], ItemEdit(title: "Retried")), .edit(item: ids[1], ItemEdit(title: "In conflict")),
        ])
        fixture.server.edit(ids[1]) { $0.title = "Theirs" }
        try await fixture.pull()
        #expect(try fixture.states() == [.queued, .parked])
        fixture.time.advance(by: .seconds(60))
        let now = fixture.time.now
        _ = try await store(fixture) { try await $0.retry([1], parked: false, dryRun: false, now: now) }
        try await fixture.accept([.delete(item: ids[0]), .delete(item: ids[1])])
        #expect(try fixture.states() == [.queued, .parked, .queued, .queued])
        let outcome = try await store(fixture) { try await $0.undo(now: now) }
        #expect(outcome.taken == 2 && outcome.revived.sorted() == [1, 2])
        #expect(try fixture.states() == [.queued, .parked, .dropped, .dropped])
        fault.remove()
        try await fixture.carryAll()
        #expect(fixture.server.item(ids[0])?.title == "Retried" && fixture.server.item(ids[1])?.title == "Theirs")
        try fixture.expectSound()
    }

    /// The item of an edit that waits behind it will never be there.
    @Test func anEditOfACreationThatIsGivenUpGoesWithIt() async throws {
        let fixture = try await fixture()
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        fixture.server.script(.answer(status: 500, body: #"{"detail":"no"}"#), on: .checkDuplicate)
        let capture = try await fixture.accept(.url("https://example.org/a"))
        try await fixture.pull()
        try #require(try fixture.states() == [.unknown])
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(title: "Mine")))
        try await fixture.accept(.delete(item: capture.itemID))
        let now = fixture.time.now
        let outcome = try await store(fixture) {
            try await $0.drop([1], withDependents: true, dryRun: false, now: now)
        }
        #expect(outcome.dropped == [1, 2, 3] && outcome.revived == [] && outcome.maybeApplied == [1])
        #expect(try fixture.states() == [.dropped, .dropped, .dropped])
        try fixture.expectSound()
    }

    /// An error after the item was deleted says as little as a lost answer, and a cache still shows the item.
    @Test(arguments: [500, 502]) func aDeletionThatMayHaveBeenAppliedIsNotTakenBack(_ status: Int) async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        fixture.server.setQuirks { $0.itemCache = .seconds(1_800) }
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: fixture.credentials),
            time: fixture.time.source, seed: 7)
        defer { client.shutdown() }
        try #require(try await client.session().item(item) != nil)
        fixture.server.script(
            .answerAfterApplying(status: status, body: "{}"), on: RequestMatcher { $0.method == "DELETE" })
        try await fixture.accept(.delete(item: item))
        _ = try await fixture.withEngine { engine, _ in await engine.runOnce() }
        let now = fixture.time.now
        let undone = try await store(fixture) { try await $0.undo(now: now) }
        #expect(undone.taken == 0 && undone.kept.map(\.entry) == [1])
        let dropped = try await store(fixture) {
            try await $0.drop([1], withDependents: false, dryRun: true, now: now)
        }
        #expect(dropped.maybeApplied == [1])
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered])
        try fixture.expectSound()
    }

    /// Edits that a deletion had replaced are not given up with it, whether or not the server has carried it out.
    @Test(arguments: [false, true]) func aDeletionThatIsGivenUpLeavesTheEditsBeforeIt(_ isApplied: Bool) async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        try await fixture.accept([.edit(item: item, ItemEdit(title: "Mine")), .delete(item: item)])
        fixture.server.script(
            isApplied ? .answerAfterApplying(status: 500, body: "{}") : .answer(status: 500, body: "{}"),
            on: RequestMatcher { $0.method == "DELETE" }, times: .max)
        // Nor can it be found out.
        fixture.server.script(
            .answer(status: 500, body: "{}"), on: RequestMatcher { $0.method == "GET" && $0.path.hasSuffix(item) },
            times: .max)
        _ = try await fixture.withEngine { engine, _ in await engine.runOnce() }
        let now = fixture.time.now
        let outcome = try await store(fixture) {
            try await $0.drop([2], withDependents: false, dryRun: false, now: now)
        }
        #expect(outcome.maybeApplied == [2] && outcome.revived == [1])
        fixture.server.removeFaults()
        try await fixture.carryAll()
        #expect(try fixture.states() == [isApplied ? .parked : .delivered, .dropped])
        #expect(fixture.server.item(item)?.title == (isApplied ? nil : "Mine"))
        try fixture.expectSound()
    }

    /// The capture was of an item that was there before, so its deletion was of none.
    @Test func aDeletionThatWasOfNoItemIsNotTakenBack() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { $0.url = "https://example.org/a" }
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        fixture.server.script(.answer(status: 500, body: #"{"detail":"no"}"#), on: .checkDuplicate)
        let capture = try await fixture.accept(.url("https://example.org/a", title: "Ours"))
        try await fixture.pull()
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(title: "Mine")))
        fixture.time.advance(by: .seconds(1))
        try await fixture.accept(.delete(item: capture.itemID))
        try await fixture.carryAll()
        try #require(try fixture.states() == [.delivered, .superseded, .superseded])
        let now = fixture.time.now
        let outcome = try await store(fixture) { try await $0.undo(now: now) }
        #expect(outcome.taken == 0 && outcome.kept.map(\.entry) == [3] && outcome.revived == [])
        #expect(try fixture.states() == [.delivered, .superseded, .superseded])
        try fixture.expectSound()
    }

    @Test func anEditBeforeOneThatWasGivenUpIsTakenBackByItself() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        for title in ["First", "Second", "Third"] {
            fixture.time.advance(by: .seconds(1))
            if title == "First" { try await fixture.accept(.note("Before")) }
            fixture.time.advance(by: .seconds(1))
            try await fixture.accept(.edit(item: item, ItemEdit(title: title)))
        }
        let now = fixture.time.now
        _ = try await store(fixture) { try await $0.drop([4], withDependents: false, dryRun: false, now: now) }
        let outcome = try await store(fixture) { try await $0.undo(now: now) }
        #expect(outcome.writes.map(\.entry) == [3])
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "First")
        try fixture.expectSound()
    }
}
