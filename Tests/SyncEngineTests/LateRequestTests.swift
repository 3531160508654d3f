import DevServer
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// A server works on a request for minutes after it was given up: it may be applied over what came after it.
@Suite struct LateRequestTests {
    private let edits = RequestMatcher { $0.method == "PATCH" || $0.method == "PUT" }

    private func fixture(_ dialect: Dialect = .cursor) async throws -> (PullFixture, String) {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 3, seed: 1)) {
            $0.quirks.patchFails = false
        }
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { ($0.title, $0.tags) = ("Was", ["there"]) }
        try await fixture.pull(full: true)
        return (fixture, item)
    }

    /// What the first request, of which nothing was seen, makes of the item when the server comes to it.
    private func isLost(_ fixture: PullFixture) async throws {
        let lost = fixture.server.script(.closeBeforeAnswering, on: edits)
        try await fixture.pull()
        try #require(lost.appliedCount == 1)
    }

    @Test(arguments: [Dialect.cursor, .page, .express])
    func aLateChangeOfTagsTakesNothingFromALaterOne(_ dialect: Dialect) async throws {
        let (fixture, item) = try await fixture(dialect)
        try await fixture.accept(.edit(item: item, ItemEdit(tagChange: TagChange(added: ["first"]))))
        try await isLost(fixture)
        try await fixture.pull()
        // It was sent again, and answered: the first request may still come.
        #expect(try fixture.states() == [.queued])
        #expect(try Set(#require(fixture.server.item(item)).tags) == ["there", "first"])
        try await fixture.accept(.edit(item: item, ItemEdit(tagChange: TagChange(added: ["second"]))))
        try await fixture.pull()
        #expect(try Set(#require(fixture.server.item(item)).tags) == ["there", "first", "second"])
        fixture.server.edit(item) { $0.tags = ["there", "first"] }
        fixture.time.advance(by: .seconds(600))
        try await fixture.pull()
        #expect(try Set(#require(fixture.server.item(item)).tags) == ["there", "first", "second"])
        #expect(try fixture.states() == [.delivered, .delivered])
        try fixture.expectSound()
    }

    /// What a capture of a known URL has asked for is there, and an earlier request can still arrive.
    @Test func undoDoesNotSayOfWhatTheServerHasThatItIsNotSent() async throws {
        let (fixture, item) = try await fixture()
        let url = "https://example.org/late"
        fixture.server.edit(item) { $0.url = url }
        try await fixture.pull(full: true)
        try await fixture.accept(.edit(item: item, ItemEdit(tagChange: TagChange(added: ["x"]))))
        fixture.server.script(.closeAfterApplying, on: edits)
        for _ in 0..<2 { try await fixture.pull() }
        try #require(try fixture.states() == [.delivered])
        // Another command.
        fixture.time.advance(by: .seconds(1))
        try await fixture.accept(.url(url, title: "Captured"))
        for _ in 0..<2 { try await fixture.pull() }
        try #require(fixture.server.item(item)?.title == "Captured")
        try #require(try fixture.states().contains(.queued))
        let now = fixture.time.now
        try await fixture.withEngine { _, store in
            let outcome = try await store.undo(now: now)
            #expect(outcome.kept.map(\.entry) == [2] && outcome.withdrawn == [])
        }
        fixture.time.advance(by: .seconds(600))
        try await fixture.pull()
        #expect(fixture.server.item(item)?.title == "Captured")
        #expect(try fixture.states().allSatisfy { $0 == .delivered })
        try fixture.expectSound()
    }

    /// A request without an answer is not the one attempt that was asked for. It is compared, sent again, and compared once more when it
    /// can arrive no more.
    @Test(arguments: [OutboxEntry.Kind.edit, .delete])
    func aWriteThatIsRetriedByHandIsNotParkedWhereItHasNoAnswer(_ kind: OutboxEntry.Kind) async throws {
        let (fixture, item) = try await fixture()
        let isEdit = kind == .edit
        try await fixture.accept(isEdit ? .edit(item: item, ItemEdit(title: "Mine")) : .delete(item: item))
        let writes = RequestMatcher { ["PATCH", "PUT", "DELETE"].contains($0.method) }
        let refused = fixture.server.script(.answer(status: 422, body: #"{"detail":"no"}"#), on: writes, times: .max)
        try await fixture.pull()
        refused.remove()
        try #require(try fixture.states() == [.parked])
        let advice = try #require(fixture.entries().first?.error?.recoverySuggestion)
        #expect("\(advice)".hasPrefix("Try once more with `prsnlctl retry-queue 1`, or give it up"))
        fixture.time.advance(by: .seconds(60))
        let now = fixture.time.now
        try await fixture.withEngine { _, store in
            let outcome = try await store.retry([1], parked: false, dryRun: false, now: now)
            #expect(outcome.touched == 1)
        }
        let lost = fixture.server.script(.closeBeforeAnswering, on: writes)
        try await fixture.pull()
        try #require(lost.appliedCount == 1)
        try await fixture.pull()
        #expect(try fixture.states() == [isEdit ? .queued : .delivered])
        fixture.time.advance(by: .seconds(600))
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered])
        #expect(isEdit ? fixture.server.item(item)?.title == "Mine" : fixture.server.item(item) == nil)
        try fixture.expectSound()
    }

    @Test func aLateTitleDoesNotComeBack() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "First")))
        try await isLost(fixture)
        try await fixture.pull()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Second")))
        try await fixture.pull()
        fixture.server.edit(item) { $0.title = "First" }
        fixture.time.advance(by: .seconds(600))
        try await fixture.pull()
        #expect(fixture.server.item(item)?.title == "Second")
        #expect(try fixture.states() == [.superseded, .delivered])
        try fixture.expectSound()
    }

    @Test func aTagThatWasTakenAwayAgainStaysAway() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(tagChange: TagChange(added: ["x"]))))
        try await isLost(fixture)
        try await fixture.accept(.edit(item: item, ItemEdit(tagChange: TagChange(removed: ["x"]))))
        try await fixture.pull()
        fixture.server.edit(item) { $0.tags = ["there", "x"] }
        fixture.time.advance(by: .seconds(600))
        try await fixture.pull()
        #expect(fixture.server.item(item)?.tags == ["there"])
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
    }

    /// What is wanted is there, and the request without an answer makes it something else.
    @Test(arguments: [false, true])
    func aLateRequestDoesNotUndoWhatWasAskedForBack(isDropped: Bool) async throws {
        let (fixture, item) = try await fixture()
        let tags = { TagChange(added: $0, removed: $1) }
        let scenes = [
            (edit: ItemEdit(title: "First"), back: ItemEdit(title: "Was"), title: "First", tags: ["there"]),
            (ItemEdit(tagChange: tags(["x"], [])), ItemEdit(tagChange: tags([], ["x"])), "Was", ["there", "x"]),
        ]
        for (edit, back, lateTitle, lateTags) in scenes {
            let first = try await fixture.accept(.edit(item: item, edit))
            try await isLost(fixture)
            // As it was: the server has not come to it yet.
            fixture.server.edit(item) { ($0.title, $0.tags) = ("Was", ["there"]) }
            let now = fixture.time.now
            if isDropped {
                try await fixture.withEngine { _, store in
                    _ = try await store.drop([first.entry], withDependents: false, dryRun: false, now: now)
                }
            }
            try await fixture.accept(.edit(item: item, back))
            try await fixture.pull()
            fixture.server.edit(item) { ($0.title, $0.tags) = (lateTitle, lateTags) }
            fixture.time.advance(by: .seconds(600))
            try await fixture.pull()
            #expect(fixture.server.item(item)?.title == "Was" && fixture.server.item(item)?.tags == ["there"])
            #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
            fixture.time.advance(by: .seconds(3_600))
        }
        try fixture.expectSound()
    }

    /// Nothing was sent again in between: the one request has carried something else than what is wanted and there.
    @Test func aLateRequestDoesNotUndoWhatWasFoundToBeThere() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "First")))
        let looks = RequestMatcher { $0.method == "GET" && $0.path.hasSuffix(item) }
        fixture.server.script(.answer(status: 500, body: "{}"), on: looks, times: .max, skip: 1)
        try await isLost(fixture)
        fixture.server.removeFaults()
        fixture.server.edit(item) { $0.title = "Was" }
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Was")))
        for _ in 1...2 {
            fixture.time.advance(by: .seconds(90))
            try await fixture.pull()
        }
        #expect(try fixture.query("SELECT count(*) FROM outbox_attempt WHERE purpose = 'send'") == "1")
        fixture.server.edit(item) { $0.title = "First" }
        fixture.time.advance(by: .seconds(600))
        try await fixture.pull()
        #expect(fixture.server.item(item)?.title == "Was")
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
    }

    /// The capture finds its title there already.
    @Test func aLateTitleDoesNotTakeThePlaceOfACaptures() async throws {
        let (fixture, item) = try await fixture()
        fixture.server.edit(item) { $0.url = "https://example.org/a" }
        try await fixture.pull(full: true)
        try await fixture.accept(.edit(item: item, ItemEdit(title: "First")))
        try await isLost(fixture)
        fixture.server.edit(item) { $0.title = "Was" }
        try await fixture.accept(.url("https://example.org/a", title: "Was"))
        try await fixture.pull()
        fixture.server.edit(item) { $0.title = "First" }
        fixture.time.advance(by: .seconds(600))
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Was")
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
    }

    /// The edit is not called delivered while the deletion can still come, and then a person is asked about it.
    @Test func anEditIsNotDeliveredWhileADeletionThatWasGivenUpMayStillCome() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.delete(item: item))
        fixture.server.script(
            .answer(status: 504, body: "{}"), on: RequestMatcher { $0.method == "DELETE" }, times: .max)
        try await fixture.pull()
        let now = fixture.time.now
        try await fixture.withEngine { _, store in
            _ = try await store.drop([1], withDependents: false, dryRun: false, now: now)
        }
        fixture.server.removeFaults()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Kept")))
        try await fixture.pull()
        #expect(fixture.server.item(item)?.title == "Kept")
        #expect(try fixture.states() == [.dropped, .queued])
        _ = fixture.server.delete(item)
        fixture.time.advance(by: .seconds(600))
        try await fixture.pull()
        #expect(try fixture.states() == [.dropped, .parked])
    }

    /// The lookup shows that the server has nothing of the first capture. It is not sent only to be deleted, or to be taken for
    /// the second one.
    @Test func aDeletedCaptureThatNeverArrivedIsNotSent() async throws {
        let (fixture, _) = try await fixture()
        let url = "https://example.org/new"
        let first = try await fixture.accept(.url(url, title: "First"))
        fixture.server.script(.answer(status: 504, body: "{}"), on: RequestMatcher { $0.method == "POST" })
        try await fixture.pull()
        try #require(try fixture.states() == [.unknown])
        try await fixture.accept(.delete(item: first.itemID))
        try await fixture.accept(.url(url, title: "Second"))
        for _ in 1...3 {
            fixture.time.advance(by: .seconds(700))
            try await fixture.carryAll()
        }
        #expect(try fixture.states() == [.superseded, .superseded, .delivered])
        #expect(fixture.server.items().filter { $0.url == url }.map(\.title) == ["Second"])
    }

    /// The server comes to the deletion after the capture of the same URL.
    @Test(arguments: [false, true])
    func aDeletionThatMayStillComeTakesNoCaptureAlong(isParked: Bool) async throws {
        let (fixture, item) = try await fixture()
        fixture.server.edit(item) { $0.url = "https://example.org/a" }
        try await fixture.pull(full: true)
        try await fixture.accept(.delete(item: item))
        let deletions = RequestMatcher { $0.method == "DELETE" }
        fixture.server.script(.closeBeforeAnswering, on: deletions, times: isParked ? 1 : .max)
        if isParked { fixture.server.script(.answer(status: 409, body: "{}"), on: deletions, times: .max) }
        for _ in 0..<3 { try await fixture.pull() }
        if !isParked {
            let now = fixture.time.now
            try await fixture.withEngine { _, store in
                _ = try await store.drop([1], withDependents: false, dryRun: false, now: now)
            }
        }
        fixture.server.removeFaults()
        try await fixture.accept(.url("https://example.org/a", title: "Again"))
        try await fixture.pull()
        #expect(try fixture.states() == [isParked ? .parked : .dropped, .queued])
        fixture.server.delete(item)
        try await fixture.carryAll()
        #expect(fixture.server.items().contains { $0.url == "https://example.org/a" })
        #expect(try fixture.states() == [isParked ? .parked : .dropped, .delivered])
    }

    /// The item of its URL is deleted, and then the server comes to the capture that had no answer, or does not. What waits is another
    /// item for its person, and is shown as long as it waits.
    @Test(arguments: [false, true])
    func aCaptureOfAKnownURLIsNotOverWhileItsRequestCanArrive(isLate: Bool) async throws {
        let (fixture, item) = try await fixture()
        let url = "https://example.org/a"
        fixture.server.edit(item) { $0.url = url }
        try await fixture.pull(full: true)
        try await fixture.accept(.url(url, title: "Again"))
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        for _ in 0..<2 { try await fixture.pull() }
        #expect(try fixture.states() == [.unknown])
        #expect(try fixture.entries()[0].remark?.hasPrefix("was already there; a request for it has no answer") == true)
        try await fixture.accept(.delete(item: item))
        try await fixture.pull()
        #expect(try fixture.states() == [.unknown, .delivered])
        #expect(try fixture.query("SELECT count(*) FROM timeline WHERE url = '\(url)'") == "1")
        if isLate {
            var late = DevItem.generate(count: 1, seed: 2)[0]
            (late.url, late.title, late.tags) = (url, "Again", [])
            late.createdAt = fixture.time.now
            fixture.server.add([late])
        }
        for _ in 0..<3 {
            fixture.time.advance(by: .seconds(600))
            try await fixture.pull()
        }
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(fixture.server.items().filter { $0.url == url }.count == 1)
        #expect(try fixture.query("SELECT count(*) FROM timeline WHERE url = '\(url)'") == "1")
        try fixture.expectSound()
    }

    /// The server cleans the URL that it is asked for, and says that it has none.
    @Test(arguments: ["http://bare.example", "http://Upper.example/a"])
    func aDeletedCaptureOfAURLThatTheServerWritesInAnotherWayIsDeleted(_ url: String) async throws {
        let (fixture, _) = try await fixture()
        let capture = try await fixture.accept(.url(url, title: "Ours"))
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.pull()
        try await fixture.accept(.delete(item: capture.itemID))
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(!fixture.server.items().contains { $0.url == url })
        try fixture.expectSound()
    }

    /// Of two that were sent together and have no answer, one is given up.
    @Test func whatWasSentTogetherIsLookedUpWithoutTheFirst() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept([
            .edit(item: item, ItemEdit(tagChange: TagChange(added: ["x"]))), .edit(item: item, ItemEdit(title: "T")),
        ])
        let isSent = Mutex(false)
        let edit = RequestMatcher { request in
            isSent.withLock { $0 = $0 || request.method == "PATCH" }
            return request.method == "PATCH"
        }
        let afterwards = RequestMatcher { request in request.method == "GET" && isSent.withLock { $0 } }
        fixture.server.script(.closeAfterApplying, on: edit)
        fixture.server.script(.answer(status: 500, body: "{}"), on: afterwards, times: .max)
        try await fixture.pull()
        let outbox = try fixture.outbox()
        try #require(try fixture.states() == [.unknown, .unknown], "\(outbox)")
        let now = fixture.time.now
        try await fixture.withEngine { _, store in
            _ = try await store.drop([1], withDependents: false, dryRun: false, now: now)
        }
        fixture.server.removeFaults()
        try await fixture.carryAll()
        #expect(try fixture.states() == [.dropped, .delivered])
        try fixture.expectSound()
    }

    @Test func aClockThatIsSetBackKeepsNoEditWaitingForLong() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "First")))
        try await isLost(fixture)
        try await fixture.pull()
        #expect(try fixture.states() == [.queued])
        try await fixture.withEngine { _, store in
            try await store.run(
                "UPDATE outbox_attempt SET started_at = ?1, ended_at = ?1",
                fixture.time.now.advanced(by: .seconds(86_400)))
        }
        fixture.time.advance(by: .seconds(600))
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered])
        #expect(fixture.server.item(item)?.title == "First")
    }

    /// One request is applied once.
    @Test func anEditThatIsFoundToBeDoneIsDeliveredAtOnce() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "First")))
        fixture.server.script(.closeAfterApplying, on: edits)
        try await fixture.pull()
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered])
    }

    @Test func whatWasSentAndNotAnsweredIsNotTakenBack() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "First")))
        let failing = fixture.server.script(.closeBeforeAnswering, on: edits, times: .max)
        try await fixture.pull()
        try #require(failing.appliedCount > 0)
        let now = fixture.time.now
        let (undone, dropped) = try await fixture.withEngine { _, store in
            let undone = try await store.undo(now: now)
            return (undone, try await store.drop([1], withDependents: false, dryRun: true, now: now))
        }
        #expect(undone.taken == 0 && undone.kept.map(\.entry) == [1])
        #expect(dropped.maybeApplied == [1])
    }
}
