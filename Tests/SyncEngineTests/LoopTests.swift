import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// The loop over days, in virtual time.
@Suite struct LoopTests {
    @Test func anIdleDayIsAFewHundredRequests() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 3_000))
        try await fixture.pull()
        let before = fixture.server.requestCount
        try await fixture.run(for: .seconds(86_400))
        let requests = fixture.server.requestCount - before
        #expect(requests > 90, "it does look")
        #expect(requests <= 12 + 23 * 4 + 40, "polls, and one sweep")
        try fixture.expectExact()
    }

    @Test func aServerThatAnswers500ForEverIsAskedEverLessOften() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        fixture.server.script(.answer(status: 500, body: "{}"), on: .any, times: .max)
        try await fixture.run(for: .seconds(86_400))
        let firstDay = fixture.server.requestCount
        #expect(firstDay >= 20)
        #expect(firstDay <= 200, "capped at an hour, with full jitter")
        fixture.server.removeFaults()
        try await fixture.run(for: .seconds(7_200))
        try fixture.expectExact()
    }

    @Test func theWaitThatTheServerAsksForIsKept() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        try await fixture.pull()
        fixture.server.clearLog()
        fixture.server.script(.answer(status: 503, headers: ["Retry-After": "1800"], body: "{}"), on: .any)
        try await fixture.run(for: .seconds(3_000))
        let times = fixture.server.requests().map(\.receivedAt)
        try #require(times.count >= 2)
        #expect(times[1].duration(since: times[0]) >= .seconds(1_800))
    }

    @Test func aSweepGivesWayToPollsAndGoesOn() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_900))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(86_400))
        // Each page of the sweep takes long, so that polls fall due in between.
        let time = fixture.time
        fixture.server.script(.perform { time.advance(by: .seconds(100)) }, on: .timeline, times: .max)
        let edited = fixture.server.items()[1_800]
        fixture.server.edit(edited.id) { $0.title = "Edited" }
        fixture.server.addNew(count: 1)
        try await fixture.run(for: .seconds(12_000))
        try fixture.expectExact()
        let sweeps = try #require(try fixture.query("SELECT edits_as_of FROM sync_state"))
        #expect(try #require(Timestamp(sweeps)) > DevItem.generationStart.advanced(by: .seconds(400 * 86_400)))
    }

    @Test func theWaitThatTheServerAsksForHoldsEverythingElseToo() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_500))
        let fault = fixture.server.script(.answer(status: 500, body: "{}"), on: .timeline, times: .max, skip: 5)
        try await fixture.pull()
        fault.remove()
        // There is a gap now, which could be filled meanwhile.
        fixture.server.clearLog()
        fixture.server.script(.answer(status: 503, headers: ["Retry-After": "1800"], body: "{}"), on: .timeline)
        try await fixture.run(for: .seconds(3_000))
        let times = fixture.server.requests(.timeline).map(\.receivedAt)
        try #require(times.count >= 2)
        #expect(times[1].duration(since: times[0]) >= .seconds(1_800))
        try fixture.expectExact()
    }

    @Test func heldDeletionsDoNotKeepTheLoopBusy() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 600))
        try await fixture.pull()
        let items = fixture.server.items()
        fixture.server.hide(items[500].id)
        try await fixture.pull(full: true)
        for item in items.prefix(300) { fixture.server.delete(item.id) }
        #expect(try await fixture.pull(full: true).problem?.code == .deletionsHeld)
        let requests = fixture.server.requestCount
        try await fixture.run(for: .seconds(4 * 3_600))
        #expect(fixture.server.requestCount - requests < 60)
        #expect(try fixture.copy().count == 600)
        #expect(fixture.time.sleeps.count < 200)
    }

    @Test func aClockThatIsSetBackStopsNothingAndClaimsNothing() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 600))
        fixture.time.advance(by: .seconds(86_400 * 30))
        try await fixture.pull()
        fixture.time.advance(by: .zero - .seconds(86_400 * 30))
        fixture.server.edit(fixture.server.items()[500].id) { $0.title = "Edited" }
        try await fixture.run(for: .seconds(3_600))
        try fixture.expectExact()
        let summary = try StoreReader(path: fixture.path).summary()
        #expect(try #require(summary.copy.newAsOf) <= fixture.time.now)
        #expect(try #require(summary.copy.editsAsOf) <= fixture.time.now)
    }

    @Test func aCheckThatFailedAfterASweepIsMadeUpForSoon() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 600))
        try await fixture.pull()
        fixture.server.delete(fixture.server.items()[300].id)
        let fault = fixture.server.script(.answer(status: 500, body: "{}"), on: .item, times: .max)
        #expect(try await fixture.pull(full: true).problem?.code == .deletionUndecided)
        fault.remove()
        try await fixture.run(for: .seconds(600))
        try fixture.expectExact()
    }

    @Test func aFailureFarDownStandsWhileNewItemsArrive() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_500))
        let oldest = fixture.server.items()[700].createdAt
        let isDeep = RequestMatcher.timeline.and { request in
            request.parameter("cursor").flatMap { Timestamp($0) }.map { $0 < oldest } ?? false
        }
        let fault = fixture.server.script(.answer(status: 500, body: "{}"), on: isDeep, times: .max)
        try await fixture.run(for: .seconds(1_000))
        fixture.server.addNew(count: 3)
        try await fixture.run(for: .seconds(4_000))
        #expect(try fixture.copy().count > 700)
        #expect(try fixture.query("SELECT title FROM timeline LIMIT 1") == fixture.server.items()[0].title)
        #expect(try StoreReader(path: fixture.path).summary().lastError?.isOver == false)
        #expect(try StoreReader(path: fixture.path).summary().copy.newAsOf == nil, "there is a gap")
        fault.remove()
        try await fixture.run(for: .seconds(7_200))
        try fixture.expectExact()
        #expect(try StoreReader(path: fixture.path).summary().lastError?.isOver == true)
    }

    @Test func stoppingInTheMiddleOfAPullLosesNothingThatWasCommitted() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 3_000))
        let hold = fixture.server.script(.hold, on: .timeline, skip: 20)
        // Else years pass while the pull waits for its answers, and its login expires.
        fixture.time.setParticipants(3)
        defer { fixture.time.setParticipants(1) }
        try await fixture.withEngine { engine, _ in
            let run = Task { await engine.run() }
            _ = try await fixture.server.waitForRequest(.timeline, count: 21)
            run.cancel()
            await run.value
        }
        hold.release()
        #expect(try fixture.query("PRAGMA integrity_check") == "ok")
        let requests = fixture.server.requestCount
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
        // 31 pages in all, of which at most an open group and the page in flight are read again, besides the head.
        #expect(fixture.server.requestCount - requests <= 31 - 20 + PageCommitter.mostPages + 25)
    }
}
