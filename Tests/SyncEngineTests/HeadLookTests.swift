import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// What a poll of the newest items leaves behind.
@Suite struct HeadLookTests {
    @Test(arguments: [Dialect.page, .express])
    func aLookThatFailedLeadsToOnePassAndNotToOneAtEachPoll(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 2_500))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(60))
        fixture.server.addNew()
        let fault = fixture.server.script(.answer(status: 500, body: "{}"), on: .timeline, times: .max, skip: 1)
        #expect(try await fixture.pull().problem?.code == .serverError)
        fault.remove()
        #expect(try fixture.query("SELECT head_open FROM copy") == "1")
        #expect(try await fixture.pull().isComplete)
        #expect(try fixture.query("SELECT head_open FROM copy") == "0")
        try fixture.expectExact()
        try await fixture.withEngine { engine, store in
            fixture.time.stand()
            let run = Task { await engine.run() }
            _ = await engine.sync(SyncRequest())
            let before = try await store.read { connection in connection.totalChanges }
            let requests = fixture.server.requestCount
            for _ in 0..<3 { #expect(await engine.sync(SyncRequest()).isComplete) }
            #expect(fixture.server.requestCount - requests == 3)
            let changes = try await store.read { connection in connection.totalChanges }
            #expect(changes == before)
            run.cancel()
            await run.value
        }
    }

    /// So many items, the newest of now, so many seconds apart; every hundredth is pending.
    private func itemsOfToday(_ count: Int, _ fixture: PullFixture, apart: Double = 20) -> [DevItem] {
        DevItem.generate(count: count, seed: 4).enumerated().map { index, item in
            var item = item
            item.createdAt = fixture.time.now.advanced(by: .zero - .seconds(apart * Double(index)))
            item.updatedAt = item.createdAt
            item.status = index % 100 == 70 ? "pending" : "completed"
            return item
        }
    }

    private func pages(_ fixture: PullFixture, _ body: () async throws -> Void) async throws -> Int {
        let before = fixture.server.requests(.timeline).count
        try await body()
        return fixture.server.requests(.timeline).count - before
    }

    /// Some of them are pending for hours: they are stuck.
    @Test func aSecondPullOfItemsOfOneDayAsksOnePage() async throws {
        let fixture = try PullFixture()
        fixture.server.add(itemsOfToday(3_000, fixture))
        try await fixture.pull()
        #expect(try await pages(fixture) { try await fixture.pull() } == 1)
        fixture.time.advance(by: .seconds(300))
        #expect(try await pages(fixture) { try await fixture.pull() } == 1)
        try fixture.expectExact()
    }

    /// They were imported within the hour: as far as the copy knows, they may change at any moment.
    @Test func pendingItemsFurtherDownCostOnePageMore() async throws {
        let fixture = try PullFixture()
        fixture.server.add(itemsOfToday(6_000, fixture, apart: 0.5))
        try await fixture.pull()
        // Those of the last quarter of an hour, once more.
        fixture.time.advance(by: .seconds(1_200))
        #expect(try await pages(fixture) { try await fixture.pull() } <= 20)
        for _ in 0..<5 {
            fixture.time.advance(by: .milliseconds(300_001))
            #expect(try await pages(fixture) { try await fixture.pull() } == 2)
        }
        try fixture.expectExact()
    }

    @Test func whereOnePendingItemHasChangedTheOthersAreReadToo() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        try await fixture.pull()
        let new = fixture.server.addNew(count: 500)
        for item in new { fixture.server.edit(item.id) { $0.status = "pending" } }
        try await fixture.pull()
        fixture.time.advance(by: .seconds(1_800))
        try await fixture.pull()
        for item in new { fixture.server.edit(item.id) { $0.status = "completed" } }
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.pull().changed == 500)
        try fixture.expectExact()
    }

    /// Each look would cover a little more of the time up to it.
    @Test func anItemOfTheFutureMakesNoPollWrite() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 50))
        let future = fixture.server.items()[0]
        fixture.server.edit(future.id) { $0.createdAt = fixture.time.now.advanced(by: .seconds(86_400)) }
        try await fixture.pull()
        try await fixture.withEngine { engine, store in
            fixture.time.stand()
            let run = Task { await engine.run() }
            _ = await engine.sync(SyncRequest())
            let before = try await store.read { connection in connection.totalChanges }
            let requests = fixture.server.requestCount
            for _ in 0..<5 {
                fixture.time.advance(by: .seconds(60))
                #expect(await engine.sync(SyncRequest()).isComplete)
            }
            #expect(fixture.server.requestCount - requests == 5)
            let changes = try await store.read { connection in connection.totalChanges }
            #expect(changes == before)
            run.cancel()
            await run.value
        }
    }

    @Test(arguments: Dialect.allCases)
    func anItemThatCanBeReadAgainIsNotListedAsRejected(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 300))
        try await fixture.pull()
        var item = fixture.server.items()[10]
        item.rawJSON = #"{"id":"\#(item.id)","createdAt":"never"}"#
        fixture.server.add(item)
        #expect(try await fixture.pull().problem?.code == .itemsRejected)
        #expect(try fixture.query("SELECT count(*) FROM rejected_item") == "1")
        item.rawJSON = nil
        fixture.server.add(item)
        #expect(try await fixture.pull().isComplete)
        #expect(try fixture.query("SELECT count(*) FROM rejected_item") == "0")
        try fixture.expectExact()
    }

    @Test(arguments: Dialect.allCases)
    func aRejectedItemWithoutAnIdIsForgottenByTheNextWholeRead(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 300))
        try await fixture.pull()
        var item = fixture.server.items()[10]
        item.rawJSON = "42"
        fixture.server.add(item)
        #expect(try await fixture.pull().problem?.code == .itemsRejected)
        item.rawJSON = nil
        fixture.server.add(item)
        #expect(try await fixture.pull(full: true).isComplete)
        #expect(try fixture.query("SELECT count(*) FROM rejected_item") == "0")
        try fixture.expectExact()
    }
}
