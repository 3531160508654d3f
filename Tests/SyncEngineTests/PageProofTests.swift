import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// Dialects P and E: what a poll of the newest pages proves, and what it costs.
@Suite struct PageProofTests {
    private static let paged = [Dialect.page, .express]

    /// As many deletions as arrivals leave the total as it was.
    @Test(arguments: paged)
    func aNewItemBelowFutureOnesIsFound(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 300))
        let future = fixture.time.now.advanced(by: .seconds(86_400 * 365))
        fixture.server.add(DevItem.generate(count: 120, seed: 5, start: future))
        try await fixture.whileRunning(pullingFirst: true) { (engine) async throws in
            _ = await engine.sync(SyncRequest())
            for _ in 0..<3 {
                fixture.time.advance(by: .seconds(600))
                guard let oldest = fixture.server.items().last else { break }
                fixture.server.delete(oldest.id)
                let new = fixture.server.addNew()[0].id
                // The loop may have been quicker.
                _ = await engine.sync(SyncRequest())
                #expect(try fixture.query("SELECT count(*) FROM item WHERE id = '\(new)'") == "1")
            }
        }
        #expect(try await fixture.pull(full: true).isComplete)
        try fixture.expectExact()
    }

    /// A server whose clock is behind dates what is new before our last look.
    @Test(arguments: paged, [Duration.zero, .seconds(86_400)])
    func anItemThatComesBackBelowNewerOnesIsFound(_ dialect: Dialect, serverBehind behind: Duration) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 300)) { configuration in
            let now = configuration.now
            configuration.now = { now().advanced(by: .zero - behind) }
        }
        try await fixture.pull(pageSize: 5)
        fixture.time.advance(by: .seconds(3_600))
        let hidden = fixture.server.addNew()[0]
        fixture.server.hide(hidden.id)
        fixture.time.advance(by: .seconds(3))
        fixture.server.addNew(count: 30)
        #expect(try await fixture.pull(pageSize: 5).added == 30)
        fixture.time.advance(by: .seconds(60))
        fixture.server.show(hidden.id)
        let oldest = try #require(fixture.server.items().last)
        fixture.server.delete(oldest.id)
        #expect(try await fixture.pull(pageSize: 5).added == 1)
    }

    @Test(arguments: paged)
    func aQuietPollIsOneRequest(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 300))
        try await fixture.whileRunning(pullingFirst: true) { engine in
            _ = await engine.sync(SyncRequest())
            for _ in 0..<5 {
                // Before the next poll is due.
                fixture.time.advance(by: .seconds(60))
                fixture.server.clearLog()
                #expect(await engine.sync(SyncRequest()).isComplete)
                #expect(fixture.server.requests(.any).count == 1)
                #expect(fixture.server.requests(.any).first?.status == (dialect == .express ? 304 : 200))
            }
        }
    }

    @Test(arguments: paged)
    func oneEmptyListIsNotBelieved(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 300))
        fixture.server.script(.lie(.emptyEnd), on: .timeline, times: 1, skip: 1)
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
        for skip in 0..<3 {
            fixture.time.advance(by: .seconds(3_600))
            let lie = fixture.server.script(.lie(.emptyEnd), on: .timeline, times: 1, skip: skip)
            #expect(try await fixture.pull(full: true).isComplete)
            lie.remove()
            #expect(try StoreReader(path: fixture.path).summary().copy["suspects"] == 0)
            try fixture.expectExact()
        }
        #expect(fixture.server.requests(.item).isEmpty)
    }

    @Test(arguments: paged)
    func anEmptyListThatContradictsTheServersItemsIsRefused(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 300))
        try await fixture.pull()
        let before = try fixture.query("SELECT new_as_of || edits_as_of FROM sync_state")
        fixture.time.advance(by: .seconds(3_600))
        let lie = fixture.server.script(.lie(.emptyEnd), on: .timeline, times: .max)
        #expect(try await fixture.pull(full: true).problem?.code == .pageContradictory)
        #expect(try fixture.query("SELECT new_as_of || edits_as_of FROM sync_state") == before)
        #expect(try StoreReader(path: fixture.path).summary().copy["suspects"] == 0)
        lie.remove()
        #expect(try await fixture.pull(full: true).isComplete)
        // One that the server really emptied is believed.
        fixture.server.deleteAll()
        fixture.time.advance(by: .seconds(3_600))
        #expect(try await fixture.pull(full: true).problem?.code == .deletionsHeld)
    }
}
