import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// What was asked for of an item that is there, or that the server has processed its own way.
@Suite struct FollowUpTests {
    private let url = "https://example.org/a"
    private let edits = RequestMatcher { $0.method == "PATCH" }

    private func fixture(
        _ configure: (inout DevServer.Configuration) -> Void = { _ in }
    ) async throws -> PullFixture {
        let fixture = try PullFixture(items: DevItem.generate(count: 5, seed: 1)) {
            $0.settling = .onCommand
            $0.quirks.patchFails = false
            $0.quirks.capturesPerMinute = nil
            configure(&$0)
        }
        try await fixture.pull()
        return fixture
    }

    private func settleAndPull(_ fixture: PullFixture) async throws {
        fixture.server.settle()
        for _ in 0..<3 {
            fixture.time.advance(by: .seconds(60))
            try await fixture.pull(full: true)
        }
    }

    private func made(_ fixture: PullFixture) throws -> DevItem {
        try #require(fixture.server.items().first { $0.url == url })
    }

    // MARK: In the order of acceptance

    @Test func aCaptureThatIsDeliveredAfterALaterOneKeepsItsTags() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.url(url, title: "First", tags: ["a"]))
        try await fixture.pull()
        try await settleAndPull(fixture)
        let busy = Fault.answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#)
        fixture.server.script(busy, on: .capture)
        try await fixture.accept([.url(url, title: "Second", tags: ["b"]), .url(url, title: "Third", tags: ["c"])])
        try await fixture.carryAll()
        #expect(try made(fixture).title == "Third")
        #expect(try Set(made(fixture).tags) == ["a", "b", "c"])
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
        try fixture.expectSound()
    }

    @Test func anEditOfARepeatedCaptureDoesNotBringItsTagsBehindALaterEdit() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { $0.url = "https://example.org/a" }
        try await fixture.pull(full: true)
        let capture = try await fixture.accept(.url(url, tags: ["captured"]))
        try await fixture.accept(.edit(item: item, ItemEdit(tags: ["edited"])))
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(title: "Named")))
        try await fixture.carryAll()
        #expect(try made(fixture).title == "Named")
        #expect(try made(fixture).tags == ["edited"])
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
    }

    /// Its person has not seen the tags that are there. Asked for again with the same key, it is the same change.
    @Test(arguments: [[String](), ["mine"]])
    func aListOfTagsOfACaptureKeepsThoseThatWereThereBefore(_ tags: [String]) async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) {
            $0.url = "https://example.org/a"
            $0.tags = ["there"]
        }
        let capture = try await fixture.accept(.url(url, tags: ["captured"]))
        let edit = WriteDraft.edit(item: capture.itemID, ItemEdit(tags: tags))
        let request = WriteRequest(edit, key: RequestKey.make(at: fixture.time.now))
        try await fixture.withEngine { _, store in
            for _ in 0..<2 {
                let result = try await store.accept([request], now: fixture.time.now)[0]
                guard case .accepted(let write) = result, write.entry == 2 else { throw WaitedInVain("\(result)") }
            }
        }
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.tags.sorted() == tags + ["there"])
    }

    /// An earlier edit under another id is no change made elsewhere.
    @Test func anEditIsNoConflictWithOneThatWasMadeBeforeItUnderAnotherID() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { $0.url = "https://example.org/a" }
        try await fixture.pull(full: true)
        let capture = try await fixture.accept(.url(url))
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(title: "First", summary: "S")))
        let busy = fixture.server.script(
            .answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#), on: .capture)
        fixture.server.setQuirks { $0.patchFails = true }
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Last")))
        try await fixture.pull()
        busy.remove()
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.title == "Last")
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
    }

    /// The server says 200, and shows the item as it was.
    @Test func anEditThatTheServerIgnoresIsNotDeliveredAlsoBeforeItsItemWasSeen() async throws {
        let fixture = try await fixture()
        let capture = try await fixture.accept(.url(url))
        try await fixture.pull()
        let id = try made(fixture).id
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(title: "Mine")))
        fixture.server.settle()
        let shown = #"{"id":"\#(id)","title":"As it was","created_at":"2026-01-01T00:00:00Z","tags":[]}"#
        fixture.server.edit(id) { $0.title = "As it was" }
        let ignored = fixture.server.script(.answer(status: 200, body: shown), on: edits, times: .max)
        for _ in 0..<2 { try await fixture.pull(full: true) }
        try #require(ignored.appliedCount > 0)
        #expect(try fixture.states().last == .queued)
        ignored.remove()
        try await fixture.carryAll()
        #expect(try made(fixture).title == "Mine")
    }

    /// Two captures of one URL have an id each until they are delivered, and an edit each.
    @Test func anEditThatComesLateLeavesALaterEditAlone() async throws {
        let fixture = try await fixture()
        let first = try await fixture.accept(.url(url, tags: ["first"]))
        try await fixture.accept(.edit(item: first.itemID, ItemEdit(summary: "Early", tags: ["early"])))
        let second = try await fixture.accept(.url(url))
        let busy = fixture.server.script(
            .answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#),
            on: .capture.and { $0.body.contains("first") }, times: .max)
        try await fixture.pull()
        try await settleAndPull(fixture)
        try await fixture.accept(.edit(item: second.itemID, ItemEdit(title: "Late", tags: ["late"])))
        try await fixture.pull()
        try #require(try fixture.states() == [.queued, .queued, .delivered, .delivered])
        busy.remove()
        try await fixture.carryAll()
        #expect(try made(fixture).title == "Late")
        #expect(try made(fixture).tags == ["late"])
        #expect(try made(fixture).summary == "Early")
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
    }

    @Test func anEditThatWasSentByHandWhileItsItemWasInProcessKeepsItsTitle() async throws {
        let fixture = try await fixture()
        let capture = try await fixture.accept(.url(url, title: "Captured"))
        try await fixture.pull()
        let edit = try await fixture.accept(.edit(item: capture.itemID, ItemEdit(title: "Edited")))
        try await fixture.withEngine { engine, store in
            _ = try await store.retry([edit.entry], parked: false, dryRun: false, now: fixture.time.now)
            _ = await engine.runOnce()
        }
        #expect(try fixture.states() == [.delivered, .delivered])
        try await settleAndPull(fixture)
        #expect(try made(fixture).title == "Edited")
        let followed = "SELECT follows FROM outbox WHERE follows IS NOT NULL AND state = 'delivered'"
        #expect(try fixture.query(followed) == "\(edit.entry)")
    }

    /// Both follow, and the remark was the first to.
    @Test func aRemarkReplacesNoEarlierSummaryThatFollowsToo() async throws {
        let fixture = try await fixture()
        let capture = try await fixture.accept(.url(url))
        try await fixture.pull()
        let edit = try await fixture.accept(.edit(item: capture.itemID, ItemEdit(summary: "Ours")))
        try await fixture.withEngine { engine, store in
            _ = try await store.retry([edit.entry], parked: false, dryRun: false, now: fixture.time.now)
            _ = await engine.runOnce()
        }
        try await fixture.accept(.url(url, note: "A remark"))
        try await fixture.pull()
        // The server's processing has lost it.
        fixture.server.edit(try made(fixture).id) { $0.summary = nil }
        try await settleAndPull(fixture)
        try await fixture.carryAll()
        #expect(try made(fixture).summary == "Ours")
        let parked = try fixture.entries().filter { $0.state == .parked }
        #expect(parked.map(\.payload) == [.edit(ItemEdit(summary: "A remark"))])
    }

    /// It was verified once.
    @Test func aTitleThatOthersChangeLaterIsNotImposedAgain() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.url(url, title: "Ours", tags: ["a"]))
        try await fixture.pull()
        try await settleAndPull(fixture)
        let id = try made(fixture).id
        #expect(try made(fixture).title == "Ours")
        fixture.server.edit(id) { item in
            item.title = "Theirs"
            item.tags = []
        }
        try await fixture.pull(full: true)
        try await fixture.accept([.url(url, tags: ["b"]), .edit(item: id, ItemEdit(summary: "A summary"))])
        try await fixture.carryAll()
        #expect(try made(fixture).title == "Theirs")
        #expect(try made(fixture).tags == ["b"])
    }

    @Test func whatIsStillToFollowOutlivesThirtyDays() async throws {
        let fixture = try await fixture { $0.quirks.patchFails = true }
        try await fixture.accept([.url(url, title: "First", tags: ["a"]), .note("Another, which is delivered")])
        try await fixture.pull()
        try await settleAndPull(fixture)
        fixture.time.advance(by: .seconds(40 * 86_400))
        try await fixture.pull(full: true)
        #expect(try fixture.list("SELECT kind FROM outbox ORDER BY id") == ["capture", "edit"])
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.accept(.url(url, tags: ["b"]))
        try await fixture.carryAll()
        #expect(try made(fixture).title == "First")
        #expect(try Set(made(fixture).tags) == ["a", "b"])
    }

    @Test func aFollowUpThatWasDroppedDoesNotComeBack() async throws {
        let fixture = try await fixture { $0.quirks.patchFails = true }
        try await fixture.accept(.url(url, title: "First"))
        try await fixture.pull()
        try await settleAndPull(fixture)
        try await fixture.withEngine { _, store in
            _ = try await store.drop([2], withDependents: false, dryRun: false, now: fixture.time.now)
        }
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.accept(.url(url, tags: ["b"]))
        try await fixture.carryAll()
        #expect(try made(fixture).title == "Scraped: \(url)")
        #expect(try made(fixture).tags == ["b"])
    }

    @Test func anEditThatIsDroppedLeavesTheTitleOfTheCapture() async throws {
        let fixture = try await fixture { $0.quirks.patchFails = true }
        try await fixture.accept(.url(url, title: "First"))
        try await fixture.pull()
        try await settleAndPull(fixture)
        let edit = try await fixture.accept(.edit(item: made(fixture).id, ItemEdit(title: "Second")))
        #expect(try fixture.states() == [.delivered, .queued, .queued])
        try await fixture.withEngine { _, store in
            _ = try await store.drop([edit.entry], withDependents: false, dryRun: false, now: fixture.time.now)
        }
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.carryAll()
        #expect(try made(fixture).title == "First")
        try fixture.expectSound()
    }

    // MARK: Beside others

    @Test func tagsThatFollowAreNoConflictWithAnotherClientsTags() async throws {
        let fixture = try await fixture { $0.quirks.patchFails = true }
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { item in
            item.url = "https://example.org/a"
            item.tags = ["there", "gone"]
        }
        try await fixture.pull(full: true)
        try await fixture.accept(.url(url, tags: ["ours"]))
        try await fixture.pull()
        fixture.server.edit(item) { $0.tags = ["there", "theirs"] }
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.carryAll()
        #expect(try Set(made(fixture).tags) == ["there", "theirs", "ours"])
        #expect(try fixture.query("SELECT parked FROM copy") == "0")
        let copy = try fixture.query("SELECT tags FROM timeline WHERE id = '\(item)'")
        #expect(copy == #"["ours","theirs","there"]"#)
    }

    @Test func anEditDoesNotWaitBehindAFollowUpThatIsInConflict() async throws {
        let fixture = try await fixture { $0.quirks.patchFails = true }
        try await fixture.accept(.url(url, title: "Ours"))
        try await fixture.pull()
        try await settleAndPull(fixture)
        let id = try made(fixture).id
        fixture.server.edit(id) { $0.title = "Theirs" }
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.carryAll()
        #expect(try fixture.outbox().last == "#2 edit parked edit_conflict")
        try await fixture.accept(.edit(item: id, ItemEdit(tags: ["mine"])))
        try await fixture.carryAll()
        #expect(try made(fixture).tags == ["mine"])
        #expect(try made(fixture).title == "Theirs")
        // The question stays.
        #expect(try fixture.states() == [.delivered, .parked, .delivered])
        try await fixture.accept(.edit(item: id, ItemEdit(title: "Mine")))
        try await fixture.carryAll()
        #expect(try made(fixture).title == "Mine")
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
        try fixture.expectSound()
    }

    /// What the cache kept while the server was still at work has no version, so it says nothing of what the server has now.
    @Test func whatFollowsIsSentThoughACacheSaysThatItIsThere() async throws {
        let fixture = try await fixture {
            $0.quirks.itemCache = .seconds(86_400)
            $0.quirks.detailLacksUpdatedAt = true
        }
        try await fixture.accept(.url(url, title: "Ours"))
        try await fixture.pull()
        let id = try made(fixture).id
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: fixture.credentials),
            time: fixture.time.source, seed: 7)
        defer { client.shutdown() }
        try #require(try await client.session().item(id)?.title == "Ours")
        try await settleAndPull(fixture)
        try await fixture.carryAll()
        #expect(try made(fixture).title == "Ours")
    }

    /// The answer to the edit is a failure, so the cache is asked, and it has no version either.
    @Test func aFailedEditIsNotTakenForDeliveredByACacheThatHasTheSame() async throws {
        let fixture = try await fixture {
            $0.quirks.itemCache = .seconds(86_400)
            $0.quirks.detailLacksUpdatedAt = true
        }
        try await fixture.accept(.url(url, title: "Ours"))
        try await fixture.pull()
        let id = try made(fixture).id
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: fixture.credentials),
            time: fixture.time.source, seed: 7)
        defer { client.shutdown() }
        try #require(try await client.session().item(id)?.title == "Ours")
        let failure = fixture.server.script(.answer(status: 500, body: "{}"), on: .change, times: 1)
        try await settleAndPull(fixture)
        try await fixture.carryAll()
        #expect(failure.appliedCount == 1)
        #expect(try made(fixture).title == "Ours")
        try fixture.expectSound()
    }

    /// The cache still has the title that the server has replaced since.
    @Test func aCaptureThatIsRepeatedDoesNotBelieveACacheThatItsTitleIsThere() async throws {
        let fixture = try await fixture { $0.quirks.itemCache = .seconds(86_400) }
        try await fixture.accept(.url(url, title: "Ours"))
        try await fixture.pull()
        let id = try made(fixture).id
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: fixture.server.url, credentials: fixture.credentials),
            time: fixture.time.source, seed: 7)
        defer { client.shutdown() }
        try #require(try await client.session().item(id)?.title == "Ours")
        try await settleAndPull(fixture)
        try #require(try fixture.query("SELECT title FROM item WHERE id = '\(id)'") != "Ours")
        try await fixture.accept(.url(url, title: "Ours"))
        try await fixture.pull()
        fixture.server.setQuirks { $0.itemCache = nil }
        try await fixture.carryAll()
        #expect(try made(fixture).title == "Ours")
    }

    /// The copy's row is of the time before the server was done, however long ago that is.
    @Test func anEditOfAnItemThatNoPullHasShownSinceItWasProcessedIsNoConflict() async throws {
        let fixture = try await fixture()
        let capture = try await fixture.accept(.url(url, title: "Ours"))
        for _ in 0..<2 { try await fixture.pull(full: true) }
        let id = try made(fixture).id
        try #require(try fixture.query("SELECT status FROM item WHERE id = '\(id)'") == "pending")
        fixture.time.advance(by: .seconds(2 * 3_600))
        fixture.server.settle()
        // The answer tells the server's time, and nothing of the item.
        fixture.server.script(.answer(status: 500, body: "{}"), on: .timeline, times: 1)
        try await fixture.withEngine { engine, store in
            _ = await engine.runOnce()
            let edit = WriteDraft.edit(item: capture.itemID, ItemEdit(title: "Mine"))
            _ = try await store.accept([edit], now: fixture.time.now)
        }
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(try made(fixture).title == "Mine")
    }

    @Test func anEditDoesNotWaitForTheProcessingOfAnItemThatIsGone() async throws {
        let fixture = try await fixture()
        let capture = try await fixture.accept(.url(url))
        for _ in 0..<2 { try await fixture.pull(full: true) }
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(title: "Mine")))
        fixture.server.delete(try made(fixture).id)
        for _ in 0..<2 { try await fixture.pull(full: true) }
        #expect(try fixture.outbox().last == "#2 edit parked item_gone")
    }

    /// No pull has ever brought it: another client, or a backup of the server, has taken it away before.
    @Test func anEditDoesNotWaitForAnItemThatWasGoneBeforeAnyPull() async throws {
        let fixture = try await fixture()
        let capture = try await fixture.accept(.url(url))
        try await fixture.carryAll()
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(title: "Mine")))
        fixture.server.delete(try made(fixture).id)
        fixture.time.advance(by: .seconds(36 * 60))
        try await fixture.pull(full: true)
        try await fixture.carryAll()
        #expect(try fixture.outbox().last == "#2 edit parked item_gone")
    }

    /// A server that was restored, for one: it has lost the item between its refusal and the question under which id it is there.
    @Test func aURLThatTheServerHasLostSinceItsRefusalIsCapturedAgain() async throws {
        let fixture = try await fixture()
        let (server, item) = (fixture.server, fixture.server.items()[0].id)
        server.edit(item) { $0.url = "https://example.org/a" }
        server.script(.perform { server.delete(item) }, on: .checkDuplicate)
        try await fixture.accept(.url(url, title: "Ours"))
        try await fixture.carryAll()
        #expect(try fixture.states().first == .delivered)
        #expect(try made(fixture).id != item)
    }

    /// The capture came later and goes first, for the server fails at edits. What it says replaces the words before it.
    @Test func anEditIsNoConflictWithOneThatLaterWordsHaveWithdrawn() async throws {
        let fixture = try await fixture { $0.quirks.patchFails = true }
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { $0.url = "https://example.org/a" }
        try await fixture.pull(full: true)
        try await fixture.accept(.edit(item: item, ItemEdit(title: "First", tags: ["first"])))
        try await fixture.accept(.url(url, title: "Captured"))
        try await fixture.accept(.edit(item: item, ItemEdit(title: "Last")))
        try await fixture.pull()
        try #require(
            try fixture.outbox().prefix(2) == [
                "#1 edit queued server_error", "#2 capture delivered was already there; title follows as #4",
            ])
        fixture.server.setQuirks { $0.patchFails = false }
        try await fixture.carryAll()
        #expect(try made(fixture).title == "Last")
        #expect(try fixture.query("SELECT waiting + parked FROM copy") == "0")
    }

    // MARK: Deletions

    @Test func theLocalIDOfACaptureDeletesNoItemThatWasThereBefore() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { $0.url = "https://example.org/a" }
        let capture = try await fixture.accept(.url(url))
        try await fixture.carryAll()
        try #require(try fixture.outbox() == ["#1 capture delivered was already there"])
        await #expect {
            try await fixture.accept(.delete(item: capture.itemID))
        } throws: {
            let error = $0 as? UserFacingError
            return error?.code == .itemUnknown
                && error?.recoverySuggestion == "To delete that older item: `prsnlctl delete \(item)`."
        }
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(tags: ["ours"])))
        try await fixture.carryAll()
        #expect(fixture.server.item(item)?.tags == ["ours"])
    }

    @Test func aDeletionOfACaptureDoesNotTakeTheItemThatWasThereBefore() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { $0.url = "https://example.org/a" }
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        fixture.server.script(.answer(status: 500, body: #"{"detail":"no"}"#), on: .checkDuplicate)
        let capture = try await fixture.accept(.url(url, title: "Ours", tags: ["ours"]))
        try await fixture.pull()
        #expect(try fixture.states() == [.unknown])
        try await fixture.accept(.delete(item: capture.itemID))
        try await fixture.carryAll()
        let there = try #require(fixture.server.item(item))
        #expect(there.title != "Ours" && !there.tags.contains("ours"), "the capture was taken back with its deletion")
        #expect(try fixture.states() == [.delivered, .superseded])
        #expect(
            try fixture.outbox().last?.hasSuffix(
                "not sent: the URL was there before you captured it; to delete that item: prsnlctl delete \(item)")
                == true)
        #expect(fixture.server.requests(RequestMatcher { $0.method == "DELETE" }).isEmpty)
        #expect(try fixture.query("SELECT count(*) FROM timeline WHERE id = '\(item)'") == "1")
        try fixture.expectSound()
    }

    /// What waits is another item for its person, although the server has refused it because of the older one.
    @Test func aDeletionOfAnOlderItemOfTheURLTakesNeitherACaptureNorItsEdit() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { $0.url = "https://example.org/a" }
        try await fixture.pull(full: true)
        fixture.server.script(.answer(status: 500, body: #"{"detail":"no"}"#), on: .checkDuplicate)
        let capture = try await fixture.accept(.url(url, tags: ["ours"]))
        _ = try await fixture.withEngine { engine, _ in await engine.runOnce() }
        try #require(try fixture.states() == [.unknown])
        try await fixture.accept(.edit(item: capture.itemID, ItemEdit(title: "Named")))
        try await fixture.accept(.delete(item: item))
        fixture.server.script(
            .answer(status: 500, body: #"{"detail":"no"}"#), on: RequestMatcher { $0.method == "DELETE" }, times: 2)
        try await fixture.carryAll()
        let outbox = try fixture.outbox()
        #expect(try fixture.states().allSatisfy { $0 == .delivered }, "\(outbox)")
        #expect(fixture.server.item(item) == nil)
        let made = fixture.server.items().filter { $0.url == url }
        #expect(made.map(\.title) == ["Named"] && made.first?.tags == ["ours"], "\(made)")
    }

    /// The server has lost the item since its refusal, so it has no id to say.
    @Test func aDeletionOfACaptureWhoseURLIsGoneByNowWaitsForNothing() async throws {
        let fixture = try await fixture()
        let item = fixture.server.items()[0].id
        fixture.server.edit(item) { $0.url = "https://example.org/a" }
        fixture.server.hide(item)
        fixture.server.script(.answer(status: 500, body: #"{"detail":"no"}"#), on: .checkDuplicate)
        let capture = try await fixture.accept(.url(url))
        _ = try await fixture.withEngine { engine, _ in await engine.runOnce() }
        try #require(try fixture.states() == [.unknown])
        try await fixture.accept(.delete(item: capture.itemID))
        fixture.server.delete(item)
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered, .superseded])
        #expect(try fixture.outbox().last?.hasSuffix("not sent: the URL was there before you captured it") == true)
        try fixture.expectSound()
    }

    /// The refusal is lost: another client's item of some minutes ago, or with tags that were never ours, is not the capture's.
    @Test(arguments: [600, 5])
    func aDeletionOfACaptureDoesNotTakeAnotherClientsNewItem(_ age: Int) async throws {
        let fixture = try await fixture()
        var theirs = DevItem(
            id: "5a5a5a5a-0000-4000-8000-000000000009", createdAt: fixture.time.now.advanced(by: .seconds(-age)),
            tags: age < 120 ? ["theirs"] : [])
        theirs.url = url
        fixture.server.add(theirs)
        fixture.server.script(.closeAfterApplying, on: .capture)
        fixture.server.script(.answer(status: 500, body: #"{"detail":"no"}"#), on: .checkDuplicate)
        let capture = try await fixture.accept(.url(url, tags: ["ours"]))
        _ = try await fixture.withEngine { engine, _ in await engine.runOnce() }
        _ = try? await fixture.accept(.delete(item: capture.itemID))
        try await fixture.carryAll()
        #expect(fixture.server.items().contains { $0.id == "5a5a5a5a-0000-4000-8000-000000000009" })
    }

    @Test func aDeletionOfACaptureTakesTheItemThatTheCaptureHasMade() async throws {
        let fixture = try await fixture()
        fixture.server.script(.closeAfterApplying, on: .capture)
        let capture = try await fixture.accept(.url(url, title: "Ours"))
        try await fixture.pull()
        try await fixture.accept(.delete(item: capture.itemID))
        try await fixture.carryAll()
        #expect(fixture.server.items().allSatisfy { $0.url != url })
        #expect(try fixture.states() == [.delivered, .delivered])
    }
}
