import Configuration
import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// What becomes of texts that cannot be had.
@Suite struct TextFailureTests {
    @Test func aTextThatAlwaysFailsIsNamedAndHoldsUpNoOther() async throws {
        let fixture = try PullFixture.withTexts(count: 20)
        let broken = fixture.server.items()[3].id
        fixture.server.script(
            .answer(status: 500, body: #"{"detail":"broken"}"#), on: .path("/api/items/\(broken)"), times: .max)
        let result = try await fixture.pull(texts: true)
        #expect(result.problem == nil && !result.isComplete)
        #expect(try fixture.query("SELECT count(*) FROM item_text") == "19")
        #expect(try fixture.query("SELECT error_code FROM text_problem WHERE item_id = '\(broken)'") == "server_error")
        // Its wait grows: one, two, four minutes.
        let before = fixture.textsAsked
        try await fixture.run(for: .seconds(8 * 60), texts: true)
        #expect((2...4).contains(fixture.textsAsked - before))
        fixture.server.removeFaults()
        fixture.time.advance(by: .seconds(86_400))
        try await fixture.pull(texts: true)
        try fixture.expectTexts()
    }

    /// What no pull can bring is no reason to fetch no texts: a person who asks once a day would never get any.
    @Test(arguments: [true, false])
    func aCopyThatLacksSomethingForGoodGetsItsTexts(isOnce: Bool) async throws {
        let fixture = try PullFixture.withTexts(count: 20)
        var broken = fixture.server.items()[3]
        broken.rawJSON = #"{"id":"\#(broken.id)","createdAt":"never"}"#
        fixture.server.add(broken)
        let result = try await fixture.withEngine(texts: true) { engine, _ in
            if isOnce { return await engine.runOnce() }
            fixture.time.stand()
            let run = Task { await engine.run() }
            let result = await engine.sync(SyncRequest(texts: true))
            run.cancel()
            await run.value
            return result
        }
        #expect(result.problem?.code == .itemsRejected)
        #expect(try fixture.query("SELECT count(*) FROM item_text") == "19")
    }

    /// The oldest is asked too, which tells whether it is the items or the server.
    @Test func threeFailuresInARowStopTheRest() async throws {
        let fixture = try PullFixture.withTexts(count: 20)
        fixture.server.script(.answer(status: 500, body: #"{"detail":"broken"}"#), on: .item, times: .max)
        let result = try await fixture.pull(texts: true)
        #expect(result.problem?.code == .serverError)
        #expect(fixture.textsAsked == 4)
        #expect(try fixture.query("SELECT complete FROM sync_state") == "1")
    }

    @Test func thirtyBadItemsAtTheTopDoNotKeepTheOthersWaiting() async throws {
        let fixture = try PullFixture.withTexts(count: 80)
        let bad = Set(fixture.server.items().prefix(30).map { "/api/items/\($0.id)" })
        fixture.server.script(
            .answer(status: 422, body: #"{"detail":"broken"}"#), on: RequestMatcher { bad.contains($0.path) },
            times: .max)
        let result = try await fixture.pull(texts: true)
        #expect(result.problem == nil)
        #expect(try fixture.query("SELECT count(*) FROM item_text") == "50")
        #expect(fixture.textsAsked == 80)
        #expect(try fixture.query("SELECT count(*) FROM text_problem") == "30")
    }

    /// One text may be answered by a page of HTML, a 401, or a 429 of an hour: the timeline is not held up by it.
    @Test(arguments: [
        Fault.portal, .rateLimit(.seconds(3_600)), .answer(status: 401, body: #"{"detail":"no"}"#),
        .closeBeforeAnswering,
    ])
    func whatOneTextFailsWithHoldsUpNoPoll(_ fault: Fault) async throws {
        let fixture = try PullFixture.withTexts(count: 20)
        let bad = fixture.server.items()[4].id
        fixture.server.script(fault, on: .path("/api/items/\(bad)"), times: .max)
        try await fixture.pull()
        fixture.server.clearLog()
        try await fixture.run(for: .seconds(3 * 3_600), texts: true)
        #expect(fixture.server.requests(.timeline).count >= 12)
        #expect(fixture.server.requests(.path("/api/items/\(bad)")).count <= 16)
        #expect(Int(try fixture.query("SELECT count(*) FROM item_text") ?? "") ?? 0 >= 15)
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "0")
    }

    @Test func anAnswerThatSaysNothingOfTheTextIsNone() async throws {
        let fixture = try PullFixture.withTexts(count: 4)
        let ids = fixture.server.items().map(\.id)
        let answers = [
            #"{"id":"\#(ids[0])"}"#, #"{"id":"\#(ids[1])","content":"x","updated_at":"yesterday"}"#,
            #"{"id":"\#(ids[2])","content":7}"#,
        ]
        for (id, body) in zip(ids, answers) {
            fixture.server.script(
                .answer(status: 200, headers: ["content-type": "application/json"], body: body),
                on: .path("/api/items/\(id)"), times: .max)
        }
        try await fixture.pull(texts: true)
        #expect(try fixture.query("SELECT count(*) FROM item_body") == "1")
        #expect(try fixture.query("SELECT group_concat(DISTINCT error_code) FROM text_problem") == "unexpected_shape")
    }

    /// Some servers cut times in one of their answers.
    @Test func aVersionInMillisecondsIsTheSame() async throws {
        let fixture = try PullFixture.withTexts(count: 1)
        let item = fixture.server.items()[0]
        fixture.server.edit(item.id) { $0.updatedAt = Timestamp("2025-06-01T00:00:24.123456Z") ?? .earliest }
        fixture.server.script(
            .answer(
                status: 200, headers: ["content-type": "application/json"],
                body: #"{"id":"\#(item.id)","content":"cut","updated_at":"2025-06-01T00:00:24.123Z"}"#),
            on: .item, times: .max)
        try await fixture.pull(texts: true)
        #expect(try fixture.query("SELECT version FROM item_text") == "2025-06-01T00:00:24.123456Z")
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
    }

    /// Its connection was open before the server went away.
    @Test func aTextThatStillArrivesDoesNotSayThatTheServerIsBack() async throws {
        let fixture = try PullFixture.withTexts(count: 1)
        try await fixture.pull()
        let hold = fixture.server.script(.hold, on: .item)
        let process = try DaemonProcess(fixture)
        fixture.time.stand()
        let engine = process.engine
        let run = Task { await engine.run() }
        let wish = Task { await engine.sync(SyncRequest(texts: true)) }
        try await fixture.server.waitForRequest(.item)
        fixture.server.refuseConnections()
        _ = await engine.ping()
        #expect(engine.state.connectivity.state == .unreachable)
        hold.release()
        _ = await wish.value
        #expect(fixture.textsAsked == 1)
        #expect(engine.state.connectivity.state == .unreachable)
        run.cancel()
        await run.value
        await process.abandon()
    }

    @Test func theServersWaitIsObeyed() async throws {
        let fixture = try PullFixture.withTexts(count: 20)
        fixture.server.script(.rateLimit(.seconds(600)), on: .item, times: .max, skip: 5)
        let result = try await fixture.pull(texts: true)
        #expect(result.problem?.code == .rateLimited)
        // What was under way is heard, and no more is asked.
        #expect((6...5 + TextPull.inHurry).contains(fixture.textsAsked))
        // What had arrived is there. Those that were answered so are asked for after the others.
        #expect(try fixture.query("SELECT count(*) FROM item_text") == "5")
        #expect(try fixture.query("SELECT DISTINCT error_code FROM text_problem") == "rate_limited")
    }

    @Test func anAnswerAboutAnotherItemIsNotStored() async throws {
        let fixture = try PullFixture.withTexts(count: 2)
        let ids = fixture.server.items().map(\.id)
        fixture.server.script(
            .answer(
                status: 200, headers: ["content-type": "application/json"],
                body: #"{"id":"\#(ids[1])","content":"of another item","updated_at":"2026-01-01T00:00:00+00:00"}"#),
            on: .path("/api/items/\(ids[0])"), times: 1)
        try await fixture.pull(texts: true)
        #expect(try fixture.query("SELECT count(*) FROM item_text WHERE content = 'of another item'") == "0")
        #expect(try fixture.query("SELECT error_code FROM text_problem") == "unexpected_shape")
    }

    @Test func anItemThatTheServerDoesNotKnowIsSuspectedAndNotDeleted() async throws {
        let fixture = try PullFixture.withTexts(count: 20)
        try await fixture.pull()
        fixture.time.advance(by: .seconds(60))
        let gone = fixture.server.items()[7].id
        fixture.server.delete(gone)
        try await fixture.pull(texts: true)
        // The list lacks it too.
        #expect(try fixture.query("SELECT missing_since IS NOT NULL FROM item WHERE id = '\(gone)'") == "1")
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "20")
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "0")
        #expect(try fixture.query("SELECT texts_as_of FROM sync_state") == nil)
        try await fixture.pull(full: true, texts: true)
        try fixture.expectExact()
        try fixture.expectTexts()
    }

    /// A sweep that had passed the item, and was interrupted, would count it as absent.
    @Test func a404OfAnItemThatTheListHasMakesNoSuspect() async throws {
        let fixture = try PullFixture.withTexts(count: 300)
        try await fixture.pull()
        let id = fixture.server.items()[5].id
        fixture.server.script(
            .answer(
                status: 404, headers: ["x-error-code": "ITEM_NOT_FOUND"], body: #"{"detail":"Item not found"}"#),
            on: .path("/api/items/\(id)"), times: .max)
        fixture.time.advance(by: .seconds(60))
        fixture.server.script(.answer(status: 500, body: "{}"), on: .timeline, times: 1, skip: 2)
        _ = try await fixture.pull(full: true)
        try await fixture.pull(texts: true)
        try await fixture.pull(full: true, texts: true)
        #expect(
            try fixture.query("SELECT count(*) FROM item WHERE missing_since IS NOT NULL OR deleted_at IS NOT NULL")
                == "0")
        #expect(try fixture.query("SELECT texts_missing FROM sync_state") == "1")
        #expect(try fixture.query("SELECT texts_as_of FROM sync_state") == nil)
        // It is asked for again at ever longer intervals, though each head shows it.
        let before = fixture.textsAsked
        try await fixture.run(for: .seconds(3_600), texts: true)
        #expect(fixture.textsAsked - before <= 8)
    }

    @Test(arguments: [Dialect.page, .cursor])
    func aServerWithoutTextsIsAskedOnceADay(_ dialect: Dialect) async throws {
        let fixture = try PullFixture.withTexts(dialect, count: 20)
        fixture.server.setQuirks { $0.lacksItemDetail = true }
        #expect(try await fixture.pull(texts: true).problem?.code == .textsUnavailable)
        #expect(try fixture.query("SELECT count(*) FROM item WHERE missing_since IS NOT NULL") == "0")
        fixture.server.clearLog()
        try await fixture.run(for: .seconds(86_400 * 3), texts: true)
        #expect((6...12).contains(fixture.textsAsked))
        // It was brought up to date.
        fixture.server.setQuirks { $0.lacksItemDetail = false }
        try await fixture.run(for: .seconds(86_400 + 600), texts: true)
        try fixture.expectTexts()
    }

    /// Each request would count as an access there.
    @Test func aSmallServerIsNeverAskedAndItsTextsAreSeen() async throws {
        let fixture = try PullFixture.withTexts(.express)
        fixture.server.edit(fixture.server.items()[0].id) { $0.content = "in the timeline" }
        #expect(try await fixture.pull(texts: true).isComplete)
        try await fixture.run(for: .seconds(7_200), texts: true)
        #expect(fixture.textsAsked == 0)
        #expect(try fixture.query("SELECT count(*) FROM item_text WHERE content = 'in the timeline'") == "1")
        #expect(try fixture.query("SELECT count(*) FROM item_body") == "0")
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
    }
}
