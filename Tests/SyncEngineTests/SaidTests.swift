import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// What commands say of a write is true when they say it, and what they offer can be done.
@Suite struct SaidTests {
    private let url = "https://example.org/a"
    private let patches = RequestMatcher { $0.method == "PATCH" }
    /// Certainly not applied.
    private let busy = Fault.answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#)

    private func fixture(summary: String? = nil) async throws -> (PullFixture, String) {
        let fixture = try PullFixture(items: DevItem.generate(count: 3, seed: 1)) {
            $0.settling = .onCommand
            $0.quirks.patchFails = false
            $0.quirks.capturesPerMinute = nil
        }
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) {
            ($0.title, $0.summary, $0.tags, $0.url) = ("Was", summary, ["there"], "https://example.org/a")
        }
        try await fixture.pull(full: true)
        return (fixture, item)
    }

    private func undo(_ fixture: PullFixture) async throws -> UndoOutcome {
        let now = fixture.time.now
        return try await fixture.withEngine { _, store in try await store.undo(now: now) }
    }

    private func drop(_ id: Int64, _ fixture: PullFixture, dryRun: Bool = false) async throws -> DropOutcome {
        let now = fixture.time.now
        return try await fixture.withEngine { _, store in
            try await store.drop([id], withDependents: true, dryRun: dryRun, now: now)
        }
    }

    private func retry(_ id: Int64, _ fixture: PullFixture) async throws -> RetryOutcome {
        fixture.time.advance(by: .seconds(60))
        let now = fixture.time.now
        return try await fixture.withEngine { _, store in
            try await store.retry([id], parked: false, dryRun: false, now: now)
        }
    }

    private func shown(_ id: Int64, _ fixture: PullFixture) throws -> OutboxEntry.Status {
        try StoreReader(path: fixture.path).outboxEntry(id).entry.shown
    }

    // MARK: The way back

    /// A summary that a person has replaced by the remark, or none.
    @Test(arguments: [nil, "Theirs"]) func undoOffersTheSummaryThatARemarkHasReplaced(summary: String?) async throws {
        let (fixture, item) = try await fixture(summary: summary)
        try await fixture.accept(.url(url, title: "T", tags: ["a"], note: "A remark"))
        try await fixture.carryAll()
        if summary != nil { #expect(try await retry(2, fixture).touched == 1) }
        try await fixture.carryAll()
        try #require(fixture.server.item(item)?.summary == "A remark")
        let old = summary ?? "''"
        #expect(
            try await undo(fixture).offers.map(\.line) == [
                "prsnlctl edit \(item) --title Was --summary \(old) --remove-tag a"
            ])
    }

    @Test(arguments: [false, true]) func undoOffersTheReversalOfWhatHasNoAnswerYet(isEdit: Bool) async throws {
        let (fixture, item) = try await fixture()
        let lost = fixture.server.script(.closeBeforeAnswering, on: isEdit ? patches : .capture, times: .max)
        let edit = WriteDraft.edit(item: item, ItemEdit(title: "U"))
        let write = try await fixture.accept(isEdit ? edit : .url("https://example.org/new"))
        try await fixture.pull()
        let line = isEdit ? "prsnlctl edit \(item) --title Was" : "prsnlctl delete \(write.itemID)"
        let outcome = try await undo(fixture)
        #expect(!outcome.undone && outcome.offers.map(\.line) == [line], "\(outcome)")
        let back = WriteDraft.edit(item: item, ItemEdit(title: "Was"))
        try await fixture.accept(isEdit ? back : .delete(item: write.itemID))
        lost.remove()
        try await fixture.carryAll()
        #expect(fixture.server.items().count == 3 && fixture.server.item(item)?.title == "Was")
        try fixture.expectSound()
    }

    @Test func undoOffersWhatAnItemWasBeforeItWasSent() async throws {
        let (fixture, _) = try await fixture()
        let note = try await fixture.accept(.note("Some text", title: "A", tags: ["x"]))
        fixture.time.advance(by: .seconds(1))
        let change = TagChange(added: ["y"], removed: ["x"])
        try await fixture.accept(.edit(item: note.itemID, ItemEdit(title: "B", summary: "S", tagChange: change)))
        try await fixture.carryAll()
        let item = try #require(fixture.server.items().first { $0.title == "B" }).id
        #expect(
            try await undo(fixture).offers.map(\.line) == [
                "prsnlctl edit \(item) --title A --summary '' --remove-tag y --add-tag x"
            ])
    }

    /// Its person has not seen what the item had, and an edit has taken it away.
    @Test(arguments: [false, true])
    func undoOffersATagThatTheItemOfAKnownURLHad(isPending: Bool) async throws {
        let (fixture, item) = try await fixture()
        if isPending {
            fixture.server.edit(item) { $0.status = "pending" }
            try await fixture.pull(full: true)
        }
        let capture = try await fixture.accept(.url(url))
        fixture.time.advance(by: .seconds(1))
        let change = TagChange(removed: ["there"])
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(tagChange: change)))
        try await fixture.pull()
        fixture.server.edit(item) { $0.status = "completed" }
        try await fixture.carryAll()
        try #require(fixture.server.item(item)?.tags == [])
        #expect(try await undo(fixture).offers.map(\.line) == ["prsnlctl edit \(item) --add-tag there"])
    }

    @Test func undoOffersNoReversalOfWhatTheServerNeverGot() async throws {
        let (fixture, _) = try await fixture()
        fixture.server.script(busy, on: patches, times: .max)
        try await fixture.accept(.url(url, title: "T", tags: ["a"]))
        try await fixture.pull()
        #expect(try await drop(2, fixture).dropped == [2])
        let outcome = try await undo(fixture)
        #expect(outcome.undone && outcome.offers == [], "\(outcome)")
    }

    /// The title was set elsewhere since the capture was asked for. The tags arrived.
    @Test func undoOffersNoReversalOfWhatIsInConflict() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.url(url, title: "T", tags: ["a"]))
        fixture.server.edit(item) { $0.title = "Theirs" }
        try await fixture.carryAll()
        try #require(try fixture.states() == [.delivered, .parked])
        let outcome = try await undo(fixture)
        #expect(outcome.withdrawn == [2])
        #expect(outcome.offers.map(\.line) == ["prsnlctl edit \(item) --remove-tag a"])
    }

    /// The rest of it still waits for a decision.
    @Test func undoOffersTheReversalOfWhatArrivedOfAnEditInConflict() async throws {
        let (fixture, item) = try await fixture(summary: "Old")
        try await fixture.accept(.edit(item: item, ItemEdit(title: "T", summary: "New")))
        fixture.server.edit(item) { $0.title = "Theirs" }
        try await fixture.carryAll()
        try #require(try fixture.states() == [.parked])
        try #require(fixture.server.item(item)?.summary == "New")
        let outcome = try await undo(fixture)
        #expect(!outcome.undone && outcome.kept.map(\.entry) == [1])
        #expect(
            outcome.offers.map(\.line) == ["prsnlctl queue drop 1", "prsnlctl edit \(item) --summary Old"])
    }

    /// Made on the local id, it goes along with the capture, and follows that with it.
    @Test(arguments: [false, true]) func undoOfAnEditThatACaptureHasCarried(isDelivered: Bool) async throws {
        let (fixture, item) = try await fixture()
        let fault = fixture.server.script(busy, on: patches, times: .max)
        let capture = try await fixture.accept(.url(url, tags: ["t"]))
        fixture.time.advance(by: .seconds(1))
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(title: "U")))
        try await fixture.pull()
        try #require(try fixture.states() == [.delivered, .delivered, .queued, .queued])
        if isDelivered {
            fault.remove()
            try await fixture.carryAll()
        }
        let outcome = try await undo(fixture)
        fault.remove()
        try await fixture.carryAll()
        #expect(outcome.undone != isDelivered && outcome.withdrawn == (isDelivered ? [] : [4]), "\(outcome)")
        #expect(outcome.offers == (isDelivered ? [NextCommand(["prsnlctl", "edit", item, "--title", "Was"])] : []))
        #expect(fixture.server.item(item)?.title == (isDelivered ? "U" : "Was"))
        #expect(fixture.server.item(item).map { Set($0.tags) } == ["there", "t"])
        try fixture.expectSound()
    }

    /// Which item has the URL could not be asked for yet. Nothing of the capture is on the server.
    @Test(arguments: [false, true]) func aCaptureThatTheServerHadAlreadyIsGivenUpAsAWhole(isUndone: Bool) async throws {
        let (fixture, item) = try await fixture()
        let fault = fixture.server.script(.answer(status: 500, body: "{}"), on: .checkDuplicate, times: .max)
        try await fixture.accept(.url(url, title: "T", tags: ["a"]))
        try await fixture.pull()
        try #require(try fixture.states() == [.unknown])
        #expect(try await drop(1, fixture, dryRun: true).maybeApplied == [])
        if isUndone {
            let outcome = try await undo(fixture)
            #expect(outcome.undone && outcome.offers == [], "\(outcome)")
        } else {
            #expect(try await drop(1, fixture).maybeApplied == [])
        }
        fault.remove()
        try await fixture.carryAll()
        #expect(try fixture.states() == [.dropped])
        #expect(fixture.server.item(item)?.title == "Was" && fixture.server.item(item)?.tags == ["there"])
        try fixture.expectSound()
    }

    // MARK: What follows, and what waits

    @Test func whatFollowsIsSaidAsLongAsItFollows() async throws {
        let (fixture, item) = try await fixture(summary: "Theirs")
        let fault = fixture.server.script(busy, on: patches, times: .max)
        for _ in 0..<2 { try await fixture.accept(.url(url, title: "T", note: "A remark")) }
        try await fixture.pull()
        #expect(try shown(1, fixture).remark == "was already there; title and remark follow as #3")
        #expect(try await drop(4, fixture).dropped == [4])
        #expect(try shown(2, fixture).remark == "was already there")
        fault.remove()
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "T")
        #expect(try shown(1, fixture).remark == "was already there; remark waits for a decision about #3")
        #expect(try await retry(3, fixture).touched == 1)
        try await fixture.carryAll()
        #expect(try shown(1, fixture).remark == "was already there")
    }

    @Test func whatWasDeliveredOfAnEditThatIsRetriedDoesNotWait() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Mine", summary: "S")))
        fixture.server.edit(item) { $0.title = "Theirs" }
        try await fixture.carryAll()
        try #require(try fixture.states() == [.parked])
        fixture.server.edit(item) { $0.summary = "Other" }
        try await fixture.pull(full: true)
        _ = try await retry(1, fixture)
        let shown = try fixture.query("SELECT title || ', ' || summary FROM timeline WHERE id = '\(item)'")
        #expect(shown == "Mine, Other")
    }

    // MARK: Deletions

    private func deletion(_ fixture: PullFixture, of item: String) async throws {
        fixture.server.script(
            .answer(status: 422, body: #"{"detail":[]}"#), on: RequestMatcher { $0.method == "DELETE" }, times: 1)
        try await fixture.accept(.delete(item: item))
        try await fixture.pull()
        try #require(try fixture.states() == [.parked])
    }

    private func advice(_ fixture: PullFixture) throws -> [String] {
        try shown(1, fixture).error?.recoverySuggestion.commands.map(\.line) ?? []
    }

    @Test func aDeletionThatWouldTakeACaptureIsNotOfferedToBeRetried() async throws {
        let (fixture, item) = try await fixture()
        try await deletion(fixture, of: item)
        let usual = ["prsnlctl retry-queue 1", "prsnlctl queue drop 1"]
        #expect(try advice(fixture) == usual)
        fixture.time.advance(by: .seconds(1))
        try await fixture.accept(.url(url, title: "Again"))
        try await fixture.carryAll()
        #expect(try advice(fixture) == ["prsnlctl delete \(item)", "prsnlctl queue drop 1"])
        // An edit is refused while the deletion is there.
        let edit = NextCommand(["prsnlctl", "edit", item, "--title", "Was"])
        #expect(try await undo(fixture).offers == ["prsnlctl queue drop 1", edit])
        // There is nothing more that it could take.
        fixture.server.delete(item)
        try await fixture.pull(full: true)
        try await fixture.carryAll()
        try #require(try fixture.query("SELECT deleted_at IS NOT NULL FROM item WHERE id = '\(item)'") == "1")
        #expect(try advice(fixture) == usual)
        #expect(try await retry(1, fixture).touched == 1)
        try await fixture.carryAll()
        #expect(try fixture.states().first == .delivered)
        #expect(try shown(1, fixture).remark == "was already gone")
    }

    @Test func whatGivingUpADeletionBringsBackIsSaidBefore() async throws {
        let (fixture, item) = try await fixture()
        try await fixture.accept([.edit(item: item, ItemEdit(title: "Mine")), .delete(item: item)])
        #expect(try await drop(2, fixture, dryRun: true).revived == [1])
        #expect(try fixture.states() == [.queued, .queued])
        #expect(try shown(1, fixture).supersededBy == 2)
    }
}
