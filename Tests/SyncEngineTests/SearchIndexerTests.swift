import Configuration
import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// The loop that keeps the full-text index up to date, where the file does not take what it writes.
@Suite struct SearchIndexerTests {
    private func execute(_ sql: String, _ fixture: PullFixture) throws {
        do {
            try Connection(path: fixture.path, mode: .readWrite).execute(sql)
        } catch {
            throw error.userFacing(path: fixture.path)
        }
    }

    private func pass(_ seconds: Int, _ fixture: PullFixture) {
        fixture.time.stop(after: fixture.time.elapsed + .seconds(seconds)) {}
    }

    @Test(arguments: ["commit", "sync", "settings", "time"])
    func anIndexThatFailedIsTriedAgainWithWhatMakesTheWaitMoot(_ end: String) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 50))
        try await fixture.pull()
        try execute(
            """
            CREATE TRIGGER hindrance BEFORE INSERT ON search_document BEGIN SELECT RAISE(ABORT, 'it is hindered'); END
            """, fixture)
        try await fixture.withEngine(searchIndex: true) { engine, store in
            fixture.time.stand()
            let run = Task { await engine.run() }
            _ = await engine.sync(SyncRequest())
            pass(10, fixture)
            try await eventually("the failure") { engine.state.searchProblem != nil }
            // It was recorded, which is a commit of its own, and tried once more.
            pass(10, fixture)
            #expect(try await store.recurringErrors().contains { $0.endpoint == "search index" && !$0.isOver })
            _ = await engine.sync(SyncRequest())
            #expect(
                try await store.recurringErrors().contains { $0.endpoint == "search index" && !$0.isOver },
                "a pull that succeeds does not end it")
            try execute("DROP TRIGGER hindrance", fixture)
            switch end {
            case "commit":
                try await store.recordError(code: .offline, endpoint: "a test", message: "", at: fixture.time.now)
            case "sync": _ = await engine.sync(SyncRequest())
            case "settings":
                var settings = SyncSettings()
                settings.searchIndex = true
                engine.apply(settings)
            default: pass(130, fixture)
            }
            if end != "time" { pass(10, fixture) }
            try await eventually("the index") { engine.state.searchProblem == nil }
            #expect(try await store.searchState().notIndexed == 0)
            try await eventually("the end of the error") {
                try await !store.recurringErrors().contains { $0.endpoint == "search index" && !$0.isOver }
            }
            run.cancel()
            await run.value
        }
    }
}
