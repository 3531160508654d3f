import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// What becomes of items that the server's list lacks.
@Suite struct DeletionTests {
    @Test(arguments: Dialect.allCases)
    func whatIsAcceptedIsWhatWasHeldAndNothingThatWasLostSince(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 1_100))
        try await fixture.pull()
        let items = fixture.server.items()
        for item in items.prefix(30) { fixture.server.delete(item.id) }
        #expect(try await fixture.pull(full: true).problem?.code == .deletionsHeld)
        #expect(try StoreReader(path: fixture.path).summary().copy.deletionsHeld == 30)
        for item in items[40..<1_040] { fixture.server.delete(item.id) }
        let accepted = try await fixture.sync(SyncRequest(full: true, acceptDeletions: true))
        #expect(accepted.deleted == 30)
        #expect(accepted.problem?.code == .deletionsHeld)
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "1070")
        #expect(try StoreReader(path: fixture.path).summary().copy.deletionsHeld == 1_000)
        #expect(try await fixture.sync(SyncRequest(acceptDeletions: true)).deleted == 1_000)
        try fixture.expectExact()
        #expect(try fixture.query("SELECT count(*) FROM held_deletion") == "0")
    }

    @Test(arguments: [(200, 6, 0), (200, 20, 0), (200, 21, 21), (2_000, 40, 0), (2_000, 41, 41)])
    func moreThanTwentyAndTwoInAHundredAreHeld(_ items: Int, lost: Int, held: Int) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: items))
        try await fixture.pull()
        for item in fixture.server.items().prefix(lost) { fixture.server.delete(item.id) }
        #expect(try await fixture.pull(full: true).deleted == lost - held)
        #expect(try StoreReader(path: fixture.path).summary().copy.deletionsHeld == held)
    }

    @Test(arguments: Dialect.allCases)
    func deletionsThatAreFewGoThroughWhileOthersAreHeld(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 600))
        try await fixture.pull()
        let items = fixture.server.items()
        for item in items.prefix(100) { fixture.server.delete(item.id) }
        #expect(try await fixture.pull(full: true).problem?.code == .deletionsHeld)
        for item in items[200..<203] {
            fixture.time.advance(by: .seconds(60))
            fixture.server.delete(item.id)
            let result = try await fixture.pull(full: true)
            #expect(result.deleted == 1)
            #expect(result.problem?.code == .deletionsHeld)
            #expect(try StoreReader(path: fixture.path).summary().copy.deletionsHeld == 100)
        }
        // As many again wait until those are decided, and are not asked for meanwhile.
        for item in items[300..<400] { fixture.server.delete(item.id) }
        let asked = fixture.server.requests(.item).count
        #expect(try await fixture.pull(full: true).deleted == 0)
        try await fixture.run(for: .seconds(3 * 3_600))
        #expect(fixture.server.requests(.item).count == asked)
        #expect(try await fixture.sync(SyncRequest(acceptDeletions: true)).deleted == 100)
        #expect(try await fixture.sync(SyncRequest(acceptDeletions: true)).deleted == 100)
        try fixture.expectExact()
    }

    @Test func whatIsHeldAndComesBackIsHeldNoLonger() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 600))
        try await fixture.pull()
        let items = fixture.server.items()
        for item in items.prefix(50) { fixture.server.delete(item.id) }
        try await fixture.pull(full: true)
        fixture.server.add(Array(items.prefix(50)))
        #expect(try await fixture.pull(full: true).isComplete)
        #expect(try fixture.query("SELECT deletions_held FROM sync_state") == "0")
        try fixture.expectExact()
    }

    @Test func aPersonWhoAsksDoesNotWaitForTheCache() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 400))
        try await fixture.pull()
        let gone = fixture.server.items()[200]
        fixture.server.delete(gone.id, cached: true)
        // Found again while the same cache may still answer, it is not found twice.
        for _ in 0..<3 {
            #expect(try await fixture.sync(SyncRequest(full: true)).deleted == 0)
            #expect(try StoreReader(path: fixture.path).summary().copy["suspects"] == 1)
            fixture.time.advance(by: .seconds(60))
        }
        fixture.server.clearCache()
        #expect(try await fixture.sync(SyncRequest(full: true)).deleted == 1)
        try fixture.expectExact()
    }

    @Test(arguments: Dialect.allCases)
    func itemsThatTheListLacksAndTheServerHasAreNotHeldBack(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 600))
        try await fixture.pull()
        let items = fixture.server.items()
        for item in items.prefix(300) { fixture.server.hide(item.id) }
        let requests = fixture.server.requests(.item).count
        #expect(try await fixture.pull(full: true).problem == nil)
        #expect(try StoreReader(path: fixture.path).summary().copy.deletionsHeld == 0)
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "600")
        #expect(fixture.server.requests(.item).count - requests == 5, "a few of them were asked for")
        // The loop leaves them alone until they are asked for again.
        try await fixture.run(for: .seconds(1_800))
        #expect(fixture.server.requests(.item).count - requests == 5)
        for item in items.prefix(300) { fixture.server.show(item.id) }
        #expect(try await fixture.pull(full: true).isComplete)
        try fixture.expectExact()
    }

    struct Unanswerable: Sendable, CustomTestStringConvertible {
        let name: String
        let dialect: Dialect
        let id: String
        var fault: Fault?
        var testDescription: String { name }

        static let known = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
        static let all = [
            Unanswerable(name: "422", dialect: .cursor, id: "no-uuid"),
            Unanswerable(name: "500", dialect: .page, id: known, fault: .answer(status: 500, body: "{}")),
            Unanswerable(name: "431", dialect: .express, id: known, fault: .answer(status: 431, body: "")),
            Unanswerable(name: "403", dialect: .express, id: known, fault: .answer(status: 403, body: "")),
            Unanswerable(name: "the folder above", dialect: .express, id: ".."),
            Unanswerable(name: "a slash", dialect: .express, id: "../timeline"),
        ]
    }

    @Test(arguments: Unanswerable.all)
    func anItemThatCannotBeAskedForIsNamedAndHoldsUpNothing(_ bad: Unanswerable) async throws {
        let fixture = try PullFixture(bad.dialect, items: DevItem.generate(count: 400))
        var item = DevItem.generate(count: 1, seed: 8)[0]
        item.id = bad.id
        item.createdAt = fixture.time.now
        item.updatedAt = item.createdAt
        fixture.server.add(item)
        try await fixture.pull()
        #expect(try fixture.copy().count == 401)
        if let fault = bad.fault {
            fixture.server.script(fault, on: .path("/api/items/\(bad.id)"), times: .max)
        }
        let gone = fixture.server.items().last!
        fixture.server.delete(bad.id)
        fixture.server.delete(gone.id)
        fixture.time.advance(by: .seconds(60))
        fixture.server.clearLog()
        let result = try await fixture.pull(full: true)
        #expect(result.deleted == (bad.id == "../timeline" ? 2 : 1))
        #expect(fixture.server.requests(.any).allSatisfy { $0.path != "/api/" && $0.path != "/api" })
        if bad.id == "../timeline" { return #expect(result.isComplete) }
        #expect(result.problem?.code == .deletionUndecided)
        #expect(result.problem?.message.contains("\"\(bad.id)\"") == true)
        #expect(try fixture.query("SELECT id FROM item WHERE missing_since IS NOT NULL") == bad.id)
        let error = try #require(try StoreReader(path: fixture.path).recurringErrors().first)
        #expect(error.code == "deletion_undecided" && !error.isOver && error.message.contains(bad.id))
        // It waits by itself, ever longer.
        let asked = fixture.server.requests(.item).count
        try await fixture.run(for: .seconds(86_400))
        #expect(fixture.server.requests(.item).count - asked < 14)
        #expect(try fixture.query("SELECT failures >= 8 FROM unanswered_suspect") == "1")
    }

    /// A look that failed once waits a minute. A person who asks does not.
    @Test func aPersonsSweepAsksAgainForWhatFailedAMomentAgo() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 150, seed: 1))
        try await fixture.pull()
        fixture.server.delete(fixture.server.items()[3].id)
        fixture.server.script(.answer(status: 500, body: "{}"), on: .item)
        #expect(try await fixture.pull(full: true).deleted == 0)
        fixture.time.advance(by: .seconds(10))
        #expect(try await fixture.sync(SyncRequest(full: true)).deleted == 1)
        try fixture.expectExact()
    }

    @Test func aServerThatAnswersForNoItemIsNotAskedForEachOfThem() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 2_000))
        try await fixture.pull()
        for item in fixture.server.items().prefix(20) { fixture.server.delete(item.id) }
        let fault = fixture.server.script(.answer(status: 500, body: "{}"), on: .item, times: .max)
        #expect(try await fixture.pull(full: true).problem?.code == .serverError)
        #expect(fixture.server.requests(.item).count == 3)
        fault.remove()
        fixture.time.advance(by: .seconds(86_400))
        let result = try await fixture.pull(full: true)
        #expect(result.deleted == 20 && result.isComplete)
        try fixture.expectExact()
        #expect(try fixture.query("SELECT count(*) FROM unanswered_suspect") == "0")
    }
}

extension PullFixture {
    /// What a person asks a running engine for.
    fileprivate func sync(_ request: SyncRequest) async throws -> SyncResult {
        try await withEngine { engine, _ in
            time.stand()
            let run = Task { await engine.run() }
            let result = await engine.sync(request)
            run.cancel()
            await run.value
            return result
        }
    }
}
