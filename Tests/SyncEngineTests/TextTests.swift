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
    // MARK: Which are due

    @Test(arguments: [Dialect.cursor, .page])
    func everyTextCostsOneRequestAndIsThenThere(_ dialect: Dialect) async throws {
        let fixture = try PullFixture.withTexts(dialect)
        let result = try await fixture.pull(texts: true)
        #expect(result.isComplete)
        #expect(result.texts == 60)
        #expect(fixture.textsAsked == 60)
        try fixture.expectTexts()
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
        #expect(try fixture.query("SELECT texts_as_of = edits_as_of FROM sync_state") == "1")
        #expect(try fixture.query("SELECT count(*) FROM pull WHERE kind = 'texts' AND added = 60") == "1")
        // Nothing is due any more, and a changed item is one request.
        try await fixture.pull(texts: true)
        #expect(fixture.textsAsked == 60)
        let changed = fixture.server.items()[40].id
        fixture.time.advance(by: .seconds(60))
        fixture.server.edit(changed) { $0.title = "Changed" }
        try await fixture.pull(full: true, texts: true)
        #expect(fixture.textsAsked == 61)
        try fixture.expectTexts()
    }

    @Test func aQuietDayAsksForNoText() async throws {
        let fixture = try PullFixture.withTexts()
        try await fixture.pull(texts: true)
        fixture.server.clearLog()
        try await fixture.run(for: .seconds(86_400), texts: true)
        #expect(fixture.textsAsked == 0)
        try fixture.expectTexts()
    }

    @Test func withoutTheSettingNoTextIsAskedFor() async throws {
        let fixture = try PullFixture.withTexts()
        #expect(try await fixture.pull().isComplete)
        #expect(fixture.textsAsked == 0)
        #expect(try fixture.query("SELECT texts_complete, texts_missing FROM sync_state") == "0")
        #expect(try fixture.query("SELECT texts_missing FROM sync_state") == "60")
    }

    @Test func theNewestComeFirst() async throws {
        let fixture = try PullFixture.withTexts()
        try await fixture.pull(texts: true)
        let order = fixture.server.requests(.item).map { $0.path.split(separator: "/").last.map(String.init) ?? "" }
        let newest = fixture.server.items().map(\.id)
        #expect(Set(order) == Set(newest))
        // Several are under way at once.
        for (place, id) in order.enumerated() { #expect(newest.prefix(place + TextPull.inHurry).contains(id)) }
    }

    /// A cache would keep its null text for half an hour.
    @Test func aPendingItemIsAskedForOnceItHasSettled() async throws {
        let fixture = try PullFixture.withTexts(count: 5)
        let pending = fixture.server.addNew()[0].id
        fixture.server.edit(pending) { $0.status = "pending" }
        try await fixture.pull(texts: true)
        #expect(fixture.textsAsked == 5)
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
        fixture.time.advance(by: .seconds(20))
        fixture.server.edit(pending) { $0.status = "failed" }
        try await fixture.pull(texts: true)
        #expect(fixture.textsAsked == 6)
        try await fixture.pull(texts: true)
        #expect(fixture.textsAsked == 6)
    }

    @Test func aNewItemsTextFollowsWithinAMinute() async throws {
        let fixture = try PullFixture.withTexts(count: 20)
        try await fixture.pull(texts: true)
        try await fixture.withEngine(texts: true) { (engine, store) async throws in
            fixture.time.setParticipants(3)
            let new = fixture.server.addNew()[0].id
            let run = Task { await engine.run() }
            fixture.time.stop(after: fixture.time.elapsed + .seconds(360)) { run.cancel() }
            await run.value
            fixture.time.setParticipants(1)
            let times = try await store.read { connection in
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
        let fixture = try PullFixture.withTexts(count: 5, cache: .seconds(1_800))
        let id = fixture.server.items()[2].id
        try await fixture.pull(texts: true)
        fixture.time.advance(by: .seconds(60))
        fixture.server.edit(id) { $0.title = "Changed" }
        try await fixture.pull(full: true, texts: true)
        #expect(fixture.textsAsked == 6)
        #expect(try fixture.query("SELECT kind FROM text_problem WHERE item_id = '\(id)'") == "stale")
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "0")
        #expect(try fixture.query("SELECT texts_as_of FROM sync_state") == nil)
        // The copy still says that what it has is the older one.
        #expect(
            try fixture.query(
                "SELECT version < updated_at FROM item_text JOIN timeline ON id = item_id WHERE id = '\(id)'") == "1")
        fixture.time.advance(by: .seconds(20 * 60))
        try await fixture.pull(texts: true)
        #expect(fixture.textsAsked == 6)
        fixture.time.advance(by: .seconds(11 * 60))
        try await fixture.pull(texts: true)
        #expect(fixture.textsAsked == 7)
        try fixture.expectTexts()
        #expect(try fixture.query("SELECT count(*) FROM text_problem") == "0")
    }

    /// The item was changed after its row was read: its text is the newer one, and the row is looked at.
    @Test func aNewerAnswerIsStoredAndItsRowIsReadAgain() async throws {
        let fixture = try PullFixture.withTexts(count: 250)
        try await fixture.pull()
        let id = fixture.server.items()[180].id
        fixture.time.advance(by: .seconds(60))
        fixture.server.edit(id) { $0.title = "Changed behind our back" }
        try await fixture.pull(texts: true)
        #expect(try fixture.query("SELECT title FROM timeline WHERE id = '\(id)'") == "Changed behind our back")
        try await fixture.pull(texts: true)
        #expect(fixture.textsAsked == 250)
        try fixture.expectTexts()
        try fixture.expectExact()
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
    }

    @Test func equalTextsOfOneItemAreStoredOnce() async throws {
        let fixture = try PullFixture.withTexts()
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
        let fixture = try PullFixture.withTexts(count: 1)
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
        let fixture = try PullFixture.withTexts(count: 20)
        let large = fixture.server.items()[0].id
        let text = String(repeating: "large ", count: 100_000)
        fixture.server.edit(large) { $0.content = text }
        try await fixture.withEngine(texts: true) { (engine, _) async throws in
            var settings = SyncSettings()
            settings.textMaxSize = 64 << 10
            engine.apply(settings)
            #expect(await engine.runOnce().isComplete)
            #expect(fixture.textsAsked == 20)
            #expect(try fixture.query("SELECT count(*) FROM item_text") == "19")
            #expect(try fixture.query("SELECT kind FROM text_problem WHERE item_id = '\(large)'") == "too_large")
            #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "0")
            #expect(try fixture.query("SELECT texts_as_of = edits_as_of FROM sync_state") == "1")
            // It is not asked for again by itself, but when a person asks for it.
            _ = await engine.runOnce()
            #expect(fixture.textsAsked == 20)
        }
        try await fixture.whileRunning(texts: true) { engine in
            let result = await engine.sync(SyncRequest(textOf: large))
            #expect(result.problem == nil && result.texts == 1)
        }
        try fixture.expectTexts()
    }

    /// The answer that says how large it is may be an old one, out of a cache.
    @Test func aTextThatWasShortenedIsFetchedWhenTheCacheHasForgottenTheLongOne() async throws {
        let fixture = try PullFixture.withTexts(count: 5, cache: .seconds(1_800))
        fixture.server.setQuirks { $0.detailLacksUpdatedAt = true }
        let id = fixture.server.items()[0].id
        fixture.server.edit(id) { $0.content = String(repeating: "large ", count: 100_000) }
        try await fixture.withEngine(texts: true) { (engine, _) async throws in
            var settings = SyncSettings()
            settings.textMaxSize = 64 << 10
            engine.apply(settings)
            _ = await engine.runOnce()
            fixture.server.edit(id) { $0.content = "short" }
            fixture.time.advance(by: .seconds(60))
            _ = await engine.runOnce(full: true)
            #expect(
                try fixture.query(
                    "SELECT kind FROM text_problem JOIN item ON id = item_id WHERE row_version = updated_at AND id = '\(id)'"
                )
                    == "too_large")
            fixture.time.advance(by: .seconds(31 * 60))
            _ = await engine.runOnce()
            // Nor does it say of when the short one is.
            fixture.time.advance(by: .seconds(31 * 60))
            _ = await engine.runOnce()
        }
        #expect(try fixture.query("SELECT content FROM item_text WHERE item_id = '\(id)'") == "short")
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
    }

    /// It comes with the timeline there.
    @Test func aSmallServersEarlierTextsAreKept() async throws {
        let fixture = try PullFixture(.express, items: DevItem.generate(count: 3))
        let id = fixture.server.items()[1].id
        for text in ["one", "two", "two", "three"] {
            fixture.server.edit(id) { $0.content = text }
            try await fixture.pull(full: true)
        }
        let reader = try StoreReader(path: fixture.path)
        #expect(try [1, 2].map { try reader.formerText($0, of: id)?.content } == ["two", "one"])
        #expect(try reader.item(id).text.content == "three")
    }

    // MARK: Items that stay in process

    @Test func anItemThatStaysPendingIsAskedForAfterADayAndThenRarely() async throws {
        let fixture = try PullFixture.withTexts(count: 5)
        let id = fixture.server.items()[2].id
        fixture.server.edit(id) { $0.status = "pending" }
        try await fixture.pull(texts: true)
        func asked() -> Int { fixture.server.requests(.path("/api/items/\(id)")).count }
        func unprocessed() throws -> Int? { try StoreReader(path: fixture.path).summary().copy.texts?.unprocessed }
        #expect(try asked() == 0 && unprocessed() == 0)
        fixture.time.advance(by: .seconds(25 * 3_600))
        let result = try await fixture.pull(texts: true)
        #expect(result.isComplete)
        #expect(try asked() == 1 && unprocessed() == 1)
        #expect(try fixture.query("SELECT texts_complete || texts_missing FROM sync_state") == "10")
        #expect(try StoreReader(path: fixture.path).item(id).problem?.message.contains("still works on") == true)
        // Alone, and rarely.
        try await fixture.run(for: .seconds(30 * 3_600), texts: true)
        #expect(asked() == 2)
        // And then the server has a text of it after all.
        fixture.server.setQuirks { $0.pendingHasText = true }
        try await fixture.run(for: .seconds(50 * 3_600), texts: true)
        #expect(try asked() == 3 && unprocessed() == 0)
        let text = fixture.server.text(of: id)?.content
        #expect(try text != nil && fixture.query("SELECT content FROM item_text WHERE item_id = '\(id)'") == text)
        try await fixture.run(for: .seconds(20 * 86_400), texts: true)
        #expect(asked() == 3)
    }

    @Test func aHigherLimitMakesTheTextDueAgain() async throws {
        let fixture = try PullFixture.withTexts(count: 3)
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
        let fixture = try PullFixture.withTexts(count: 30)
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

    // MARK: Interruptions

    @Test func whatIsInterruptedGoesOnAndRepeatsOneGroupAtMost() async throws {
        let fixture = try PullFixture.withTexts(count: 200)
        try await fixture.pull()
        for _ in 0..<3 {
            try await fixture.withEngine(texts: true) { (engine, _) async throws in
                let count = fixture.textsAsked
                let pull = Task { await engine.runOnce() }
                _ = try await fixture.server.waitForRequest(.item, count: count + 40)
                pull.cancel()
                _ = await pull.value
            }
        }
        let stored = Int(try fixture.query("SELECT count(*) FROM item_body") ?? "") ?? 0
        #expect(stored >= 120 - 3 * TextPull.largestGroup)
        try await fixture.pull(texts: true)
        #expect(fixture.textsAsked <= 200 + 3 * TextPull.largestGroup)
        try fixture.expectTexts()
    }

    @Test func aTombstoneKeepsItsTextUntilItIsRemoved() async throws {
        let fixture = try PullFixture.withTexts(count: 20)
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

    @Test func aDeliveryEndsThePauseBetweenTexts() async throws {
        let time = VirtualTime()
        let inbox = EngineInbox()
        let pacing = Pacing(events: inbox.pulls, time: time.source, pollAt: .latest, manner: .texts)
        inbox.post(.delivered)
        #expect(try await pacing.pause(after: .seconds(2)) == .seconds(18), "what the server is owed is left")
        #expect(pacing.givesWay)
    }

    /// A busy outbox would else end the texts after each one, and a new pull begin with what it has delivered.
    @Test func thePersonWhoWaitsForTextsDoesNotWaitForTheOutbox() async throws {
        let fixture = try PullFixture.withTexts(count: 60)
        try await fixture.pull()
        #expect(try await fixture.texts(.texts) == .gaveWay, "no one waits")
        #expect(try await fixture.texts(.hurry) == .done)
        try fixture.expectTexts()
    }

    @Test func whatWasDeliveredIsPulledAfterAStretchOfTexts() async throws {
        let time = VirtualTime()
        let inbox = EngineInbox()
        let pacing = Pacing(events: inbox.pulls, time: time.source, pollAt: .latest, manner: .hurry)
        inbox.post(.delivered)
        #expect(!pacing.givesWay)
        time.advance(by: .seconds(10))
        #expect(pacing.givesWay)
    }

    @Test func forAPersonFourTextsAreUnderWayAtOnce() async throws {
        let fixture = try PullFixture.withTexts(count: 60)
        try await fixture.pull()
        let hold = fixture.server.script(.hold, on: .item, times: .max, skip: 1)
        let pull = Task { try await fixture.pull(texts: true) }
        try await fixture.server.waitForRequest(.item, count: 1 + TextPull.inHurry)
        #expect(hold.appliedCount == TextPull.inHurry)
        hold.release()
        #expect(try await pull.value.isComplete)
        #expect(fixture.textsAsked == 60)
        try fixture.expectTexts()
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
