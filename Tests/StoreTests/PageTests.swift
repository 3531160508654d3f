import PRSNLCore
import TestSupport
import Testing

@testable import Store

@Suite struct PageTests {
    let fixture = StoreFixture()
    typealias Fixture = StoreFixture

    @Test func nothingMoreIsPulledIntoADatabaseThatIsTooLarge() async throws {
        let store = try Store(path: fixture.path, largestSize: 600_000)
        let items = (0..<2_000).map { StoreFixture.item($0, title: String(repeating: "long ", count: 100)) }
        try await store.commit(StoreFixture.page(items))
        do throws(UserFacingError) {
            try await store.commit(StoreFixture.page([StoreFixture.item(2_001)]))
            Issue.record("it was written")
        } catch {
            #expect(error.code == .diskFull && error.message.hasSuffix("more than max_database_size."), "\(error)")
        }
        // What people write finds a place.
        _ = try await store.accept([.create(NewItem(note: "Words"))], now: StoreFixture.at(1))
        #expect(try fixture.query("SELECT waiting FROM copy") == "1")
        await store.close()
    }

    @Test func brokenItemsAreKeptUpToANumber() async throws {
        let store = try fixture.open()
        let broken = (0..<1_500).map { RejectedItem(id: "broken-\($0)", raw: "{\($0)}", reason: "createdAt: missing") }
        try await store.commit(PageChange(items: [StoreFixture.item(1)], rejected: broken))
        #expect(try fixture.query("SELECT count(*) FROM rejected_item") == "1000")
        // The next poll finds nothing new in them.
        #expect(try await store.novelty(of: [PageChange(items: [StoreFixture.item(1)], rejected: broken)]) == .repeats)
        await store.close()
    }

    @Test func aPageAndItsCoverageCommitTogether() async throws {
        let store = try fixture.open()
        let counts = try await store.commit(Fixture.page([Fixture.item(2), Fixture.item(1)]))
        #expect(counts.added == 2)
        await store.close()
        let again = try fixture.open()
        #expect(await again.coverage.intervals.map(\.to) == [Fixture.at(2)])
        #expect(try fixture.query("SELECT group_concat(title) FROM timeline") == "Item 2,Item 1")
        await again.close()
    }

    @Test func aPageThatRepeatsTheCopyWritesNothing() async throws {
        let store = try fixture.open()
        let page = Fixture.page([Fixture.item(2), Fixture.item(1)])
        try await store.commit(page)
        #expect(try await store.novelty(of: [page]) == .repeats)
        let before = try await store.totalChanges()
        var later = page
        later.coverage?.readAt = Fixture.at(2_000)
        #expect(try await store.novelty(of: [later]) == .repeats)
        await store.noteUnchanged([later])
        #expect(try await store.totalChanges() == before)
        await store.close()
    }

    @Test func committingTheSamePageAgainChangesNoItem() async throws {
        let store = try fixture.open()
        let page = Fixture.page([Fixture.item(2), Fixture.item(1)])
        try await store.commit(page)
        #expect(try await !store.commit(page).hasChanges)
        await store.close()
    }

    static let fields = ItemColumn.all.map(\.name).filter { $0 != "id" }

    @Test(arguments: fields)
    func eachFieldIsComparedAndWritten(_ column: String) async throws {
        let store = try fixture.open()
        let page = Fixture.page([Fixture.item(1)])
        try await store.commit(page)
        let before = try fixture.query("SELECT \(column) FROM item")
        try await store.write { connection in
            try connection.execute("UPDATE item SET \(column) = 7")
        }
        #expect(try await store.novelty(of: [page]) == .news)
        #expect(try await store.commit(page).changed == 1)
        #expect(try fixture.query("SELECT \(column) FROM item") == before, "not said is NULL")
        #expect(try await store.novelty(of: [page]) == .repeats)
        await store.close()
    }

    @Test func itemsOfOneTimeMayComeInAnyOrder() async throws {
        let store = try fixture.open()
        let items = (1...3).map { number in
            var item = Fixture.item(number)
            item.createdAt = Fixture.at(1)
            return item
        }
        try await store.commit(Fixture.page(items))
        #expect(try await store.novelty(of: [Fixture.page(items.reversed())]) == .repeats)
        #expect(try await store.novelty(of: [Fixture.page([items[1], items[2], items[0]])]) == .repeats)
        #expect(try await store.novelty(of: [Fixture.page([items[1], items[2]])]) == .news, "one is missing")
        await store.close()
    }

    @Test func ofAnItemThatCameTwiceInAGroupTheLaterOneIsKept() async throws {
        let store = try fixture.open()
        var pages = [3, 2, 1].map { Fixture.page([Fixture.item(1), Fixture.item($0 + 5)]) }
        for number in pages.indices { pages[number].items[0].title = "Title \(number)" }
        let record = try await store.commit(
            pages, now: Fixture.at(9), record: PullRecord(kind: .head, startedAt: Fixture.at(9)))
        #expect(record.added == 4)
        #expect(try fixture.query("SELECT title FROM item WHERE id = 'item-1'") == "Title 2")
        await store.close()
    }

    @Test func anEmptyPageProvesNothing() async throws {
        let store = try fixture.open()
        #expect(try await store.novelty(of: [PageChange(items: [])]) == .unproven)
        await store.close()
    }

    @Test func whatThePageLacksIsSuspectedAndNotDeleted() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page((1...5).map { Fixture.item($0) }))
        let page = Fixture.page([1, 2, 4, 5].map { Fixture.item($0) })
        #expect(try await store.novelty(of: [page]) == .news)
        #expect(try await store.commit(page).suspects == 1)
        #expect(try await store.novelty(of: [page]) == .repeats, "suspected once")
        #expect(try fixture.query("SELECT group_concat(id) FROM item WHERE missing_since IS NOT NULL") == "item-3")
        #expect(try fixture.query("SELECT count(*) FROM timeline") == "5")
        #expect(try await store.deletionCandidates(foundBefore: .latest) == [], "no sweep was complete yet")
        // It comes back.
        #expect(try await store.commit(Fixture.page((1...5).map { Fixture.item($0) })).changed == 1)
        #expect(try fixture.query("SELECT count(*) FROM item WHERE missing_since IS NOT NULL") == "0")
        await store.close()
    }

    @Test func whatLiesOutsideThePageIsNotSuspected() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page((1...5).map { Fixture.item($0) }))
        #expect(try await !store.commit(Fixture.page([2, 3].map { Fixture.item($0) })).hasChanges)
        await store.close()
    }

    @Test func aPageWithAnUnreadableIdSuspectsNoItem() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page((1...3).map { Fixture.item($0) }))
        var page = Fixture.page([1, 3].map { Fixture.item($0) })
        page.rejected = [RejectedItem(id: nil, raw: "{", reason: "no id")]
        let counts = try await store.commit(page)
        #expect(counts.suspects == 0)
        #expect(counts.rejected == 1)
        await store.close()
    }

    @Test func aRejectedItemIsKeptOnceAndForgottenWhenItHeals() async throws {
        let store = try fixture.open()
        var page = Fixture.page([Fixture.item(1)])
        page.rejected = [RejectedItem(id: "item-2", raw: #"{"id":"item-2"}"#, reason: "createdAt is missing")]
        #expect(try await store.commit(page).rejected == 1)
        #expect(try await store.novelty(of: [page]) == .repeats)
        #expect(try fixture.query("SELECT raw FROM rejected_item") == #"{"id":"item-2"}"#)
        try await store.commit(Fixture.page([Fixture.item(2)]))
        #expect(try fixture.query("SELECT count(*) FROM rejected_item") == "0")
        await store.close()
    }

    @Test func buriedItemsComeBackWhenTheServerShowsThemAgain() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page((1...3).map { Fixture.item($0) }))
        try await store.commit(Fixture.page([1, 3].map { Fixture.item($0) }))
        try await store.finishSweep(at: Fixture.at(3_000))
        #expect(try await store.deletionCandidates(foundBefore: .latest) == ["item-2"])
        let record = try await store.deleteMissing(
            ["item-2"], at: Fixture.at(3_001), record: PullRecord(kind: .check, startedAt: Fixture.at(3_000)))
        #expect(record.deleted == 1)
        #expect(try fixture.query("SELECT live || ' ' || deleted FROM copy") == "2 1")
        #expect(try await store.commit(Fixture.page((1...3).map { Fixture.item($0) })).changed == 1)
        #expect(try fixture.query("SELECT live || ' ' || deleted FROM copy") == "3 0")
        await store.close()
    }

    @Test func aSuspectThatIsFoundTwiceIsNoneAnyMore() async throws {
        let store = try fixture.open()
        try await store.commit(Fixture.page((1...3).map { Fixture.item($0) }))
        try await store.commit(Fixture.page([1, 3].map { Fixture.item($0) }))
        try await store.finishSweep(at: Fixture.at(3_000))
        try await store.noteFound("item-2", at: Fixture.at(3_001), cacheTime: .seconds(2_100))
        #expect(try await store.deletionCandidates(foundBefore: Fixture.at(3_000)) == [], "asked again later")
        #expect(try await store.deletionCandidates(foundBefore: Fixture.at(3_001)) == ["item-2"])
        try await store.noteFound("item-2", at: Fixture.at(6_000), cacheTime: .seconds(2_100))
        #expect(try await store.deletionCandidates(foundBefore: .latest) == [])
        await store.close()
    }

    @Test func aCrowdedInstantIsRememberedUntilAPageReadsItWhole() async throws {
        let store = try fixture.open()
        var page = Fixture.page([Fixture.item(1)])
        page.proven = nil
        page.collision = TimestampCollision(at: Fixture.at(1), seen: 1)
        #expect(try await store.novelty(of: [page]) == .news)
        try await store.commit(page)
        #expect(try await store.novelty(of: [page]) == .repeats)
        #expect(try await store.timestampCollisions() == [Fixture.at(1)])
        #expect(try StoreReader(path: fixture.path).summary().copy.complete == false)
        try await store.commit(Fixture.page([Fixture.item(1)]))
        #expect(try await store.timestampCollisions() == [])
        await store.close()
    }

    /// Counters against counting, over random pages of a small world.
    @Test func countersAgreeWithCountingAfterRandomPages() async throws {
        var random = SeededRandom()
        let store = try fixture.open()
        for round in 1...200 {
            let from = Int.random(in: 1...30, using: &random)
            let to = Int.random(in: from...30, using: &random)
            let items = (from...to).filter { _ in Bool.random(using: &random) }
                .map { Fixture.item($0, title: "Title \(Int.random(in: 0..<3, using: &random))") }
            var page = Fixture.page(items)
            page.proven = Fixture.at(from)...Fixture.at(to)
            try await store.commit(page)
            if round.isMultiple(of: 5) {
                try await store.finishSweep(at: Fixture.at(1_000 + round))
                let suspects = try await store.deletionCandidates(foundBefore: .latest)
                _ = try await store.deleteMissing(
                    Array(suspects.prefix(3)), at: Fixture.at(1_000 + round),
                    record: PullRecord(kind: .check, startedAt: Fixture.at(1)))
            }
            #expect(
                try fixture.query("SELECT live || ' ' || deleted FROM copy")
                    == fixture.query("SELECT (count(*) - count(deleted_at)) || ' ' || count(deleted_at) FROM item"))
        }
        #expect(try fixture.query("SELECT count(*) FROM pull WHERE kind = 'head'") == "100", "the last hundred")
        await store.close()
    }
}

extension Store {
    func totalChanges() throws(UserFacingError) -> Int64 {
        try read { connection in connection.totalChanges }
    }
}
