import PRSNLClient
import PRSNLCore
import Store
import TestSupport
import Testing

@testable import SyncEngine

@Suite struct CursorPlanTests {
    private func at(_ number: Int) -> Timestamp { Timestamp(microseconds: Int64(number)) }

    private func page(_ times: [Int], more: Bool) -> TimelinePage {
        var page = TimelinePage()
        page.items = times.enumerated().map { TimelineItem(id: "\($0)-\($1)", createdAt: at($1)) }
        page.count = times.count
        page.lastCreatedAt = times.last.map(at)
        page.nextCursor = more ? times.last.map(at) : nil
        return page
    }

    private func plan(limit: Int = 3, top: Int? = nil, bottom: Int = -1_000) -> CursorPlan {
        CursorPlan(top: top.map(at), bottom: at(bottom), readAt: at(9_999), limit: limit)
    }

    @Test func aFullPageProvesWhatLiesAboveItsLastTimestamp() throws {
        var plan = plan()
        let (change, next) = try plan.take(page([9, 8, 7], more: true))
        #expect(change.proven == at(8)...(.latest))
        #expect(change.coverage == Coverage.Interval(from: at(8), to: at(9), readAt: at(9_999)))
        #expect(change.items.count == 3, "also the last one, which proves nothing")
        #expect(next == .request(CursorPlan.Request(before: at(8), limit: 3)))
    }

    @Test func theLastPageProvesEverythingBelow() throws {
        var plan = plan(top: 9)
        let (change, next) = try plan.take(page([9, 8], more: false))
        #expect(change.proven == .earliest...at(9))
        #expect(change.coverage?.from == .earliest)
        #expect(next == .finished)
    }

    @Test func anEmptyTimelineIsCoveredAtItsBottom() throws {
        var plan = plan()
        let (change, next) = try plan.take(page([], more: false))
        #expect(change.coverage == Coverage.Interval(from: .earliest, to: .earliest, readAt: at(9_999)))
        #expect(next == .finished)
    }

    @Test func itStopsAtTheBottomOfTheStretch() throws {
        var plan = plan(bottom: 8)
        let (_, next) = try plan.take(page([9, 8, 7], more: true))
        #expect(next == .finished)
    }

    @Test func aPageOfOneTimestampIsAskedForWithTheLargestLimitFirst() throws {
        var plan = plan(top: 7)
        let (change, next) = try plan.take(page([7, 7, 7], more: true))
        #expect(change.proven == nil)
        #expect(change.coverage == nil)
        #expect(next == .request(CursorPlan.Request(before: at(8), limit: 100)))
        let (_, again) = try plan.take(page(Array(repeating: 7, count: 100), more: true))
        #expect(again == .collision(at(7)))
        #expect(plan.stepOver(at(7)) == .request(CursorPlan.Request(before: at(7), limit: 3)))
    }

    @Test func aServerThatIgnoresTheCursorIsFoundOut() throws {
        var plan = plan(top: 5)
        #expect(try errorCode { _ = try plan.take(page([9, 8, 7], more: true)) } == .pageContradictory)
    }

    @Test func aPageOutOfOrderIsNotBelieved() throws {
        var plan = plan()
        #expect(try errorCode { _ = try plan.take(page([7, 9, 8], more: true)) } == .pageContradictory)
    }

    @Test(arguments: [([9, 8], 8), ([], 8), ([9, 8, 7], nil), ([9, 8, 7], 6), ([9, 8, 7, 6], 6)])
    func aPageThatContradictsItselfProvesNothing(_ times: [Int], cursor: Int?) throws {
        var plan = plan()
        let before = plan
        var page = page(times, more: false)
        page.nextCursor = cursor.map(at)
        #expect(try errorCode { _ = try plan.take(page) } == .pageContradictory)
        #expect(plan == before)
    }

    @Test func theNextPageHasToShowWhatThisOneEndedWith() throws {
        var plan = plan(limit: 4)
        _ = try plan.take(page([9, 8, 7, 7], more: true))
        #expect(plan.anchors.map(\.createdAt) == [at(7), at(7)])
        #expect(!plan.isAnchored(page([6, 5, 4, 3], more: true)))
        #expect(!plan.isAnchored(page([], more: false)))
        var next = page([7, 6, 5, 4], more: true)
        #expect(!plan.isAnchored(next), "another item of that time")
        next.items[0] = TimelineItem(id: "3-7", createdAt: at(7))
        #expect(plan.isAnchored(next), "one of them is enough")
    }

    @Test func aPageWhoseBoundaryIsHiddenBeginsHigher() throws {
        var plan = plan(limit: 6)
        _ = try plan.take(page([9, 8, 7, 6, 5, 4], more: true))
        let raised = plan.raise()
        #expect(raised)
        #expect(plan.request == CursorPlan.Request(before: at(7), limit: 6))
        #expect(plan.anchors.map(\.createdAt) == [at(4), at(5), at(6)])
        let again = plan.raise()
        #expect(!again)
    }

    @Test func aGapIsReadFromWhatIsKnownAboveIt() throws {
        let known = [7, 7, 9].enumerated().map { KnownItem(id: "known-\($0)", createdAt: at($1)) }
        let plan = CursorPlan(top: at(5), bottom: at(-9), readAt: at(9_999), limit: 4, known: known)
        #expect(plan.request == CursorPlan.Request(before: at(8), limit: 4))
        #expect(plan.anchors.count == 2)
        let crowd = CursorPlan(top: at(5), bottom: at(-9), readAt: at(9_999), limit: 3, known: known)
        #expect(crowd.request == CursorPlan.Request(before: at(6), limit: 3), "a page of ties would make no headway")
        #expect(crowd.isUnanchored)
    }

    @Test func coverageNeverReachesBeyondTheTimeOfReading() throws {
        var plan = CursorPlan(top: nil, bottom: at(-9), readAt: at(5), limit: 3, newestPossible: at(5))
        #expect(try plan.take(page([9, 8, 7], more: true)).change.coverage == nil)
        let (change, _) = try plan.take(page([7, 6, 3], more: true))
        #expect(change.coverage == Coverage.Interval(from: at(4), to: at(5), readAt: at(5)))
        #expect(change.proven == at(4)...at(7), "what is not there is missing nevertheless")
        #expect(plan.covered(at(6), at(6)) == nil)
    }

    @Test func aFullPageOfTheLastInstantIsAmbiguousToo() throws {
        var plan = CursorPlan(top: nil, bottom: .earliest, readAt: at(5), limit: 100)
        var page = TimelinePage()
        page.items = (0..<100).map { TimelineItem(id: "\($0)", createdAt: .latest) }
        page.count = 100
        page.lastCreatedAt = .latest
        page.nextCursor = .latest
        #expect(try plan.take(page).next == .collision(.latest))
        #expect(plan.stepOver(.latest) == .request(CursorPlan.Request(before: .latest, limit: 100)))
    }

    @Test func aPageThatIsTooLargeIsAskedForWithAHalvedLimit() throws {
        var plan = plan(limit: 100)
        #expect(plan.reduce() == .request(CursorPlan.Request(before: nil, limit: 50)))
        plan.allow(25)
        #expect(plan.request.limit == 25)
        for limit in [12, 6, 3, 1] { #expect(plan.reduce() == .request(CursorPlan.Request(before: nil, limit: limit))) }
        #expect(plan.reduce() == nil)
    }

    @Test func aCrowdOfLargeItemsIsSearchedForTheLargestReadablePage() throws {
        var plan = plan(limit: 4, top: 7)
        var step = try plan.take(page([7, 7, 7, 7], more: true)).next
        var asked: [Int] = []
        // Eleven of them can be read at once.
        while case .request(let request) = step {
            asked.append(request.limit)
            if request.limit > 11 {
                let reduced = plan.reduce()
                step = try #require(reduced)
            } else {
                step = try plan.take(page(Array(repeating: 7, count: request.limit), more: true)).next
            }
        }
        #expect(step == .collision(at(7)))
        #expect(asked.max() == 100)
        #expect(asked.count < 12)
        #expect(plan.largestReadable == 11)
    }

    /// The plan against a server of its own, with groups of equal times up to a page's size less one.
    @Test func randomTimelinesAreReadExactly() throws {
        var random = SeededRandom()
        for _ in 0..<200 {
            let limit = Int.random(in: 2...10, using: &random)
            var times: [Int] = []
            for time in 0..<Int.random(in: 0...30, using: &random) {
                times += Array(repeating: time * 2, count: Int.random(in: 0..<limit, using: &random))
            }
            times.sort(by: >)
            let ids = Dictionary(grouping: times.indices, by: { times[$0] })
            var plan = CursorPlan(top: nil, bottom: .earliest, readAt: at(1), limit: limit)
            var coverage = Coverage()
            var seen: Set<Int> = []
            var step = CursorPlan.Step.request(plan.request)
            while case .request(let request) = step {
                let below = times.indices.filter { at(times[$0]) < request.before ?? .latest }
                    .sorted { times[$0] > times[$1] }
                // Which of a group are cut off is up to the server.
                let shown = Array(below.prefix(request.limit))
                var answer = TimelinePage()
                answer.items = shown.map { TimelineItem(id: "\($0)", createdAt: at(times[$0])) }
                answer.count = shown.count
                answer.lastCreatedAt = shown.last.map { at(times[$0]) }
                answer.nextCursor = shown.count == request.limit ? shown.last.map { at(times[$0]) } : nil
                #expect(plan.isAnchored(answer))
                let (change, next) = try plan.take(answer)
                for item in change.items { seen.insert(Int(item.id) ?? -1) }
                if let proven = change.proven {
                    for (time, members) in ids where proven.contains(at(time)) {
                        #expect(members.allSatisfy { shown.contains($0) }, "what is proven was on the page")
                    }
                }
                if let interval = change.coverage { coverage.insert(interval) }
                step = next
            }
            #expect(step == .finished)
            #expect(seen == Set(times.indices))
            #expect(coverage.isComplete)
        }
    }
}
