import PRSNLCore
import Testing

@testable import SyncEngine

@Suite struct PaceTests {
    @Test func aPaceOnceLearntIsNotExceededInAnyWindow() {
        var pace = Pace()
        for _ in 0..<31 { pace.noteSent(at: .seconds(5)) }
        pace.noteRefused(at: .seconds(5), retryAfter: .seconds(60))
        #expect(pace.limit == 30)
        var sent: [Duration] = []
        var now = Duration.seconds(5)
        for _ in 0..<290 {
            now = max(now, pace.nextAt())
            pace.noteSent(at: now)
            sent.append(now)
        }
        for (earlier, later) in zip(sent, sent.dropFirst(30)) { #expect(later - earlier > .seconds(60)) }
    }

    /// How many a server takes of `pace` until `end`, that lets 30 a minute in, and another client use what `others` says.
    private func taken(_ pace: inout Pace, from start: Duration = .zero, until end: Duration, others: (Int) -> Int)
        -> (accepted: Int, refused: Int)
    {
        var (taken, refused, now) = (0, 0, start)
        var window: (start: Duration, used: Int)?
        var number = 0
        while true {
            now = max(now, pace.nextAt()) + .milliseconds(50)
            guard now < end else { return (taken, refused) }
            if window.map({ now - $0.start >= .seconds(60) }) ?? true {
                window = (now, others(number))
                number += 1
            }
            pace.noteSent(at: now)
            window?.used += 1
            if window?.used ?? 0 <= 30 {
                taken += 1
            } else {
                refused += 1
                pace.noteRefused(at: now, retryAfter: .seconds(60))
            }
        }
    }

    @Test func aWindowThatAnotherClientUsedUpDoesNotSlowTheNextOnes() {
        for others in 0...30 {
            var pace = Pace()
            let result = taken(&pace, until: .seconds(250)) { $0 == 0 ? others : 0 }
            #expect(result.accepted >= 60, "\(others) by another client: \(result)")
        }
    }

    @Test func aLimitOfWhichAnotherClientTakesHalfIsFoundAgainWhenThatOneIsGone() {
        var pace = Pace()
        _ = taken(&pace, until: .seconds(1_200)) { _ in 15 }
        #expect(pace.limit == 15)
        // An hour until the first trial.
        _ = taken(&pace, from: .seconds(1_200), until: .seconds(5_400)) { _ in 0 }
        let later = taken(&pace, from: .seconds(5_400), until: .seconds(11_400)) { _ in 0 }
        #expect(later.accepted >= 2_400 && later.refused <= 2, "\(later)")
    }

    @Test func aRefusalOfTheFirstRequestSaysNothingAboutTheLimit() {
        var pace = Pace()
        pace.noteSent(at: .seconds(5))
        pace.noteRefused(at: .seconds(5), retryAfter: .seconds(60))
        #expect(pace.limit == nil)
        #expect(pace.nextAt() >= .seconds(65))
    }
}
