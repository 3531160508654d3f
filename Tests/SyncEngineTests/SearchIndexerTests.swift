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

    /// Lets time pass only while a task waits for a time that is near, and so never before the loop has been woken.
    ///
    /// - Parameter limit: longer than the wait of 120 seconds only where that is to pass.
    private func eventually(
        _ what: String, _ fixture: PullFixture, within limit: Duration = .seconds(100),
        _ condition: () async throws -> Bool
    ) async throws {
        let begun = fixture.time.elapsed
        try await TestSupport.eventually(what) {
            if try await condition() { return true }
            if fixture.time.isAwaited(within: .seconds(5)) {
                fixture.time.stop(after: fixture.time.elapsed + .seconds(6)) {}
            }
            return false
        }
        #expect(fixture.time.elapsed - begun < limit, "the wait of 120 seconds was moot")
    }

    /// How often the loop began to wait after a failure.
    private func waits(_ fixture: PullFixture) -> Int { fixture.time.sleeps.count { $0 == .seconds(120) } }

    @Test(arguments: ["commit", "sync", "settings", "time"])
    func anIndexThatFailedIsTriedAgainWithWhatMakesTheWaitMoot(_ end: String) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 50))
        try await fixture.pull()
        try execute(
            """
            CREATE TRIGGER blocker BEFORE INSERT ON search_document BEGIN SELECT RAISE(ABORT, 'it is hindered'); END
            """, fixture)
        try await fixture.withEngine(searchIndex: true) { engine, store in
            fixture.time.stand()
            let run = Task { await engine.run() }
            _ = await engine.sync(SyncRequest())
            // It was recorded, which is a commit of its own, and tried once more before the long wait.
            try await eventually("the second failure", fixture) {
                engine.state.searchProblem != nil && waits(fixture) == 1
            }
            #expect(try await store.recurringErrors().contains { $0.endpoint == "search index" && !$0.isOver })
            _ = await engine.sync(SyncRequest())
            try await eventually("the failure after a pull", fixture) { waits(fixture) == 2 }
            #expect(
                try await store.recurringErrors().contains { $0.endpoint == "search index" && !$0.isOver },
                "a pull that succeeds does not end it")
            try execute("DROP TRIGGER blocker", fixture)
            switch end {
            case "commit":
                try await store.recordError(code: .offline, endpoint: "a test", message: "", at: fixture.time.now)
            case "sync": _ = await engine.sync(SyncRequest())
            case "settings":
                var settings = SyncSettings()
                settings.searchIndex = true
                engine.apply(settings)
            default: fixture.time.stop(after: fixture.time.elapsed + .seconds(130)) {}
            }
            // Its time may pass before or after this begins to look.
            try await eventually("the index", fixture, within: .seconds(end == "time" ? 200 : 100)) {
                engine.state.searchProblem == nil
            }
            #expect(try await store.searchState().notIndexed == 0)
            try await eventually("the end of the error", fixture) {
                try await !store.recurringErrors().contains { $0.endpoint == "search index" && !$0.isOver }
            }
            run.cancel()
            await run.value
        }
    }
}
