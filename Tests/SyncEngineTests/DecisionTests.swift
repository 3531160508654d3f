import Configuration
import PRSNLCore
import Store
import TestSupport
import Testing

@testable import SyncEngine

@Suite struct OverlappingPagesTests {
    @Test(arguments: [20, 50, 99, 100, 1_000])
    func eachPageBeginsWithinTheOneBefore(_ largest: Int) {
        var end = largest
        var requests = 1
        while end < 60_000 {
            let next = OverlappingPages.following(end, largest: largest)
            #expect(next.limit <= largest)
            #expect(next.start < end, "repeats the last item")
            #expect(next.end > end, "and goes on")
            end = next.end
            requests += 1
        }
        if largest >= 99 { #expect(requests < 60_000 / largest * 115 / 100, "with few items read twice") }
    }
}

@Suite struct VerdictWaitTests {
    private func wait(_ verdict: SyncFailure.Verdict, failures: Int, draw: Double) -> Duration {
        verdict.wait(failures: failures, draw: draw)
    }

    @Test func theStepDoublesUpToTheCap() {
        #expect(wait(.retry(after: nil), failures: 1, draw: 1) == .seconds(4))
        #expect(wait(.retry(after: nil), failures: 2, draw: 1) == .seconds(8))
        #expect(wait(.retry(after: nil), failures: 500, draw: 1) == .seconds(3_600))
    }

    @Test func jitterIsFullButLeavesTheServerASecond() {
        #expect(wait(.retry(after: nil), failures: 9, draw: 0) == .seconds(1))
        #expect(wait(.retry(after: nil), failures: 9, draw: 0.5) == .seconds(512))
    }

    @Test func theServersWordIsKept() {
        #expect(wait(.retry(after: .seconds(90)), failures: 1, draw: 0) == .seconds(90))
        #expect(wait(.retry(after: .seconds(9_000)), failures: 1, draw: 0) == .seconds(3_600))
    }

    @Test func aServerThatSaysSoonForEverIsAskedEverLessOften() {
        #expect(wait(.retry(after: .seconds(1)), failures: 8, draw: 0.9) < .seconds(2))
        #expect(wait(.retry(after: .seconds(1)), failures: 12, draw: 0.5) == .seconds(16))
        #expect(wait(.retry(after: .seconds(90)), failures: 12, draw: 0) == .seconds(90))
    }

    @Test func whatNeedsAPersonIsLookedAtRarely() {
        #expect(wait(.tryRarely, failures: 1, draw: 0) >= .seconds(1_800))
    }
}

@Suite struct ScheduleTests {
    private func at(_ second: Int) -> Timestamp { Timestamp(microseconds: Int64(second) * 1_000_000) }

    private func pulled(_ second: Int, news: Bool = true) -> Schedule {
        var schedule = Schedule(settings: SyncSettings())
        schedule.headSucceeded(startedAt: at(second), foundNews: news)
        return schedule
    }

    @Test func theFirstPullIsDueAtOnce() {
        let next = Schedule(settings: SyncSettings()).next(now: at(7))
        #expect(next.work == .pull)
        #expect(next.at == at(7))
    }

    @Test func aQuietHourMakesPollsRarer() {
        var schedule = pulled(0)
        #expect(schedule.next(now: at(1)).at == at(300))
        schedule.headSucceeded(startedAt: at(3_600), foundNews: false)
        #expect(schedule.next(now: at(3_601)).at == at(3_600 + 900))
        schedule.headSucceeded(startedAt: at(4_500), foundNews: true)
        #expect(schedule.next(now: at(4_501)).at == at(4_800))
    }

    @Test func pendingItemsAreLookedAtSoonAndThenEverLater() {
        var schedule = pulled(0)
        schedule.hasPending = true
        #expect(schedule.next(now: at(1)).at == at(15))
        schedule.headSucceeded(startedAt: at(15), foundNews: false)
        #expect(schedule.next(now: at(16)).at == at(45))
        for look in 0..<20 { schedule.headSucceeded(startedAt: at(100 + look), foundNews: false) }
        #expect(schedule.next(now: at(120)).at == at(119 + 300))
    }

    @Test func intervalsVaryByATenth() {
        var schedule = pulled(0)
        for (microseconds, interval) in [(0, 300.0), (250, 315), (499, 329.94), (500, 270), (999, 299.94)] {
            let start = at(7).advanced(by: .microseconds(microseconds))
            schedule.headSucceeded(startedAt: start, foundNews: true)
            let wait = schedule.pullAt(now: start).duration(since: start)
            #expect(wait / .seconds(1) > interval - 0.001 && wait / .seconds(1) < interval + 0.001)
        }
    }

    @Test func afterALongOutageOfTheServerWorkIsSpread() {
        var schedule = pulled(0)
        schedule.isComplete = true
        schedule.editsAsOf = at(0)
        schedule.serverReturned(at: at(90_000), after: .seconds(300), draws: (1, 1))
        #expect(schedule.next(now: at(90_000)).at == at(90_000), "a short one is over for everybody at once")
        schedule.wantsHead = false
        schedule.serverReturned(at: at(90_000), after: .seconds(3_600), draws: (0.5, 0.5))
        #expect(schedule.next(now: at(90_000)).at == at(90_150))
        schedule.headSucceeded(startedAt: at(90_150), foundNews: false)
        schedule.live = 5_000
        #expect(schedule.next(now: at(90_151)).work == .pull, "a sweep that came due waits for longer")
        // What was delivered is shown at once, and so is what a person asks for.
        schedule.serverReturned(at: at(90_200), after: .seconds(3_600), draws: (1, 1))
        schedule.wantsHead = true
        #expect(schedule.next(now: at(90_201)).at == at(90_201))
        schedule.wantsHead = false
        schedule.forgetFailures()
        #expect(schedule.pullAt(now: at(91_000)) <= at(91_050))
    }

    @Test func sweepsAreDailyForLargeCopiesAndMoreOftenForSmallOnes() {
        var schedule = pulled(86_000)
        schedule.editsAsOf = at(0)
        schedule.live = 2_001
        #expect(schedule.next(now: at(86_001)) == (.pull, at(86_300)))
        schedule.headSucceeded(startedAt: at(86_390), foundNews: true)
        #expect(schedule.next(now: at(86_391)) == (.sweep, at(86_400)))
        schedule.live = 2_000
        #expect(schedule.next(now: at(86_391)).at <= at(86_391))
        #expect(schedule.next(now: at(86_391)).work == .sweep)
    }

    @Test func aPollThatIsDueGoesBeforeASweep() {
        var schedule = pulled(0)
        schedule.isSweeping = true
        #expect(schedule.next(now: at(10)).work == .sweep)
        #expect(schedule.next(now: at(300)).work == .pull)
    }

    @Test func aFailureFarDownDoesNotHoldUpTheHead() {
        var schedule = pulled(0)
        schedule.hasGaps = true
        schedule.deep.fail(at: at(10), .tryRarely, draw: 1)
        #expect(schedule.next(now: at(11)) == (.pull, at(300)))
    }

    @Test func aPollThatFailedIsMadeUpForAfterItsBackoff() {
        var schedule = pulled(0)
        schedule.head.fail(at: at(300), .retry(after: nil), draw: 0.5)
        #expect(schedule.next(now: at(301)) == (.pull, at(302)))
        schedule.headSucceeded(startedAt: at(302), foundNews: false)
        #expect(schedule.next(now: at(303)) == (.pull, at(602)))
    }

    @Test func aClockSetBackDoesNotPutThePullOffForYears() {
        var schedule = pulled(1_000_000_000)
        schedule.distrustClock(now: at(0))
        #expect(schedule.next(now: at(0)).at <= at(86_400))
    }
}

func == (left: (work: Schedule.Work, at: Timestamp), right: (work: Schedule.Work, at: Timestamp)) -> Bool {
    left.work == right.work && left.at == right.at
}
