import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// Changes on the server, and how the copy learns of them.
@Suite struct ChangeTests {
    @Test(arguments: Dialect.allCases)
    func aSweepFindsEditsDeletionsAndLateInserts(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 1_200))
        try await fixture.pull()
        let items = fixture.server.items()
        fixture.time.advance(by: .seconds(60))
        fixture.server.edit(items[700].id) { $0.title = "Edited far down" }
        fixture.server.delete(items[900].id)
        var late = DevItem.generate(count: 1, seed: 99)[0]
        late.createdAt = items[1_000].createdAt.next
        fixture.server.add(late)
        let result = try await fixture.pull(full: true)
        #expect(result.isComplete)
        #expect(result.added == 1)
        #expect(result.changed == 1)
        #expect(result.deleted == 1)
        try fixture.expectExact()
        #expect(try fixture.query("SELECT count(*) FROM item WHERE deleted_at IS NOT NULL") == "1")
    }

    @Test func aDeletionThatTheCacheHidesIsFoundLater() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 400))
        try await fixture.pull()
        let gone = fixture.server.items()[200]
        fixture.server.delete(gone.id, cached: true)
        #expect(try await fixture.pull(full: true).deleted == 0)
        #expect(try fixture.copy().count == 400)
        #expect(try StoreReader(path: fixture.path).summary().copy["suspects"] == 1)
        fixture.server.clearCache()
        fixture.time.advance(by: .seconds(20 * 60))
        #expect(try await fixture.pull().deleted == 0, "not asked again yet")
        fixture.time.advance(by: .seconds(16 * 60))
        #expect(try await fixture.pull().deleted == 1)
        try fixture.expectExact()
    }

    @Test func aHiddenItemIsNotTakenForDeletedAndComesBack() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 400))
        try await fixture.pull()
        let hidden = fixture.server.items()[200]
        fixture.server.hide(hidden.id)
        for _ in 0..<3 {
            #expect(try await fixture.pull(full: true).deleted == 0)
            fixture.time.advance(by: .seconds(36 * 60))
        }
        #expect(try fixture.copy().count == 400)
        fixture.server.show(hidden.id)
        #expect(try await fixture.pull(full: true).isComplete)
        try fixture.expectExact()
        #expect(try StoreReader(path: fixture.path).summary().copy["suspects"] == 0)
    }

    @Test func newItemsAreFoundByTheHeadAlone() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 2_000))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(3_600))
        fixture.server.addNew(count: 250)
        let requests = fixture.server.requestCount
        #expect(try await fixture.pull().added == 250)
        #expect(fixture.server.requestCount - requests < 10)
        try fixture.expectExact()
    }

    @Test func pendingItemsAreLookedAtUntilTheySettle() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 400))
        try await fixture.pull()
        var captured = DevItem.generate(count: 1, seed: 3)[0]
        captured.createdAt = fixture.time.now
        captured.updatedAt = captured.createdAt
        captured.status = "pending"
        fixture.server.add(captured)
        fixture.time.advance(by: .seconds(1))
        #expect(try await fixture.pull().added == 1)
        // Many newer items: the head must reach down past them all.
        fixture.time.advance(by: .seconds(7_200))
        fixture.server.addNew(count: 350)
        _ = try await fixture.pull()
        fixture.server.edit(captured.id) { $0.status = "completed" }
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.pull().changed == 1)
        try fixture.expectExact()
    }

    @Test func aSweepWithoutChangesWritesNoItem() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_200))
        try await fixture.pull()
        let before = try fixture.query("SELECT total(rowid) || ' ' || max(rowid) FROM item")
        fixture.time.advance(by: .seconds(60))
        let result = try await fixture.pull(full: true)
        #expect(result.added == 0 && result.changed == 0 && result.deleted == 0)
        #expect(try fixture.query("SELECT total(rowid) || ' ' || max(rowid) FROM item") == before)
        #expect(try fixture.query("SELECT count(*) FROM pull WHERE kind = 'sweep'") == "0", "it did nothing")
        let edits = try #require(try StoreReader(path: fixture.path).summary().copy.editsAsOf)
        #expect(edits >= fixture.time.now, "edits are as of the sweep's start")
    }

    @Test(arguments: [Dialect.page, .express])
    func deletionsOnePollApartAreBothFound(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 400))
        try await fixture.whileRunning(pullingFirst: true) { engine in
            _ = await engine.sync(SyncRequest())
            for index in [100, 200, 300] {
                fixture.server.delete(fixture.server.items()[index].id)
                #expect(await engine.sync(SyncRequest()).deleted == 1)
                #expect(await engine.sync(SyncRequest()).deleted == 0)
            }
        }
        try fixture.expectExact()
    }

    @Test func aDeletionWhosePassFailedIsNotForgotten() async throws {
        let fixture = try PullFixture(.express, items: DevItem.generate(count: 3_500))
        try await fixture.whileRunning(pullingFirst: true) { engine in
            _ = await engine.sync(SyncRequest())
            fixture.server.delete(fixture.server.items()[3_000].id)
            let fault = fixture.server.script(
                .answer(status: 500, body: "{}"), on: .timeline, times: .max, skip: 2)
            #expect(await engine.sync(SyncRequest()).problem != nil)
            fault.remove()
            #expect(await engine.sync(SyncRequest()).deleted == 1)
        }
        try fixture.expectExact()
    }

    @Test(arguments: [Dialect.page, .express])
    func aLookThatWasInterruptedLosesNothingBelowIt(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 600))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(60))
        let items = fixture.server.items()
        for item in items.suffix(250) { fixture.server.edit(item.id) { $0.title = "Edited \(item.id)" } }
        if dialect == .page { fixture.server.addNew(count: 250) }
        let fault = fixture.server.script(.answer(status: 500, body: "{}"), on: .timeline, times: .max, skip: 1)
        #expect(try await fixture.pull().problem?.code == .serverError)
        fault.remove()
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
    }

    @Test func anItemDatedInTheFutureHidesNoNewItems() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 600))
        var future = DevItem.generate(count: 1, seed: 5)[0]
        future.createdAt = fixture.time.now.advanced(by: .seconds(86_400 * 3_650))
        fixture.server.add(future)
        #expect(try await fixture.pull().isComplete)
        fixture.time.advance(by: .seconds(3_600))
        fixture.server.addNew(count: 250)
        #expect(try await fixture.pull().added == 250)
        try fixture.expectExact()
    }

    @Test func aBurstOfItemsIsNotReadAgainAtEachPoll() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 600))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(3_600))
        fixture.server.addNew(count: 1_000)
        try await fixture.pull()
        fixture.time.advance(by: .seconds(3_600))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(3_600))
        let requests = fixture.server.requestCount
        #expect(try await fixture.pull().isComplete)
        #expect(fixture.server.requestCount - requests == 1)
    }

    @Test func heldDeletionsAreStillHeldAtTheNextStart() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 600))
        try await fixture.pull()
        for item in fixture.server.items().prefix(300) { fixture.server.delete(item.id) }
        #expect(try await fixture.pull(full: true).problem?.code == .deletionsHeld)
        let again = try await fixture.pull()
        #expect(again.problem?.code == .deletionsHeld)
        #expect(!again.isComplete)
    }

    @Test func aFullSyncReadsAgainWhatAnInterruptedSweepHadRead() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_500))
        try await fixture.pull()
        let fault = fixture.server.script(.answer(status: 500, body: "{}"), on: .timeline, times: .max, skip: 9)
        try await fixture.pull(full: true)
        fault.remove()
        fixture.time.advance(by: .seconds(60))
        fixture.server.edit(fixture.server.items()[300].id) { $0.title = "Edited" }
        #expect(try await fixture.pull(full: true).changed == 1)
        try fixture.expectExact()
    }

    @Test func aBrokenItemWhoseTextVariesIsKeptOnceAndForgottenWhenItIsGone() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        var broken = fixture.server.items()[10]
        for round in 0..<4 {
            broken.rawJSON = #"{"id":"\#(broken.id)","createdAt":"never","round":\#(round)}"#
            fixture.server.add(broken)
            try await fixture.pull(full: true)
            #expect(try fixture.query("SELECT count(*) FROM rejected_item") == "1")
        }
        broken.rawJSON = "42"
        fixture.server.add(broken)
        try await fixture.pull(full: true)
        #expect(try fixture.query("SELECT group_concat(raw) FROM rejected_item") == "42")
        fixture.server.delete(broken.id)
        try await fixture.pull(full: true)
        #expect(try fixture.query("SELECT count(*) FROM rejected_item") == "0")
    }

    /// Pulls that are interrupted anywhere, while items are added at the top and late ones below: every item is found.
    @Test func itemsThatArriveWhilePullsAreInterruptedAreAllFound() async throws {
        var random = SeededRandom()
        for _ in 0..<LongSearch.cases(4, of: 12) {
            let fixture = try PullFixture(
                items: DevItem.generate(count: Int.random(in: 300...900, using: &random), seed: random.next()))
            var late: Set<String> = []
            for _ in 0..<Int.random(in: 3...8, using: &random) {
                let skip = Int.random(in: 0...9, using: &random)
                // As often as the client itself tries again, so that the pull fails.
                let fault = fixture.server.script(
                    .answer(status: 503, body: "{}"), on: .timeline, times: .max, skip: skip)
                _ = try await fixture.pull(
                    full: Int.random(in: 0..<3, using: &random) == 0,
                    pageSize: Int.random(in: 0..<2, using: &random) == 0 ? 100 : 37)
                fault.remove()
                try expectCoverageIsTrue(fixture, except: late)
                fixture.time.advance(by: .seconds(Int.random(in: 1...4_000, using: &random)))
                late.formUnion(change(fixture, &random))
            }
            // Without a sweep, which would repair what a wrong coverage has lost: all but the late ones are there.
            fixture.time.advance(by: .seconds(3_600))
            _ = try await fixture.pull()
            try expectCoverageIsTrue(fixture, except: late)
            let copied = Set(try fixture.copy().map { String($0.prefix(36)) })
            #expect(fixture.server.items().allSatisfy { copied.contains($0.id) || late.contains($0.id) })
            _ = try await fixture.pull(full: true)
            fixture.time.advance(by: .seconds(3_600))
            let result = try await fixture.pull(full: true)
            #expect(result.isComplete, "\(String(describing: result.problem))")
            try fixture.expectExact()
        }
    }

    /// What the file says it holds completely, it holds: every item of the server within it, but those that were put there
    /// after it was read.
    private func expectCoverageIsTrue(_ fixture: PullFixture, except late: Set<String>) throws {
        let copied = Set(try fixture.copy().map { String($0.prefix(36)) })
        let rows = try fixture.query("SELECT group_concat(from_time || ' ' || to_time) FROM coverage") ?? ""
        for row in rows.split(separator: ",") {
            let ends = row.split(separator: " ").compactMap { Timestamp($0) }
            try #require(ends.count == 2)
            let lost = fixture.server.items().filter { item in
                ends[0] <= item.createdAt && item.createdAt <= ends[1] && !copied.contains(item.id)
                    && !late.contains(item.id)
            }
            #expect(lost.isEmpty, "\(row) was read")
        }
    }

    /// - Returns: The items that were put below others.
    private func change(_ fixture: PullFixture, _ random: inout SeededRandom) -> Set<String> {
        var inserted: Set<String> = []
        let server = fixture.server
        server.addNew(count: Int.random(in: 0...150, using: &random))
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            guard let item = server.items().randomElement(using: &random) else { return inserted }
            switch Int.random(in: 0..<3, using: &random) {
            case 0: server.delete(item.id)
            case 1: server.edit(item.id) { $0.summary = "edited" }
            default:
                var late = DevItem.generate(count: 1, seed: random.next())[0]
                late.createdAt = item.createdAt.previous
                server.add(late)
                inserted.insert(late.id)
            }
        }
        return inserted
    }
}
