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

    @Test func aServerThatSaysSoonForeverIsAskedEverLessOften() {
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

    @Test func aQuietDayMakesThemRarerStill() {
        var schedule = pulled(0)
        schedule.headSucceeded(startedAt: at(86_000), foundNews: false)
        #expect(schedule.pullAt(now: at(86_001)) == at(86_900))
        schedule.headSucceeded(startedAt: at(86_900), foundNews: false)
        #expect(schedule.pullAt(now: at(86_901)) == at(86_900 + 2_400))
        schedule.headSucceeded(startedAt: at(89_300), foundNews: true)
        #expect(schedule.pullAt(now: at(89_301)) == at(89_600))
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
        schedule.serverReturned(at: at(90_000), after: .seconds(300), draws: (1, 1, 1))
        #expect(schedule.next(now: at(90_000)).at == at(90_000), "a short one is over for everybody at once")
        schedule.wantsHead = false
        schedule.serverReturned(at: at(90_000), after: .seconds(3_600), draws: (0.5, 1, 0.5))
        #expect(schedule.next(now: at(90_000)).at == at(90_120))
        schedule.headSucceeded(startedAt: at(90_120), foundNews: true)
        schedule.live = 5_000
        #expect(schedule.next(now: at(90_121)).work == .pull, "a sweep that came due waits for longer")
        // What was delivered is shown at once, and so is what a person asks for.
        schedule.serverReturned(at: at(90_200), after: .seconds(3_600), draws: (1, 1, 1))
        schedule.wantsHead = true
        #expect(schedule.next(now: at(90_201)).at == at(90_201))
        schedule.wantsHead = false
        schedule.forgetFailures()
        #expect(schedule.pullAt(now: at(91_000)) <= at(91_050))
    }

    /// Else they would be together again at the next poll, and bring their slices along.
    @Test func thePollAfterTheFirstComesAtAnyTimeOfTheInterval() {
        var schedule = polled(78_000)
        schedule.serverReturned(at: at(80_000), after: .seconds(3_600), draws: (0.5, 0.25, 0.5))
        #expect(schedule.next(now: at(80_000)) == (.pull, at(80_120)))
        schedule.headSucceeded(startedAt: at(80_120), foundNews: false)
        #expect(schedule.next(now: at(80_121)) == (.pull, at(80_120 + 225)), "and no slice before it")
        schedule.headSucceeded(startedAt: at(80_345), foundNews: false)
        #expect(schedule.next(now: at(80_346)).work == .sweep)
        schedule.begin(.sweep, at: at(80_346))
        #expect(schedule.next(now: at(80_347)) == (.pull, at(80_345 + 900)))
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

    /// Whose polls a sweep may ride on, after one at that second.
    private func polled(_ second: Int, live: Int = 10_000, news: Bool = false) -> Schedule {
        var schedule = pulled(0)
        schedule.ridesOnPolls = true
        schedule.isComplete = true
        schedule.live = live
        schedule.editsAsOf = at(0)
        schedule.headSucceeded(startedAt: at(second), foundNews: news)
        return schedule
    }

    @Test func aSweepGoesOnAfterEachPollAndWakesNothingInBetween() {
        var schedule = polled(78_000)
        #expect(schedule.next(now: at(78_001)) == (.sweep, at(78_001)))
        schedule.begin(.sweep, at: at(78_001))
        schedule.isSweeping = true
        #expect(schedule.next(now: at(78_002)) == (.pull, at(78_900)))
        schedule.headSucceeded(startedAt: at(78_900), foundNews: false)
        #expect(schedule.next(now: at(78_901)).work == .sweep)
        // It begins before the day is over.
        schedule = polled(76_000)
        #expect(schedule.next(now: at(76_001)).work == .pull)
        // Another process goes on with its own first poll.
        schedule = Schedule(settings: SyncSettings())
        (schedule.ridesOnPolls, schedule.isComplete, schedule.isSweeping) = (true, true, true)
        (schedule.live, schedule.editsAsOf) = (10_000, at(0))
        #expect(schedule.next(now: at(80_000)) == (.pull, at(80_000)))
        schedule.headSucceeded(startedAt: at(80_000), foundNews: false)
        #expect(schedule.next(now: at(80_001)).work == .sweep)
    }

    @Test func aPollThatHasFailedBringsNoSlice() {
        var schedule = polled(77_000)
        schedule.head.fail(at: at(77_900), .retry(after: nil), draw: 1)
        schedule.headSucceeded(startedAt: at(77_904), foundNews: false)
        #expect(schedule.next(now: at(77_905)).work == .pull)
        schedule.headSucceeded(startedAt: at(78_804), foundNews: false)
        #expect(schedule.next(now: at(78_805)).work == .sweep)
    }

    @Test func aSliceIsTheShareOfTheTimeUntilTheNextPoll() {
        // 101.01 pages in four hours.
        #expect(polled(78_000).mostPages(for: .sweep, now: at(78_001)) == 7, "a quarter of an hour")
        #expect(polled(78_000, news: true).mostPages(for: .sweep, now: at(78_001)) == 3, "five minutes")
        #expect(polled(87_000).mostPages(for: .sweep, now: at(87_000)) == 17, "forty")
        #expect(polled(300_000).mostPages(for: .sweep, now: at(300_001)) == 34, "twice as many when it is late")
        #expect(polled(78_000).mostPages(for: .texts, now: at(78_001)) == .max)
    }

    @Test func whatIsSmallOrCannotWaitIsSweptInOneGo() {
        #expect(polled(78_000, live: 2_000).mostPages(for: .sweep, now: at(78_001)) == .max)
        var schedule = polled(78_000)
        schedule.ridesOnPolls = false
        #expect(schedule.mostPages(for: .sweep, now: at(78_001)) == .max)
        schedule.isSweeping = true
        schedule.begin(.sweep, at: at(78_001))
        #expect(schedule.next(now: at(78_002)).work == .sweep, "and goes on when it gave way")
        schedule = polled(78_000)
        schedule.settings.sweepInterval = .seconds(3_600)
        #expect(schedule.mostPages(for: .sweep, now: at(78_001)) == .max, "too few polls in it")
        schedule = polled(78_000)
        schedule.editsAsOf = nil
        #expect(schedule.next(now: at(78_001)).work == .sweep)
        #expect(schedule.mostPages(for: .sweep, now: at(78_001)) == .max, "T2 is not known")
    }

    @Test func theNewestThousandAreReadAgainOnceAnHourWhileThereIsNews() {
        var schedule = polled(3_000, news: true)
        #expect(schedule.next(now: at(3_001)).work == .pull)
        schedule.headSucceeded(startedAt: at(3_300), foundNews: false)
        #expect(schedule.next(now: at(3_301)) == (.recent, at(3_301)))
        #expect(schedule.mostPages(for: .recent, now: at(3_301)) == 11)
        schedule.begin(.recent, at: at(3_301))
        for poll in 1..<40 {
            schedule.headSucceeded(startedAt: at(3_300 + 300 * poll), foundNews: false)
            #expect(schedule.next(now: at(3_301 + 300 * poll)).work == .pull, "a quiet account")
        }
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

    @Test func aWaitIsNoLongerThanTheTroubleSoFar() {
        var setback = Schedule.Setback()
        var now = at(1_000)
        for failure in 0..<40 {
            setback.fail(at: now, .retry(after: nil), draw: failure % 2 == 0 ? 0.1 : 1)
            let wait = setback.notBefore.duration(since: now)
            #expect(wait <= max(.seconds(4), now.duration(since: at(1_000))))
            now = setback.notBefore
        }
        #expect(now > at(1_000 + 10 * 3_600), "it grows to an hour nevertheless")
        now = at(500)
        for _ in 0..<20 {
            setback.fail(at: now, .retry(after: nil), draw: 1)
            now = setback.notBefore
        }
        #expect(now > at(500 + 3_600), "also where the clock was set back")
        setback.fail(at: now, .retry(after: nil), draw: 1, isOfFile: true)
        #expect(setback.notBefore <= now.advanced(by: .seconds(120)), "a disk does not tell when it has room again")
        setback.fail(at: now, .retry(after: .seconds(90)), draw: 0)
        #expect(setback.notBefore >= now.advanced(by: .seconds(90)), "the server's word is kept")
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
