import PRSNLCore
import Synchronization
import Testing

@Suite struct HeartbeatTests {
    private final class Clock: Sendable {
        private let value = Mutex<Duration>(.zero)
        var now: Duration { value.withLock { $0 } }
        func pass(_ seconds: Int) { value.withLock { $0 += .seconds(seconds) } }
    }

    private let clock = Clock()
    private let heartbeat: Heartbeat

    init() {
        heartbeat = Heartbeat("the loop", now: { [clock] in clock.now })
    }

    private func isLate(_ tolerance: Int = 10) -> Bool { heartbeat.isLate(tolerance: .seconds(tolerance)) }

    @Test func aLoopThatHasNotBegunOrHasEndedIsNotLate() {
        clock.pass(1_000)
        #expect(!isLate())
        heartbeat.wake()
        heartbeat.end()
        clock.pass(1_000)
        #expect(!isLate())
    }

    @Test func aLoopThatIsAwakeIsToSaySomethingSoon() {
        heartbeat.wake()
        clock.pass(10)
        #expect(!isLate())
        clock.pass(1)
        #expect(isLate())
    }

    @Test func aRestIsAsLongAsWasSaidOrForever() {
        heartbeat.rest(atMost: .seconds(900))
        clock.pass(910)
        #expect(!isLate())
        clock.pass(1)
        #expect(isLate())
        heartbeat.rest(atMost: nil)
        clock.pass(1_000_000)
        #expect(!isLate())
    }

    @Test func aLoopThatIsCalledAndDoesNotWakeUpIsLate() {
        heartbeat.rest(atMost: nil)
        heartbeat.call()
        clock.pass(10)
        #expect(!isLate())
        clock.pass(1)
        #expect(isLate())
        heartbeat.wake()
        heartbeat.rest(atMost: nil)
        #expect(!isLate())
    }

    @Test func ofSeveralWaitsTheLongestCounts() {
        heartbeat.wake()
        heartbeat.expect(within: .seconds(60))
        heartbeat.expect(within: .seconds(5))
        clock.pass(70)
        #expect(!isLate())
        clock.pass(1)
        #expect(isLate())
        heartbeat.expect(within: .zero)
        #expect(!isLate())
    }

    @Test func whoFollowsHearsEachSign() {
        let signs = Mutex<[Heartbeat.Sign]>([])
        heartbeat.follow { sign in signs.withLock { $0.append(sign) } }
        heartbeat.wake()
        heartbeat.expect(within: .seconds(1))
        heartbeat.rest(atMost: .seconds(1))
        heartbeat.end()
        #expect(signs.withLock { $0 } == [.awake, .progress, .rest])
    }

    @Test func whatIsFarBelowALoopSpeaksForIt() async {
        #expect(Heartbeat.current?.name == nil)
        await Heartbeat.$current.withValue(heartbeat) {
            let task = Task { Heartbeat.current?.name }
            #expect(await task.value == "the loop")
        }
    }
}
