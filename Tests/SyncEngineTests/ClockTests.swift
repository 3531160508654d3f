import DevServer
import Glibc
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// Clocks that differ, and clocks that are set: a time of the server is compared with the server's clock alone.
@Suite final class ClockTests: Sendable {
    private static let url = "https://example.org/a"
    private static let found = "SELECT count(*) FROM item WHERE found_at IS NOT NULL"

    /// How far the server's clock is ahead of the fixture's.
    private let ahead = Mutex(Duration.zero)

    private func fixture(behind: Duration = .zero) async throws -> PullFixture {
        ahead.withLock { $0 = .zero - behind }
        let fixture = try PullFixture(items: DevItem.generate(count: 5, seed: 1)) { configuration in
            let now = configuration.now
            configuration.now = { [self] in now().advanced(by: ahead.withLock(\.self)) }
            configuration.quirks.patchFails = false
            configuration.quirks.capturesPerMinute = nil
        }
        try await fixture.pull()
        return fixture
    }

    private func setOurClock(by step: Duration, _ fixture: PullFixture) {
        fixture.time.stepClock(by: step)
        ahead.withLock { $0 -= step }
    }

    private func setTheirClock(by step: Duration) { ahead.withLock { $0 += step } }

    private func settleAndPull(_ fixture: PullFixture) async throws {
        fixture.server.settle()
        fixture.time.advance(by: .seconds(60))
        try await fixture.pull()
        try await fixture.pull()
    }

    private func titles(_ fixture: PullFixture) -> [String] {
        fixture.server.captures.compactMap { fixture.server.item($0.id)?.title }
    }

    // MARK: Writes

    @Test(arguments: [-86_400, -7_200, 7_200, 86_400])
    func anEditWaitsForTheProcessingWhateverOurClockIsAheadOfTheServers(_ seconds: Int) async throws {
        let fixture = try await fixture(behind: .seconds(seconds))
        let note = try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        try await fixture.accept(.edit(item: note.itemID, ItemEdit(title: "Named at once")))
        try await fixture.pull()
        #expect(try fixture.entries()[1].awaitsItem)
        try await settleAndPull(fixture)
        #expect(titles(fixture) == ["Named at once"])
        #expect(try fixture.states() == [.delivered, .delivered])
    }

    /// Items that the server never finishes stay `pending`.
    @Test(arguments: [-86_400, 86_400])
    func aStuckItemIsWaitedForForAnHourOfTheServersClock(_ seconds: Int) async throws {
        let fixture = try await fixture(behind: .seconds(seconds))
        let note = try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        try await fixture.accept(.edit(item: note.itemID, ItemEdit(title: "Named at once")))
        fixture.time.advance(by: .seconds(3_700))
        try await fixture.pull()
        try await fixture.pull()
        #expect(titles(fixture) == ["Named at once"])
    }

    @Test(arguments: [7_200, 86_400])
    func theTitleThatWasAskedForFollowsAlthoughOurClockIsAhead(_ seconds: Int) async throws {
        let fixture = try await fixture(behind: .seconds(seconds))
        try await fixture.accept(.url(Self.url, title: "The title I gave", tags: ["a"]))
        try await fixture.pull()
        try await fixture.pull()
        try await settleAndPull(fixture)
        #expect(titles(fixture) == ["The title I gave"])
    }

    /// They are of the hour before the tests' clock begins.
    private func fixtureOfNewItems(_ dialect: Dialect) throws -> PullFixture {
        let start = DevItem.generationStart.advanced(by: .seconds(400 * 86_400))
        let items = (0..<150).map { number in
            let id = "00000000-0000-4000-8000-000000000\(number + 100)"
            return DevItem(id: id, createdAt: start.advanced(by: .seconds(-20 * number)), title: "Item \(number)")
        }
        return try PullFixture(dialect, items: items) { configuration in
            let now = configuration.now
            configuration.now = { [self] in now().advanced(by: ahead.withLock(\.self)) }
            configuration.quirks.patchFails = false
        }
    }

    /// The server inserts after its clock was set back, so below all that was noted before the send. Then ours is set back by
    /// more, so that the send seems yet to come.
    @Test(arguments: Dialect.allCases)
    func aLostCreationIsFoundAfterBothClocksWereSetBack(_ dialect: Dialect) async throws {
        let fixture = try fixtureOfNewItems(dialect)
        try await fixture.pull()
        fixture.server.script(
            .closeAfterApplying,
            on: .capture.and { [self] _ in
                setTheirClock(by: .seconds(-5 * 3_600))
                return true
            })
        try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        setOurClock(by: .seconds(-27 * 3_600), fixture)
        for _ in 0..<4 {
            try await settleAndPull(fixture)
            fixture.time.advance(by: .seconds(900))
        }
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.states() == [.delivered])
    }

    /// The server's clock was set back while it inserted, and forward again: found by a storm, which saw a note doubled. Nothing
    /// says how far down to look, but a sweep has brought the item.
    @Test(arguments: Dialect.allCases)
    func aLostCreationThatASweepHasBroughtIsNotSentAgain(_ dialect: Dialect) async throws {
        let fixture = try fixtureOfNewItems(dialect)
        try await fixture.pull()
        fixture.server.script(
            .closeAfterApplying,
            on: .capture.and { [self] _ in
                setTheirClock(by: .seconds(-57 * 3_600))
                return true
            })
        let failing = fixture.server.script(
            .answer(status: 500, body: "{}"), on: .timeline, times: .max)
        try await fixture.accept(.note("Some words of a note"))
        _ = try await fixture.withEngine { engine, _ in await engine.runOnce() }
        failing.remove()
        setTheirClock(by: .seconds(25 * 3_600))
        for _ in 0..<4 {
            fixture.server.settle()
            try await fixture.pull(full: true)
            fixture.time.advance(by: .seconds(900))
        }
        #expect(fixture.server.captures.count == 1)
        let outbox = try fixture.outbox()
        #expect(try fixture.states() == [dialect == .cursor ? .delivered : .parked], "\(outbox)")
        try fixture.expectSound()
    }

    /// The clock is wrong when the daemon starts, and was right when it ended.
    @Test func anEditThatWaitsForTheProcessingIsNotSentByAClockThatWasSetForward() async throws {
        let fixture = try await fixture()
        let note = try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        try await fixture.accept(.edit(item: note.itemID, ItemEdit(title: "Named at once")))
        setOurClock(by: .seconds(7_200), fixture)
        try await fixture.pull()
        #expect(try fixture.states() == [.delivered, .queued])
        setOurClock(by: .seconds(-7_200), fixture)
        try await settleAndPull(fixture)
        #expect(titles(fixture) == ["Named at once"])
    }

    /// Items of the time before stand above what is made now, on more than one page.
    @Test(arguments: [Dialect.cursor, .page, .express])
    func aNoteIsNotSentTwiceAfterTheServersClockWasSetBackByHours(_ dialect: Dialect) async throws {
        ahead.withLock { $0 = .seconds(3 * 3_600) }
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 5, seed: 1)) { configuration in
            let now = configuration.now
            configuration.now = { [self] in now().advanced(by: ahead.withLock(\.self)) }
            configuration.settling = .after(.seconds(5))
            configuration.quirks.capturesPerMinute = nil
        }
        fixture.server.addNew(count: 150)
        try await fixture.pull()
        setTheirClock(by: .seconds(-3 * 3_600))
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.note("Some words of a note", title: "Some words of a note"))
        try await fixture.carryAll()
        #expect(fixture.server.captures.count == 1)
        let outbox = try fixture.outbox()
        #expect([.delivered, .parked].contains(try fixture.states().first), "\(outbox)")
    }

    /// It is the sweep that removes what was delivered long ago.
    @Test func aLeapOfFortyDaysForAMomentForgetsNoWish() async throws {
        let fixture = try await fixture()
        try await fixture.accept([.url(Self.url, title: "The title I gave"), .note("Another", title: "And this one")])
        try await fixture.pull()
        setOurClock(by: .seconds(40 * 86_400), fixture)
        try await fixture.pull(full: true)
        setOurClock(by: .seconds(-40 * 86_400), fixture)
        #expect(try fixture.states() == [.delivered, .delivered])
        try await settleAndPull(fixture)
        #expect(Set(titles(fixture)) == ["The title I gave", "And this one"])
    }

    /// What is delivered is needed for as long as it is kept: its item is no other creation's.
    @Test func whatIsDeliveredIsRemovedAfterThirtyDaysOfBothClocks() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.url(Self.url))
        try await fixture.pull()
        setTheirClock(by: .seconds(40 * 86_400))
        try await fixture.pull(full: true)
        #expect(try fixture.states() == [.delivered])
        setTheirClock(by: .seconds(-40 * 86_400))
        fixture.time.advance(by: .seconds(31 * 86_400))
        try await fixture.pull(full: true)
        #expect(try fixture.states().isEmpty)
    }

    @Test func whatIsDeliveredIsRemovedWhereNoSweepComesToItsEnd() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.url(Self.url))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(31 * 86_400))
        // The poll has its page, and a sweep would have none.
        fixture.server.script(.answer(status: 500, body: "{}"), on: .timeline, times: .max, skip: 1)
        try await fixture.pull()
        #expect(try fixture.states().isEmpty)
    }

    @Test(arguments: [600, 3 * 3_600, 11 * 3_600])
    func whatWasTriedIsTriedSoonAfterTheClockWasSetBackBetweenTwoRuns(_ seconds: Int) async throws {
        let fixture = try await fixture()
        let busy = fixture.server.script(
            .answer(status: 503, headers: ["x-error-code": "BUSY"], body: #"{"detail":"busy"}"#), on: .capture, times: 1
        )
        try await fixture.accept(.url(Self.url))
        try await fixture.pull()
        #expect(busy.appliedCount == 1)
        // And one that was killed while it was sent.
        try await fixture.accept(.note("Some words of a note"))
        let store = try Store(path: fixture.path)
        #expect(try await store.beginSending(2, evidence: SendEvidence(knownIDs: []), now: fixture.time.now))
        await store.close()
        setOurClock(by: .seconds(-seconds), fixture)
        try await fixture.run(for: .seconds(120))
        #expect(try fixture.states()[0] == .delivered)
        #expect(try fixture.query("SELECT count(*) FROM outbox_attempt WHERE entry_id = 2 AND purpose = 'look'") != "0")
        try await fixture.run(for: .seconds(900))
        #expect(try fixture.states() == [.delivered, .delivered])
    }

    /// An item is not old because a clock says so.
    @Test func aTitleFollowsAlthoughTheServersClockLeaptWhileItWasAtWork() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.url(Self.url, title: "The title I gave"))
        for _ in 0..<2 { try await fixture.pull(full: true) }
        setTheirClock(by: .seconds(3 * 3_600))
        for _ in 0..<2 { try await fixture.pull(full: true) }
        try await settleAndPull(fixture)
        try await fixture.carryAll()
        #expect(titles(fixture) == ["The title I gave"])
    }

    /// It waits for the server's processing for as long as the old clock said, which may be hours.
    @Test func anEditOfAnItemThatTheServerNeverFinishesIsNotForgottenAfterOurClockWasSetBack() async throws {
        let fixture = try await fixture()
        let note = try await fixture.accept(.note("Some words of a note"))
        try await fixture.pull()
        try await fixture.accept(.edit(item: note.itemID, ItemEdit(title: "Named at once")))
        setOurClock(by: .seconds(-11 * 3_600), fixture)
        try await fixture.run(for: .seconds(4_200))
        #expect(titles(fixture) == ["Named at once"])
    }

    // MARK: Pulls

    /// It is suspected by a time that is yet to come, before any sweep, or asked about then.
    @Test(arguments: [true, false])
    func anItemThatIsGoneIsBuriedAfterOurClockWasSetBack(_ wasFound: Bool) async throws {
        let fixture = try await fixture()
        let gone = fixture.server.items()[0].id
        if wasFound { fixture.server.hide(gone) } else { fixture.server.delete(gone) }
        try await fixture.pull(full: wasFound)
        let found = try fixture.query(Self.found)
        try #require(found == (wasFound ? "1" : "0"))
        try #require(try fixture.query("SELECT suspects FROM sync_state") == "1")
        fixture.server.delete(gone)
        setOurClock(by: .seconds(-3 * 3_600), fixture)
        try await fixture.pull()
        fixture.time.advance(by: .seconds(40 * 60))
        try await fixture.pull(full: true)
        #expect(try fixture.query("SELECT deleted FROM copy") == "1")
        try fixture.expectExact()
    }

    /// What was read at a time that is yet to come is not known as of now, also where that time is near: the clock was set twice.
    @Test func editsAreNotClaimedAsOfATimeThatTheClockHadBeforeItWasSet() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 250, seed: 1))
        try await fixture.pull()
        let old = try #require(try fixture.query("SELECT id FROM item ORDER BY created_at LIMIT 1"))
        fixture.time.stepClock(by: .seconds(3_600))
        try await fixture.pull()
        fixture.server.edit(old) { $0.tags = ["elsewhere"] }
        fixture.time.stepClock(by: .seconds(-3_640))
        try await fixture.pull()
        try #require(try fixture.query("SELECT edits_as_of IS NOT NULL FROM sync_state") == "1")
        #expect(try fixture.query("SELECT tags FROM item WHERE id = '\(old)'") == #"["elsewhere"]"#)
    }

    /// A cache answers for half an hour, and our clock is no measure of that.
    @Test func anItemThatIsGoneIsNotTakenForFoundTwiceAfterOurClockWasSetForward() async throws {
        let fixture = try await fixture()
        let gone = fixture.server.items()[0].id
        fixture.server.delete(gone, cached: true)
        try await fixture.pull(full: true)
        try #require(try fixture.query(Self.found) == "1")
        setOurClock(by: .seconds(2 * 3_600), fixture)
        try await fixture.pull(full: true)
        #expect(try fixture.query("SELECT suspects FROM sync_state") == "1")
        fixture.server.clearCache()
        fixture.time.advance(by: .seconds(36 * 60))
        try await fixture.pull(full: true)
        #expect(try fixture.query("SELECT deleted FROM copy") == "1")
    }

    /// The clock goes back, a daemon finds the item and is killed, and the clock is right again: the file does not know of it.
    @Test func anItemThatIsGoneIsNotTakenForFoundTwiceByAnotherProcess() async throws {
        let fixture = try await fixture()
        for item in fixture.server.items().prefix(2) { fixture.server.delete(item.id, cached: true) }
        setOurClock(by: .seconds(-50 * 60), fixture)
        // The file as it is when the first is found, and the second is asked for.
        let (path, killed) = (fixture.path, fixture.directory.file("killed.sqlite"))
        fixture.server.script(
            .closeBeforeAnswering,
            on: RequestMatcher { request in
                if RequestMatcher.item.matches(request) {
                    try? Connection(path: path, mode: .readOnly).execute("VACUUM INTO '\(killed)'")
                    if (try? Connection(path: killed, mode: .readOnly).text(Self.found)) != "1" { unlink(killed) }
                }
                return false
            })
        try await fixture.pull(full: true)
        fixture.server.removeFaults()
        for suffix in ["-wal", "-shm"] { unlink(path + suffix) }
        try #require(rename(killed, path) == 0)
        try #require(try fixture.query(Self.found) == "1")
        setOurClock(by: .seconds(50 * 60), fixture)
        try await fixture.run(for: .seconds(60))
        #expect(try fixture.query("SELECT suspects FROM sync_state") == "2")
    }

    /// Delivered at a time that is yet to come, and deleted elsewhere before any pull has brought it.
    @Test func aCreationThatIsGoneIsForgottenAfterOurClockWasSetBack() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.note("Some words of a note"))
        try await fixture.carryAll()
        for item in fixture.server.items() { fixture.server.delete(item.id) }
        setOurClock(by: .seconds(-11 * 3_600), fixture)
        try await fixture.pull()
        fixture.time.advance(by: .seconds(40 * 60))
        try await fixture.pull(full: true)
        #expect(try fixture.query("SELECT count(*) FROM local_item") == "0")
    }

    @Test func aTextThatFailedIsAskedForSoonAfterOurClockWasSetBack() async throws {
        let fixture = try await fixture()
        fixture.server.script(
            .answer(status: 500, body: "{}"), on: RequestMatcher { $0.path.hasPrefix("/api/items/") }, times: 1)
        try await fixture.pull(texts: true)
        try #require(try fixture.query("SELECT count(*) FROM text_problem") == "1")
        setOurClock(by: .seconds(-3 * 3_600), fixture)
        try await fixture.run(for: .seconds(300), texts: true)
        #expect(try fixture.query("SELECT texts_missing FROM sync_state") == "0")
    }

    /// A server that caches its answers, and does not say of which version they are.
    @Test func aTextOutOfACacheIsNotTakenForTheItemsAfterOurClockWasSetForward() async throws {
        let fixture = try await fixture()
        fixture.server.setQuirks { quirks in
            quirks.itemCache = .seconds(30 * 60)
            quirks.detailLacksUpdatedAt = true
        }
        try await fixture.pull(texts: true)
        fixture.time.advance(by: .seconds(31 * 60))
        try await fixture.pull(texts: true)
        try #require(try fixture.query("SELECT texts_missing FROM sync_state") == "0")
        fixture.server.edit(fixture.server.items()[2].id) { $0.title = "Changed" }
        try await fixture.pull(full: true, texts: true)
        try #require(try fixture.query("SELECT texts_missing FROM sync_state") == "1")
        setOurClock(by: .seconds(7 * 3_600), fixture)
        try await fixture.pull(texts: true)
        #expect(try fixture.query("SELECT texts_missing FROM sync_state") == "1")
        fixture.time.advance(by: .seconds(32 * 60))
        try await fixture.pull(texts: true)
        #expect(try fixture.query("SELECT texts_missing FROM sync_state") == "0")
    }

    /// Servers hide an item while they work on it.
    @Test(arguments: [-3_600, 0, 16 * 60, 3_600, 86_400])
    func anItemThatWasHiddenForAMomentIsFoundWhateverTheServersClockSays(_ seconds: Int) async throws {
        let fixture = try await fixture(behind: .seconds(seconds))
        try await hideForAMoment(fixture)
        try await fixture.pull()
        try fixture.expectExact()
    }

    @Test(arguments: [16 * 60, 3_600, 86_400])
    func thePollsFindAnItemThatWasHiddenForAMoment(_ seconds: Int) async throws {
        let fixture = try await fixture(behind: .seconds(seconds))
        let (server, time) = (fixture.server, fixture.time)
        let hidden = hide(fixture)
        let start = time.elapsed
        server.script(
            .perform { if time.elapsed - start >= .seconds(3) { server.show(hidden) } }, on: .timeline, times: .max)
        try await fixture.run(for: .seconds(1_200))
        try fixture.expectExact()
    }

    /// The clocks agreed at the look that missed it.
    @Test(arguments: [3_600, -3_600], [true, false])
    func anItemThatWasHiddenForAMomentIsFoundAfterAClockWasSet(_ seconds: Int, _ isOurs: Bool) async throws {
        let fixture = try await fixture()
        try await hideForAMoment(fixture)
        // The machine was off for longer than the clock is set back by.
        fixture.time.advance(by: .seconds(7_200))
        if isOurs { setOurClock(by: .seconds(seconds), fixture) } else { setTheirClock(by: .seconds(seconds)) }
        try await fixture.pull()
        try fixture.expectExact()
    }

    /// Its new items are dated before the last poll, and below a page of others.
    @Test(arguments: [true, false])
    func aNewItemIsFoundAfterTheServersClockWasSetBack(_ isRestarted: Bool) async throws {
        let fixture = try await fixture()
        fixture.server.addNew(count: 120)
        try await fixture.pull()
        let (server, time) = (fixture.server, fixture.time)
        setTheirClock(by: .seconds(-3_600))
        let new = DevItem(
            id: "5a5a5a5a-0000-4000-8000-000000000003", createdAt: time.now.advanced(by: .seconds(-3_600)))
        if isRestarted {
            server.add(new)
            try await fixture.pull()
        } else {
            let start = time.elapsed
            server.script(.perform { if time.elapsed > start { server.add(new) } }, on: .timeline, times: .max)
            try await fixture.run(for: .seconds(1_200))
        }
        try fixture.expectExact()
    }

    private func hideForAMoment(_ fixture: PullFixture) async throws {
        let hidden = hide(fixture)
        try await fixture.pull()
        fixture.time.advance(by: .seconds(3))
        fixture.server.show(hidden)
    }

    /// An item, and more than a page of newer ones that are shown.
    private func hide(_ fixture: PullFixture) -> String {
        let hidden = fixture.server.addNew()[0].id
        fixture.server.hide(hidden)
        fixture.time.advance(by: .seconds(1))
        fixture.server.addNew(count: 120)
        return hidden
    }
}
