import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// An item that was known before a write was sent can never be that write's result.
@Suite struct KnownItemTests {
    /// A list that is empty once is no proof that a note never arrived.
    @Test(arguments: Dialect.allCases)
    func oneEmptyListSendsNoNoteAgain(_ dialect: Dialect) async throws {
        let fixture = try await fixture(dialect)
        try await fixture.pull()
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.note("Some words of a note", title: "Some words of a note"))
        for _ in 0..<4 {
            let lie = fixture.server.script(.lie(.emptyEnd), on: .timeline)
            try await fixture.pull()
            lie.remove()
            fixture.time.advance(by: .seconds(700))
        }
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.states() == [.delivered])
    }

    /// The list was not empty before the note was sent.
    @Test(arguments: [Dialect.cursor, .page])
    func aListThatStaysEmptySendsNoNoteAgain(_ dialect: Dialect) async throws {
        let fixture = try await fixture(dialect, hidesCaptured: true)
        try await fixture.pull()
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.note("Some words of a note", title: "Some words of a note"))
        try await fixture.pull()
        try #require(try fixture.states() == [.unknown])
        fixture.server.script(.lie(.emptyEnd), on: .timeline, times: .max)
        for _ in 0..<4 {
            try await fixture.pull()
            fixture.time.advance(by: .seconds(700))
        }
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.outbox() == ["#1 note parked outcome_undecidable"])
    }

    /// The server has refused the URL, so that no item of it is ours.
    @Test(arguments: [Dialect.cursor, .page])
    func anItemThatWasHiddenWhenItsURLWasRefusedIsNotTheCaptures(_ dialect: Dialect) async throws {
        let fixture = try await fixture(dialect)
        try await fixture.pull()
        let theirs = fixture.server.addNew()[0].id
        fixture.server.edit(theirs) { $0.url = Self.url }
        fixture.server.hide(theirs)
        let capture = try await fixture.accept(.url(Self.url, title: "Ours"))
        try await fixture.pull()
        // The main server says at once which item it is. Then this is refused.
        _ = try? await fixture.accept(.delete(item: capture.itemID))
        fixture.server.show(theirs)
        fixture.time.advance(by: .seconds(700))
        try await fixture.carryAll()
        #expect(try fixture.outbox().first?.hasPrefix("#1 capture delivered was already there") == true)
        #expect(fixture.server.item(theirs) != nil)
    }

    private static let url = "https://example.org/again"

    private func fixture(
        _ dialect: Dialect = .cursor, items: Int = 5, hidesCaptured: Bool = false, cleansURLs: Bool = false,
        escapesText: Bool = false
    ) async throws -> PullFixture {
        try PullFixture(dialect, items: DevItem.generate(count: items, seed: 1)) {
            ($0.quirks.hidesCaptured, $0.quirks.cleansURLs) = (hidesCaptured, cleansURLs)
            $0.quirks.escapesText = escapesText
            $0.settling = .after(.seconds(5))
            $0.quirks.patchFails = false
            $0.quirks.capturesPerMinute = nil
        }
    }

    /// What another client captured a while ago, and a pull has brought.
    private func addTheirs(_ fixture: PullFixture, minutesAgo minutes: Int) async throws -> String {
        var theirs = DevItem(
            id: "5a5a5a5a-0000-4000-8000-000000000001",
            createdAt: fixture.time.now.advanced(by: .seconds(-60 * minutes)), title: "Theirs")
        theirs.url = Self.url
        fixture.server.add(theirs)
        try await fixture.pull()
        return theirs.id
    }

    private func expectMadeAfterTheDeletion(of old: String, _ fixture: PullFixture) throws {
        let there = fixture.server.items().filter { $0.url == Self.url }
        let outbox = try fixture.outbox()
        #expect(there.count == 1 && there.first?.id != old && there.first?.tags == ["fresh"], "\(there); \(outbox)")
        #expect(try fixture.states().allSatisfy { $0 == .delivered }, "\(outbox)")
        try fixture.expectSound()
    }

    @Test(arguments: [5, 59])
    func aURLThatIsCapturedAgainAfterItsDeletionIsMadeAlthoughTheProcessWasKilledWhileBothWereSent(
        _ minutes: Int
    ) async throws {
        let fixture = try await fixture()
        let old = try await addTheirs(fixture, minutesAgo: minutes)
        try await fixture.accept([.delete(item: old), .url(Self.url, tags: ["fresh"])])
        let store = try Store(path: fixture.path)
        for entry in [Int64(1), 2] {
            #expect(try await store.beginSending(entry, evidence: nil, now: fixture.time.now))
        }
        await store.close()
        try await fixture.carryAll()
        try expectMadeAfterTheDeletion(of: old, fixture)
    }

    /// The server refuses the URL, because the deletion was not taken yet, and that answer is lost.
    @Test(arguments: [5, 59])
    func aURLThatIsCapturedAgainAfterItsDeletionIsMadeAlthoughTheAnswersWereLost(_ minutes: Int) async throws {
        let fixture = try await fixture()
        let old = try await addTheirs(fixture, minutesAgo: minutes)
        fixture.server.script(
            .answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#),
            on: RequestMatcher { $0.method == "DELETE" })
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept([.delete(item: old), .url(Self.url, tags: ["fresh"])])
        try await fixture.carryAll()
        try expectMadeAfterTheDeletion(of: old, fixture)
    }

    /// A tombstone is as good a witness as a row, and the number of a row is never given twice.
    @Test func whatIsRemovedLeavesItsNumberToNoOther() async throws {
        let fixture = try await fixture()
        try await fixture.pull()
        let old = try await addTheirs(fixture, minutesAgo: 5)
        try await fixture.accept(.delete(item: old))
        try await fixture.pull()
        let newest = try #require(try fixture.query("SELECT max(rowid) FROM item"))
        let store = try Store(path: fixture.path)
        try await store.purgeTombstones(deletedBefore: .latest)
        await store.close()
        fixture.server.addNew()
        try await fixture.pull()
        #expect(try fixture.query("SELECT max(rowid) FROM item WHERE rowid > \(newest)") != nil)
    }

    /// Of an item beyond the newest hundred, which are asked for before a send.
    @Test(
        arguments: [Dialect.cursor, .page, .express], [WriteDraft.note("Words of a note", tags: ["ours"]), .url(url)])
    func anAnswerThatNamesAnOlderItemDeliversNothing(_ dialect: Dialect, _ draft: WriteDraft) async throws {
        let fixture = try await fixture(dialect, items: 150)
        try await fixture.pull()
        let old = fixture.server.items()[120]
        let body =
            #"{"id":"\#(old.id)","title":"Words of a note","content":"Words of a note","tags":["ours"],"#
            + #""createdAt":"\#(old.createdAt)","updatedAt":"\#(old.updatedAt)","status":"active"}"#
        fixture.server.script(.answer(status: 201, body: body), on: .capture)
        try await fixture.accept(draft)
        try await fixture.carryAll()
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.entries()[0].itemID == fixture.server.captures.first?.id)
        #expect(fixture.server.item(old.id)?.title == old.title && fixture.server.item(old.id)?.tags == old.tags)
        try fixture.expectSound()
    }

    /// The small server answers with the whole item.
    @Test(arguments: [WriteDraft.note("Words of a note", title: "Ours"), .url(url, title: "Ours")])
    func anAnswerThatShowsAnotherItemDeliversNothing(_ draft: WriteDraft) async throws {
        let fixture = try await fixture(.express)
        try await fixture.pull()
        let strange = "5a5a5a5a-0000-4000-8000-000000000002"
        let body =
            #"{"id":"\#(strange)","title":"Theirs","content":"Their words","tags":[],"status":"active","#
            + #""createdAt":"\#(fixture.time.now)","updatedAt":"\#(fixture.time.now)"}"#
        fixture.server.script(.answer(status: 201, body: body), on: .capture)
        try await fixture.accept(draft)
        try await fixture.carryAll()
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.entries()[0].itemID == fixture.server.captures.first?.id)
        #expect(try fixture.list("SELECT id FROM timeline").count == 6)
    }

    // MARK: A URL that is there

    /// Its code stands in the header, and something in between has taken its words.
    @Test func aRefusalWithoutWordsOfAURLThatIsThereIsAskedAbout() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.url(Self.url))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(60))
        try await fixture.pull()
        fixture.server.script(
            .answer(status: 400, headers: ["x-error-code": "INVALID_INPUT"], body: ""), on: .capture)
        try await fixture.accept(.url(Self.url, tags: ["fresh"]))
        try await fixture.carryAll()
        let outbox = try fixture.outbox()
        #expect(try fixture.states().allSatisfy { $0 == .delivered }, "\(outbox)")
        #expect(fixture.server.items().first { $0.url == Self.url }?.tags == ["fresh"])
    }

    /// check-duplicate is asked about another spelling of it, and says that there is none.
    @Test func aBareHostWhoseRefusalWasLostIsFoundInTheCopy() async throws {
        let fixture = try await fixture()
        let url = "https://bare.example"
        try await fixture.accept(.url(url))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(7_200))
        try await fixture.pull()
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.url(url, tags: ["fresh"]))
        try await fixture.carryAll()
        let outbox = try fixture.outbox()
        #expect(try fixture.states().allSatisfy { $0 == .delivered }, "\(outbox)")
        #expect(fixture.server.items().first { $0.url == url }?.tags == ["fresh"])
        #expect(fixture.server.captures.count == 1)
    }

    /// The server asks for a cleaned URL, and compares the raw one: of that spelling it has another item.
    @Test(arguments: [true, false], [true, false])
    func anItemOfAnotherSpellingIsNotTheCaptures(_ isKnown: Bool, _ isRefused: Bool) async throws {
        try await makeOnce(
            "https://bare.example", beside: "https://bare.example/", isKnown: isKnown, isRefused: isRefused)
        let (composed, decomposed) = ("https://example.org/caf\u{e9}", "https://example.org/cafe\u{301}")
        try await makeOnce(composed, beside: decomposed, isKnown: isKnown, isRefused: isRefused)
    }

    private func makeOnce(_ url: String, beside other: String, isKnown: Bool, isRefused: Bool) async throws {
        let fixture = try await fixture()
        if isRefused { fixture.server.edit(fixture.server.items()[1].id) { $0.url = url } }
        if isKnown { try await fixture.pull() }
        let theirs = fixture.server.addNew()[0].id
        fixture.server.edit(theirs) { ($0.url, $0.title, $0.tags) = (other, "Theirs", ["theirs"]) }
        if isKnown { try await fixture.pull() }
        fixture.time.advance(by: .seconds(7_200))
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        try await fixture.accept(.url(url, title: "Mine", tags: ["mine"]))
        for _ in 0..<3 { try await fixture.carryAll() }
        let outbox = try fixture.outbox()
        #expect(fixture.server.items().count { ByteText($0.url ?? "") == ByteText(url) } == 1, "\(outbox)")
        #expect(fixture.server.captures.count == (isRefused ? 0 : 1), "\(outbox)")
        let there = fixture.server.item(theirs)
        #expect((there?.title, there?.tags) == ("Theirs", ["theirs"]))
        try fixture.expectSound()
    }

    /// It is made once, whatever becomes of the answer: what may be ours under another address is not sent again unasked.
    @Test(arguments: Dialect.allCases, [true, false])
    func anAddressThatTheServerCleansIsCapturedOnce(_ dialect: Dialect, _ isLost: Bool) async throws {
        // Without a title and tags there is nothing but the address to know it by.
        for (title, tags) in [("Mine", ["mine"]), (nil, [])] {
            let fixture = try await fixture(dialect, cleansURLs: true)
            try await fixture.pull()
            if isLost { fixture.server.script(.closeAfterApplying, on: .capture) }
            try await fixture.accept(.url("http://Example.org/Page?a=1#part", title: title, tags: tags))
            for _ in 0..<4 { try await fixture.carryAll() }
            let outbox = try fixture.outbox()
            #expect(fixture.server.captures.count == 1, "\(outbox)")
            let end = isLost ? "parked outcome_undecidable" : "delivered"
            #expect(outbox[0].hasPrefix("#1 capture \(end)"), "\(outbox)")
            try fixture.expectSound()
        }
    }

    /// Neither of the two lookups saw it, and no pull has brought it.
    @Test func anAddressThatTheServerCleansIsLookedForOnceMoreBeforeItIsSentAgain() async throws {
        let fixture = try PullFixture(.page, items: DevItem.generate(count: 5, seed: 1)) {
            ($0.quirks.hidesCaptured, $0.quirks.cleansURLs, $0.quirks.capturesPerMinute) = (true, true, nil)
        }
        try await fixture.pull()
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.url("http://Example.org/Page?a=1#part"))
        try await fixture.pull()
        let refusal = fixture.server.script(.rateLimit(.seconds(60)), on: .capture)
        fixture.time.advance(by: .seconds(700))
        try await fixture.pull()
        try #require(refusal.appliedCount == 1)
        fixture.server.settle()
        try await fixture.carryAll()
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.outbox() == ["#1 capture parked outcome_undecidable"])
    }

    /// An item of another client comes with the tags that were sent, before the note is sent again. The note had other ones.
    @Test func aNoteThatAnEditHasChangedIsAlwaysLookedForAsItWasSent() async throws {
        let fixture = try PullFixture(.page, items: DevItem.generate(count: 5, seed: 1)) {
            $0.quirks.capturesPerMinute = nil
        }
        try await fixture.pull()
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        let note = try await fixture.accept(.note("Some words", tags: ["a"]))
        fixture.time.advance(by: .seconds(1))
        let change = TagChange(added: ["b"], removed: ["a"])
        try await fixture.accept(.edit(item: note.itemID, ItemEdit(title: "Mine", tagChange: change)))
        try await fixture.pull()
        let refusal = fixture.server.script(.rateLimit(.seconds(60)), on: .capture)
        fixture.time.advance(by: .seconds(700))
        try await fixture.pull()
        try #require(refusal.appliedCount == 1)
        var theirs = DevItem.generate(count: 1, seed: 4)[0]
        (theirs.createdAt, theirs.updatedAt) = (fixture.time.now, fixture.time.now)
        (theirs.title, theirs.tags, theirs.url, theirs.type) = ("Theirs", ["b"], nil, "note")
        fixture.server.add(theirs)
        try await fixture.carryAll(atMost: 20)
        #expect(fixture.server.captures.isEmpty)
        #expect(try fixture.states() == [.parked, .queued])
        try fixture.expectSound()
    }

    /// A note of few words and one tag, of which the server keeps other characters.
    @Test(arguments: Dialect.allCases, [true, false])
    func aNoteThatTheServerEscapesIsMadeOnce(_ dialect: Dialect, _ isLost: Bool) async throws {
        let fixture = try await fixture(dialect, escapesText: true)
        try await fixture.pull()
        if isLost { fixture.server.script(.closeAfterApplying, on: .capture) }
        try await fixture.accept(.note("Brot&Butter", tags: ["w"]))
        for _ in 0..<4 { try await fixture.carryAll() }
        let outbox = try fixture.outbox()
        #expect(fixture.server.captures.count == 1, "\(outbox)")
        #expect(outbox[0].hasPrefix(isLost ? "#1 note parked outcome_undecidable" : "#1 note delivered"), "\(outbox)")
    }

    // MARK: A summary that the server fills in

    /// In the answer about one item, while its list says that there is none.
    @Test func aSummaryThatTheServerMakesUpIsNoConflict() async throws {
        let fixture = try await fixture()
        let summaries = [("", "Ours"), ("Said before", ""), ("Made up", "Ours")]
        let ids = fixture.server.items().map(\.id)
        for (id, (summary, _)) in zip(ids, summaries) {
            fixture.server.edit(id) { item in
                item.summary = summary
                item.metadata = #"{"ai_analysis":{"summary":"Made up"}}"#
            }
        }
        try await fixture.pull()
        for (id, (_, summary)) in zip(ids, summaries) {
            try await fixture.accept(.edit(item: id, ItemEdit(summary: summary)))
        }
        try await fixture.carryAll()
        let outbox = try fixture.outbox()
        #expect(try fixture.states() == [.delivered, .delivered, .delivered], "\(outbox)")
        try await fixture.pull()
        #expect(fixture.server.items().prefix(3).map(\.summary) == ["Ours", "", "Ours"])
        #expect(
            try fixture.list("SELECT coalesce(summary, '') FROM timeline ORDER BY created_at DESC LIMIT 3") == [
                "Ours", "", "Ours",
            ])
    }
}
