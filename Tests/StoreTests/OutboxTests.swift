import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// The journal of writes: what is accepted, in which order, and what it makes of the timeline.
@Suite struct OutboxTests {
    let fixture = StoreFixture()
    let now = StoreFixture.at(5_000)

    private func accept(_ store: Store, _ draft: WriteDraft) async throws -> AcceptedWrite {
        switch try await store.accept([draft], now: now)[0] {
        case .accepted(let write): return write
        case .refused(let error): throw error
        }
    }

    private func url(_ number: Int) -> WriteDraft { .create(NewItem(url: "https://example.org/\(number)")) }

    private func deliver(_ store: Store, _ id: Int64, as serverID: String? = nil) async throws {
        #expect(try await store.beginSending(id, evidence: nil, now: now))
        try await record(store, id, .delivered(WriteOutcome.Delivery(serverID: serverID)))
    }

    private func record(
        _ store: Store, _ id: Int64, _ outcome: WriteOutcome, dueAt: Timestamp? = nil, error: UserFacingError? = nil
    ) async throws {
        try await store.record(id, outcome, dueAt: dueAt, error: error, now: now)
    }

    private func states(_ store: Store) async throws -> [OutboxEntry.State] {
        try await store.outboxEntries(Array(1...20)).map(\.state)
    }

    /// Found by the storm: a daemon that was killed and started again sent it at once, and the server's processing
    /// overwrote it.
    @Test func anEditOfAnItemInProcessStillWaitsAfterARestart() async throws {
        var item = StoreFixture.item(4_990)
        item.status = "pending"
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([item]))
        _ = try await accept(store, .edit(item: item.id, ItemEdit(title: "Ours")))
        await store.close()
        let again = try fixture.open()
        try await again.distrustDueTimes(now: now)
        #expect(try await again.dueEntry(now: now, sending: Set(OutboxEntry.Kind.allCases)) == nil)
        item.status = "completed"
        try await again.commit(StoreFixture.page([item]), at: 5_001)
        #expect(
            try await again.dueEntry(now: StoreFixture.at(5_002), sending: Set(OutboxEntry.Kind.allCases))?.entry.id
                == 1)
        await again.close()
    }

    /// Each `prsnlctl note` without a daemon opens the file, also where thousands of writes wait in it.
    @Test(arguments: [
        (InFlightWrites.unknownCreations, ["outbox_unsettled"]),
        (InFlightWrites.awaitedItems, ["outbox_unverified", "outbox_awaiting"]),
        (Store.interruptedSends, ["outbox_unsettled", "outbox_item"]),
    ])
    func openingTheFileReadsNoWaitingWrites(sql: String, indexes: [String]) async throws {
        let store = try fixture.open()
        let plan = try await store.read { connection in
            try connection.prepare("EXPLAIN QUERY PLAN " + sql).all { $0.text(3) ?? "" }
        }
        let ways = plan.filter { $0.contains(" outbox") }
        #expect(
            ways.count == indexes.count && zip(ways, indexes).allSatisfy { $0.contains("INDEX \($1)") }, "\(plan)")
        await store.close()
    }

    @Test func oneRefusedDraftLeavesTheOthers() async throws {
        let store = try fixture.open()
        let results = try await store.accept(
            [url(1), .delete(item: "nowhere"), .create(NewItem(url: "https://example.org", tags: ["BAD"])), url(2)],
            now: now)
        #expect(
            results.map { result in
                switch result {
                case .accepted(let write): "#\(write.entry)"
                case .refused(let error): error.code.rawValue
                }
            } == ["#1", "item_unknown", "write_invalid", "#2"])
        #expect(try fixture.query("SELECT waiting FROM sync_state") == "2")
        await store.close()
    }

    @Test func idsMayBeShortenedAsLongAsTheyAreUnique() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1), StoreFixture.item(10), StoreFixture.item(2)]))
        #expect(try await accept(store, .delete(item: "item-2")).itemID == "item-2")
        #expect(
            try await accept(store, .delete(item: "item-1")).itemID == "item-1", "a whole id is one, whatever goes on")
        for (prefix, code) in [("item", ErrorCode.itemAmbiguous), ("", .writeInvalid), ("jtem", .itemUnknown)] {
            #expect(try await errorCode { _ = try await accept(store, .delete(item: prefix)) } == code)
        }
        await store.close()
    }

    @Test func anEditAfterAnEditThatWasNeverSentIsOne() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1, title: "Was")]))
        _ = try await accept(store, .edit(item: "item-1", ItemEdit(title: "First", summary: "S")))
        let second = try await accept(store, .edit(item: "item-1", ItemEdit(title: "Second", tags: ["c"])))
        #expect(second.supersedes == [])
        let task = try #require(try await store.dueEntry(now: now, sending: [.edit]))
        #expect(task.covered == [1, 2])
        #expect(task.entry.payload == .edit(ItemEdit(title: "Second", summary: "S", tags: ["c"])))
        // The base is what the server has, not what the first edit made of it.
        #expect(task.entry.base == ItemEdit(title: "Was", tags: ["a", "b"]))
        #expect(try fixture.query("SELECT title || summary || tags FROM timeline") == #"SecondS["c"]"#)
        // What people asked for stays as they asked for it.
        #expect(
            try await store.outboxEntries([1, 2]).map(\.payload)
                == [
                    .edit(ItemEdit(title: "First", summary: "S")), .edit(ItemEdit(title: "Second", tags: ["c"])),
                ])
        #expect(try await store.beginSending(task, evidence: nil, now: now))
        #expect(try await states(store) == [.sending, .sending])
        try await record(store, 1, .delivered(WriteOutcome.Delivery()))
        #expect(try await states(store) == [.delivered, .delivered])
        #expect(try fixture.query("SELECT title || summary || tags FROM item") == #"SecondS["c"]"#)
        await store.close()
    }

    @Test func anEditBehindOneThatIsBeingSentKeepsItsPlace() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1)]))
        _ = try await accept(store, .edit(item: "item-1", ItemEdit(title: "First")))
        #expect(try await store.beginSending(1, evidence: nil, now: now))
        let second = try await accept(store, .edit(item: "item-1", ItemEdit(title: "Second")))
        #expect(second.behind == 1)
        #expect(try await store.outboxEntries([2])[0].base == ItemEdit(title: "First"))
        #expect(try await store.dueEntry(now: now, sending: Set(OutboxEntry.Kind.allCases)) == nil)
        try await record(store, 1, .delivered(WriteOutcome.Delivery()))
        #expect(try await store.dueEntry(now: now, sending: Set(OutboxEntry.Kind.allCases))?.entry.id == 2)
        #expect(try fixture.query("SELECT title FROM item") == "First")
        #expect(try fixture.query("SELECT title FROM timeline") == "Second")
        await store.close()
    }

    @Test func aDeletionTakesThePlaceOfEditsAndComesOnce() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1)]))
        _ = try await accept(store, .edit(item: "item-1", ItemEdit(title: "First")))
        let deletion = try await accept(store, .delete(item: "item-1"))
        #expect(deletion.supersedes == [1])
        let again = try await accept(store, .delete(item: "item-1"))
        #expect(again.wasQueued && again.entry == 2)
        #expect(
            try await errorCode { _ = try await accept(store, .edit(item: "item-1", ItemEdit(title: "No"))) }
                == .conflict)
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "0")
        try await deliver(store, 2)
        #expect(try fixture.query("SELECT live || ' ' || deleted FROM copy") == "0 1")
        await store.close()
    }

    /// An edit was due, and its item was asked for. A deletion that came meanwhile has its turn.
    @Test func anEditThatIsDeletedMeanwhileIsNotBegun() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1)]))
        _ = try await accept(store, .edit(item: "item-1", ItemEdit(title: "Edited")))
        let edit = try #require(try await store.dueEntry(now: now, sending: [.edit]))
        _ = try await accept(store, .delete(item: "item-1"))
        #expect(try await store.beginSending(edit, evidence: nil, now: now) == false)
        #expect(try await states(store) == [.queued, .queued])
        try await deliver(store, 2)
        #expect(try await states(store) == [.superseded, .delivered])
        await store.close()
    }

    /// What was asked for and never sent is a part of what `restore` makes.
    @Test func aTombstoneIsWhatItsPersonSaw() async throws {
        let store = try fixture.open()
        var item = StoreFixture.item(1)
        (item.title, item.summary, item.tags) = ("Was", "Was, too", #"["a"]"#)
        try await store.commit(StoreFixture.page([item]))
        for edit in [ItemEdit(title: "First"), ItemEdit(title: "Second", tagChange: TagChange(added: ["b"]))] {
            _ = try await accept(store, .edit(item: "item-1", edit))
        }
        _ = try await accept(store, .delete(item: "item-1"))
        try await deliver(store, 3)
        #expect(try fixture.query("SELECT title || summary || tags FROM item") == #"SecondWas, too["a","b"]"#)
        await store.close()
    }

    @Test func aCreationThatWasRefusedCanBeMendedOrDeleted() async throws {
        let store = try fixture.open()
        let made = try await accept(store, url(1))
        #expect(try await store.beginSending(1, evidence: nil, now: now))
        try await record(store, 1, .parked(.rejected), error: UserFacingError(.invalidInput, "no"))
        let mended = try await accept(store, .edit(item: made.itemID, ItemEdit(title: "Better")))
        #expect(mended.kind == .edit && mended.behind == 1)
        let task = try #require(try await store.dueEntry(now: now, sending: [.capture]))
        #expect(task.entry.payload == .create(NewItem(url: "https://example.org/1", title: "Better")))
        #expect(try await accept(store, .delete(item: made.itemID)).state == .superseded)
        #expect(try fixture.query("SELECT waiting || ' ' || parked FROM copy") == "0 0")
        await store.close()
    }

    @Test func bindingMovesEverythingBehindACreationToTheServersID() async throws {
        let store = try fixture.open()
        let made = try await accept(store, url(1))
        _ = try await accept(store, .edit(item: made.itemID, ItemEdit(summary: "S")))
        try await deliver(store, 1, as: "server-1")
        #expect(try await store.outboxEntries([1, 2]).map(\.itemID) == ["server-1", "server-1"])
        #expect(try fixture.query("SELECT id || summary || pending FROM timeline") == "server-1Screation")
        // The server's row takes the local one's place, and the edit goes on lying over it.
        var item = TimelineItem(id: "server-1", createdAt: StoreFixture.at(10))
        item.title = "From the server"
        try await store.commit(StoreFixture.page([item]))
        #expect(try fixture.query("SELECT title || summary || pending FROM timeline") == "From the serverSedit")
        #expect(try fixture.query("SELECT count(*) FROM local_item") == "0")
        await store.close()
    }

    @Test func aPullThatWasFasterThanTheAnswerIsMergedWithIt() async throws {
        let store = try fixture.open()
        _ = try await accept(store, url(1))
        #expect(try await store.beginSending(1, evidence: nil, now: now))
        var item = TimelineItem(id: "server-1", createdAt: StoreFixture.at(10))
        item.url = "https://example.org/1"
        try await store.commit(StoreFixture.page([item, StoreFixture.item(3)]))
        #expect(try fixture.query("SELECT count(*) FROM timeline WHERE url = 'https://example.org/1'") == "1")
        #expect(try fixture.query("SELECT pending FROM timeline WHERE url IS NOT NULL") == "creation")
        try await record(store, 1, .delivered(WriteOutcome.Delivery(serverID: "server-1")))
        #expect(try fixture.query("SELECT id FROM timeline WHERE url = 'https://example.org/1'") == "server-1")
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "2")
        #expect(try fixture.query("SELECT count(*) FROM held_item") == "0")
        await store.close()
    }

    /// Two captures of one URL are under way, and the first made the item: the second does not hide it.
    @Test(arguments: [false, true])
    func whatOneCaptureMadeIsNotHiddenForAnother(_ isPulledFirst: Bool) async throws {
        let store = try fixture.open()
        var item = TimelineItem(id: "server-1", createdAt: StoreFixture.at(10))
        item.url = "https://example.org/1"
        for entry in [1, 2] as [Int64] {
            _ = try await accept(store, url(1))
            #expect(try await store.beginSending(entry, evidence: nil, now: now))
        }
        let reader = try StoreReader(path: fixture.path)
        if isPulledFirst {
            try await store.commit(StoreFixture.page([item]))
            #expect(throws: UserFacingError.self) { try reader.item("server-1") }
        }
        try await record(store, 1, .delivered(WriteOutcome.Delivery(serverID: "server-1")))
        try await store.commit(StoreFixture.page([item]))
        #expect(try reader.item("server-1").item.id == "server-1")
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "2")
        await store.close()
    }

    /// It is the other capture's as far as anybody knows, and so `show` says why it is not there.
    @Test func showSaysWhyAnItemIsHidden() async throws {
        let store = try fixture.open()
        _ = try await accept(store, url(1))
        #expect(try await store.beginSending(1, evidence: nil, now: now))
        var item = TimelineItem(id: "server-1", createdAt: StoreFixture.at(10))
        item.url = "https://example.org/1"
        try await store.commit(StoreFixture.page([item, StoreFixture.item(2)]))
        _ = try await accept(store, .delete(item: StoreFixture.item(2).id))
        // Whether the creation would be sent again after it would depend on which comes first.
        #expect(try await errorCode { _ = try await accept(store, .delete(item: "server-1")) } == .conflict)
        let reader = try StoreReader(path: fixture.path)
        for (id, reason) in [
            ("server-1", "#1 may have made it, and its outcome is not known yet"),
            (StoreFixture.item(2).id, "it waits to be deleted"),
        ] {
            let error = thrown(UserFacingError.self) { try reader.item(id) }
            #expect(error?.message == "The item \(id) is hidden: \(reason).")
        }
        await store.close()
    }

    @Test func aPageFromBeforeAWriteDoesNotUndoIt() async throws {
        let store = try fixture.open()
        try await store.commit(
            StoreFixture.page([StoreFixture.item(1, title: "Old"), StoreFixture.item(2), StoreFixture.item(3)]))
        await store.beginPull()
        let asOf = await store.deliveries
        _ = try await accept(store, .edit(item: "item-1", ItemEdit(title: "New")))
        _ = try await accept(store, .delete(item: "item-2"))
        try await deliver(store, 1)
        try await deliver(store, 2)
        var stale = StoreFixture.page(
            [StoreFixture.item(1, title: "Old"), StoreFixture.item(2), StoreFixture.item(3, title: "Changed")])
        stale.asOf = asOf
        try await store.commit(stale)
        #expect(
            try fixture.query("SELECT group_concat(title) FROM (SELECT title FROM timeline ORDER BY id)")
                == "New,Changed")
        // Asked for afterwards, it counts.
        var fresh = stale
        fresh.asOf = await store.deliveries
        try await store.commit(fresh)
        #expect(try fixture.query("SELECT title FROM timeline WHERE id = 'item-1'") == "Old")
        await store.endPull()
        await store.close()
    }

    /// The page counts as read: what others have changed must not be passed over with the edit.
    @Test func aPageFromBeforeAnEditBringsTheOtherFields() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1, title: "Old")]))
        await store.beginPull()
        let asOf = await store.deliveries
        _ = try await accept(store, .edit(item: "item-1", ItemEdit(title: "New")))
        try await deliver(store, 1)
        var item = StoreFixture.item(1, title: "Old")
        item.summary = "Changed elsewhere"
        var stale = StoreFixture.page([item])
        stale.asOf = asOf
        try await store.commit(stale)
        #expect(try fixture.query("SELECT title || ', ' || summary FROM timeline") == "New, Changed elsewhere")
        await store.endPull()
        await store.close()
    }

    /// However the page and the answer to the creation overtake each other.
    @Test(arguments: [true, false])
    func aPageThatShowsACreationIsAsNewAsTheAnswerToIt(pageComesFirst: Bool) async throws {
        let store = try fixture.open()
        await store.beginPull()
        let asOf = await store.deliveries
        _ = try await accept(store, url(1))
        #expect(try await store.beginSending(1, evidence: nil, now: now))
        var made = StoreFixture.item(7, title: "As it was sent")
        made.url = "https://example.org/1"
        made.status = "pending"
        var processed = made
        processed.title = "The page's title"
        processed.status = "completed"
        var page = StoreFixture.page([processed])
        page.asOf = asOf
        var delivery = WriteOutcome.Delivery(serverID: made.id)
        delivery.item = made
        if pageComesFirst { try await store.commit(page) }
        try await record(store, 1, .delivered(delivery))
        if !pageComesFirst { try await store.commit(page) }
        #expect(try fixture.query("SELECT title || ', ' || status FROM item") == "The page's title, completed")
        await store.endPull()
        await store.close()
    }

    @Test func whatWasBeingSentIsUnknownAtTheNextStart() async throws {
        var store = try fixture.open()
        _ = try await accept(store, url(1))
        _ = try await accept(store, url(2))
        #expect(try await store.beginSending(1, evidence: nil, now: now))
        await store.close()
        store = try fixture.open()
        #expect(try await states(store) == [.unknown, .queued])
        #expect(try fixture.query("SELECT waiting || ' ' || unknown FROM copy") == "2 1")
        let due = try await store.dueEntry(now: now, sending: Set(OutboxEntry.Kind.allCases))
        #expect(due?.entry.id == 1 && due?.maybeApplied == true)
        await store.close()
    }

    /// "The server has it" was said of an earlier send. A kill during this one must not leave it for this one's answer.
    @Test func whatAnEarlierSendWasToldIsForgottenWhenItIsSentAgain() async throws {
        let store = try fixture.open()
        _ = try await accept(store, url(1))
        #expect(try await store.beginSending(1, evidence: nil, now: now))
        try await record(
            store, 1, .queued(.notApplied()), dueAt: now, error: UserFacingError(.conflict, "It is there."))
        #expect(try fixture.query("SELECT error_code FROM outbox") == "conflict")
        #expect(try await store.beginSending(1, evidence: nil, now: now))
        #expect(try fixture.query("SELECT count(error_code) || count(error_message) FROM outbox") == "00")
        await store.close()
    }

    @Test func aDeletionTakesThePlaceOfAParkedEditUnderAnotherIDOfTheItem() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1)]))
        let made = try await accept(store, .create(NewItem(note: "Same words")))
        #expect(try await store.beginSending(made.entry, evidence: nil, now: now))
        try await record(store, made.entry, .unknown(.maybeApplied), dueAt: now)
        _ = try await accept(store, .edit(item: "item-1", ItemEdit(title: "New")))
        #expect(try await store.beginSending(2, evidence: nil, now: now))
        try await record(store, 2, .parked(.rejected), error: UserFacingError(.invalidInput, "no"))
        _ = try await accept(store, .delete(item: made.itemID))
        try await store.record(
            made.entry, .delivered(WriteOutcome.Delivery(serverID: "item-1")), purpose: .lookup, now: now)
        #expect(try await states(store) == [.delivered, .parked, .queued])
        #expect(try await store.dueEntry(now: now, sending: [.delete])?.entry.id == 3)
        #expect(try await store.beginSending(3, evidence: nil, now: now))
        try await record(store, 3, .delivered(WriteOutcome.Delivery()))
        #expect(try await states(store) == [.delivered, .superseded, .delivered])
        await store.close()
    }

    @Test func aTwinOfAnUnknownCreationWaitsForIt() async throws {
        let store = try fixture.open()
        _ = try await store.accept(
            [.create(NewItem(note: "Same words")), .create(NewItem(note: "Same words "))], now: now)
        #expect(try await store.beginSending(1, evidence: nil, now: now))
        try await record(store, 1, .unknown(.maybeApplied), dueAt: StoreFixture.at(9_000))
        let all = Set(OutboxEntry.Kind.allCases)
        #expect(try await store.dueEntry(now: now, sending: all) == nil)
        #expect(try await store.dueEntry(now: StoreFixture.at(9_000), sending: all)?.entry.id == 1)
        #expect(try await store.outboxEntries([2]).first?.behind == 1)
        await store.close()
    }

    @Test func retryingTouchesWhatWaitsAndSaysWhyNotTheRest() async throws {
        let store = try fixture.open()
        for number in 1...5 { _ = try await accept(store, url(number)) }
        let later = StoreFixture.at(90_000)
        for id: Int64 in [1, 2] {
            #expect(try await store.beginSending(id, evidence: nil, now: now))
            try await record(store, id, .queued(.notApplied()), dueAt: later)
        }
        #expect(try await store.beginSending(3, evidence: nil, now: now))
        #expect(try await store.beginSending(4, evidence: nil, now: now))
        try await record(store, 4, .parked(.rejected), error: UserFacingError(.invalidInput, "no"))
        let asked = now.advanced(by: .seconds(60))
        var outcome = try await store.retry(nil, parked: false, dryRun: true, now: asked)
        #expect(outcome.touchedEntries == [1, 2])
        outcome = try await store.retry(nil, parked: false, dryRun: false, now: asked)
        #expect(outcome.touched == 2)
        #expect(outcome.skippedByReason == ["being_sent": 1, "parked": 1, "already_due": 1])
        #expect(try await store.retry(nil, parked: false, dryRun: false, now: asked).touched == 0)
        #expect(try await store.retry([4], parked: false, dryRun: false, now: asked).touched == 1)
        #expect(try await states(store) == [.queued, .queued, .sending, .queued, .queued])
        #expect(
            try await errorCode { _ = try await store.retry([99], parked: false, dryRun: false, now: asked) }
                == .entryUnknown)
        await store.close()
    }

    @Test func whoeverAsksAgainAndAgainIsNotHeard() async throws {
        let store = try fixture.open()
        _ = try await accept(store, url(1))
        #expect(try await store.beginSending(1, evidence: nil, now: now))
        try await record(store, 1, .queued(.notApplied()), dueAt: StoreFixture.at(90_000))
        let soon = now.advanced(by: .seconds(9))
        #expect(
            try await store.retry(nil, parked: false, dryRun: false, now: soon).skippedByReason == ["tried_just_now": 1]
        )
        await store.close()
    }

    @Test func aCreationIsDroppedWithWhatWaitsBehindItOrNotAtAll() async throws {
        let store = try fixture.open()
        let made = try await accept(store, url(1))
        _ = try await accept(store, .edit(item: made.itemID, ItemEdit(summary: "S")))
        _ = try await accept(store, url(2))
        var outcome = try await store.drop([1], withDependents: false, dryRun: false, now: now)
        #expect(outcome.dropped == [] && outcome.dependents == [2])
        outcome = try await store.drop([1], withDependents: true, dryRun: false, now: now)
        #expect(outcome.dropped == [1, 2])
        #expect(try fixture.query("SELECT group_concat(url) FROM timeline") == "https://example.org/2")
        #expect(
            try await errorCode { _ = try await store.drop([3, 1], withDependents: true, dryRun: false, now: now) }
                == .entryNotChangeable)
        #expect(try await states(store) == [.dropped, .dropped, .queued])
        #expect(try fixture.query("SELECT waiting FROM copy") == "1")
        await store.close()
    }

    @Test func aMoveFromAnotherStateIsRefusedAndChangesNothing() async throws {
        let store = try fixture.open()
        _ = try await accept(store, url(1))
        var task = try #require(try await store.task(1))
        #expect(try await store.beginSending(task, evidence: nil, now: now))
        #expect(try await !store.beginSending(task, evidence: nil, now: now))
        task.entry.state = .sending
        let attempt = OutboxAttempt(.send, startedAt: now)
        _ = try await store.record(
            [WriteRecord(task, outcome: .queued(.notApplied()), dueAt: now, attempt: attempt)], now: now)
        let delivered = WriteRecord(task, outcome: .delivered(WriteOutcome.Delivery()), attempt: attempt)
        #expect(try await errorCode { _ = try await store.record([delivered], now: now) } == .storeBug)
        #expect(try await states(store) == [.queued])
        await store.close()
    }

    @Test func aPersonIsFasterThanALook() async throws {
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1)]))
        _ = try await accept(store, .edit(item: "item-1", ItemEdit(title: "No")))
        let task = try #require(try await store.task(1))
        _ = try await store.drop([1], withDependents: false, dryRun: false, now: now)
        let attempt = OutboxAttempt(.lookup, startedAt: now)
        _ = try await store.record([WriteRecord(task, outcome: .parked(.rejected), attempt: attempt)], now: now)
        #expect(try await states(store) == [.dropped])
        #expect(try fixture.query("SELECT parked FROM copy") == "0")
        await store.close()
    }

    @Test func whatIsOverIsRemovedWithItsAttempts() async throws {
        let store = try fixture.open()
        _ = try await accept(store, url(1))
        _ = try await accept(store, url(2))
        try await deliver(store, 1, as: "server-1")
        try await store.purgeOutbox(endedBefore: now)
        #expect(try await states(store).count == 2)
        try await store.purgeOutbox(endedBefore: now.next)
        #expect(try await states(store) == [.queued])
        #expect(try fixture.query("SELECT count(*) FROM outbox_attempt") == "0")
        // Numbers are never used again.
        #expect(try await accept(store, url(3)).entry == 3)
        await store.close()
    }

    @Test func ageCountsOnlyWhileTheServerCanBeReached() async throws {
        let store = try fixture.open()
        await store.noteReachable(.seconds(100))
        _ = try await accept(store, url(1))
        await store.noteReachable(.seconds(50))
        try await store.saveReachable()
        #expect(try await store.outboxEntries([1])[0].reachableAge == .seconds(50))
        await store.close()
    }

    @Test func aShortOwnerOfAFileThatWasNotClosedDoesNotCallItSound() async throws {
        let store = try fixture.open()
        _ = try await accept(store, url(1))
        await store.close()
        let killed = try Connection(path: fixture.path, mode: .readWrite)
        try killed.execute("UPDATE copy SET stopped_cleanly = 0")
        let visitor = try fixture.open()
        _ = try await accept(visitor, url(2))
        await visitor.close()
        let next = try fixture.open()
        #expect(next.wasStoppedUncleanly)
        await next.noteSound()
        await next.close()
        let last = try fixture.open()
        #expect(!last.wasStoppedUncleanly)
        await last.close()
    }
}
