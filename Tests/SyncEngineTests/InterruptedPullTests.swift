import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// Pulls that end in the middle, and what the next one begins with.
@Suite struct InterruptedPullTests {
    /// A process that is killed after so many pages: what was committed stays, what memory knew is gone.
    private func killed(_ fixture: PullFixture, afterPages pages: Int) async throws {
        let fault = fixture.server.script(.hold, on: .timeline, skip: pages)
        let seen = fixture.server.requests(.timeline).count
        let store = try Store(path: fixture.path)
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: fixture.credentials),
            time: fixture.time.source, seed: 7)
        let engine = SyncEngine(
            store: store, client: client, serverURL: fixture.server.url, time: fixture.time.source, seed: 7)
        let run = Task { await engine.runOnce() }
        _ = try await fixture.server.waitForRequest(.timeline, count: seen + pages + 1)
        // Nothing more reaches the file.
        await store.close()
        fault.remove()
        client.shutdown()
        _ = await run.value
    }

    @Test(arguments: [1, 7])
    func aFirstPullThatIsKilledOftenGoesOnWhereItWas(_ tieGroup: Int) async throws {
        let fixture = try PullFixture(items: [])
        // All of them within a quarter of an hour, a long time ago.
        let dense = DevItem.generate(count: 4_000, tieGroup: tieGroup).enumerated().map { index, item in
            var item = item
            item.createdAt = DevItem.generationStart.advanced(by: .milliseconds(100 * ((4_000 - index) / tieGroup)))
            return item
        }
        fixture.server.add(dense)
        for _ in 0..<6 { try await killed(fixture, afterPages: 8) }
        let before = fixture.server.requests(.timeline).count
        #expect(before < 6 * 12)
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
        let pages = 4_000 / 99
        #expect(fixture.server.requests(.timeline).count < pages + 6 * 12)
    }

    /// A slow server: 400 ms for a page.
    private func slow(_ fixture: PullFixture) -> ScriptedFault {
        let time = fixture.time
        return fixture.server.script(.perform { time.advance(by: .milliseconds(400)) }, on: .timeline, times: .max)
    }

    @Test(arguments: [Dialect.cursor, .page])
    func aFirstPullGetsOnHoweverSoonItIsKilled(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect)
        let items = DevItem.generate(count: 4_000, seed: 3).enumerated().map { index, item in
            var item = item
            item.createdAt = fixture.time.now.advanced(by: .seconds(-20 * index))
            item.updatedAt = item.createdAt
            if index % 60 == 7 { item.status = "pending" }
            return item
        }
        fixture.server.add(items)
        let start = fixture.time.now
        let fault = slow(fixture)
        var counts: [Int] = []
        for _ in 0..<6 {
            try await killed(fixture, afterPages: 8)
            counts.append(Int(try fixture.query("SELECT live FROM copy") ?? "") ?? 0)
        }
        for (before, after) in zip(counts, counts.dropFirst()) { #expect(after > before, "\(counts)") }
        fault.remove()
        let before = fixture.server.requests(.timeline).count
        #expect(try await fixture.pull().isComplete)
        let rest = (4_000 - (counts.last ?? 0)) / 99
        #expect(fixture.server.requests(.timeline).count - before < rest + 8)
        try fixture.expectExact()
        // Edits are known as of the first life.
        let edits = try #require(try fixture.query("SELECT edits_as_of FROM copy").flatMap { Timestamp($0) })
        #expect(edits <= start.advanced(by: .seconds(1)))
    }

    @Test(arguments: ["delete", "add", "edit", "swap"])
    func aFirstPassThatWasKilledIsNotGoneOnWithWhereTheListHasShifted(_ change: String) async throws {
        let fixture = try PullFixture(.page, items: DevItem.generate(count: 2_000))
        let fault = slow(fixture)
        try await killed(fixture, afterPages: 10)
        fault.remove()
        let items = fixture.server.items()
        switch change {
        case "delete": fixture.server.delete(items[150].id)
        case "add": fixture.server.addNew()
        case "edit": fixture.server.edit(items[3].id) { $0.title = "Another" }
        default:
            fixture.server.delete(items[150].id)
            fixture.server.addNew()
        }
        #expect(try await fixture.pull().isComplete)
        try await fixture.pull(full: true)
        try fixture.expectExact()
    }

    @Test func aCatchUpThatWasKilledStillLooksBelowWhatWasKnown() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        fixture.server.addNew(count: 5)
        try await fixture.pull()
        let newest = fixture.server.items()[0]
        fixture.time.advance(by: .seconds(3_600))
        fixture.server.addNew(count: 2_000)
        // What was hidden when the newest item was read appears below it.
        var late = DevItem.generate(count: 1, seed: 77)[0]
        late.createdAt = newest.createdAt.advanced(by: .zero - .seconds(60))
        fixture.server.add(late)
        try await killed(fixture, afterPages: 10)
        fixture.time.advance(by: .seconds(60))
        _ = try await fixture.pull()
        #expect(try fixture.copy().count == 2_306)
        try fixture.expectExact()
    }

    @Test func aCatchUpThatFailedStillLooksBelowWhatWasKnown() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        fixture.server.addNew(count: 250)
        try await fixture.pull()
        let newest = fixture.server.items()[0]
        fixture.time.advance(by: .seconds(3_600))
        fixture.server.addNew(count: 1_000)
        var late = DevItem.generate(count: 1, seed: 77)[0]
        late.createdAt = newest.createdAt.advanced(by: .zero - .seconds(60))
        fixture.server.add(late)
        // The server fails at everything that begins below the newest item known before, and then at everything.
        for failing in 0..<3 {
            let below = RequestMatcher.timeline.and { request in
                guard failing < 2 else { return false }
                return request.parameter("cursor").flatMap { Timestamp($0) }.map {
                    $0 <= newest.createdAt.advanced(by: .seconds(failing))
                } ?? false
            }
            let fault = fixture.server.script(.answer(status: 500, body: "{}"), on: below, times: .max)
            _ = try await fixture.pull()
            fault.remove()
            fixture.time.advance(by: .seconds(60))
        }
        try fixture.expectExact()
    }

    @Test func aSweepWithoutDifferencesKeepsItsProgressWhenItIsKilled() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 3_000))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(86_400))
        try await fixture.pull()
        let time = fixture.time
        // A slow server: ten seconds for a page.
        let slow = fixture.server.script(.perform { time.advance(by: .seconds(10)) }, on: .timeline, times: .max)
        fixture.server.clearLog()
        let store = try Store(path: fixture.path)
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: fixture.credentials),
            time: time.source, seed: 7)
        let engine = SyncEngine(store: store, client: client, serverURL: fixture.server.url, time: time.source, seed: 7)
        let hold = fixture.server.script(
            .hold, on: .timeline.and { $0.parameter("cursor") != nil && $0.number > 60 }, times: .max)
        _ = hold
        let run = Task { await engine.runOnce(full: true) }
        _ = try await fixture.server.waitForRequest(.timeline, count: 20)
        await store.close()
        hold.remove()
        client.shutdown()
        _ = await run.value
        slow.remove()
        let swept = try #require(try fixture.query("SELECT sweep_started_at FROM copy"))
        let intervals = try fixture.query("SELECT count(*) FROM coverage WHERE read_at >= '\(swept)'")
        #expect(try #require(Int(intervals ?? "")) > 0, "a part of it was swept")
        fixture.server.clearLog()
        try await fixture.pull()
        #expect(fixture.server.requests(.timeline).count < 25, "not all of it again")
        #expect(try fixture.query("SELECT sweep_started_at FROM copy") == nil)
    }
}

/// Times that the copy claims, after the clock was set back.
@Suite struct ClockSetBackTests {
    @Test func noTimeInTheFutureIsEverShown() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        fixture.time.advance(by: .seconds(86_400))
        try await fixture.pull()
        fixture.time.stepClock(by: .zero - .seconds(86_400))
        // No daemon has run since: the file says what it said.
        let summary = try StoreReader(path: fixture.path).summary()
        #expect(try #require(summary.copy.editsAsOf) > fixture.time.now)
        let fault = fixture.server.script(.answer(status: 500, body: "{}"), on: .any, times: .max)
        _ = try await fixture.pull()
        #expect(try fixture.query("SELECT new_as_of FROM sync_state") == nil)
        #expect(try fixture.query("SELECT edits_as_of FROM sync_state") == nil)
        fault.remove()
        #expect(try await fixture.pull(full: true).isComplete)
        let edits = try #require(try StoreReader(path: fixture.path).summary().copy.editsAsOf)
        #expect(edits <= fixture.time.now)
    }
}
