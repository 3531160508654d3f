import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// What people ask for stays as they asked for it: undo, conflicts and refusals are about that, and not about what was sent.
@Suite struct AskedForTests {
    private let url = "https://example.org/a"

    private func fixture(
        _ configure: (inout DevServer.Configuration) -> Void = { _ in }
    ) async throws -> (PullFixture, String) {
        let fixture = try PullFixture(items: DevItem.generate(count: 3, seed: 1)) {
            $0.settling = .onCommand
            $0.quirks.patchFails = false
            $0.quirks.capturesPerMinute = nil
            configure(&$0)
        }
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { ($0.title, $0.tags, $0.url) = ("Was", ["there"], "https://example.org/a") }
        try await fixture.pull(full: true)
        return (fixture, item)
    }

    private func settleAndPull(_ fixture: PullFixture) async throws {
        fixture.server.settle()
        for _ in 0..<3 {
            fixture.time.advance(by: .seconds(60))
            try await fixture.pull(full: true)
        }
    }

    @Test func aConflictAboutOneFieldHoldsUpNoOther() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept([
            .edit(item: item, ItemEdit(title: "Mine")), .edit(item: item, ItemEdit(summary: "S")),
            .edit(item: item, ItemEdit(tagChange: TagChange(added: ["new"]))),
        ])
        fixture.server.edit(item) { $0.title = "Theirs" }
        try await fixture.carryAll()
        #expect(try fixture.states() == [.parked, .delivered, .delivered])
        let there = try #require(fixture.server.item(item))
        #expect(there.title == "Theirs" && there.summary == "S" && Set(there.tags) == ["there", "new"])
        // What is asked for after that, by a person who has seen it, is sent, and the question is over.
        try await fixture.pull(full: true)
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine after all")))
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Mine after all")
        try fixture.expectSound()
    }

    @Test func theOtherFieldsOfAnEditInConflictAreSent() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine", summary: "S", tags: ["mine"])))
        fixture.server.edit(item) { ($0.title, $0.tags) = ("Theirs", ["theirs"]) }
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.summary == "S" && fixture.server.item(item)?.title == "Theirs")
        let entry = try #require(try fixture.entries().first)
        #expect(entry.state == .parked && entry.theirs == ItemEdit(title: "Theirs", tags: ["theirs"]))
        #expect(entry.errorCode == ErrorCode.editConflict.rawValue && entry.payload.fields.json.contains("Mine"))
        try fixture.expectSound()
        // The server has a part of it.
        let now = fixture.time.now.advanced(by: .seconds(60))
        try await fixture.withEngine { _, store in
            #expect(try await store.undo(now: now).taken == 0)
            _ = try await store.retry([1], parked: false, dryRun: false, now: now)
        }
        try await fixture.carryAll()
        let there = try #require(fixture.server.item(item))
        #expect(there.title == "Mine" && there.summary == "S" && there.tags == ["mine"])
        #expect(try fixture.states() == [.delivered])
        try fixture.expectSound()
    }

    /// The tag of the edit is there. What is in conflict, its title, is decided by a later edit.
    @Test func aConflictIsOverWhereALaterEditHasSetTheField() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine", tagChange: TagChange(added: ["new"]))))
        fixture.server.edit(item) { $0.title = "Theirs" }
        try await fixture.carryAll()
        #expect(try fixture.states() == [.parked])
        try await fixture.pull(full: true)
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine again")))
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Mine again")
        #expect(try fixture.states() == [.superseded, .delivered])
    }

    /// A summary that was written here, and has or has not arrived when the capture does.
    @Test(arguments: [false, true])
    func aRemarkReplacesNoSummaryThatWasWrittenHere(isDelivered: Bool) async throws {
        let (fixture, item) = try await fixture { $0.settling = .after(.zero) }
        fixture.server.edit(item) { $0.summary = nil }
        try await fixture.pull(full: true)
        fixture.server.setQuirks { $0.patchFails = !isDelivered }
        try await fixture.accept(.edit(item: item, ItemEdit(summary: "Ours")))
        try await fixture.pull()
        try await fixture.accept(.url(url, tags: ["a"], note: "A remark"))
        try await fixture.pull()
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.carryAll()
        let there = try #require(fixture.server.item(item))
        #expect(there.summary == "Ours" && Set(there.tags) == ["there", "a"])
        // Where there is a summary, or one is sent before it, it is asked about.
        #expect(try fixture.query("SELECT parked FROM copy") == "1")
        try fixture.expectSound()
    }

    @Test func eachOfTwoConflictsSaysItsReason() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept([
            .edit(item: item, ItemEdit(title: "Mine")), .edit(item: item, ItemEdit(tags: ["mine"])),
        ])
        fixture.server.edit(item) { ($0.title, $0.tags) = ("Theirs", ["theirs"]) }
        try await fixture.carryAll()
        let entries = try fixture.entries()
        #expect(entries.map(\.theirs) == [ItemEdit(title: "Theirs"), ItemEdit(tags: ["theirs"])])
        #expect(entries.allSatisfy { $0.errorCode == ErrorCode.editConflict.rawValue && $0.state == .parked })
    }

    /// The copy has the item, or does not have it yet.
    @Test(arguments: [false, true])
    func aRemarkReplacesNoSummary(isKnown: Bool) async throws {
        let (fixture, item) = try await fixture { $0.settling = .after(.zero) }
        let url = isKnown ? url : "https://example.org/new"
        if !isKnown {
            let id = try #require(fixture.server.addNew().first).id
            fixture.server.edit(id) { ($0.url, $0.title, $0.summary) = (url, "Theirs", "Their own") }
        } else {
            fixture.server.edit(item) { $0.summary = "Their own" }
            try await fixture.pull(full: true)
        }
        try await fixture.accept(.url(url, title: "T", tags: ["a"], note: "A remark"))
        try await fixture.carryAll()
        let there = try #require(fixture.server.items().first { $0.url == url })
        #expect(there.summary == "Their own" && there.title == "T" && there.tags.contains("a"))
        #expect(try fixture.query("SELECT parked || ' ' || waiting FROM copy") == "1 0")
        try fixture.expectSound()
    }

    @Test func whatACaptureAskedForFollowsAlthoughALaterEditIsRefused() async throws {
        let (fixture, _) = try await fixture { $0.settling = .after(.zero) }
        let refusing = RequestMatcher { $0.body.contains("bad words") }
        fixture.server.script(.answer(status: 422, body: #"{"detail":[]}"#), on: refusing, times: .max)
        let url = "https://example.org/new"
        let made = try await fixture.accept(.url(url, title: "T"))
        try await fixture.accept(.edit(item: made.itemID, ItemEdit(title: "bad words", summary: "S")))
        try await fixture.carryAll()
        #expect(fixture.server.items().first { $0.url == url }?.title == "T")
        #expect(try fixture.states() == [.delivered, .parked, .delivered])
        try fixture.expectSound()
    }

    /// Until a pull brings it.
    @Test func whatACreationCarriedIsShown() async throws {
        let (fixture, _) = try await fixture()
        let made = try await fixture.accept(.url("https://example.org/new", title: "One"))
        let edit = ItemEdit(title: "Two", tagChange: TagChange(added: ["b"]))
        try await fixture.accept(.edit(item: made.itemID, edit))
        fixture.server.script(.answer(status: 500, body: "{}"), on: .timeline, times: .max)
        try await fixture.pull()
        #expect(try fixture.outbox() == ["#1 capture delivered", "#2 edit delivered"])
        let shown = try fixture.query("SELECT title || ' ' || tags FROM timeline WHERE title IN ('One', 'Two')")
        #expect(shown == #"Two ["b"]"#)
    }

    /// The server says 422 to both together. Which one it means shows when each is sent alone.
    @Test func aRefusedEditTakesNoOtherAlong() async throws {
        let (fixture, item) = try await fixture()
        let refusing = RequestMatcher { $0.method == "PATCH" && $0.body.contains("bad words") }
        fixture.server.script(.answer(status: 422, body: #"{"detail":[]}"#), on: refusing, times: .max)
        try await fixture.accept([
            .edit(item: item, ItemEdit(title: "bad words")), .edit(item: item, ItemEdit(summary: "S")),
        ])
        try await fixture.carryAll()
        #expect(try fixture.states() == [.parked, .delivered])
        #expect(fixture.server.item(item)?.summary == "S")
        try fixture.expectSound()
    }

    @Test func aCreationThatIsRefusedWithItsEditIsSentAlone() async throws {
        let (fixture, _) = try await fixture()
        let refusing = RequestMatcher { $0.body.contains("bad words") }
        fixture.server.script(.answer(status: 422, body: #"{"detail":[]}"#), on: refusing, times: .max)
        let note = try await fixture.accept(.note("Some text"))
        try await fixture.accept(.edit(item: note.itemID, ItemEdit(title: "bad words")))
        try await fixture.pull()
        try await settleAndPull(fixture)
        #expect(fixture.server.items().count { $0.content == "Some text" } == 1)
        #expect(try fixture.states() == [.delivered, .parked])
        try fixture.expectSound()
    }

    @Test func whatIsUndoneBeforeItWasSentLeavesTheOthers() async throws {
        let (fixture, _) = try await fixture()
        let note = try await fixture.accept(.note("Some text", tags: ["a"]))
        for title in ["First", "Second"] {
            fixture.time.advance(by: .seconds(1))
            try await fixture.accept(.edit(item: note.itemID, ItemEdit(title: title)))
        }
        let now = fixture.time.now
        let undone = try await fixture.withEngine { _, store in try await store.undo(now: now) }
        #expect(undone.writes.map(\.entry) == [3])
        #expect(try fixture.shown().contains("First (creation)"))
        try await fixture.pull()
        #expect(fixture.server.captures.map(\.title) == ["First"])
        #expect(try fixture.states() == [.delivered, .delivered, .dropped])
        try fixture.expectSound()
    }

    @Test func aCommandOfSeveralTransactionsIsTakenBackAsAWhole() async throws {
        let (fixture, _) = try await fixture()
        let now = fixture.time.now
        let command = RequestKey.make(at: now)
        try await fixture.withEngine { _, store in
            _ = try await store.accept([WriteDraft.note("Before")], now: now)
            for part in 0..<3 {
                let writes = (0..<4).map { WriteRequest(.note("Note \(part) \($0)")) }
                _ = try await store.accept(writes, command: command, now: now.advanced(by: .seconds(part)))
            }
            let outcome = try await store.undo(now: now)
            #expect(outcome.taken == 12 && outcome.count == 12)
        }
        #expect(try fixture.query("SELECT waiting FROM copy") == "1")
    }

    /// A capture of a known URL was delivered, and what it says besides waits.
    @Test func undoOfACaptureWithdrawsWhatWasToFollow() async throws {
        let (fixture, item) = try await fixture { $0.quirks.patchFails = true }
        try await fixture.accept(.url(url, title: "By mistake", tags: ["wrong"]))
        try await fixture.pull()
        try #require(try fixture.states() == [.delivered, .queued])
        let now = fixture.time.now
        try await fixture.withEngine { _, store in
            let outcome = try await store.undo(now: now)
            // The server has failed at it, and may still have applied it.
            #expect(outcome.kept.map(\.entry) == [1] && outcome.withdrawn == [2])
        }
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Was")
        #expect(fixture.server.item(item)?.tags == ["there"])
        try fixture.expectSound()
    }

    /// The server still works on the item: nothing of the capture was sent. Then the whole command is taken back, and what came before
    /// it is the next to be.
    @Test func undoOfACaptureOfWhichNothingWasSentIsWhole() async throws {
        let (fixture, _) = try await fixture()
        let new = "https://example.org/new"
        try await fixture.accept(.url(new))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(1))
        try await fixture.accept(.url(new, title: "By mistake", tags: ["wrong"]))
        try await fixture.pull()
        try #require(try fixture.states() == [.delivered, .delivered, .queued])
        let now = fixture.time.now
        try await fixture.withEngine { _, store in
            let outcome = try await store.undo(now: now)
            #expect(outcome.undone && outcome.taken == 1 && outcome.kept.isEmpty && outcome.withdrawn == [3])
            #expect(outcome.writes.map(\.entry) == [2])
            let next = try await store.undo(now: now)
            #expect(next.kept.map(\.entry) == [1] && next.taken == 0)
        }
        try await settleAndPull(fixture)
        let there = try #require(fixture.server.items().first { $0.url == new })
        #expect(there.title != "By mistake" && there.tags == [])
        try fixture.expectSound()
    }

    @Test func aFollowUpThatGoesAlongWithALaterEditSaysSo() async throws {
        let (fixture, item) = try await fixture { $0.quirks.patchFails = true }
        try await fixture.accept(.url(url, title: "Mine"))
        try await fixture.pull()
        try await fixture.accept(.edit(item: item, ItemEdit(summary: "S")))
        let waiting = try StoreReader(path: fixture.path).outboxEntry(2).entry
        #expect(waiting.state == .queued && waiting.behind == 3 && waiting.awaitsDecision == nil)
    }

    /// No person had given the item its title when its URL was captured again.
    @Test func aTitleThatProcessingHasSetSinceIsNoQuestion() async throws {
        let (fixture, _) = try await fixture()
        let new = "https://example.org/new"
        try await fixture.accept(.url(new))
        for _ in 0..<2 { try await fixture.pull(full: true) }
        try await fixture.accept(.url(new, title: "Mine"))
        let lost = fixture.server.script(
            .answer(status: 503, body: "{}"), on: RequestMatcher { $0.method == "POST" }, times: .max)
        try await settleAndPull(fixture)
        lost.remove()
        try await fixture.carryAll()
        #expect(try fixture.entries().filter { $0.state == .parked }.map(\.id) == [])
        #expect(fixture.server.items().first { $0.url == new }?.title == "Mine")
        try fixture.expectSound()
    }

    /// After the capture was asked for. A pull shows it before the capture is delivered, or none does.
    @Test(arguments: [false, true])
    func aTitleThatWasSetElsewhereSinceIsAskedAbout(isPulled: Bool) async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.url(url, title: "Mine"))
        fixture.server.edit(item) { $0.title = "Theirs" }
        if isPulled {
            let lost = fixture.server.script(
                .answer(status: 503, body: "{}"), on: RequestMatcher { $0.method == "POST" }, times: .max)
            try await fixture.pull(full: true)
            lost.remove()
        }
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Theirs")
        let parked = try fixture.entries().filter { $0.state == .parked }
        #expect(parked.map(\.payload) == [.edit(ItemEdit(title: "Mine"))])
        #expect(parked.map(\.theirs) == [ItemEdit(title: "Theirs")])
        try fixture.expectSound()
    }

    // MARK: A capture of a known URL asks by what follows it

    private func drop(_ entries: [Int64], _ fixture: PullFixture) async throws {
        let now = fixture.time.now
        try await fixture.withEngine { _, store in
            _ = try await store.drop(entries, withDependents: false, dryRun: false, now: now)
        }
    }

    private func retry(_ entries: [Int64], _ fixture: PullFixture) async throws {
        fixture.time.advance(by: .seconds(60))
        let now = fixture.time.now
        try await fixture.withEngine { _, store in
            _ = try await store.retry(entries, parked: false, dryRun: false, now: now)
        }
    }

    @Test(arguments: [false, true])
    func whatACaptureAskedForIsStillAskedForWhereTheNextOneIsGivenUp(isNew: Bool) async throws {
        let (fixture, _) = try await fixture { $0.quirks.patchFails = true }
        let url = isNew ? "https://example.org/new" : url
        try await fixture.accept(.url(url, title: "A"))
        try await fixture.pull()
        try await fixture.accept(.url(url, title: "B"))
        try await fixture.pull()
        let waiting = try fixture.entries().filter { $0.payload == .edit(ItemEdit(title: "B")) }
        try await drop(waiting.map(\.id), fixture)
        fixture.server.setQuirks { $0.patchFails = false }
        try await settleAndPull(fixture)
        try await fixture.carryAll()
        #expect(fixture.server.items().first { $0.url == url }?.title == "A")
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
        try fixture.expectSound()
    }

    @Test func anEditIsStillAskedForWhereALaterCaptureIsGivenUp() async throws {
        let (fixture, item) = try await fixture { $0.quirks.patchFails = true }
        try await fixture.accept(.edit(item: item, ItemEdit(title: "A")))
        try await fixture.pull()
        try await fixture.accept(.url(url, title: "B"))
        try await fixture.pull()
        try await drop([3], fixture)
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "A")
        #expect(try fixture.states() == [.delivered, .delivered, .dropped])
        try fixture.expectSound()
    }

    /// What two captures asked for goes in one request, and the server refuses it for the second.
    @Test func whatIsRefusedOfALaterCaptureTakesNothingAlong() async throws {
        let (fixture, item) = try await fixture()
        let bad = RequestMatcher { $0.method == "PATCH" && $0.body.contains("Bad") }
        fixture.server.script(.answer(status: 422, body: #"{"detail":"no"}"#), on: bad, times: .max)
        let looks = RequestMatcher { $0.method == "GET" && $0.path.hasSuffix(item) }
        let away = fixture.server.script(.answer(status: 500, body: "{}"), on: looks, times: .max)
        try await fixture.accept(.url(url, title: "Good"))
        try await fixture.pull()
        try await fixture.accept(.url(url, title: "Bad"))
        try await fixture.pull()
        away.remove()
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Good")
        #expect(try fixture.entries().filter { $0.state == .parked }.map(\.payload) == [.edit(ItemEdit(title: "Bad"))])
        try fixture.expectSound()
    }

    @Test func aQuestionAboutARemarkStaysWhereALaterOneIsAsked() async throws {
        let (fixture, item) = try await fixture()
        fixture.server.edit(item) { $0.summary = "Theirs" }
        try await fixture.pull(full: true)
        try await fixture.accept(.url(url, note: "First"))
        try await fixture.carryAll()
        try await fixture.accept(.url(url, tags: ["z"], note: "Second"))
        try await fixture.carryAll()
        let parked = try fixture.entries().filter { $0.state == .parked }
        #expect(
            parked.compactMap { if case .edit(let edit) = $0.payload { edit.summary } else { nil } } == [
                "First", "Second",
            ])
        // What the person chooses is sent, and answers both.
        try await retry([parked[0].id], fixture)
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.summary == "First")
        try fixture.expectSound()
    }

    /// What was captured turns out to have been there before: its person has not seen its summary.
    @Test(arguments: [ItemEdit(summary: "Mine"), ItemEdit(title: "Mine")])
    func anEditOfACaptureThatWasThereBeforeIsAskedAbout(_ edit: ItemEdit) async throws {
        let (fixture, item) = try await fixture()
        fixture.server.edit(item) { $0.summary = "Theirs" }
        try await fixture.pull(full: true)
        let capture = try await fixture.accept(.url(url))
        try await fixture.accept(.edit(item: capture.itemID, edit))
        // A title counts as one that is captured with the URL: it is asked about where it was set elsewhere since.
        if edit.title != nil { fixture.server.edit(item) { $0.title = "Theirs" } }
        try await fixture.carryAll()
        let there = try #require(fixture.server.item(item))
        #expect(there.summary == "Theirs" && there.tags == ["there"] && there.title != "Mine")
        #expect(try fixture.entries().filter { $0.state == .parked }.map(\.payload) == [.edit(edit)])
        try fixture.expectSound()
    }

    /// Who asked for the later edit has seen their title. Who asked for the first one has not.
    @Test(arguments: [false, true])
    func whatWasSeenByALaterEditIsNoAnswerToAnEarlierQuestion(isTakenBack: Bool) async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine")))
        fixture.server.edit(item) { $0.title = "Theirs" }
        try await fixture.carryAll()
        try #require(try fixture.states() == [.parked])
        fixture.time.advance(by: .seconds(60))
        try await fixture.pull(full: true)
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine after all")))
        let now = fixture.time.now
        try await fixture.withEngine { _, store in
            if isTakenBack { _ = try await store.undo(now: now) }
            _ = try await store.retry(nil, parked: true, dryRun: false, now: now)
        }
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == (isTakenBack ? "Theirs" : "Mine after all"))
        #expect(try fixture.states() == (isTakenBack ? [.parked, .dropped] : [.superseded, .delivered]))
        let edits = fixture.server.requests(RequestMatcher { $0.method == "PATCH" })
        #expect(edits.count == (isTakenBack ? 0 : 1))
        try fixture.expectSound()
    }

    /// Another client has made the item, and given it no title.
    @Test func whatIsTakenBackOfACaptureIsNotShown() async throws {
        let (fixture, item) = try await fixture { $0.quirks.patchFails = true }
        fixture.server.edit(item) { $0.title = "Untitled" }
        try await fixture.pull(full: true)
        try await fixture.accept(.url(url, title: "By mistake"))
        try await fixture.pull()
        try await drop([2], fixture)
        let shown = "SELECT coalesce(title, '-') FROM timeline WHERE url = '\(url)'"
        #expect(try fixture.query(shown) == "Untitled")
        try fixture.expectSound()
    }

    // MARK: What a person has decided

    /// The server has the other fields of it, and they are its own since.
    @Test func whatWasDeliveredOfAnEditIsNotSentAgainWithItsAnswer() async throws {
        let (fixture, item) = try await fixture()
        let tags = TagChange(added: ["q"])
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine", summary: "S", tagChange: tags)))
        fixture.server.edit(item) { $0.title = "Theirs" }
        try await fixture.carryAll()
        try #require(try fixture.states() == [.parked])
        fixture.server.edit(item) { ($0.summary, $0.tags) = ("Theirs", ["there"]) }
        try await retry([1], fixture)
        try await fixture.carryAll()
        let there = try #require(fixture.server.item(item))
        #expect(there.title == "Mine" && there.summary == "Theirs" && there.tags == ["there"])
        #expect(try fixture.states() == [.delivered])
        try fixture.expectSound()
    }

    /// A person has decided about one value. Another one is another question, also where the attempt in between was applied.
    @Test(arguments: [false, true])
    func aDecisionIsAboutTheValueThatWasShown(isLost: Bool) async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine")))
        fixture.server.edit(item) { $0.title = "Theirs" }
        try await fixture.carryAll()
        if isLost {
            let edits = RequestMatcher { $0.method == "PATCH" }
            fixture.server.script(.closeAfterApplying, on: edits)
            let looks = RequestMatcher { $0.method == "GET" && $0.path.hasSuffix(item) }
            let away = fixture.server.script(.answer(status: 500, body: "{}"), on: looks, times: .max, skip: 1)
            try await retry([1], fixture)
            try await fixture.pull()
            try #require(fixture.server.item(item)?.title == "Mine")
            away.remove()
            fixture.server.edit(item) { $0.title = "Theirs again" }
        } else {
            fixture.server.edit(item) { $0.title = "Theirs again" }
            try await retry([1], fixture)
        }
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Theirs again")
        let parked = try fixture.entries().filter { $0.state == .parked }
        #expect(parked.map(\.theirs) == [ItemEdit(title: "Theirs again")])
        try await retry([1], fixture)
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Mine")
        try fixture.expectSound()
    }

    /// The server still works on the item when its URL is captured again.
    @Test func whatIsToFollowIsShownAsWaitingAtOnce() async throws {
        let (fixture, _) = try await fixture()
        try await fixture.accept(.url("https://example.org/new"))
        try await fixture.pull()
        try await fixture.accept(.url("https://example.org/new", title: "Mine", tags: ["a"], note: "Read it"))
        try await fixture.pull()
        // The remark by itself: it replaces no summary.
        #expect(try fixture.query("SELECT waiting FROM copy") == "2")
        #expect(try fixture.states() == [.delivered, .delivered, .queued, .queued])
        try await settleAndPull(fixture)
        let there = try #require(fixture.server.items().first { $0.url == "https://example.org/new" })
        #expect(there.title == "Mine" && there.tags == ["a"] && there.summary == "Read it")
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
        try fixture.expectSound()
    }

    /// Another client has filled the item since: the server would cut the list, and say nothing.
    @Test func tagsThatAreTooManyByNowAreAskedAbout() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept([
            .edit(item: item, ItemEdit(tagChange: TagChange(added: ["mine"]))),
            .edit(item: item, ItemEdit(title: "New")),
        ])
        let full = (1...20).map { "tag\($0)" }
        fixture.server.edit(item) { $0.tags = full }
        try await fixture.carryAll()
        #expect(try fixture.outbox() == ["#1 edit parked write_invalid", "#2 edit delivered"])
        #expect(fixture.server.item(item)?.tags == full && fixture.server.item(item)?.title == "New")
        // What only takes away is sent.
        try await fixture.accept(.edit(item: item, ItemEdit(tagChange: TagChange(removed: ["tag1"]))))
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.tags.count == 19)
        try fixture.expectSound()
    }

    /// What a change of tags was applied to is kept with it, so that its reversal gives back what was there.
    @Test func aChangeOfTagsKnowsWhatWasThere() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(
            .edit(item: item, ItemEdit(tagChange: TagChange(added: ["there"], removed: ["inbox"]))))
        let entry = try StoreReader(path: fixture.path).outboxEntry(1).entry
        #expect(entry.base == ItemEdit(tags: ["there"]))
    }
}
