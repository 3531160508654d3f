import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// Single cases in which a write could be lost, doubled, undone or shown twice.
@Suite struct OutboxCornerTests {
    private func fixture(_ dialect: Dialect = .cursor, items: Int = 5) async throws -> PullFixture {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: items, seed: 1)) {
            $0.settling = .after(.seconds(20))
            $0.quirks.patchFails = false
            $0.quirks.capturesPerMinute = nil
        }
        try await fixture.pull()
        return fixture
    }

    /// A page that was asked for before the writes and read after them.
    @Test(arguments: [Dialect.cursor, .page, .express])
    func aPullInFlightUndoesNothingAndShowsNothingTwice(_ dialect: Dialect) async throws {
        let fixture = try await fixture(dialect)
        let server = fixture.server
        let ids = server.items().map(\.id)
        fixture.time.setParticipants(3)
        try await fixture.withEngine { engine, store in
            fixture.time.stand()
            let run = Task { await engine.run() }
            let before = server.requests(.timeline).count
            let held = server.script(.holdAnswer, on: .timeline)
            let sync = Task { await engine.sync(SyncRequest(full: true)) }
            try await server.waitForRequest(.timeline, count: before + 1)
            let drafts: [WriteDraft] = [
                .edit(item: ids[0], ItemEdit(title: "Ours")), .delete(item: ids[1]), .url("https://example.org/new"),
            ]
            let accepted = try await store.accept(drafts, now: fixture.time.now)
            #expect(accepted.count == 3)
            engine.writesAccepted(manual: true)
            try await eventually("the writes to be delivered") {
                try fixture.states().allSatisfy { $0 == .delivered }
            }
            // Only now does the page arrive that was made before the writes.
            held.release()
            _ = await sync.value
            #expect(held.appliedCount == 1)
            let shown = try fixture.list("SELECT id || title FROM timeline")
            #expect(shown.contains("\(ids[0])Ours"))
            #expect(!shown.contains { $0.hasPrefix(ids[1]) })
            #expect(try fixture.list("SELECT id FROM timeline WHERE url = 'https://example.org/new'").count == 1)
            run.cancel()
            await run.value
        }
        fixture.time.setParticipants(1)
        fixture.time.advance(by: .seconds(3_600))
        try fixture.expectSound()
    }

    @Test func anItemThatMayBeOursIsNotShownUntilThatIsDecided() async throws {
        let fixture = try await fixture()
        fixture.server.script(.closeAfterApplying, on: .capture)
        try await fixture.accept(.note("A note that is long enough for a title"))
        try await fixture.pull()
        #expect(try fixture.states() == [.unknown])
        #expect(try fixture.list("SELECT id FROM timeline WHERE pending = 'creation'").count == 1)
        #expect(try fixture.list("SELECT id FROM timeline").count == 6, "the server's row is held back")
        #expect(try fixture.list("SELECT id FROM item").count == 6)
        fixture.server.settle()
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered])
        #expect(try fixture.list("SELECT id FROM timeline").count == 6)
        #expect(fixture.server.captures.count == 1)
        try fixture.expectSound()
    }

    @Test(arguments: [Dialect.cursor, .page, .express])
    func twoIdenticalNotesAreTwoItemsHoweverTheirAnswersGetLost(_ dialect: Dialect) async throws {
        let fixture = try await fixture(dialect)
        fixture.server.script(.closeAfterApplying, on: .capture, times: 2)
        try await fixture.accept([.note("The same words twice"), .note("The same words twice")])
        try await fixture.pull()
        fixture.server.settle()
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(fixture.server.captures.count == 2)
        #expect(Set(try fixture.entries().map(\.itemID)) == Set(fixture.server.captures.map(\.id)))
        try fixture.expectSound()
    }

    /// The title that a person gives says nothing about which note it is.
    @Test func aNoteIsNotTakenForAnotherOfTheSameName() async throws {
        let fixture = try await fixture()
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        try await fixture.accept(.note("Bread", title: "Groceries"))
        try await fixture.pull()
        // Made elsewhere since, and its processing failed, so that it has no text to tell by.
        var other = fixture.server.addNew()[0]
        other.title = "Groceries"
        other.url = nil
        other.status = "failed"
        fixture.server.add(other)
        try await fixture.carryAll()
        #expect(try fixture.outbox() == ["#1 note parked outcome_undecidable"])
        // Looked for again once that one can be told apart.
        fixture.server.edit(other.id) { $0.content = "Milk" }
        fixture.time.advance(by: .seconds(60))
        try await fixture.withEngine { _, store in
            _ = try await store.retry(nil, parked: true, dryRun: false, now: fixture.time.now)
        }
        fixture.server.delete(other.id)
        try await fixture.carryAll()
        #expect(fixture.server.captures.map(\.content) == ["Bread"])
        try fixture.expectSound()
    }

    /// A note that is retitled elsewhere before it is recognised looks like another's item in the timeline. Deleting
    /// that one does not give up the note that waits beside it.
    @Test func aNoteIsSentAgainAfterWhatBecameOfItWasDeletedHereUnrecognised() async throws {
        let fixture = try await fixture(.page)
        let server = fixture.server
        let isSent = Flag()
        server.script(
            .closeAfterApplying,
            on: .capture.and { _ in
                isSent.set()
                return true
            })
        // Before anything is read that has it.
        let retitled = server.script(
            .perform { server.edit(server.captures[0].id) { $0.title = "Theirs" } },
            on: .timeline.and { _ in isSent.isSet })
        try await fixture.accept(.note("Sent, and its answer was lost"))
        try await fixture.pull()
        #expect(retitled.appliedCount == 1)
        #expect(try fixture.states() == [.unknown])
        let first = server.captures[0].id
        #expect(try fixture.list("SELECT id FROM timeline WHERE title = 'Theirs'") == [first])
        #expect(try fixture.list("SELECT id FROM timeline WHERE pending = 'creation'").count == 1)

        try await fixture.accept(.delete(item: first))
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(server.item(first) == nil)
        #expect(server.captures.count == 2)
        #expect(try fixture.entries()[0].itemID == server.captures[1].id)
        #expect(try fixture.list("SELECT id FROM timeline").count == 6, "as it was shown before")
        try fixture.expectSound()
    }

    @Test func aBareHostIsFoundAlthoughTheServerAsksForAnotherSpelling() async throws {
        let fixture = try await fixture()
        fixture.server.script(.closeAfterApplying, on: .capture)
        let made = try await fixture.accept(.url("https://bare.example"))
        try await fixture.accept(.edit(item: made.itemID, ItemEdit(summary: "Why")))
        try await fixture.carryAll()
        #expect(fixture.server.captures.count == 1)
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(fixture.server.item(fixture.server.captures[0].id)?.summary == "Why")
        try fixture.expectSound()
    }

    @Test func onlyTheItemsOwn404SaysThatItIsGone() async throws {
        let fixture = try await fixture()
        let id = fixture.server.items()[0].id
        fixture.server.script(
            .answer(status: 404, headers: ["content-type": "text/html"], body: "<h1>Not found</h1>"), on: .change)
        try await fixture.accept(.delete(item: id))
        try await fixture.pull()
        #expect(try fixture.states() == [.queued])
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered])
        #expect(fixture.server.item(id) == nil)
    }

    /// To another account, every item of ours is "not found".
    @Test func anotherAccountsWordIsNotBelieved() async throws {
        let fixture = try await fixture()
        let id = fixture.server.items()[0].id
        let server = fixture.server
        try await fixture.accept(.delete(item: id))
        // Taken for another account between the proof and the write.
        server.script(.perform { server.reassignTokens(to: .other) }, on: .change)
        try await fixture.pull()
        #expect(try fixture.states() == [.queued])
        #expect(server.item(id) != nil)
        server.reassignTokens(to: .owner)
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered])
        #expect(server.item(id) == nil)
    }

    @Test func aDeletionDoesNotWaitBehindAnEditThatIsParked() async throws {
        let fixture = try await fixture()
        let id = fixture.server.items()[0].id
        try await fixture.accept(.edit(item: id, ItemEdit(title: "Ours")))
        fixture.server.script(.closeBeforeAnswering, on: .change)
        fixture.server.script(.answer(status: 500, body: "{}"), on: .item, times: .max, skip: 1)
        try await fixture.pull()
        #expect(try fixture.states() == [.unknown])
        fixture.server.removeFaults()
        fixture.server.edit(id) { $0.title = "Theirs" }
        // The edit's outcome is not known, so that the deletion has to queue behind it.
        try await fixture.accept(.delete(item: id))
        try await fixture.carryAll()
        #expect(try fixture.states() == [.superseded, .delivered])
        #expect(fixture.server.item(id) == nil)
        try fixture.expectSound()
    }

    @Test func aFollowUpDoesNotUndoWhatWasSaidAfterwards() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.url("https://example.org/a", title: "First"))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(7_200))
        let made = try await fixture.accept(.url("https://example.org/a", title: "Second", tags: ["x"]))
        fixture.server.script(.answer(status: 502), on: .capture)
        try await fixture.pull()
        try await fixture.accept(.edit(item: made.itemID, ItemEdit(title: "Third")))
        try await fixture.carryAll()
        #expect(try fixture.states().allSatisfy { $0 == .delivered || $0 == .superseded })
        #expect(fixture.server.items().first { $0.url == "https://example.org/a" }?.title == "Third")
        try fixture.expectSound()
    }

    @Test func timeOfflineDoesNotCountForTheAgeLimit() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.note("Never taken"))
        fixture.server.refuseConnections()
        try await fixture.run(for: .seconds(2 * 86_400))
        #expect(try fixture.states() == [.queued])
        #expect(try fixture.entries()[0].reachableAge < .seconds(3_600))
        try fixture.server.acceptConnections()
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered])
    }

    @Test func whatWasBeingSentAtAKillIsInDoubtAfterwards() async throws {
        let fixture = try await fixture()
        try await fixture.accept(.note("Sent, and the answer came too late"))
        let process = try DaemonProcess(fixture)
        let snapshot = FileSnapshot(fixture.path)
        fixture.server.script(
            .closeAfterApplying,
            on: .capture.and { _ in
                snapshot.take()
                return true
            })
        _ = await process.engine.runOnce()
        await process.abandon()
        try snapshot.restore()
        #expect(try fixture.states() == [.sending])
        let next = try DaemonProcess(fixture)
        #expect(try fixture.states() == [.unknown])
        #expect(try fixture.query("SELECT unknown FROM copy") == "1")
        await next.abandon()
        try await fixture.carryAll()
        #expect(try fixture.states() == [.delivered])
        #expect(fixture.server.captures.count == 1)
        try fixture.expectSound()
    }

    @Test func aCreationIsOnlyDroppedWithWhatWaitsBehindIt() async throws {
        let fixture = try await fixture()
        let made = try await fixture.accept(.url("https://example.org/a"))
        try await fixture.accept(.edit(item: made.itemID, ItemEdit(summary: "Why")))
        try await fixture.withEngine { _, store in
            let now = fixture.time.now
            let refused = try await store.drop([1], withDependents: false, dryRun: false, now: now)
            #expect(refused.dropped.isEmpty && refused.dependents == [2])
            let dropped = try await store.drop([1], withDependents: true, dryRun: false, now: now)
            #expect(dropped.dropped == [1, 2])
        }
        #expect(try fixture.list("SELECT id FROM timeline").count == 5)
        try fixture.expectSound()
    }

    /// The file cannot be written when the server has answered.
    @Test func anAnswerThatCannotBeWrittenDownIsKeptAndNothingIsSentTwice() async throws {
        let fixture = try await fixture()
        try await fixture.accept([.note("Applied once, first"), .note("Applied once, second")])
        try await fixture.withEngine { engine, store in
            let held = fixture.server.script(.hold, on: .capture)
            let run = Task { await engine.runOnce() }
            try await fixture.server.waitForRequest(.capture)
            await store.setReadOnly(true)
            held.release()
            try await eventually("several tries to write") { fixture.time.sleeps.count > 5 }
            #expect(fixture.server.requests(.capture).count == 1, "nothing else is sent meanwhile")
            await store.setReadOnly(false)
            _ = await run.value
        }
        #expect(try fixture.states() == [.delivered, .delivered])
        #expect(fixture.server.captures.count == 2)
        try fixture.expectSound()
    }
}

extension Store {
    /// Lets every write fail, as a full disk does.
    fileprivate func setReadOnly(_ isReadOnly: Bool) {
        do {
            try connection?.execute("PRAGMA query_only = \(isReadOnly ? 1 : 0)")
        } catch {
            Issue.record(error)
        }
    }
}
