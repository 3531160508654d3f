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
            let before = try await store.read { connection throws(SQLiteFailure) in connection.totalChanges }
            let requests = fixture.server.requestCount
            for _ in 0..<3 { #expect(await engine.sync(SyncRequest()).isComplete) }
            #expect(fixture.server.requestCount - requests == 3)
            let changes = try await store.read { connection throws(SQLiteFailure) in connection.totalChanges }
            #expect(changes == before)
            run.cancel()
            await run.value
        }
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
            let before = try await store.read { connection throws(SQLiteFailure) in connection.totalChanges }
            let requests = fixture.server.requestCount
            for _ in 0..<5 {
                fixture.time.advance(by: .seconds(60))
                #expect(await engine.sync(SyncRequest()).isComplete)
            }
            #expect(fixture.server.requestCount - requests == 5)
            let changes = try await store.read { connection throws(SQLiteFailure) in connection.totalChanges }
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
