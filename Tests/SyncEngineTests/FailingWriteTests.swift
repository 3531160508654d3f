import DevServer
import PRSNLClient
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// A write that fails again and again, or that is parked, is shown: nothing fails in silence.
@Suite struct FailingWriteTests {
    private func fixture(patchFails: Bool) async throws -> PullFixture {
        let fixture = try PullFixture(.cursor, items: DevItem.generate(count: 5, seed: 1)) {
            $0.settling = .onCommand
            $0.quirks.patchFails = patchFails
            $0.quirks.capturesPerMinute = nil
        }
        try await fixture.pull()
        return fixture
    }

    private func errors(_ fixture: PullFixture) throws -> [RecurringError] {
        try StoreReader(path: fixture.path).recurringErrors().filter { $0.endpoint.hasPrefix("outbox") }
    }

    @Test func anEditThatFailedFourTimesIsAnErrorUntilItArrives() async throws {
        let fixture = try await fixture(patchFails: false)
        let item = fixture.server.items()[0]
        let reason = #"{"detail":"Failed to update item: column \"category\" does not exist","code":"X"}"#
        let fault = fixture.server.script(.answer(status: 500, body: reason), on: .change, times: 5)
        try await fixture.accept(.edit(item: item.id, ItemEdit(title: "New")))
        while fault.appliedCount < 3 { try await fixture.run(for: .seconds(60)) }
        #expect(try StoreReader(path: fixture.path).summary().outbox.failing == nil)
        #expect(try errors(fixture).isEmpty)
        while fault.appliedCount < 5 { try await fixture.run(for: .seconds(3_600)) }
        let failing = try #require(try StoreReader(path: fixture.path).summary().outbox.failing)
        #expect(failing.entry == 1 && failing.count == 1 && failing.ownCount == 1)
        #expect(failing.error?.message == "Server error: Failed to update item: column … does not exist.")
        let error = try #require(try errors(fixture).first)
        #expect(error.code == "server_error" && error.endpoint == "outbox (edit)" && !error.isOver, "\(error)")
        #expect(error.message == failing.error?.message)
        // Pulls that succeed meanwhile say nothing of it.
        try await fixture.pull(full: true)
        #expect(try errors(fixture).first?.isOver == false)

        try await fixture.run(for: .seconds(86_400))
        #expect(fixture.server.item(item.id)?.title == "New")
        #expect(try StoreReader(path: fixture.path).summary().outbox.failing == nil)
        #expect(try errors(fixture).first?.isOver == true)
    }

    /// A proxy that lets reads through.
    @Test func aRefusedWriteIsSeenFromTheFirstTimeOnWithWhenItIsTriedAgain() async throws {
        let fixture = try await fixture(patchFails: false)
        let item = fixture.server.items()[0]
        fixture.server.script(.answer(status: 403, body: "no"), on: .change, times: .max)
        try await fixture.accept(.edit(item: item.id, ItemEdit(title: "New")))
        let (until, now) = try await fixture.withEngine { engine, _ in
            fixture.time.setParticipants(3)
            defer { fixture.time.setParticipants(1) }
            let run = Task { await engine.run() }
            fixture.time.stop(after: fixture.time.elapsed + .seconds(300)) {}
            try await eventually("a refusal") { !engine.state.refusedUntil.isEmpty }
            let seen = (engine.state.refusedUntil[1], fixture.time.now)
            run.cancel()
            await run.value
            return seen
        }
        #expect(try #require(until) > now.advanced(by: .seconds(60)))
        let failing = try #require(try StoreReader(path: fixture.path).summary().outbox.failing)
        #expect(failing.ownCount == 1 && failing.error?.code == .forbidden)
        #expect(try errors(fixture).first.map { $0.code == "forbidden" && !$0.isOver } == true)
    }

    @Test func aDeletionThatTheServerFailsAtIsTriedEveryTenMinutes() async throws {
        let fixture = try await fixture(patchFails: false)
        let fault = fixture.server.script(
            .answer(status: 500), on: RequestMatcher { $0.method == "DELETE" }, times: .max)
        try await fixture.accept(.delete(item: fixture.server.items()[0].id))
        try await fixture.run(for: .seconds(3_600))
        let first = fault.appliedCount
        try await fixture.run(for: .seconds(6 * 3_600))
        // Six an hour, and a little less for the jitter.
        #expect((30...37).contains(fault.appliedCount - first), "\(fault.appliedCount - first)")
        try await fixture.run(for: .seconds(20 * 3_600))
        #expect(try fixture.states() == [.parked])
    }

    /// An edit that failed four times in the first hour has its next turn after more than two. In between the whole
    /// server fails for forty minutes, longer than a quiet account's polls lie apart, and then is well.
    @Test func whatTheServerFailedAtGoesWhenItsPullsSucceedAgain() async throws {
        let fixture = try await fixture(patchFails: false)
        let (time, server) = (fixture.time, fixture.server)
        let item = server.items()[0]
        let edits = server.script(.answer(status: 500), on: .change, times: .max)
        try await fixture.accept(.edit(item: item.id, ItemEdit(title: "New")))
        try await fixture.withEngine { engine, _ in
            time.setParticipants(3)
            defer { time.setParticipants(1) }
            let run = Task { await engine.run() }
            let start = time.elapsed
            time.stop(after: start + .seconds(3_600)) {
                let all = server.script(.answer(status: 500), on: .timeline, times: .max)
                time.stop(after: start + .seconds(6_000)) {
                    all.remove()
                    edits.remove()
                    time.stop(after: start + .seconds(9_000)) { run.cancel() }
                }
            }
            await run.value
        }
        #expect(edits.appliedCount == 4)
        #expect(server.item(item.id)?.title == "New")
    }

    /// The next pull would come after half an hour. But the server lets the write in.
    @Test(arguments: [403, 404])
    func aPullThatWasRefusedIsTriedAgainWhenAWriteIsTaken(_ status: Int) async throws {
        let fixture = try await fixture(patchFails: false)
        let refusal = fixture.server.script(.answer(status: status), on: .timeline)
        let busy = ["x-error-code": "BUSY", "retry-after": "900"]
        fixture.server.script(.answer(status: 503, headers: busy, body: #"{"detail":"busy"}"#), on: .capture)
        try await fixture.accept(.url("https://example.com/a"))
        try await fixture.run(for: .seconds(1_200))
        try #require(refusal.appliedCount == 1)
        #expect(try fixture.states() == [.delivered])
        #expect(try fixture.query("SELECT count(*) FROM item WHERE url = 'https://example.com/a'") == "1")
    }

    @Test func aTitleThatFollowsIsCountedApartFromWhatPeopleAskedFor() async throws {
        let fixture = try await fixture(patchFails: true)
        try await fixture.accept(.url("https://example.com/a", title: "My title"))
        try await fixture.run(for: .seconds(60))
        fixture.server.settle()
        try await fixture.run(for: .seconds(2 * 86_400))
        let failing = try #require(try StoreReader(path: fixture.path).summary().outbox.failing)
        #expect(failing.count == 1 && failing.ownCount == 0)
    }

    @Test func aParkedWriteIsALineOfTheLogWithoutTheServersWords() async throws {
        let fixture = try await fixture(patchFails: false)
        let lines = Mutex<[String]>([])
        let item = fixture.server.items()[0]
        fixture.server.script(
            .answer(status: 422, headers: ["x-error-code": "INVALID"], body: #"{"detail":"Secret title"}"#),
            on: .change)
        try await fixture.accept(.edit(item: item.id, ItemEdit(title: "New")))
        try await fixture.withEngine(
            log: { level, _, text in if level == .warning { lines.withLock { $0.append(text.description) } } }
        ) { engine, _ in _ = await engine.runOnce() }
        #expect(try fixture.states() == [.parked])
        let parks = lines.withLock { $0 }.filter { $0.contains("is parked") }
        #expect(parks.count == 1 && parks[0].hasPrefix("#1 is parked [invalid_input]"), "\(parks)")
        #expect(!parks.contains { $0.contains("Secret") })
    }
}
