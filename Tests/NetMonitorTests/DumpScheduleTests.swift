import TestSupport
import Testing

@testable import NetMonitor

/// When the network is looked at, in a time of the tests' own.
@Suite struct DumpScheduleTests {
    /// A schedule after its first look, at 0 s.
    private func idle() -> DumpSchedule {
        var schedule = DumpSchedule()
        schedule.dumped(at: .zero, cost: .zero, isComplete: true)
        return schedule
    }

    /// What happens when hints come at these times, and each look costs so much, and fails as long as `fails` says so.
    private func looks(
        hints: [Duration], cost: Duration, until end: Duration, fails: (Duration) -> Bool = { _ in false }
    ) -> [Duration] {
        var schedule = idle()
        var hints = hints[...]
        var looks: [Duration] = []
        var now = Duration.zero
        while true {
            guard let next = [schedule.next.map { max($0, now) }, hints.first].compactMap(\.self).min(), next <= end
            else { return looks }
            now = next
            while let hint = hints.first, hint <= now {
                schedule.hint()
                hints.removeFirst()
            }
            if let due = schedule.next, due <= now {
                looks.append(now)
                now += cost
                schedule.dumped(at: now, cost: cost, isComplete: !fails(now))
            }
        }
    }

    @Test func withoutHintsThereIsNothingToLookFor() {
        #expect(idle().next == nil)
        #expect(looks(hints: [], cost: .milliseconds(1), until: .seconds(86_400)) == [])
    }

    @Test func aHintIsFollowedAtOnceAndOnceMoreWhenThingsHaveSettled() {
        let looks = looks(hints: [.seconds(10)], cost: .milliseconds(1), until: .seconds(3_600))
        #expect(looks == [.seconds(10), .seconds(11) + .milliseconds(1)])
    }

    /// `v1: up`, `v0: up`, the carrier, an address, a route: what counts comes last.
    @Test func theEventsOfALinkThatComesUpAreEachFollowedAtOnce() {
        let hints = [0, 3, 9, 20].map { Duration.seconds(5) + .milliseconds($0) }
        let looks = looks(hints: hints, cost: .microseconds(100), until: .seconds(5) + .milliseconds(50))
        #expect(looks == hints)
    }

    @Test func aFloodThatEndsAndBeginsAgainHasItsBurstAgain() {
        let first = (0..<1_000).map { Duration.seconds(1) + .milliseconds($0) }
        let second = Duration.seconds(10)
        let looks = looks(
            hints: first + [second, second + .milliseconds(5)], cost: .microseconds(100), until: .seconds(60))
        #expect(looks.contains(second) && looks.contains(second + .milliseconds(5)))
    }

    @Test(arguments: [Duration.microseconds(50), .milliseconds(1), .milliseconds(20), .milliseconds(700)])
    func aFloodCostsLessThanATwentiethOfACore(_ cost: Duration) {
        let hints = (0..<60_000).map { Duration.seconds(1) + .milliseconds($0) }
        let looks = looks(hints: hints, cost: cost, until: .seconds(61))
        #expect(cost * looks.count <= .seconds(60) * 0.05 + cost)
        #expect(looks.count <= 610)
        #expect(looks.first == .seconds(1))
    }

    @Test func afterTheLastEventOfAFloodThereIsALookWithinASecond() {
        var random = SeededRandom()
        for _ in 0..<200 {
            let count = Int.random(in: 1...2_000, using: &random)
            let hints = (0..<count).map { Duration.microseconds($0 * Int.random(in: 1...1_000, using: &random)) }
                .sorted()
            let cost = Duration.microseconds(Int.random(in: 10...40_000, using: &random))
            let last = hints[hints.count - 1]
            let looks = looks(hints: hints, cost: cost, until: last + .seconds(10))
            #expect(looks.contains { $0 >= last && $0 <= last + .seconds(1) })
            #expect(looks.contains { $0 >= last + .seconds(1) }, "the look after things have settled")
            #expect(
                zip(looks, looks.dropFirst(DumpSchedule.burst + 10)).allSatisfy { $1 - $0 >= .seconds(1) },
                "a burst, and ten a second")
        }
    }

    @Test func aLookThatFailedIsRepeatedByItselfLessAndLessOften() {
        let looks = looks(hints: [.seconds(1)], cost: .milliseconds(1), until: .seconds(3_600), fails: { _ in true })
        #expect(looks.count > 60 && looks.count < 80)
        let pauses = zip(looks, looks.dropFirst()).map { $1 - $0 }
        #expect(pauses[0] < .milliseconds(250))
        #expect(pauses.allSatisfy { $0 <= DumpSchedule.retry.cap + .milliseconds(1) })
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 <= $1 })
    }

    @Test func oneThatSucceedsEndsTheRepeating() {
        let looks = looks(
            hints: [.seconds(1)], cost: .milliseconds(1), until: .seconds(3_600), fails: { $0 < .seconds(3) })
        #expect(looks.count < 8 && (looks.last ?? .zero) < .seconds(8))
    }
}
