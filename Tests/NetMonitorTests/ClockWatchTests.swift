import TestSupport
import Testing

@testable import NetMonitor

/// What the three clocks say of steps and suspends.
@Suite struct ClockWatchTests {
    private static let first = ClockReading(
        realtime: .seconds(1_000_000), boottime: .seconds(500), monotonic: .seconds(400))

    private func reading(after passed: Duration, step: Duration = .zero, slept: Duration = .zero) -> ClockReading {
        ClockReading(
            realtime: Self.first.realtime + passed + slept + step, boottime: Self.first.boottime + passed + slept,
            monotonic: Self.first.monotonic + passed)
    }

    @Test func timeThatPassesIsNoChange() {
        var watch = ClockWatch(Self.first)
        for days in 0..<100 { #expect(watch.changes(to: reading(after: .seconds(days * 86_400))).isEmpty) }
    }

    @Test(arguments: [Duration.seconds(3_600), .seconds(-3_600), .seconds(1), .seconds(-1), .seconds(-400_000_000)])
    func aStepIsToldOnceWithItsDirection(_ step: Duration) {
        var watch = ClockWatch(Self.first)
        #expect(watch.changes(to: reading(after: .seconds(5), step: step)) == [.stepped(step)])
        #expect(watch.changes(to: reading(after: .seconds(9), step: step)).isEmpty)
    }

    @Test func aSuspendIsToldWithItsLength() {
        var watch = ClockWatch(Self.first)
        #expect(watch.changes(to: reading(after: .seconds(5), slept: .seconds(28_800))) == [.woke(.seconds(28_800))])
        #expect(watch.changes(to: reading(after: .seconds(6), slept: .seconds(28_800))).isEmpty)
    }

    @Test func aSuspendAfterWhichTheClockWasSetIsBoth() {
        var watch = ClockWatch(Self.first)
        let changes = watch.changes(to: reading(after: .seconds(5), step: .seconds(-7), slept: .seconds(60)))
        #expect(changes == [.woke(.seconds(60)), .stepped(.seconds(-7))])
    }

    @Test func stepsOfLessThanASecondAddUp() {
        var watch = ClockWatch(Self.first)
        #expect(watch.changes(to: reading(after: .seconds(1), step: .milliseconds(600))).isEmpty)
        #expect(watch.changes(to: reading(after: .seconds(2), step: .milliseconds(-300))).isEmpty)
        #expect(
            watch.changes(to: reading(after: .seconds(3), step: .milliseconds(1_200))) == [
                .stepped(.milliseconds(1_200))
            ])
    }

    @Test func theMachinesOwnClocksDoNotSeemToStepBetweenTwoReadings() {
        var watch = ClockWatch(.now())
        #expect(watch.changes(to: .now()).isEmpty)
    }
}
