import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

@Suite struct ExactCopyTests {
    @Test(arguments: Dialect.allCases, [1, 7, 99])
    func onePullEndsWithTheServersOwnList(_ dialect: Dialect, tieGroup: Int) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 1_234, tieGroup: tieGroup))
        let result = try await fixture.pull()
        #expect(result.problem == nil)
        #expect(result.isComplete)
        #expect(result.added == 1_234)
        try fixture.expectExact()
        #expect(try fixture.query("SELECT complete FROM sync_state") == "1")
    }

    @Test(arguments: Dialect.allCases, [0, 1, 99, 100, 101, 199, 200])
    func listsOfAnyLengthEndExactly(_ dialect: Dialect, count: Int) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: count))
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
    }

    @Test func largeListsOfTheSmallServerAreReadInPages() async throws {
        let fixture = try PullFixture(.express, items: DevItem.generate(count: 4_321))
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
    }

    @Test(arguments: [100, 101, 150], [DevServer.TieChoice.varying, .smallestIDs])
    func groupsThatFillAPageArePossiblyMore(_ size: Int, choice: DevServer.TieChoice) async throws {
        let start = DevItem.generationStart
        var items = DevItem.generate(count: 250)
        let crowd = start.advanced(by: .seconds(2_010))
        items += DevItem.generate(count: size, seed: 9, tieGroup: size, start: crowd)
        let fixture = try PullFixture(items: items) { $0.quirks.tieChoice = choice }
        let result = try await fixture.pull()
        #expect(!result.isComplete)
        #expect(result.problem?.code == .crowdedInstant)
        let instants = try StoreReader(path: fixture.path).summary().copy.possiblyMoreAt
        #expect(instants.count == 1)
        let instant = try #require(instants.first)
        let outside = try fixture.truth().filter { !$0.contains("|\(instant)|") }
        #expect(try fixture.copy().filter { !$0.contains("|\(instant)|") } == outside, "all the others are exact")
        let reached = try fixture.copy().filter { $0.split(separator: "|")[1] == "\(instant)" }.count
        let reachable = try await fixture.reachable(at: instant)
        #expect(reached == reachable)
        // Asked again, it says the same and writes nothing.
        let rows = try fixture.copy()
        #expect(try await fixture.pull(full: true).problem?.code == .crowdedInstant)
        #expect(try fixture.copy() == rows)
    }

    @Test(arguments: Dialect.allCases)
    func aServerThatChangesWhileItIsReadIsCopiedExactlyInTheEnd(_ dialect: Dialect) async throws {
        var random = SeededRandom()
        let seed = random.next()
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 900)) { configuration in
            configuration.mutation = DevServer.Mutation(everyRequests: 2, seed: seed, limit: 12)
        }
        // The changes end by themselves; what they spoilt is repaired by the next pulls.
        for _ in 0..<6 { try await fixture.pull(full: true) }
        fixture.time.advance(by: .seconds(40 * 60))
        let result = try await fixture.pull(full: true)
        #expect(result.isComplete, "\(String(describing: result.problem))")
        try fixture.expectExact()
    }

    @Test func tagsInAnotherOrderAndRepeatedItemsChangeNothing() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 500)) { configuration in
            configuration.quirks.shufflesTags = true
            configuration.quirks.repeatsAnItem = true
        }
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
        let result = try await fixture.pull(full: true)
        #expect(result.changed == 0)
        #expect(result.isComplete)
        try fixture.expectExact()
    }

    @Test func anItemThatCannotBeReadNeverLosesThePage() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        var broken = try #require(fixture.server.items()[safe: 150])
        broken.rawJSON = #"{"id":"\#(broken.id)","createdAt":"yesterday"}"#
        fixture.server.add(broken)
        _ = try await fixture.pull()
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "299")
        #expect(try fixture.query("SELECT raw FROM rejected_item") == broken.rawJSON)
        broken.rawJSON = nil
        fixture.server.add(broken)
        #expect(try await fixture.pull(full: true).isComplete)
        try fixture.expectExact()
        #expect(try fixture.query("SELECT count(*) FROM rejected_item") == "0")
    }

    @Test(arguments: Dialect.allCases)
    func aPollWithoutNewsIsOneRequestAndWritesNothing(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 500))
        try await fixture.withEngine { engine, store in
            #expect(await engine.runOnce().isComplete)
            // What the first look at a list writes about itself is written now.
            _ = await engine.runOnce()
            let before = try await store.read { connection in connection.totalChanges }
            let requests = fixture.server.requestCount
            fixture.time.advance(by: .seconds(300))
            fixture.time.stand()
            let run = Task { await engine.run() }
            let result = await engine.sync(SyncRequest())
            #expect(result.isComplete)
            #expect(result.added == 0 && result.changed == 0 && result.deleted == 0)
            let changes = try await store.read { connection in connection.totalChanges }
            #expect(changes == before)
            run.cancel()
            await run.value
            // The loop's own first pull, and the one that was asked for.
            #expect(fixture.server.requestCount - requests <= 2)
        }
    }
}

extension PullFixture {
    /// How many items of an instant any limit shows.
    func reachable(at instant: Timestamp) async throws -> Int {
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: server.url, credentials: credentials), time: time.source)
        defer { client.shutdown() }
        var ids: Set<String> = []
        for limit in 1...100 {
            let page = try await client.session().timeline(TimelineRequest(.before(instant.next), limit: limit))
            for item in page.items where item.createdAt == instant { ids.insert(item.id) }
        }
        return ids.count
    }
}

extension Array {
    subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
