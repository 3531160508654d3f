import DevServer
import NetMonitor
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// What the engine makes of a network that comes and goes: a real server and file, and a kernel that is scripted.
@Suite struct NetworkTests {
    private let network = ScriptedNetwork()

    private func fixture(items: Int = 5) async throws -> PullFixture {
        let fixture = try PullFixture(.cursor, items: DevItem.generate(count: items, seed: 1)) {
            $0.quirks.capturesPerMinute = nil
        }
        try await fixture.pull()
        fixture.server.clearLog()
        return fixture
    }

    /// Runs the engine's loop while `body` does something to it.
    private func running(
        _ fixture: PullFixture, source: NetworkSource? = nil, _ body: (SyncEngine, Store) async throws -> Void
    ) async throws {
        fixture.time.setParticipants(3)
        try await fixture.withEngine(source: source ?? network.source) { engine, store in
            let run = Task { await engine.run() }
            do {
                try await body(engine, store)
            } catch {
                run.cancel()
                await run.value
                throw error
            }
            run.cancel()
            await run.value
        }
        fixture.time.setParticipants(1)
    }

    /// Returns once the engine was told of it too: a clock that is moved before that counts as time of the old state.
    private func state(
        _ engine: SyncEngine, becomes state: Connectivity.State, over source: ScriptedNetwork? = nil
    ) async throws {
        try await eventually("the state to be \(state)") {
            engine.network.current.state == state && (source ?? network).isUrgent == (state == .offline)
        }
    }

    private func onlineAndIdle(_ engine: SyncEngine) async throws {
        try await state(engine, becomes: .online)
        try await eventually("the first pull to end") { engine.state.activity == .idle }
    }

    /// Lets time go on once a task waits for a moment: else it would go to the end at once, where no moment is left.
    private func timePasses(_ fixture: PullFixture, until end: Duration) async throws {
        try await eventually("a short wait") { fixture.time.isAwaited(within: .seconds(10)) }
        fixture.time.stop(after: end) {}
    }

    @Test func goingOfflineEndsRequestsAndCostsNothing() async throws {
        let fixture = try await fixture()
        fixture.time.stand()
        try await running(fixture) { engine, store in
            try await state(engine, becomes: .online)
            // The capture's own request, before the server has seen its end.
            let held = fixture.server.script(.hold, on: .capture)
            _ = try await store.accept([.url("https://example.org/1")], now: fixture.time.now)
            engine.writesAccepted()
            try await fixture.server.waitForRequest(.capture)
            network.goDown()
            try await state(engine, becomes: .offline)
            try await eventually("the request to end") { try fixture.states() == [.unknown] }
            #expect(fixture.time.elapsed == .zero)
            #expect(engine.network.current.reason?.message == "No route to 127.0.0.1: v0: carrier lost.")
            // Another one is not even begun.
            _ = try await store.accept([.url("https://example.org/2")], now: fixture.time.now)
            engine.writesAccepted()
            let result = await engine.sync(SyncRequest())
            #expect(result.problem?.code == .offline)
            #expect(try fixture.states() == [.unknown, .queued])
            #expect(try fixture.query("SELECT attempts FROM outbox WHERE id = 2") == "0")
            held.release()
            network.comeUp()
            // What was cut off is looked for twice, ten minutes apart, before it is sent again; five minutes may pass before the
            // return is noticed.
            try await timePasses(fixture, until: .seconds(1_800))
            try await eventually("both to be delivered") { try fixture.states() == [.delivered, .delivered] }
        }
        #expect(fixture.server.items().count { $0.url == "https://example.org/1" } == 1)
        #expect(fixture.server.items().count { $0.url == "https://example.org/2" } == 1)
        #expect(try fixture.query("SELECT count(*) FROM recurring_error") == "0")
    }

    @Test func afterAReturnOneRequestGoesFirstThenTheQueueThenAPull() async throws {
        let fixture = try await fixture()
        fixture.time.stand()
        try await running(fixture) { engine, store in
            try await onlineAndIdle(engine)
            network.goDown()
            try await state(engine, becomes: .offline)
            let drafts = (1...5).map { WriteDraft.url("https://example.org/\($0)") }
            _ = try await store.accept(drafts, now: fixture.time.now)
            engine.writesAccepted()
            fixture.server.addNew()
            fixture.server.clearLog()
            network.comeUp()
            // Sends are spread a little.
            try await timePasses(fixture, until: .seconds(60))
            try await eventually("the queue to be delivered and the new item to be there") {
                try fixture.states().allSatisfy { $0 == .delivered }
                    && fixture.query("SELECT live FROM copy") == "11"
            }
            let paths = fixture.server.requests().map(\.path)
            #expect(paths.first == "/api/health")
            #expect(paths.count { $0 == "/api/health" } == 1)
            let lastCapture = try #require(paths.lastIndex(of: "/api/capture"))
            let firstPull = try #require(paths.firstIndex(of: "/api/timeline"))
            #expect(lastCapture < firstPull)
            let urls = fixture.server.captures.map(\.url)
            #expect(urls == (1...5).map { "https://example.org/\($0)" })
        }
    }

    @Test func aServerThatComesBackWithoutALinkEventIsFoundWithinTheCap() async throws {
        let fixture = try await fixture()
        let server = fixture.server
        let back = fixture.time.elapsed + .seconds(300)
        fixture.time.stand()
        try await running(fixture) { engine, _ in
            try await onlineAndIdle(engine)
            server.refuseConnections()
            server.closeConnections()
            let sync = Task { await engine.sync(SyncRequest()) }
            try await timePasses(fixture, until: back)
            #expect(await sync.value.problem?.code == .connectFailed)
            // Nothing waits to be sent, and the next poll would be hours away.
            try await eventually("five minutes to pass") { fixture.time.elapsed >= back }
            #expect(engine.network.current.state == .unreachable)
            #expect(engine.network.probes <= 12)
            try server.acceptConnections()
            server.addNew()
            fixture.time.stop(after: back + .seconds(61)) {}
            try await eventually("the server to be found, and pulled from") {
                try engine.network.current.state == .online && fixture.query("SELECT live FROM copy") == "6"
            }
            #expect(fixture.time.elapsed <= back + .seconds(61))
        }
    }

    @Test func whileOnlineNothingIsProbedForADay() async throws {
        let fixture = try await fixture()
        let end = fixture.time.elapsed + .seconds(86_400)
        fixture.time.stop(after: end) {}
        try await running(fixture) { engine, _ in
            network.changeSomething()
            try await eventually("a day to pass") { fixture.time.elapsed >= end }
            #expect(engine.network.current.state == .online)
            #expect(engine.network.probes == 0)
        }
        #expect(!fixture.server.requests().contains { $0.path == "/api/health" })
    }

    @Test func withoutAWayNothingIsSentAtTheStart() async throws {
        let fixture = try await fixture()
        fixture.time.stand()
        let down = ScriptedNetwork(isUp: false)
        try await running(fixture, source: down.source) { engine, _ in
            try await state(engine, becomes: .offline, over: down)
            try await eventually("the pull to wait") { engine.state.activity == .waiting }
            #expect(fixture.server.requests().isEmpty)
            down.comeUp()
            try await state(engine, becomes: .online)
        }
    }

    @Test func onceEndsAtOnceWithoutAWay() async throws {
        let fixture = try await fixture()
        let down = ScriptedNetwork(isUp: false)
        fixture.server.refuseConnections()
        let result = try await fixture.withEngine(source: down.source) { engine, _ in await engine.runOnce() }
        #expect(result.problem?.code == .offline)
        #expect(fixture.server.requests().isEmpty)
        #expect(try StoreReader(path: fixture.path).connectivityHistory().map(\.state) == [.offline])
        // The server's answer is the truth.
        try fixture.server.acceptConnections()
        let other = ScriptedNetwork(isUp: false)
        let second = try await fixture.withEngine(source: other.source) { engine, _ in await engine.runOnce() }
        #expect(second.problem == nil)
    }

    @Test func wakingUpPullsAtOnce() async throws {
        let fixture = try await fixture()
        fixture.time.stand()
        try await running(fixture) { engine, _ in
            try await onlineAndIdle(engine)
            fixture.server.addNew()
            network.tellClock(.woke(.seconds(3_600)))
            try await eventually("the new item to be there") { try fixture.query("SELECT live FROM copy") == "6" }
            #expect(engine.network.probes == 1)
        }
    }

    @Test(arguments: [Duration.seconds(86_400), .seconds(-86_400)])
    func aStepOfTheClockNeitherFloodsNorFreezesTheQueue(_ step: Duration) async throws {
        let fixture = try await fixture()
        let id = fixture.server.items()[0].id
        _ = fixture.server.script(.answer(status: 500), on: .path("/api/items/\(id)", method: "DELETE"), times: .max)
        fixture.time.stand()
        try await running(fixture) { engine, store in
            try await state(engine, becomes: .online)
            _ = try await store.accept([.delete(item: id)], now: fixture.time.now)
            engine.writesAccepted()
            try await eventually("the first attempt to fail") {
                try fixture.query("SELECT attempts || state FROM outbox") == "1queued"
            }
            let due = try #require(try fixture.query("SELECT next_attempt_at FROM outbox").flatMap { Timestamp($0) })
            // One that is not asleep yet would see a clock by which the write is due.
            try await eventually("the queue to wait for it") {
                fixture.time.isAwaited(within: due.duration(since: fixture.time.now) + .seconds(1))
            }
            fixture.time.stepClock(by: step)
            network.tellClock(.stepped(step))
            try await eventually("the due time to follow the clock") {
                try fixture.query("SELECT next_attempt_at FROM outbox") == due.advanced(by: step).description
            }
            #expect(try fixture.query("SELECT attempts FROM outbox") == "1")
        }
    }

    /// Also where it says that the key is wrong, which reads with the same key disprove.
    @Test(arguments: [(#"{"error":"Forbidden"}"#, "forbidden"), (#"{"error":"Invalid API key"}"#, "unauthorized")])
    func aServerThatRefusesWritesAloneIsNotAskedWithoutAPause(body: String, code: String) async throws {
        let fixture = try await fixture()
        _ = fixture.server.script(
            .answer(status: 403, body: body), on: .capture, times: .max)
        try await fixture.accept(.url("https://example.org/1"))
        fixture.time.stand()
        let hour = Duration.seconds(3_600)
        try await running(fixture) { engine, _ in
            try await eventually("the write to be refused") {
                try fixture.query("SELECT error_code FROM outbox") == code
            }
            try await eventually("the pull to end") { engine.state.activity == .idle }
            fixture.time.stop(after: hour) {}
            try await eventually("an hour to pass") { fixture.time.elapsed >= hour }
        }
        // Once at first, and after half an hour at the earliest.
        #expect(fixture.server.requests(.capture).count <= 3)
        #expect(try fixture.query("SELECT attempts || state FROM outbox") == "0queued")
    }

    @Test func whatWasDueStaysDueWhenTheClockIsSetBack() async throws {
        let fixture = try await fixture()
        fixture.time.stand()
        try await running(fixture) { engine, store in
            try await state(engine, becomes: .online)
            network.goDown()
            try await state(engine, becomes: .offline)
            _ = try await store.accept([.url("https://example.org/1")], now: fixture.time.now)
            engine.writesAccepted()
            fixture.time.stepClock(by: .seconds(-3_600))
            network.tellClock(.stepped(.seconds(-3_600)))
            network.comeUp()
            try await eventually("the write to be delivered") { try fixture.states() == [.delivered] }
            #expect(fixture.time.elapsed == .zero)
        }
    }

    @Test func timeWithoutANetworkIsNoAge() async throws {
        let fixture = try await fixture()
        _ = fixture.server.script(.answer(status: 500), on: .change, times: .max)
        fixture.time.stand()
        let id = fixture.server.items()[0].id
        try await running(fixture) { engine, store in
            try await state(engine, becomes: .online)
            _ = try await store.accept([.delete(item: id)], now: fixture.time.now)
            engine.writesAccepted()
            try await eventually("the first attempt to fail") {
                try fixture.query("SELECT attempts || state FROM outbox") == "1queued"
            }
            network.goDown()
            try await state(engine, becomes: .offline)
            fixture.time.advance(by: .seconds(36_000))
            network.comeUp()
            // A probe that is under way over the old route is repeated a moment later.
            fixture.time.stop(after: .seconds(36_030)) {}
            try await state(engine, becomes: .online)
            await engine.countReachable()
            let age = try await store.outboxEntries([1])[0].reachableAge
            #expect(age < .seconds(60))
        }
    }

    @Test func anotherWayEndsWhatIsUnderWayOverTheOldOne() async throws {
        let fixture = try await fixture()
        fixture.time.stand()
        try await running(fixture) { engine, _ in
            try await onlineAndIdle(engine)
            fixture.server.addNew()
            let held = fixture.server.script(.hold, on: .timeline)
            let count = fixture.server.requests(.timeline).count
            let sync = Task { await engine.sync(SyncRequest()) }
            try await fixture.server.waitForRequest(.timeline, count: count + 1)
            network.changeWay()
            #expect(await sync.value.problem?.code == .offline)
            held.release()
            let again = await engine.sync(SyncRequest())
            #expect(again.problem == nil, "\(again)")
            #expect(engine.network.current.state == .online)
        }
    }

    @Test func aServerBehindAGatewayIsFoundToBeBack() async throws {
        let fixture = try await fixture()
        let gone = fixture.server.script(.answer(status: 502, body: "<html>Bad Gateway</html>"), on: .any, times: .max)
        fixture.time.stand()
        try await running(fixture) { engine, _ in
            try await timePasses(fixture, until: .seconds(200))
            try await eventually("time to pass") { fixture.time.elapsed >= .seconds(200) }
            #expect(engine.network.current.state == .unreachable)
            fixture.server.removeFaults()
            _ = gone
            fixture.server.addNew()
            fixture.time.stop(after: .seconds(261)) {}
            try await eventually("the new item to be there") { try fixture.query("SELECT live FROM copy") == "6" }
        }
    }

    @Test func theTransitionsAreInTheFile() async throws {
        let fixture = try await fixture()
        fixture.time.stand()
        try await running(fixture) { engine, _ in
            try await state(engine, becomes: .online)
            network.goDown()
            try await state(engine, becomes: .offline)
            network.comeUp()
            try await state(engine, becomes: .online)
        }
        let history = try StoreReader(path: fixture.path).connectivityHistory()
        #expect(history.map(\.state) == [.online, .offline])
        #expect(history[1].code == "offline")
        #expect(history[1].reason == "No route to 127.0.0.1: v0: carrier lost.")
    }

    @Test func watchersAreToldEachChangeWithItsReason() async throws {
        let fixture = try await fixture()
        fixture.time.stand()
        try await running(fixture) { engine, _ in
            try await state(engine, becomes: .online)
            var changes = engine.network.changes().makeAsyncIterator()
            network.goDown()
            #expect(await changes.next()?.reasons == ["v0: carrier lost"])
            let offline = await changes.next()
            #expect(offline?.kind == .connectivity && offline?.state == .offline)
        }
    }
}
