import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// What real servers do to writes, one rule each: slow INSERTs, half INSERTs, processing, and what stands in between.
@Suite struct OutboxRuleTests {
    private func fixture(
        _ dialect: Dialect = .cursor, settling: DevServer.Settling = .onCommand, patchFails: Bool = false,
        _ configure: (inout DevServer.Configuration) -> Void = { _ in }
    ) async throws -> PullFixture {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 5, seed: 1)) {
            $0.settling = settling
            $0.quirks.patchFails = patchFails
            $0.quirks.capturesPerMinute = nil
            configure(&$0)
        }
        try await fixture.pull()
        return fixture
    }

    private func made(_ fixture: PullFixture) -> [DevItem] {
        let ids = Set(fixture.server.captures.map(\.id))
        return fixture.server.items().filter { ids.contains($0.id) }
    }

    private func settleAndPull(_ fixture: PullFixture) async throws {
        fixture.server.settle()
        fixture.time.advance(by: .seconds(60))
        try await fixture.pull()
        try await fixture.pull()
    }

    // MARK: Lost answers

    /// A video is fetched before its INSERT, for minutes, also when the client is long gone.
    @Test func aCreationThatTheServerStillWorksOnIsNotSentAgain() async throws {
        let fixture = try await fixture()
        fixture.server.script(.storm(.slowInsert(.seconds(400))), on: .capture)
        try await fixture.accept(.url("https://example.org/video", title: "A video"))
        try await fixture.withEngine(requestTimeout: .milliseconds(300)) { engine, _ in _ = await engine.runOnce() }
        for _ in 0..<11 {
            #expect(try fixture.states() == [.unknown])
            fixture.time.advance(by: .seconds(30))
            try await fixture.pull()
        }
        #expect(fixture.server.requests(.capture).count == 1)
        fixture.time.advance(by: .seconds(400))
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered])
        #expect(fixture.server.captures.count == 1)
        #expect(fixture.server.requests(.capture).count == 1)
    }

    @Test(arguments: [WriteDraft.url("https://example.org/a"), .note("Some words of a note")])
    func aCreationThatNeverArrivedIsSentAgainAfterTwoLooksTenMinutesApart(_ draft: WriteDraft) async throws {
        let fixture = try await fixture()
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        try await fixture.accept(draft)
        try await fixture.pull()
        #expect(try fixture.states() == [.unknown])
        fixture.time.advance(by: .seconds(595))
        try await fixture.pull()
        #expect(fixture.server.requests(.capture).count == 1)
        fixture.time.advance(by: .seconds(30))
        try await fixture.pull()
        #expect(fixture.server.requests(.capture).count == 2)
        #expect(try fixture.states() == [.delivered])
        #expect(fixture.server.captures.count == 1)
    }

    @Test(arguments: [
        WriteDraft.url("https://example.org/a", tags: ["b", "a"]), .note("Some words of a note", tags: ["a", "b"]),
    ])
    func anItemThatWasInsertedWithoutItsTagsIsFoundAndTheTagsFollow(_ draft: WriteDraft) async throws {
        let fixture = try await fixture()
        fixture.server.script(.storm(.halfInsert(tags: 0)), on: .capture)
        try await fixture.accept(draft)
        try await fixture.pull()
        try await settleAndPull(fixture)
        fixture.time.advance(by: .seconds(900))
        try await fixture.pull()
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.outbox() == ["#1 \(draft.kindName) delivered found on the server", "#2 edit delivered"])
        #expect(made(fixture).map { Set($0.tags) } == [["a", "b"]])
        try fixture.expectSound()
    }

    /// Half a page, an empty page: what a poll does not see there is not absent.
    @Test(arguments: StormFault.Contradiction.allCases, [Dialect.cursor, .page])
    func aPageThatContradictsItselfTellsNothingOfALostNote(
        _ kind: StormFault.Contradiction, _ dialect: Dialect
    ) async throws {
        let fixture = try await fixture(dialect)
        let isSent = Flag()
        fixture.server.script(
            .closeAfterApplying,
            on: .capture.and { _ in
                isSent.set()
                return true
            })
        try await fixture.accept(.note("Some words of a note"))
        fixture.server.script(.storm(.contradiction(kind)), on: .timeline.and { _ in isSent.isSet }, times: 12)
        for _ in 0..<20 {
            try await fixture.pull()
            fixture.server.settle()
            fixture.time.advance(by: .seconds(400))
        }
        try await fixture.carryAll()
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.states() == [.delivered])
    }

    /// A clock in front of the server is eleven minutes ahead of the one that stamps its items.
    @Test func aNoteIsFoundWhateverTheServersClocksSay() async throws {
        let fixture = try await fixture { $0.dateAhead = .seconds(660) }
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        try await settleAndPull(fixture)
        fixture.time.advance(by: .seconds(900))
        try await fixture.pull()
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.states() == [.delivered])
    }

    @Test func aNoteIsFoundAlthoughTheServerSqueezesItsText() async throws {
        let fixture = try await fixture { $0.quirks.squeezesText = true }
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.note("One line\n\nand  another,\tand a third\n"))
        try await fixture.pull()
        try await settleAndPull(fixture)
        fixture.time.advance(by: .seconds(900))
        try await fixture.pull()
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.states() == [.delivered])
    }

    /// Its turn comes a while after the lookup: the server refuses it first.
    @Test func aNoteThatWasInsertedLateIsFoundBeforeItIsSentAgain() async throws {
        let fixture = try await fixture { $0.quirks.hidesCaptured = true }
        fixture.server.script(.closeAfterApplying, on: .capture)
        let note = try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        let refusal = fixture.server.script(.rateLimit(.seconds(60)), on: .capture)
        fixture.time.advance(by: .seconds(700))
        try await fixture.pull()
        try #require(refusal.appliedCount == 1)
        // It would go along with the note, and was not sent.
        try await fixture.accept(.edit(item: note.itemID, ItemEdit(tags: ["later"])))
        fixture.server.settle()
        try await fixture.carryAll()
        #expect(fixture.server.captures.count == 1)
        #expect(fixture.server.items().first { $0.id == fixture.server.captures[0].id }?.tags == ["later"])
        #expect(try fixture.states() == [.delivered, .delivered])
        try fixture.expectSound()
    }

    /// No lookup can tell it from another client's note. Sent again, it would be there twice.
    @Test(arguments: ["Some words of a note\nin two lines", "ここに短いメモがあります"])
    func aNoteThatTheServerPutsIntoOtherWordsIsNotSentAgain(_ note: String) async throws {
        let fixture = try await fixture { $0.quirks.rewritesText = true }
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.note(note))
        try await fixture.pull()
        fixture.server.settle()
        fixture.time.advance(by: .seconds(900))
        try await fixture.carryAll()
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.outbox() == ["#1 note parked outcome_undecidable"])
    }

    /// A server that was killed between INSERT and processing leaves an item `pending` for good.
    @Test func aStuckItemOfAnotherTitleHoldsUpNoNote() async throws {
        let fixture = try await fixture()
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        var stuck = DevItem(
            id: "5a5a5a5a-0000-4000-8000-000000000001", createdAt: fixture.time.now, title: "Stuck for good")
        stuck.status = "pending"
        fixture.server.add(stuck)
        fixture.time.advance(by: .seconds(700))
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered])
        #expect(fixture.server.captures.count == 1)
    }

    @Test func aNoteThatAStuckItemCouldBeIsParkedAfterTheLookupInterval() async throws {
        let fixture = try await fixture { $0.quirks.untitledWhilePending = true }
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(700))
        try await fixture.pull()
        #expect(try fixture.outbox() == ["#1 note parked outcome_undecidable"])
        #expect(fixture.server.captures.count == 1)
    }

    // MARK: A URL that is there already

    @Test func captureOfOneURLLeavesAllTagsAndTheLastTitle() async throws {
        let fixture = try await fixture()
        let url = "https://example.org/a"
        try await fixture.accept([
            .url(url, title: "First", tags: ["a"]), .url(url, title: "Second", tags: ["b"]),
            .url(url, title: "Third", tags: ["c"]),
        ])
        try await fixture.pull()
        try await settleAndPull(fixture)
        #expect(made(fixture).map(\.title) == ["Third"])
        #expect(made(fixture).map { Set($0.tags) } == [["a", "b", "c"]])
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
        try fixture.expectSound()
    }

    @Test func aURLThatIsCapturedAgainKeepsItsTagsWhenTheAnswerIsLost() async throws {
        let fixture = try await fixture()
        let url = "https://example.org/a"
        try await fixture.accept(.url(url, title: "First", tags: ["a"]))
        try await fixture.pull()
        try await fixture.accept(.url(url, title: "Second", tags: ["b"]))
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.pull()
        try await settleAndPull(fixture)
        fixture.time.advance(by: .seconds(900))
        try await fixture.pull()
        #expect(fixture.server.captures.count == 1)
        #expect(made(fixture).map(\.title) == ["Second"])
        #expect(made(fixture).map { Set($0.tags) } == [["a", "b"]])
        try fixture.expectSound()
    }

    @Test func anotherClientsItemOfTheSameURLIsNotTakenForOurs() async throws {
        let fixture = try await fixture()
        let url = "https://example.org/a"
        fixture.server.script(.storm(.slowInsert(.seconds(40))), on: .capture)
        let write = try await fixture.accept(.url(url, title: "Ours", tags: ["ours"]))
        try await fixture.withEngine(requestTimeout: .milliseconds(300)) { engine, _ in _ = await engine.runOnce() }
        var theirs = DevItem(id: "5a5a5a5a-0000-4000-8000-000000000001", createdAt: fixture.time.now, title: "Theirs")
        theirs.url = url
        theirs.tags = ["theirs"]
        fixture.server.add(theirs)
        fixture.time.advance(by: .seconds(60))
        try await fixture.pull()
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.entries()[0].itemID == fixture.server.captures[0].id)
        try await fixture.accept(.delete(item: write.itemID))
        try await fixture.pull()
        #expect(fixture.server.item(theirs.id) != nil)
        #expect(fixture.server.item(fixture.server.captures[0].id) == nil)
    }

    @Test(arguments: [500, 429])
    func aURLWhoseItemCannotBeAskedForIsNotSentAgain(_ status: Int) async throws {
        let fixture = try await fixture()
        let url = "https://example.org/a"
        try await fixture.accept(.url(url))
        try await fixture.pull()
        let failing = fixture.server.script(
            status == 429 ? .rateLimit(.seconds(1)) : .answer(status: status, body: #"{"detail":"no"}"#),
            on: .checkDuplicate, times: .max)
        try await fixture.accept([.url(url, tags: ["b"]), .note("A note behind it")])
        let before = fixture.server.requests(.capture).count
        try await fixture.run(for: .seconds(3_600))
        #expect(fixture.server.requests(.capture).count == before + 2, "the URL once, and the note")
        #expect(failing.appliedCount <= 40)
        #expect(try fixture.states() == [.delivered, .unknown, .delivered])
        fixture.server.removeFaults()
        fixture.server.settle()
        try await fixture.carryAll()
        #expect(made(fixture).first { $0.url == url }?.tags == ["b"])
        try fixture.expectSound()
    }

    @Test func aServerThatCannotBeAskedForURLsIsSearchedByItsPages() async throws {
        let fixture = try await fixture { $0.quirks.lacksCheckDuplicate = true }
        fixture.server.script(.closeAfterApplying, on: .capture, times: 1)
        try await fixture.accept(.url("https://example.org/a", tags: ["a"]))
        try await fixture.pull()
        #expect(try fixture.outbox() == ["#1 capture delivered found on the server"])
        fixture.server.script(.closeBeforeAnswering, on: .capture, times: 1)
        try await fixture.accept(.url("https://example.org/b"))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(700))
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(fixture.server.captures.count == 2)
    }

    @Test func whatIsUnknownCanBeGivenUp() async throws {
        let fixture = try await fixture()
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        try await fixture.accept(.url("https://example.org/a"))
        try await fixture.pull()
        try await fixture.withEngine { _, store in
            let outcome = try await store.drop([1], withDependents: false, dryRun: false, now: fixture.time.now)
            #expect(outcome.dropped == [1])
        }
        #expect(try fixture.shown().count == 5)
        try fixture.expectSound()
    }

    // MARK: Processing

    @Test func anEditWaitsUntilTheServerHasProcessedItsItem() async throws {
        let fixture = try await fixture { $0.quirks.untitledWhilePending = true }
        let note = try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        try await fixture.accept(.edit(item: note.itemID, ItemEdit(title: "Named at once")))
        try await fixture.pull()
        #expect(try fixture.entries()[1].awaitsItem)
        #expect(fixture.server.requests(.change).count == 1)
        try await settleAndPull(fixture)
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(made(fixture).map(\.title) == ["Named at once"])
        try fixture.expectSound()
    }

    /// Items that the server never finishes stay `pending`.
    @Test func anEditDoesNotWaitForAStuckItemForLong() async throws {
        let fixture = try await fixture()
        let note = try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        try await fixture.accept(.edit(item: note.itemID, ItemEdit(title: "Named at once")))
        fixture.time.advance(by: .seconds(3_700))
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .delivered])
    }

    @Test(arguments: [
        WriteDraft.url("https://example.org/a", title: "The title I gave", tags: ["a"]),
        .note("Some words of a note", title: "The title I gave", tags: ["a"]),
    ])
    func theTitleThatWasAskedForFollowsOnceTheServerHasReplacedIt(_ draft: WriteDraft) async throws {
        let fixture = try await fixture()
        try await fixture.accept(draft)
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered])
        try await settleAndPull(fixture)
        #expect(try fixture.outbox() == ["#1 \(draft.kindName) delivered", "#2 edit delivered"])
        #expect(made(fixture).map(\.title) == ["The title I gave"])
        #expect(try fixture.list("SELECT title FROM timeline WHERE title LIKE 'The title%'").count == 1)
        try fixture.expectSound()
    }

    /// As today's main server does.
    @Test func followUpsWaitTogetherWhileTheServerFailsAtEveryEdit() async throws {
        let fixture = try await fixture(settling: .after(.seconds(5)), patchFails: true)
        try await fixture.accept((0..<14).map { .url("https://example.org/\($0)", title: "Title \($0)") })
        try await fixture.run(for: .seconds(2 * 86_400))
        let edits = RequestMatcher { $0.method == "PATCH" }
        #expect(fixture.server.requests(edits).count <= 14, "\(fixture.server.requests(edits).count)")
        #expect(try fixture.query("SELECT parked FROM copy") == "0")
        let waiting = try fixture.entries().filter { $0.state == .queued }
        #expect(waiting.count == 12, "every seventh capture fails, and keeps its title")
        #expect(Set(waiting.map(\.nextAttemptAt)).count == 1)
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.run(for: .seconds(12 * 3_600))
        #expect(try fixture.query("SELECT waiting FROM copy") == "0")
        #expect(made(fixture).allSatisfy { $0.title.hasPrefix("Title") })
        try fixture.expectSound()
    }

    // MARK: Refusals

    /// Something between us and the server does not like one text.
    @Test(arguments: [401, 403, 302])
    func oneRefusedWriteHoldsUpNoOther(_ status: Int) async throws {
        let fixture = try await fixture()
        fixture.server.script(
            status == 302 ? .redirect(to: "https://login.example/") : .answer(status: status, body: "<h1>No</h1>"),
            on: .capture.and { $0.body.contains("union select") }, times: .max)
        try await fixture.accept([.note("union select from"), .note("A second note"), .note("A third note")])
        try await fixture.run(for: .seconds(600))
        #expect(try fixture.states() == [.parked, .delivered, .delivered])
        #expect(fixture.server.requests(.capture).count <= 5)
        try fixture.expectSound()
    }

    @Test func aServerThatTakesNoWriteIsNotAskedForEachOfThem() async throws {
        let fixture = try await fixture()
        let refused = fixture.server.script(.answer(status: 403, body: "<h1>No</h1>"), on: .capture, times: .max)
        try await fixture.accept((0..<200).map { .note("Note \($0)") })
        try await fixture.run(for: .seconds(6 * 3_600))
        #expect(refused.appliedCount <= 30, "\(refused.appliedCount)")
        #expect(try fixture.states().allSatisfy { $0 == .queued })
    }

    @Test func aProxysRefusalOfAURLThatIsThereIsAskedAbout() async throws {
        let fixture = try await fixture()
        let url = "https://example.org/a"
        try await fixture.accept(.url(url))
        try await fixture.pull()
        fixture.server.script(
            .answer(status: 400, headers: ["content-type": "text/html"], body: "<h1>Bad</h1>"), on: .capture)
        try await fixture.accept(.url(url))
        try await fixture.pull()
        #expect(try fixture.outbox() == ["#1 capture delivered", "#2 capture delivered was already there"])
    }

    // MARK: Any sequence of answers

    /// Whatever a server answers, an entry goes as often as its backoff allows: some twenty times in six hours, and not once a
    /// second.
    @Test(arguments: 0..<UInt64(LongSearch.cases(6, of: 24)))
    func noSequenceOfAnswersMakesAnEntryGoMoreOftenThanItsBackoffAllows(_ number: UInt64) async throws {
        var random = SeededRandom(seed: SeededRandom("OutboxRuleTests").seed &+ number)
        let fixture = try await fixture([Dialect.cursor, .page, .express][Int(number % 3)])
        let url = "https://example.org/there"
        try await fixture.accept([.url(url), .note("There before")])
        try await fixture.pull()
        fixture.server.settle()
        let ids = fixture.server.items().map(\.id)
        func faults() -> [Fault] {
            let all: [Fault] = [
                .closeBeforeAnswering, .closeAfterApplying, .answer(status: 500, body: #"{"detail":"no"}"#),
                .answer(status: 404, body: #"{"detail":"Not Found"}"#), .answer(status: 403, body: "no"),
                .answer(status: 401, body: "no"), .answer(status: 502), .rateLimit(.seconds(1)),
                .answer(status: 503, headers: ["retry-after": "1"], body: #"{"detail":"busy"}"#),
                .answer(status: 400, body: "<h1>Bad</h1>"),
                .answer(
                    status: 400, headers: ["x-error-code": "INVALID_INPUT"],
                    body: #"{"detail":"This URL already exists in your knowledge base. Item: 'A' (created …)"}"#),
                .portal, .emptyObject, .redirect(to: "https://elsewhere.example/"), .truncate(after: 3),
            ]
            return (0..<Int.random(in: 1...2, using: &random)).compactMap { _ in all.randomElement(using: &random) }
        }
        var story: [String] = []
        let places: [(String, RequestMatcher)] = [
            ("change", .change), ("check-duplicate", .checkDuplicate), ("item", .item), ("timeline", .timeline),
        ]
        for (name, matcher) in places where Int.random(in: 0..<3, using: &random) > 0 || name == "change" {
            // In turn, without an end.
            let chosen = faults()
            story.append("\(name): \(chosen)")
            for (index, fault) in chosen.enumerated() {
                fixture.server.script(
                    fault, on: matcher.and { $0.number % chosen.count == index }, times: .max)
            }
        }
        fixture.server.clearLog()
        try await fixture.accept([
            .url(url, tags: ["x"]), .note("A note"), .edit(item: ids[3], ItemEdit(title: "Edited")),
            .delete(item: ids[4]),
        ])
        try await fixture.run(for: .seconds(6 * 3_600))
        let requests = fixture.server.requests(.any)
        // A key that is refused is shown once more as a Bearer token: that is the same try.
        let writes = requests.filter { RequestMatcher.change.matches($0) && $0.authorization != .bearerKey }.count
        // Pulls ask for the deleted item too, which the list lacks.
        let questions =
            fixture.server.requests(.checkDuplicate).count
            + fixture.server.requests(.item.and { !$0.path.hasSuffix(ids[4]) }).count
        #expect(writes <= 4 * 30, "\(writes) writes; \(story)")
        let outbox = try fixture.outbox()
        let asked = Dictionary(grouping: requests) { "\($0.method) \($0.path)" }.mapValues(\.count)
        // Of four entries, each try up to three requests.
        #expect(questions <= 4 * 30 * 3, "\(asked); \(story); \(outbox)")
        // A creation whose answer was lost is looked for three times before it goes again: at once, after 30 s, after 10 min. And
        // each look may fail before it is answered.
        let restless = try fixture.query(
            """
            SELECT group_concat(entry_id || ': ' || sends || ' sends, ' || looks || ' looks', '; ') FROM (
                SELECT entry_id, sum(purpose = 'send') AS sends, sum(purpose = 'look') AS looks
                FROM outbox_attempt GROUP BY entry_id)
            WHERE looks > 30 + 8 * sends
            """)
        #expect(restless == nil, "\(asked); \(story); \(outbox)")
        try fixture.expectSound()
    }
}

extension WriteDraft {
    /// As the outbox names it.
    fileprivate var kindName: String {
        if case .create(let item) = self { item.url == nil ? "note" : "capture" } else { "" }
    }
}
