import Configuration
import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// The texts of items: what is asked for, when, and what is kept.
@Suite struct TextTests {
    private static let plan = DevServer.TextPlan(bytes: 100...20_000, seed: 3)

    private func makeFixture(
        _ dialect: Dialect = .cursor, count: Int = 60, cache: Duration? = nil
    ) throws -> PullFixture {
        try PullFixture(dialect, items: DevItem.generate(count: count)) { configuration in
            configuration.texts = Self.plan
            configuration.quirks.itemCache = cache
        }
    }

    private func asked(_ fixture: PullFixture) -> Int { fixture.server.requests(.item).count }

    // MARK: Which are due

    @Test(arguments: [Dialect.cursor, .page])
    func everyTextCostsOneRequestAndIsThenThere(_ dialect: Dialect) async throws {
        let fixture = try makeFixture(dialect)
        let result = try await fixture.pull(texts: true)
        #expect(result.isComplete)
        #expect(result.texts == 60)
        #expect(asked(fixture) == 60)
        try fixture.expectTexts()
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
        #expect(try fixture.query("SELECT texts_as_of = edits_as_of FROM sync_state") == "1")
        #expect(try fixture.query("SELECT count(*) FROM pull WHERE kind = 'texts' AND added = 60") == "1")
        // Nothing is due any more, and a changed item is one request.
        try await fixture.pull(texts: true)
        #expect(asked(fixture) == 60)
        let changed = fixture.server.items()[40].id
        fixture.time.advance(by: .seconds(60))
        fixture.server.edit(changed) { $0.title = "Changed" }
        try await fixture.pull(full: true, texts: true)
        #expect(asked(fixture) == 61)
        try fixture.expectTexts()
    }

    @Test func aQuietDayAsksForNoText() async throws {
        let fixture = try makeFixture()
        try await fixture.pull(texts: true)
        fixture.server.clearLog()
        try await fixture.run(for: .seconds(86_400), texts: true)
        #expect(asked(fixture) == 0)
        try fixture.expectTexts()
    }

    @Test func withoutTheSettingNoTextIsAskedFor() async throws {
        let fixture = try makeFixture()
        #expect(try await fixture.pull().isComplete)
        #expect(asked(fixture) == 0)
        #expect(try fixture.query("SELECT texts_complete, texts_missing FROM sync_state") == "0")
        #expect(try fixture.query("SELECT texts_missing FROM sync_state") == "60")
    }

    @Test func theNewestComeFirst() async throws {
        let fixture = try makeFixture()
        try await fixture.pull(texts: true)
        let order = fixture.server.requests(.item).map { $0.path.split(separator: "/").last.map(String.init) ?? "" }
        #expect(order == fixture.server.items().map(\.id))
    }

    /// A cache would keep its null text for half an hour.
    @Test func aPendingItemIsAskedForOnceItHasSettled() async throws {
        let fixture = try makeFixture(count: 5)
        let pending = fixture.server.addNew()[0].id
        fixture.server.edit(pending) { $0.status = "pending" }
        try await fixture.pull(texts: true)
        #expect(asked(fixture) == 5)
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
        fixture.time.advance(by: .seconds(20))
        fixture.server.edit(pending) { $0.status = "failed" }
        try await fixture.pull(texts: true)
        #expect(asked(fixture) == 6)
        try await fixture.pull(texts: true)
        #expect(asked(fixture) == 6)
    }

    @Test func aNewItemsTextFollowsWithinAMinute() async throws {
        let fixture = try makeFixture(count: 20)
        try await fixture.pull(texts: true)
        try await fixture.withEngine(texts: true) { (engine, store) async throws in
            fixture.time.setParticipants(3)
            let new = fixture.server.addNew()[0].id
            let run = Task { await engine.run() }
            fixture.time.stop(after: fixture.time.elapsed + .seconds(360)) { run.cancel() }
            await run.value
            fixture.time.setParticipants(1)
            let times = try await store.read { connection throws(SQLiteFailure) in
                try connection.text(
                    """
                    SELECT (unixepoch(body.fetched_at) - unixepoch(pull.started_at)) < 60 FROM item_body AS body, pull
                    WHERE item_id = '\(new)' AND pull.kind = 'head'
                    """)
            }
            #expect(times == "1")
        }
    }

    // MARK: Versions

    @Test func anAnswerOutOfACacheIsNotStored() async throws {
        let fixture = try makeFixture(count: 5, cache: .seconds(1_800))
        let id = fixture.server.items()[2].id
        try await fixture.pull(texts: true)
        fixture.time.advance(by: .seconds(60))
        fixture.server.edit(id) { $0.title = "Changed" }
        try await fixture.pull(full: true, texts: true)
        #expect(asked(fixture) == 6)
        #expect(try fixture.query("SELECT kind FROM text_problem WHERE item_id = '\(id)'") == "stale")
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "0")
        #expect(try fixture.query("SELECT texts_as_of FROM sync_state") == nil)
        // The copy still says that what it has is the older one.
        #expect(
            try fixture.query(
                "SELECT version < updated_at FROM item_text JOIN timeline ON id = item_id WHERE id = '\(id)'") == "1")
        fixture.time.advance(by: .seconds(20 * 60))
        try await fixture.pull(texts: true)
        #expect(asked(fixture) == 6)
        fixture.time.advance(by: .seconds(11 * 60))
        try await fixture.pull(texts: true)
        #expect(asked(fixture) == 7)
        try fixture.expectTexts()
        #expect(try fixture.query("SELECT count(*) FROM text_problem") == "0")
    }

    /// The item was changed after its row was read: its text is the newer one, and the row is looked at.
    @Test func aNewerAnswerIsStoredAndItsRowIsReadAgain() async throws {
        let fixture = try makeFixture(count: 250)
        try await fixture.pull()
        let id = fixture.server.items()[180].id
        fixture.time.advance(by: .seconds(60))
        fixture.server.edit(id) { $0.title = "Changed behind our back" }
        try await fixture.pull(texts: true)
        #expect(try fixture.query("SELECT title FROM timeline WHERE id = '\(id)'") == "Changed behind our back")
        try await fixture.pull(texts: true)
        #expect(asked(fixture) == 250)
        try fixture.expectTexts()
        try fixture.expectExact()
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
    }

    @Test func equalTextsOfOneItemAreStoredOnce() async throws {
        let fixture = try makeFixture()
        try await fixture.pull(texts: true)
        let videos = fixture.server.items().filter { $0.type == "video" }
        #expect(!videos.isEmpty)
        #expect(
            try fixture.query("SELECT count(*) FROM item_body WHERE is_transcription = 1 AND transcription IS NULL")
                == "\(videos.count)")
        #expect(
            try fixture.query(
                "SELECT count(*) FROM item_text JOIN item ON id = item_id WHERE type = 'video' AND transcription = item_text.content"
            )
                == "\(videos.count)")
    }

    @Test func metadataIsKeptAsItCame() async throws {
        let fixture = try makeFixture(count: 1)
        let id = fixture.server.items()[0].id
        fixture.server.edit(id) { $0.metadata = #"{"author":"Ada Lovelace","word_count":12,  "x":[1]}"# }
        try await fixture.pull(texts: true)
        #expect(
            try fixture.query("SELECT metadata FROM item_text")
                == #"{"author":"Ada Lovelace","word_count":12,  "x":[1]}"#)
        #expect(try fixture.query("SELECT author FROM item_text") == "Ada Lovelace")
        #expect(try fixture.query("SELECT word_count FROM item_text") == "12")
    }

    // MARK: Limits

    @Test func aTextThatIsTooLargeIsCountedAndHoldsUpNoOther() async throws {
        let fixture = try makeFixture(count: 20)
        let large = fixture.server.items()[0].id
        let text = String(repeating: "large ", count: 100_000)
        fixture.server.edit(large) { $0.content = text }
        try await fixture.withEngine(texts: true) { (engine, _) async throws in
            var settings = SyncSettings()
            settings.textMaxSize = 64 << 10
            engine.apply(settings)
            #expect(await engine.runOnce().isComplete)
            #expect(asked(fixture) == 20)
            #expect(try fixture.query("SELECT count(*) FROM item_text") == "19")
            #expect(try fixture.query("SELECT kind FROM text_problem WHERE item_id = '\(large)'") == "too_large")
            #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "0")
            #expect(try fixture.query("SELECT texts_as_of = edits_as_of FROM sync_state") == "1")
            // It is not asked for again by itself, but when a person asks for it.
            _ = await engine.runOnce()
            #expect(asked(fixture) == 20)
        }
        try await fixture.withEngine(texts: true) { (engine, _) async throws in
            fixture.time.stand()
            let run = Task { await engine.run() }
            let result = await engine.sync(SyncRequest(textOf: large))
            #expect(result.problem == nil && result.texts == 1)
            run.cancel()
            await run.value
        }
        try fixture.expectTexts()
    }

    @Test func aHigherLimitMakesTheTextDueAgain() async throws {
        let fixture = try makeFixture(count: 3)
        fixture.server.edit(fixture.server.items()[0].id) { $0.content = String(repeating: "x", count: 100_000) }
        for (limit, missing) in [(64 << 10, "1"), (128 << 10, "0")] {
            try await fixture.withEngine(texts: true) { (engine, _) async throws in
                var settings = SyncSettings()
                settings.textMaxSize = limit
                engine.apply(settings)
                _ = await engine.runOnce()
                #expect(try fixture.query("SELECT texts_missing FROM sync_state") == missing)
            }
        }
        try fixture.expectTexts()
    }

    @Test(.enabled(if: TinyDisk.canBeMade)) func aDiskThatIsNearlyFullTakesNoTextsButItemsAndWrites() async throws {
        let disk = try TinyDisk(megabytes: 32)
        let fixture = try makeFixture(count: 30)
        let store = try Store(path: disk.file("prsnl.sqlite"))
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: fixture.credentials),
            time: fixture.time.source, seed: 7)
        let engine = SyncEngine(
            store: store, client: client, serverURL: fixture.server.url, time: fixture.time.source, seed: 7)
        let result = await engine.runOnce()
        #expect(result.problem?.code == .diskFull)
        #expect(result.added == 30)
        let written = try await store.accept(
            [WriteDraft.create(NewItem(note: "still accepted"))], now: fixture.time.now)
        guard case .accepted = written[0] else { throw WaitedInVain("the note was refused: \(written[0])") }
        client.shutdown()
        await store.close()
    }

    // MARK: Failures

    @Test func aTextThatAlwaysFailsIsNamedAndHoldsUpNoOther() async throws {
        let fixture = try makeFixture(count: 20)
        let broken = fixture.server.items()[3].id
        fixture.server.script(
            .answer(status: 500, body: #"{"detail":"broken"}"#), on: .path("/api/items/\(broken)"), times: .max)
        let result = try await fixture.pull(texts: true)
        #expect(result.problem == nil && !result.isComplete)
        #expect(try fixture.query("SELECT count(*) FROM item_text") == "19")
        #expect(try fixture.query("SELECT error_code FROM text_problem WHERE item_id = '\(broken)'") == "server_error")
        // Its wait grows: one, two, four minutes.
        let before = asked(fixture)
        try await fixture.run(for: .seconds(8 * 60), texts: true)
        #expect((2...4).contains(asked(fixture) - before))
        fixture.server.removeFaults()
        fixture.time.advance(by: .seconds(86_400))
        try await fixture.pull(texts: true)
        try fixture.expectTexts()
    }

    /// The oldest is asked too, which tells whether it is the items or the server.
    @Test func threeFailuresInARowStopTheRest() async throws {
        let fixture = try makeFixture(count: 20)
        fixture.server.script(.answer(status: 500, body: #"{"detail":"broken"}"#), on: .item, times: .max)
        let result = try await fixture.pull(texts: true)
        #expect(result.problem?.code == .serverError)
        #expect(asked(fixture) == 4)
        #expect(try fixture.query("SELECT complete FROM sync_state") == "1")
    }

    @Test func thirtyBadItemsAtTheTopDoNotKeepTheOthersWaiting() async throws {
        let fixture = try makeFixture(count: 80)
        let bad = Set(fixture.server.items().prefix(30).map { "/api/items/\($0.id)" })
        fixture.server.script(
            .answer(status: 422, body: #"{"detail":"broken"}"#), on: RequestMatcher { bad.contains($0.path) },
            times: .max)
        let result = try await fixture.pull(texts: true)
        #expect(result.problem == nil)
        #expect(try fixture.query("SELECT count(*) FROM item_text") == "50")
        #expect(asked(fixture) == 80)
        #expect(try fixture.query("SELECT count(*) FROM text_problem") == "30")
    }

    /// One text may be answered by a page of HTML, a 401, or a 429 of an hour: the timeline is not held up by it.
    @Test(arguments: [
        Fault.portal, .rateLimit(.seconds(3_600)), .answer(status: 401, body: #"{"detail":"no"}"#),
        .closeBeforeAnswering,
    ])
    func whatOneTextFailsWithHoldsUpNoPoll(_ fault: Fault) async throws {
        let fixture = try makeFixture(count: 20)
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
        let fixture = try makeFixture(count: 4)
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
        let fixture = try makeFixture(count: 1)
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

    @Test func theServersWaitIsObeyed() async throws {
        let fixture = try makeFixture(count: 20)
        fixture.server.script(.rateLimit(.seconds(600)), on: .item, times: 1, skip: 5)
        let result = try await fixture.pull(texts: true)
        #expect(result.problem?.code == .rateLimited)
        #expect(asked(fixture) == 6)
        // What had arrived is there. The one that was answered so is asked for after the others.
        #expect(try fixture.query("SELECT count(*) FROM item_text") == "5")
        #expect(try fixture.query("SELECT error_code FROM text_problem") == "rate_limited")
    }

    @Test func anAnswerAboutAnotherItemIsNotStored() async throws {
        let fixture = try makeFixture(count: 2)
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
        let fixture = try makeFixture(count: 20)
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
        let fixture = try makeFixture(count: 300)
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
        let before = asked(fixture)
        try await fixture.run(for: .seconds(3_600), texts: true)
        #expect(asked(fixture) - before <= 8)
    }

    @Test(arguments: [Dialect.page, .cursor])
    func aServerWithoutTextsIsAskedOnceADay(_ dialect: Dialect) async throws {
        let fixture = try makeFixture(dialect, count: 20)
        fixture.server.setQuirks { $0.lacksItemDetail = true }
        #expect(try await fixture.pull(texts: true).problem?.code == .textsUnavailable)
        #expect(try fixture.query("SELECT count(*) FROM item WHERE missing_since IS NOT NULL") == "0")
        fixture.server.clearLog()
        try await fixture.run(for: .seconds(86_400 * 3), texts: true)
        #expect((6...12).contains(asked(fixture)))
        // It was brought up to date.
        fixture.server.setQuirks { $0.lacksItemDetail = false }
        try await fixture.run(for: .seconds(86_400 + 600), texts: true)
        try fixture.expectTexts()
    }

    /// Each request would count as an access there.
    @Test func aSmallServerIsNeverAskedAndItsTextsAreSeen() async throws {
        let fixture = try makeFixture(.express)
        fixture.server.edit(fixture.server.items()[0].id) { $0.content = "in the timeline" }
        #expect(try await fixture.pull(texts: true).isComplete)
        try await fixture.run(for: .seconds(7_200), texts: true)
        #expect(asked(fixture) == 0)
        #expect(try fixture.query("SELECT count(*) FROM item_text WHERE content = 'in the timeline'") == "1")
        #expect(try fixture.query("SELECT count(*) FROM item_body") == "0")
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
    }

    // MARK: Interruptions

    @Test func whatIsInterruptedGoesOnAndRepeatsOneGroupAtMost() async throws {
        let fixture = try makeFixture(count: 200)
        try await fixture.pull()
        for _ in 0..<3 {
            try await fixture.withEngine(texts: true) { (engine, _) async throws in
                let count = asked(fixture)
                let pull = Task { await engine.runOnce() }
                _ = try await fixture.server.waitForRequest(.item, count: count + 40)
                pull.cancel()
                _ = await pull.value
            }
        }
        let stored = Int(try fixture.query("SELECT count(*) FROM item_body") ?? "") ?? 0
        #expect(stored >= 120 - 3 * TextPull.largestGroup)
        try await fixture.pull(texts: true)
        #expect(asked(fixture) <= 200 + 3 * TextPull.largestGroup)
        try fixture.expectTexts()
    }

    /// A copy that a daemon without texts has made.
    @Test func aFileOfBeforeBeginsToFetchByItself() async throws {
        let fixture = try makeFixture(count: 30)
        try await fixture.pull()
        do {
            let connection = try Connection(path: fixture.path, mode: .readWrite)
            try connection.execute(
                """
                DROP VIEW sync_state; DROP VIEW item_text; DROP TABLE item_body; DROP TABLE text_problem;
                DROP INDEX item_text_due; ALTER TABLE item DROP COLUMN text_for;
                CREATE VIEW sync_state AS SELECT 1 AS complete; PRAGMA user_version = 1;
                """)
        } catch {
            throw error.userFacing(path: fixture.path)
        }
        #expect(try StoreReader(path: fixture.path).summary().texts == nil)
        #expect(try StoreReader(path: fixture.path).item(fixture.server.items()[0].id).fetchedAt == nil)
        try await fixture.run(for: .seconds(600), texts: true)
        try fixture.expectTexts()
        try fixture.expectExact()
    }

    @Test func aTombstoneKeepsItsTextUntilItIsRemoved() async throws {
        let fixture = try makeFixture(count: 20)
        try await fixture.pull(texts: true)
        fixture.time.advance(by: .seconds(60))
        let gone = fixture.server.items()[7].id
        fixture.server.delete(gone)
        try await fixture.pull(full: true, texts: true)
        #expect(try fixture.query("SELECT count(*) FROM timeline WHERE id = '\(gone)'") == "0")
        #expect(try fixture.query("SELECT count(*) FROM item_text WHERE item_id = '\(gone)'") == "1")
        fixture.time.advance(by: .seconds(31 * 86_400))
        try await fixture.pull(full: true, texts: true)
        #expect(try fixture.query("SELECT count(*) FROM item_body WHERE item_id = '\(gone)'") == "0")
        #expect(try fixture.query("SELECT count(*) FROM item_body") == "19")
    }

    // MARK: Pace and proofs

    @Test func theServerIsLeftNineTenthsOfItsTime() async throws {
        let time = VirtualTime()
        let pacing = Pacing(
            events: EngineInbox().pulls, time: time.source, pollAt: .latest, manner: .texts)
        for (took, pause) in [(Duration.seconds(2), Duration.seconds(18)), (.milliseconds(1), .milliseconds(20))] {
            let before = time.elapsed
            try await pacing.pause(after: took)
            #expect(time.elapsed - before == pause)
        }
        // A poll does not wait for that. What the server is owed is waited for afterwards.
        let untilPoll = Pacing(
            events: EngineInbox().pulls, time: time.source, pollAt: time.now.advanced(by: .seconds(5)), manner: .texts)
        #expect(try await untilPoll.pause(after: .seconds(2)) == .seconds(13))
        #expect(untilPoll.givesWay)
    }

    /// A proof costs a slow server as much as a page.
    @Test func aFirstPullOfTenThousandItemsTakesFewProofs() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 10_000))
        try await fixture.pull()
        let counts = fixture.server.requestCounts()
        #expect(counts["GET /api/auth/me", default: 0] <= 12)
        #expect(counts.values.reduce(0, +) <= 119 + 12)
    }
}

extension PullFixture {
    /// Each text of the server, byte for byte, with its version.
    func expectTexts(sourceLocation: SourceLocation = #_sourceLocation) throws {
        var stored: [String: [String?]] = [:]
        do {
            let rows = try Connection(path: path, mode: .readOnly).prepare(
                "SELECT item_id, content, transcription, version FROM item_text")
            while try rows.step() { stored[rows.text(0) ?? ""] = [rows.text(1), rows.text(2), rows.text(3)] }
        } catch {
            throw error.userFacing(path: path)
        }
        for item in server.items() where item.status != "pending" {
            let truth = try #require(server.text(of: item.id))
            let expected = [truth.content, truth.transcription, truth.updatedAt.description]
            #expect(stored[item.id] == expected, sourceLocation: sourceLocation)
        }
    }
}
