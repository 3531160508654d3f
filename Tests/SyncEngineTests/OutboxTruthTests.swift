import DevServer
import PRSNLClient
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// "Delivered" is said of what the server has, and of nothing else.
@Suite struct OutboxTruthTests {
    private func fixture(
        _ dialect: Dialect = .cursor, _ configure: (inout DevServer.Configuration) -> Void = { _ in }
    ) async throws -> PullFixture {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 5, seed: 1)) {
            $0.settling = .onCommand
            $0.quirks.patchFails = false
            $0.quirks.capturesPerMinute = nil
            configure(&$0)
        }
        try await fixture.pull()
        return fixture
    }

    private let changes = RequestMatcher { $0.method == "PATCH" || $0.method == "PUT" }
    private let deletions = RequestMatcher { $0.method == "DELETE" }

    /// The id of an item that the server has made of a capture, and is done with.
    private func processed(_ draft: WriteDraft, _ fixture: PullFixture) async throws -> String {
        try await fixture.accept(draft)
        try await fixture.pull()
        fixture.server.settle()
        try await fixture.pull()
        return try #require(fixture.server.captures.first).id
    }

    // MARK: Edits

    @Test(arguments: [Dialect.cursor, .express])
    func anEditOfNothingButWhiteSpaceOrMarkupIsSent(_ dialect: Dialect) async throws {
        let fixture = try await fixture(dialect)
        let pairs = [
            ("Vec in Rust", "Vec<String> in Rust"), ("a b", "a  b"), ("Item", "<b>Item</b>"), ("Poem", "Poem\nof two"),
            ("if a c", "if a <b> c"),
        ]
        for (item, pair) in zip(fixture.server.items(), pairs) {
            fixture.server.edit(item.id) { $0.title = pair.0 }
        }
        try await fixture.pull(full: true)
        let ids = fixture.server.items().map(\.id)
        let titled = Dictionary(uniqueKeysWithValues: fixture.server.items().map { ($0.title, $0.id) })
        for (before, after) in pairs {
            let id = try #require(titled[before] ?? ids.first)
            try await fixture.accept(.edit(item: id, ItemEdit(title: after)))
        }
        try await fixture.pull()
        #expect(Set(fixture.server.items().map(\.title)).isSuperset(of: pairs.map(\.1)))
        #expect(try fixture.states().allSatisfy { $0 == .delivered })
        #expect(fixture.server.requests(changes).count == pairs.count)
    }

    @Test(arguments: [Dialect.cursor, .page, .express])
    func anAnswerThatIsAnErrorDeliversNothing(_ dialect: Dialect) async throws {
        let fixture = try await fixture(dialect)
        let ids = fixture.server.items().map(\.id)
        for matcher in [changes, deletions] {
            fixture.server.script(.answer(status: 200, body: #"{"error":"database is locked"}"#), on: matcher)
        }
        try await fixture.accept([.edit(item: ids[0], ItemEdit(title: "New")), .delete(item: ids[1])])
        try await fixture.run(for: .seconds(120))
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(fixture.server.item(ids[0])?.title == "New")
        #expect(fixture.server.item(ids[1]) == nil)
        #expect(fixture.server.requests(.change).count == 4)
    }

    /// It answers with the item, and the item is as it was.
    @Test func anAnswerThatShowsTheOldValuesDeliversNothing() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0]
        let body = #"{"id":"\#(item.id)","title":\#(JSONText.string(item.title)),"tags":[]}"#
        fixture.server.script(.answer(status: 200, body: body), on: changes)
        try await fixture.accept(.edit(item: item.id, ItemEdit(title: "New")))
        try await fixture.run(for: .seconds(120))
        #expect(fixture.server.item(item.id)?.title == "New")
        #expect(fixture.server.requests(changes).count == 2)
        #expect(try fixture.states() == [.delivered])
    }

    /// It cuts or cleans the text back to what it was, perhaps, and will do so each time.
    @Test func anEditThatTheServerNeverTakesIsParkedAfterADay() async throws {
        let fixture = try await fixture()
        let items = fixture.server.items()
        let body = #"{"id":"\#(items[0].id)","title":\#(JSONText.string(items[0].title))}"#
        let stubborn = fixture.server.script(
            .answer(status: 200, body: body), on: changes.and { $0.path.hasSuffix(items[0].id) }, times: .max)
        try await fixture.accept([
            .edit(item: items[0].id, ItemEdit(title: "New")), .edit(item: items[1].id, ItemEdit(title: "Another")),
        ])
        try await fixture.run(for: .seconds(600))
        #expect(try fixture.states() == [.queued, .delivered])
        try await fixture.run(for: .seconds(2 * 86_400))
        #expect(try fixture.states() == [.parked, .delivered])
        #expect(stubborn.appliedCount <= 10, "\(stubborn.appliedCount)")
    }

    // MARK: Creations

    /// Replayed by something in between.
    @Test func anAnswerThatNamesAnotherNotesItemDeliversNothing() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.note("The first note", tags: ["one"]))
        try await fixture.pull()
        let first = try #require(fixture.server.captures.first).id
        fixture.server.script(
            .answer(status: 200, body: #"{"id":"\#(first)","status":"pending","message":"ok"}"#), on: .capture)
        try await fixture.accept(.note("The second note", tags: ["two"]))
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .unknown])
        for _ in 0..<3 {
            fixture.time.advance(by: .seconds(700))
            fixture.server.settle()
            try await fixture.pull()
        }
        #expect(try fixture.states().allSatisfy { $0 == .delivered })
        #expect(Set(fixture.server.captures.compactMap(\.content)) == ["The first note", "The second note"])
        #expect(fixture.server.item(first)?.tags == ["one"])
    }

    /// In the end, the older item is gone, and what was captured is there once.
    private func expectOnlyTheNewOne(
        of url: String, _ tags: [String], not old: String, _ fixture: PullFixture,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await fixture.run(for: .seconds(3 * 3_600))
        fixture.server.settle()
        try await fixture.run(for: .seconds(3_600))
        #expect(fixture.server.item(old) == nil, sourceLocation: sourceLocation)
        let there = fixture.server.items().filter { $0.url == url }
        let outbox = try fixture.outbox()
        #expect(there.count == 1 && there.first?.tags == tags, "\(there); \(outbox)", sourceLocation: sourceLocation)
        try fixture.expectSound()
    }

    /// Deleted, then captured again: the deletion must not take what was captured after it.
    @Test(arguments: [
        Fault.answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#),
        .answer(status: 500, body: #"{"detail":"no"}"#), .closeBeforeAnswering, .closeAfterApplying,
    ])
    func aURLThatIsCapturedAgainAfterItsDeletionWaitsForThat(_ fault: Fault) async throws {
        let fixture = try await fixture()
        let url = "https://example.org/again"
        let old = try await processed(.url(url, title: "Old"), fixture)
        fixture.server.script(fault, on: deletions)
        try await fixture.accept([.delete(item: old), .url(url, tags: ["fresh"])])
        try await expectOnlyTheNewOne(of: url, ["fresh"], not: old, fixture)
    }

    /// The copy shows both, and a person deletes the older one: the other stays, whatever the server answers to which of them first.
    @Test(arguments: [
        [], [Fault.rateLimit(.seconds(60))], [.answer(status: 500, body: #"{"detail":"no"}"#)], [.closeBeforeAnswering],
    ])
    func anOlderItemOfAURLThatWaitsIsDeletedWithoutIt(_ faults: [Fault]) async throws {
        let fixture = try await fixture()
        let url = "https://example.org/again"
        let old = try await processed(.url(url), fixture)
        try await fixture.accept(.url(url, tags: ["fresh"]))
        for fault in faults {
            fixture.server.script(fault, on: .capture)
            fixture.server.script(.closeBeforeAnswering, on: .checkDuplicate)
            try await fixture.pull()
        }
        try await fixture.accept(.delete(item: old))
        try await expectOnlyTheNewOne(of: url, ["fresh"], not: old, fixture)
        let outbox = try fixture.outbox()
        #expect(try fixture.states().allSatisfy { $0 == .delivered }, "\(outbox)")
    }

    /// The server refuses the URL, and the look for its item fails. It is deleted before the next one, as was asked for first.
    @Test(arguments: [[], ["fresh"]] as [[String]], 1...3)
    func aURLIsCapturedAgainAlthoughItsItemWasDeletedBeforeItWasFound(_ tags: [String], _ failures: Int) async throws {
        let fixture = try await fixture()
        let url = "https://example.org/again"
        let old = try await processed(.url(url), fixture)
        fixture.server.script(
            .answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#), on: deletions)
        fixture.server.script(.closeBeforeAnswering, on: .checkDuplicate, times: failures)
        try await fixture.accept([.delete(item: old), .url(url, tags: tags)])
        try await expectOnlyTheNewOne(of: url, tags, not: old, fixture)
        let outbox = try fixture.outbox()
        #expect(try fixture.states().allSatisfy { $0 == .delivered }, "\(outbox)")
    }

    /// A parked deletion waits for a person, maybe forever.
    @Test func aParkedDeletionHoldsUpNoCapture() async throws {
        let fixture = try await fixture()
        let url = "https://example.org/again"
        let old = try await processed(.url(url), fixture)
        fixture.server.script(.answer(status: 422, body: #"{"detail":[]}"#), on: deletions)
        try await fixture.accept([.delete(item: old)])
        try await fixture.pull()
        try await fixture.accept([.url(url, tags: ["fresh"])])
        try await fixture.run(for: .seconds(300))
        #expect(try fixture.states().prefix(3) == [.delivered, .parked, .delivered])
        // The item is what was captured now: to try the deletion again would take that, too.
        for ids in [nil, [2]] as [[Int64]?] {
            let outcome = try await fixture.withEngine { _, store in
                try await store.retry(ids, parked: true, dryRun: false, now: fixture.time.now)
            }
            #expect(outcome.skippedByReason["would_delete_capture"] == 1, "\(outcome)")
        }
        try await fixture.run(for: .seconds(300))
        #expect(fixture.server.item(old) != nil)
        // A person who deletes it again means what they see.
        try await fixture.accept(.delete(item: old))
        try await fixture.run(for: .seconds(300))
        #expect(fixture.server.item(old) == nil)
    }

    /// A Date that jumps ahead must not make ten minutes of thirty seconds.
    @Test(arguments: [WriteDraft.url("https://example.org/video"), .note("Some words of a note")])
    func aServerWhoseClockIsSetForwardDoesNotShortenTheSecondLook(_ draft: WriteDraft) async throws {
        let ahead = Mutex(Duration.zero)
        let fixture = try await fixture { configuration in
            let now = configuration.now
            configuration.now = { now().advanced(by: ahead.withLock(\.self)) }
        }
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        try await fixture.accept(draft)
        try await fixture.pull()
        ahead.withLock { $0 = .seconds(22 * 60) }
        for _ in 0..<9 {
            fixture.time.advance(by: .seconds(60))
            try await fixture.pull()
        }
        #expect(fixture.server.requests(.capture).count == 1)
        fixture.time.advance(by: .seconds(60 * 14))
        try await fixture.pull()
        #expect(fixture.server.requests(.capture).count == 2)
        #expect(try fixture.states() == [.delivered])
    }
}
