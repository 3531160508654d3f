import DevServer
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import PRSNLClient
@testable import Store
@testable import SyncEngine

/// A fault of the server, what the pull says of it, and that the copy is unharmed by it.
struct FaultCase: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var fault: Fault
    var code: ErrorCode

    init(_ name: String, _ fault: Fault, _ code: ErrorCode) {
        testDescription = name
        self.fault = fault
        self.code = code
    }

    static let all = [
        FaultCase("500", .answer(status: 500, body: #"{"detail":"Failed"}"#), .serverError),
        FaultCase("502", .answer(status: 502, body: "<html>bad gateway</html>"), .serviceUnavailable),
        FaultCase("503", .answer(status: 503, headers: ["Retry-After": "7"], body: "{}"), .serviceUnavailable),
        FaultCase("401", .answer(status: 401, body: #"{"detail":"Authentication required"}"#), .unauthorized),
        FaultCase("403", .answer(status: 403, body: #"{"detail":"no"}"#), .forbidden),
        FaultCase("404", .answer(status: 404, body: "<html>"), .notFound),
        FaultCase("422", .answer(status: 422, body: #"{"detail":[]}"#), .invalidInput),
        FaultCase("418", .answer(status: 418, body: ""), .unexpectedStatus),
        FaultCase("429", .rateLimit(.seconds(120)), .rateLimited),
        FaultCase("429 until a date", .rateLimit(.date(.seconds(600))), .rateLimited),
        FaultCase("429 until soon", .rateLimit(.garbage), .rateLimited),
        FaultCase("429 in the body", .rateLimit(.inBody(300)), .rateLimited),
        FaultCase("429 without a word", .rateLimit(.none), .rateLimited),
        FaultCase("closed", .closeBeforeAnswering, .cutOff),
        FaultCase("closed after applying", .closeAfterApplying, .cutOff),
        FaultCase("500 after applying", .answerAfterApplying(status: 500, body: "{}"), .serverError),
        FaultCase("huge", .huge(bytes: 40 << 20, gzip: false), .answerTooLarge),
        FaultCase("truncated", .truncate(after: 700), .cutOff),
        FaultCase("garbage", .garbage, .unexpectedShape),
        FaultCase("portal", .portal, .portal),
        FaultCase("empty body", .emptyBody, .unexpectedShape),
        FaultCase("{}", .emptyObject, .unexpectedShape),
        FaultCase("redirect elsewhere", .redirect(to: "http://127.0.0.2:9/api/timeline"), .redirectRefused),
    ]
}

@Suite struct FaultTests {
    @Test(arguments: FaultCase.all)
    func aFaultDuringTheBackfillKeepsWhatWasReadAndIsGoneAfterwards(_ fault: FaultCase) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 800))
        let script = fixture.server.script(fault.fault, on: .timeline, times: .max, skip: 5)
        let result = try await fixture.pull()
        #expect(result.problem?.code == fault.code)
        #expect(!result.isComplete)
        let copied = try fixture.copy()
        #expect(Set(copied).isSubset(of: try fixture.truth()), "only what the server said")
        #expect(try fixture.query("SELECT count(*) FROM item WHERE missing_since IS NOT NULL") == "0")
        #expect(try fixture.query("SELECT complete FROM sync_state") == "0")
        #expect(try StoreReader(path: fixture.path).summary().lastError?.code == fault.code.rawValue)
        script.remove()
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
        #expect(try StoreReader(path: fixture.path).summary().lastError?.isOver == true)
    }

    @Test(arguments: FaultCase.all, [Dialect.page, .express])
    func aFaultDuringAPassDeletesNothing(_ fault: FaultCase, dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: dialect == .page ? 400 : 2_100))
        try await fixture.pull()
        let script = fixture.server.script(fault.fault, on: .timeline, times: .max, skip: 3)
        let result = try await fixture.pull(full: true)
        #expect(result.problem?.code == fault.code)
        #expect(try fixture.query("SELECT count(*) FROM item WHERE missing_since IS NOT NULL") == "0")
        script.remove()
        try fixture.expectExact()
        #expect(try await fixture.pull(full: true).isComplete)
    }

    @Test(arguments: FaultCase.all)
    func halfASweepDeletesNothing(_ fault: FaultCase) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_000))
        try await fixture.pull()
        let gone = fixture.server.items()[950]
        fixture.server.delete(gone.id)
        let script = fixture.server.script(fault.fault, on: .timeline, times: .max, skip: 8)
        #expect(try await fixture.pull(full: true).problem?.code == fault.code)
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "1000")
        script.remove()
        #expect(try await fixture.pull(full: true).deleted == 1)
        try fixture.expectExact()
    }

    @Test(arguments: [
        FaultCase("drip", .drip(bytes: 8_000, every: .milliseconds(1)), .cancelled),
        FaultCase("delay", .delay(.milliseconds(5)), .cancelled),
        FaultCase("kept-alive death", .dieKeptAlive, .cancelled),
    ])
    func whatIsOnlySlowOrIsRepeatedIsNoFault(_ fault: FaultCase) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_000))
        let script = fixture.server.script(fault.fault, on: .timeline, times: 3, skip: 3)
        #expect(try await fixture.pull().isComplete)
        #expect(script.appliedCount == 3)
        try fixture.expectExact()
    }

    @Test(
        arguments: [
            (.rateLimitExceeded(retryAfter: .seconds(90)), .retry(after: .seconds(90))),
            (.serviceUnavailable(reason: "x", retryAfter: .seconds(7)), .retry(after: .seconds(7))),
            (.serviceUnavailable(reason: "x", retryAfter: nil), .retry(after: nil)),
            (.serverError(message: "x"), .retry(after: nil)), (.conflict(message: "x"), .retry(after: nil)),
            (.unknown(statusCode: 418, message: "x"), .retry(after: nil)),
            (.decodingError(.portal), .retry(after: nil)),
            (.networkError(.connectFailed), .retry(after: nil)), (.networkError(.tlsFailed), .retry(after: nil)),
            (.networkError(.cancelled), .cancelled), (.networkError(.redirectRefused(to: "x")), .tryRarely),
            (.unauthorized, .tryRarely), (.forbidden, .tryRarely), (.notFound(resource: "Item"), .tryRarely),
            (.invalidInput(message: "x"), .tryRarely),
        ] as [(APIError.Kind, SyncFailure.Verdict)])
    func eachErrorHasItsVerdict(_ kind: APIError.Kind, verdict: SyncFailure.Verdict) {
        let error = APIError(
            kind: kind, endpoint: "GET /api/timeline", requestID: "fake", mayHaveReachedServer: true)
        #expect(SyncFailure(error).verdict == verdict)
        #expect(SyncFailure(error).error.code == error.userFacing.code)
    }

    @Test func theServersWordsAreInNoLogLine() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 10))
        fixture.server.script(
            .answer(status: 500, body: #"{"detail":"Failed at row A Private Title"}"#), on: .any, times: .max)
        let lines = Mutex<[String]>([])
        let store = try Store(path: fixture.path)
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: fixture.credentials),
            time: fixture.time.source, log: { _, _, line in lines.withLock { $0.append(line.description) } })
        let engine = SyncEngine(
            store: store, client: client, serverURL: fixture.server.url, time: fixture.time.source,
            log: { _, _, line in lines.withLock { $0.append(line.description) } })
        _ = await engine.runOnce()
        client.shutdown()
        await store.close()
        let logged = lines.withLock { $0 }
        #expect(logged.contains { $0.contains("HTTP status 500") })
        #expect(!logged.contains { $0.contains("Private") || $0.contains("next try") })
    }

    @Test func aShrunkenListIsNotBelievedWithoutAWord() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 600))
        try await fixture.pull()
        for item in fixture.server.items().prefix(300) { fixture.server.delete(item.id) }
        let result = try await fixture.pull(full: true)
        #expect(result.problem?.code == .deletionsHeld)
        #expect(result.deleted == 0)
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "600")
        #expect(try StoreReader(path: fixture.path).summary().copy.deletionsHeld == 300)
        let accepted = try await fixture.withEngine { engine, _ in
            fixture.time.stand()
            let run = Task { await engine.run() }
            let result = await engine.sync(SyncRequest(acceptDeletions: true))
            run.cancel()
            await run.value
            return result
        }
        #expect(accepted.deleted == 300)
        #expect(accepted.isComplete)
        try fixture.expectExact()
    }

    @Test func aListThatIsSuddenlyEmptyDeletesNothing() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 600))
        try await fixture.pull()
        let items = fixture.server.items()
        fixture.server.deleteAll()
        #expect(try await fixture.pull(full: true).problem?.code == .deletionsHeld)
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "600")
        fixture.server.add(items)
        #expect(try await fixture.pull(full: true).isComplete)
        try fixture.expectExact()
        #expect(try StoreReader(path: fixture.path).summary().copy.deletionsHeld == 0)
    }

    @Test func aListWithoutAnEnvelopeIsNotTheEndOfTheTimeline() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_500))
        let json = ["Content-Type": "application/json"]
        let fault = fixture.server.script(
            .answer(status: 200, headers: json, body: #"{"items":[]}"#), on: .timeline, times: .max, skip: 5)
        #expect(try await fixture.pull().problem?.code == .unexpectedShape)
        #expect(try fixture.query("SELECT complete FROM sync_state") == "0")
        fault.remove()
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
    }

    @Test(arguments: Dialect.allCases)
    func pagesThatAreTooLargeAreAskedForSmaller(_ dialect: Dialect) async throws {
        var items = DevItem.generate(count: 900)
        for index in items.indices {
            items[index].content = String(repeating: "a long text ", count: 200)
            // The whole text is in the small server's list alone.
            if dialect != .express, index < 100 { items[index].title = String(repeating: "long ", count: 4_000) }
        }
        let fixture = try PullFixture(dialect, items: items)
        // The others show a new note only once it is processed.
        if dialect == .express { fixture.server.script(.closeAfterApplying, on: .capture) }
        let result = try await fixture.withEngine(maximumAnswerSize: 2 << 20) { engine, store in
            // To write a note, the newest page is read before, and after a lost answer the newest pages.
            _ = try await store.accept([.create(NewItem(note: "Some words"))], now: fixture.time.now)
            return await engine.runOnce()
        }
        #expect(result.isComplete, "\(String(describing: result.problem))")
        try fixture.expectExact()
        #expect(try fixture.query("SELECT state FROM outbox") == "delivered")
    }

    @Test(arguments: [Dialect.page, .express])
    func oneAnswerThatWasTooLargeDoesNotMakeLaterPassesDearer(_ dialect: Dialect) async throws {
        var items = DevItem.generate(count: 900)
        items[50].content = String(repeating: "x", count: 1_000_000)
        items[50].title = String(repeating: "x", count: 1_000_000)
        let fixture = try PullFixture(dialect, items: items)
        func requestsOfAPass(_ engine: SyncEngine) async -> Int {
            fixture.server.clearLog()
            #expect(await engine.sync(SyncRequest(full: true)).isComplete)
            return fixture.server.requests(.timeline).count
        }
        try await fixture.withEngine(maximumAnswerSize: 1_800_000) { engine, _ in
            fixture.time.stand()
            let run = Task { await engine.run() }
            #expect(await engine.sync(SyncRequest()).isComplete == false)
            fixture.server.edit(items[50].id) { item in
                item.content = "short"
                item.title = "short"
            }
            var passes: [Int] = []
            for _ in 0..<8 { passes.append(await requestsOfAPass(engine)) }
            run.cancel()
            await run.value
            #expect(passes[7] == (dialect == .express ? 2 : 12), "\(passes)")
        }
    }

    /// As where no time passes: the pause would have no end.
    @Test func whoAsksForAPullDoesNotWaitForThePausesOfOneInTheBackground() async throws {
        let fixture = try PullFixture(.page, items: DevItem.generate(count: 700))
        try await fixture.whileRunning { engine in
            try await eventually("a pause between two pages") { fixture.time.isAwaited(within: .seconds(10)) }
            let answer = Mutex<SyncResult?>(nil)
            let asking = Task {
                let result = await engine.sync(SyncRequest())
                answer.withLock { $0 = result }
            }
            try await eventually("the answer") { answer.withLock { $0 } != nil }
            await asking.value
            #expect(answer.withLock { $0 }?.isComplete == true)
        }
    }

    @Test func aListWithoutEndEndsThePull() async throws {
        let fixture = try PullFixture { $0.quirks.timelineIsEndless = true }
        #expect(try await fixture.pull().problem?.code == .pageContradictory)
        #expect(fixture.server.requests(.timeline).count < 1_200)
        #expect(try fixture.query("SELECT complete FROM sync_state") == "0")
    }

    @Test func aServerThatIgnoresThePageIsAnErrorAndNoLoop() async throws {
        let fixture = try PullFixture(.page, items: DevItem.generate(count: 700)) { $0.quirks.ignoresPage = true }
        #expect(try await fixture.pull().problem?.code == .pageContradictory)
        #expect(fixture.server.requestCount < 20)
    }

    @Test func aTimelineThatNeverSettlesIsIncompleteAfterFivePasses() async throws {
        let fixture = try PullFixture(.page, items: DevItem.generate(count: 700)) {
            $0.mutation = DevServer.Mutation(everyRequests: 1, seed: 5)
        }
        #expect(try await fixture.pull().problem?.code == .timelineUnsettled)
        #expect(try fixture.query("SELECT count(*) FROM item WHERE deleted_at IS NOT NULL") == "0")
    }

    @Test func aServerOfAnotherDialectIsAnotherServer() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 10))
        try await fixture.pull()
        let page = #"{"items":[],"total":0,"page":1,"pageSize":100}"#
        fixture.server.script(
            .answer(status: 200, headers: ["Content-Type": "application/json"], body: page), on: .timeline)
        #expect(try await fixture.pull().problem?.code == .serverChanged)
        try fixture.expectExact()
    }
}
