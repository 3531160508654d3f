import PRSNLCore
import TestSupport
import Testing

struct WakeupTests {
    /// A loop that was signalled and has not had its turn yet is not one that waits: the time of tests must not pass for it.
    @Test func aSignalEndsTheSleepBeforeItReturns() async throws {
        for _ in 0..<100 {
            let time = VirtualTime()
            time.stand()
            let wakeup = Wakeup()
            let waiting = Task { await wakeup.wait(atMost: .seconds(60), time: time.source) }
            try await eventually("the sleep") { time.isAwaited(within: .seconds(60)) }
            wakeup.signal()
            #expect(!time.isAwaited(within: .seconds(60)))
            await waiting.value
        }
    }

    @Test func aSignalThatComesFirstIsKeptForOneWait() async throws {
        let time = VirtualTime()
        time.stand()
        let wakeup = Wakeup()
        wakeup.signal()
        wakeup.signal()
        await wakeup.wait(atMost: .seconds(60), time: time.source)
        let waiting = Task { await wakeup.wait(atMost: .seconds(60), time: time.source) }
        try await eventually("the sleep") { time.isAwaited(within: .seconds(60)) }
        waiting.cancel()
        await waiting.value
        // A wait that ended by itself takes no later signal with it.
        time.stop(after: .seconds(100)) {}
        await wakeup.wait(atMost: .seconds(60), time: time.source)
        wakeup.signal()
        await wakeup.wait(atMost: .seconds(60), time: time.source)
        #expect(time.elapsed == .seconds(60))
    }
}
