import Configuration
import DevServer
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// A text is done for the version that it is.
@Suite struct TextVersionTests {
    private static let cache: Duration = .seconds(1_800)

    /// A server is restored from a backup, and a cache in front of it keeps what it had.
    @Test(arguments: [Dialect.cursor, .page])
    func aTextThatIsNewerThanTheListStaysDueUntilBothAgree(_ dialect: Dialect) async throws {
        let fixture = try PullFixture.withTexts(dialect, count: 5, cache: Self.cache)
        try await fixture.pull(texts: true)
        let backup = fixture.server.items()
        let id = backup[2].id
        fixture.time.advance(by: .seconds(3_600))
        fixture.server.edit(id) { $0.title = "Changed, and lost again" }
        try await fixture.pull(full: true, texts: true)
        try fixture.expectTexts()
        fixture.server.restore(backup)
        fixture.time.advance(by: .seconds(60))
        try await fixture.pull(full: true, texts: true)
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "0")
        #expect(try fixture.query("SELECT texts_as_of FROM sync_state") == nil)
        #expect(try StoreReader(path: fixture.path).item(id).isOutdated)
        #expect(
            try fixture.query("SELECT version > updated_at FROM item_text JOIN item ON id = item_id WHERE id = '\(id)'")
                == "1")
        fixture.time.advance(by: .seconds(31 * 60))
        try await fixture.pull(texts: true)
        try fixture.expectTexts()
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
        #expect(try !StoreReader(path: fixture.path).item(id).isOutdated)
    }

    /// A person's question is no other one.
    @Test func aNewerTextThatAPersonAskedForIsDueToo() async throws {
        let fixture = try PullFixture.withTexts(.page, count: 5)
        try await fixture.pull(texts: true)
        let id = fixture.server.items()[2].id
        fixture.time.advance(by: .seconds(60))
        fixture.server.edit(id) { $0.title = "Changed" }
        try await fixture.whileRunning(texts: true) { engine in
            _ = await engine.sync(SyncRequest(textOf: id))
        }
        // Unless the loop was quick, and has read the row again.
        let hasFollowed = try fixture.query("SELECT title FROM item WHERE id = '\(id)'") == "Changed"
        #expect(try hasFollowed || fixture.query("SELECT texts_complete FROM sync_state") == "0")
        // The list follows, and then it need not be asked for again.
        let asked = fixture.textsAsked
        try await fixture.pull(full: true, texts: true)
        #expect(fixture.textsAsked == asked)
        try fixture.expectTexts()
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
    }

    @Test func anAnswerOfNoVersionCountsOnceNoCacheCanHaveGivenIt() async throws {
        let fixture = try PullFixture.withTexts(.page, count: 5, cache: Self.cache)
        fixture.server.setQuirks { $0.detailLacksUpdatedAt = true }
        try await fixture.pull(texts: true)
        #expect(try fixture.query("SELECT texts_as_of FROM sync_state") == nil)
        fixture.time.advance(by: .seconds(31 * 60))
        try await fixture.pull(texts: true)
        #expect(try fixture.query("SELECT texts_as_of = edits_as_of FROM sync_state") == "1")
        let id = fixture.server.items()[2].id
        fixture.server.edit(id) { $0.title = "Changed" }
        // The answer comes out of the cache.
        try await fixture.pull(full: true, texts: true)
        #expect(try fixture.query("SELECT texts_as_of FROM sync_state") == nil)
        // However often a person asks meanwhile.
        fixture.time.advance(by: .seconds(29 * 60))
        try await fixture.whileRunning(texts: true) { engine in
            _ = await engine.sync(SyncRequest(texts: true))
        }
        #expect(try fixture.query("SELECT texts_as_of FROM sync_state") == nil)
        fixture.time.advance(by: .seconds(31 * 60))
        try await fixture.pull(texts: true)
        #expect(try fixture.query("SELECT texts_as_of = edits_as_of FROM sync_state") == "1")
        try fixture.expectContents()
        let asked = fixture.textsAsked
        fixture.time.advance(by: .seconds(86_400))
        try await fixture.pull(full: true, texts: true)
        #expect(fixture.textsAsked == asked)
    }

    @Test(arguments: [true, false])
    func whereTheListSaysNoTimesTextsAreReadAgainAtEachSweep(detailLacksThemToo: Bool) async throws {
        let fixture = try PullFixture.withTexts(.page, count: 5, cache: Self.cache)
        fixture.server.setQuirks { quirks in
            quirks.timelineLacksUpdatedAt = true
            quirks.detailLacksUpdatedAt = detailLacksThemToo
        }
        for _ in 0..<2 {
            fixture.server.edit(fixture.server.items()[2].id) { $0.title += " changed" }
            try await fixture.pull(full: true, texts: true)
            #expect(try fixture.query("SELECT texts_as_of FROM sync_state") == nil)
            fixture.time.advance(by: .seconds(31 * 60))
            try await fixture.pull(texts: true)
            #expect(try fixture.query("SELECT texts_as_of = edits_as_of FROM sync_state") == "1")
            try fixture.expectContents()
            // And not in between.
            let asked = fixture.textsAsked
            try await fixture.run(for: .seconds(3_600), texts: true)
            #expect(fixture.textsAsked == asked)
        }
    }

    /// The list lacks it, and by its id it is not found: nothing is wrong with its text.
    @Test func aTextWhoseItemWaitsToBeDeletedIsNotMissing() async throws {
        let fixture = try PullFixture.withTexts(count: 60)
        try await fixture.pull()
        fixture.time.advance(by: .seconds(60))
        for item in fixture.server.items().prefix(30) { fixture.server.delete(item.id) }
        #expect(try await fixture.pull(full: true).problem?.code == .deletionsHeld)
        try await fixture.run(for: .seconds(1_200), texts: true)
        #expect(fixture.textsAsked == 30 + 5, "five of those that are held were asked about")
        #expect(try fixture.query("SELECT count(*) FROM text_problem") == "0")
        #expect(try fixture.query("SELECT texts_complete FROM sync_state") == "1")
        #expect(try fixture.query("SELECT texts_as_of = edits_as_of FROM sync_state") == "1")
        let texts = try #require(try StoreReader(path: fixture.path).summary().copy.texts)
        #expect(texts.asOf != nil && texts.present == 30 && texts.missing == 0)
    }

    @Test(arguments: [(4_999, 2), (5_000, nil)] as [(missing: Int, present: Int?)])
    func whatIsPresentIsNotGuessedWhereNotAllThatIsMissingIsCounted(missing: Int, present: Int?) async throws {
        let fixture = try PullFixture.withTexts(count: 2)
        try await fixture.pull(full: true)
        try await fixture.withEngine(texts: true) { engine, _ in _ = await engine.runOnce() }
        for item in DevItem.generate(count: missing, seed: 7) { fixture.server.add(item) }
        try await fixture.pull(full: true)
        let texts = try #require(try StoreReader(path: fixture.path).summary().copy.texts)
        #expect(texts.missing == missing && texts.present == present)
    }

    @Test func anAnswerThatIsTooLargeNamesTheLimitThatCutItAndRaisingItAsksAgain() async throws {
        let fixture = try PullFixture.withTexts(count: 3)
        let large = fixture.server.items()[0].id
        fixture.server.edit(large) { $0.content = String(repeating: "x", count: 100_000) }
        for (limit, missing) in [(64 << 10, "1"), (80 << 10, "1"), (128 << 10, "0")] {
            try await fixture.withEngine(maximumAnswerSize: limit, texts: true) { engine, _ in
                _ = await engine.runOnce()
            }
            #expect(try fixture.query("SELECT texts_missing FROM sync_state") == missing)
            let problem = try fixture.query("SELECT error_code || ' ' || error_message FROM text_problem")
            let expected = "answer_too_large The answer with the text is larger than max_answer_size, "
            #expect(missing == "0" ? problem == nil : problem == expected + "\(Count.text(limit)) bytes.")
        }
        try fixture.expectTexts()
        #expect(fixture.textsAsked == 3 + 2)
    }

    @Test func aPullOfTextsThatLeavesSomeIsNotComplete() async throws {
        let fixture = try PullFixture.withTexts(count: 20)
        let broken = fixture.server.items()[3].id
        fixture.server.script(.answer(status: 500, body: "{}"), on: .path("/api/items/\(broken)"), times: .max)
        let lines = Mutex<[String]>([])
        try await fixture.withEngine(texts: true) { _, _, line in
            lines.withLock { $0.append("\(line)") }
        } _: { engine, _ in
            _ = await engine.runOnce()
        }
        #expect(try fixture.query("SELECT outcome FROM pull WHERE kind = 'texts'") == "incomplete")
        let said = lines.withLock { $0.filter { $0.hasPrefix("texts ") } }
        #expect(said.count == 1 && said.allSatisfy { $0.hasPrefix("texts incomplete: 19 new") })
        #expect(said.allSatisfy { $0.contains(" 1 missing") })
    }
}

extension PullFixture {
    /// Each text of the server, whatever is said of its version.
    fileprivate func expectContents(sourceLocation: SourceLocation = #_sourceLocation) throws {
        for item in server.items() {
            let stored = try query("SELECT content FROM item_text WHERE item_id = '\(item.id)'")
            #expect(stored == server.text(of: item.id)?.content, sourceLocation: sourceLocation)
        }
    }
}
