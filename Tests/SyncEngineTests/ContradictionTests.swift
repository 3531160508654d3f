import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// Pages of dialect C that contradict the API, or what the server has said before: they prove nothing.
@Suite struct ContradictionTests {
    @Test(arguments: PageLie.malformed, [0, 4])
    func aPageThatContradictsItselfIsAskedForAgainAndThenRefused(_ lie: PageLie, skip: Int) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_500))
        let script = fixture.server.script(.lie(lie), on: .timeline, times: .max, skip: skip + 1)
        let result = try await fixture.pull()
        #expect(!result.isComplete)
        #expect(result.problem?.code == .pageContradictory)
        #expect(script.appliedCount >= 2)
        #expect(try fixture.query("SELECT complete FROM sync_state") == "0")
        #expect(try fixture.query("SELECT new_as_of FROM sync_state") == nil)
        script.remove()
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
    }

    @Test(arguments: PageLie.allCases)
    func oneContradictoryPageCostsOneMoreRequest(_ lie: PageLie) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_500))
        fixture.server.script(.lie(lie), on: .timeline, times: 1, skip: 5)
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
    }

    @Test(arguments: PageLie.wellFormed)
    func aPageThatLacksWhatTheOneBeforeItEndedWithIsRefused(_ lie: PageLie) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_500))
        let script = fixture.server.script(.lie(lie), on: .timeline, times: .max, skip: 4)
        let result = try await fixture.pull()
        #expect(result.problem?.code == .pageContradictory)
        #expect(try fixture.query("SELECT complete FROM sync_state") == "0")
        script.remove()
        #expect(try await fixture.pull().isComplete)
        try fixture.expectExact()
    }

    @Test(arguments: PageLie.allCases)
    func aContradictionDuringASweepSuspectsNothing(_ lie: PageLie) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 1_500))
        try await fixture.pull()
        let editsAsOf = try fixture.query("SELECT edits_as_of FROM sync_state")
        fixture.time.advance(by: .seconds(3_600))
        let script = fixture.server.script(.lie(lie), on: .timeline, times: .max)
        let result = try await fixture.pull(full: true)
        #expect(result.problem != nil)
        // A page from the top that lacks the newest items looks like any other: they are asked for one by one.
        if lie != .beginsTooLow {
            #expect(try fixture.query("SELECT count(*) FROM item WHERE missing_since IS NOT NULL") == "0")
        }
        #expect(try fixture.query("SELECT count(*) FROM item WHERE deleted_at IS NOT NULL") == "0")
        #expect(try fixture.query("SELECT edits_as_of FROM sync_state") == editsAsOf)
        script.remove()
        #expect(try await fixture.pull(full: true).isComplete)
        try fixture.expectExact()
    }

    @Test(arguments: PageLie.wellFormed)
    func aPollThatSharesNothingWithTheCopyIsRefused(_ lie: PageLie) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 90))
        try await fixture.pull(credentials: Credentials.none, anonymous: true)
        fixture.time.advance(by: .seconds(3_600))
        let script = fixture.server.script(.lie(lie), on: .timeline, times: .max)
        let result = try await fixture.pull(credentials: Credentials.none, anonymous: true)
        if lie == .emptyEnd { #expect(result.problem?.code == .pageContradictory) }
        script.remove()
        #expect(try await fixture.pull(credentials: Credentials.none, anonymous: true).isComplete)
        try fixture.expectExact()
    }

    @Test func aBoundaryItemThatWasDeletedMeanwhileStopsNothing() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 700))
        let server = fixture.server
        let boundary = server.items()[199]
        // Just before the page that has to begin with it.
        server.script(.perform { server.delete(boundary.id) }, on: .timeline, skip: 3)
        _ = try await fixture.pull()
        #expect(try await fixture.pull(full: true).isComplete)
        try fixture.expectExact()
    }

    @Test(arguments: [1, 30])
    func boundaryItemsThatAreBeingProcessedStopNothing(_ count: Int) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 700))
        let server = fixture.server
        let hidden = server.items()[(200 - count)..<200].map(\.id)
        server.script(.perform { for id in hidden { server.hide(id) } }, on: .timeline, skip: 3)
        let result = try await fixture.pull()
        #expect(result.isComplete, "\(String(describing: result.problem))")
        for id in hidden { server.show(id) }
        #expect(try await fixture.pull(full: true).isComplete)
        try fixture.expectExact()
    }

    @Test func aPageThatEndsWithAnUnreadableItemGoesOnBelowIt() async throws {
        for unreadable in [99...99, 90...99, 90...110, 100...100] {
            let fixture = try PullFixture(items: DevItem.generate(count: 400))
            for index in unreadable {
                var broken = fixture.server.items()[index]
                broken.rawJSON = #"{"id":"\#(broken.id)","createdAt":"yesterday"}"#
                fixture.server.add(broken)
            }
            let result = try await fixture.pull()
            #expect(result.problem?.code == .itemsRejected)
            #expect(try fixture.query("SELECT count(*) FROM timeline") == "\(400 - unreadable.count)")
            #expect(try fixture.query("SELECT count(*) FROM coverage") == "1")
        }
    }

    @Test func anAnswerOutOfACacheProvesNothing() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 90))
        try await fixture.pull()
        let newAsOf = try fixture.query("SELECT new_as_of FROM sync_state")
        fixture.time.advance(by: .seconds(3_600))
        let script = fixture.server.script(.aged(.seconds(60)), on: .timeline, times: .max)
        #expect(try await fixture.pull().problem?.code == .staleAnswer)
        #expect(try fixture.query("SELECT new_as_of FROM sync_state") == newAsOf)
        script.remove()
        fixture.server.script(.aged(.zero), on: .timeline)
        #expect(try await fixture.pull().isComplete)
    }

    @Test func aListThatWasEmptiedOnTheServerIsStillBelieved() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 90))
        try await fixture.pull()
        fixture.server.deleteAll()
        fixture.time.advance(by: .seconds(3_600))
        #expect(try await fixture.pull(full: true).problem?.code == .deletionsHeld)
    }
}

/// Items whose time lies in the future, or at the end of all times.
@Suite struct FutureItemTests {
    @Test(arguments: [1, 99, 100, 221, 350], [1, 7])
    func newItemsBelowAPageFullOfFutureItemsAreFound(_ count: Int, tieGroup: Int) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 150))
        let future = fixture.time.now.advanced(by: .seconds(86_400 * 365))
        fixture.server.add(DevItem.generate(count: count, seed: 5, tieGroup: tieGroup, start: future))
        #expect(try await fixture.pull().isComplete)
        let newest = try #require(try fixture.query("SELECT max(to_time) FROM coverage"))
        #expect(newest <= fixture.time.now.description)
        fixture.time.advance(by: .seconds(3_600))
        fixture.server.addNew(count: 300)
        #expect(try await fixture.pull().added == 300)
        try fixture.expectExact()
    }

    @Test func aCrowdedInstantInTheFutureCoversNothingBelowIt() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 150))
        let future = fixture.time.now.advanced(by: .seconds(86_400 * 365))
        fixture.server.add(DevItem.generate(count: 150, seed: 5, tieGroup: 150, start: future))
        #expect(try await fixture.pull().problem?.code == .crowdedInstant)
        let newest = try #require(try fixture.query("SELECT max(to_time) FROM coverage"))
        #expect(newest <= fixture.time.now.description)
        fixture.time.advance(by: .seconds(3_600))
        fixture.server.addNew(count: 300)
        #expect(try await fixture.pull().added == 300)
    }

    @Test(arguments: [7, 99, 100, 150])
    func itemsAtTheLastInstantOfTimeAreReadOrNamed(_ count: Int) async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 150))
        fixture.server.add(
            DevItem.generate(count: count, seed: 5, tieGroup: count).map { item in
                var item = item
                item.createdAt = .latest
                return item
            })
        let result = try await fixture.pull()
        let copied = try fixture.copy().count
        if count < 100 { #expect(copied == 150 + count) }
        #expect(result.isComplete == (copied == 150 + count) || count == 100)
        #expect(result.isComplete || result.problem?.code == .crowdedInstant)
        fixture.time.advance(by: .seconds(3_600))
        fixture.server.addNew(count: 30)
        #expect(try await fixture.pull().added == 30)
    }
}
