import PRSNLCore
import TestSupport
import Testing

struct ThreadWakeupTests {
    @Test func aSignalBeforeTheWaitIsNotLost() {
        let wakeup = ThreadWakeup()
        wakeup.signal()
        wakeup.signal()
        wakeup.wait()
        #expect(!wakeup.wait(atMost: .zero), "two are one")
    }

    @Test func aWaitEndsWithItsTime() {
        let wakeup = ThreadWakeup()
        #expect(!wakeup.wait(atMost: .milliseconds(1)))
        #expect(!wakeup.wait(atMost: .seconds(-1)))
    }

    @Test func aSignalFromAnotherThreadEndsAWaitWithoutALimit() throws {
        let (there, back) = (ThreadWakeup(), ThreadWakeup())
        let thread = WorkerThread(name: "echo") {
            for _ in 0..<1_000 {
                there.wait()
                back.signal()
            }
        }
        for _ in 0..<1_000 {
            there.signal()
            back.wait()
        }
        thread.join()
    }

    @Test func aJoinedThreadHasEnded() async throws {
        try await expectNothingLeft(threads: "joined") {
            let thread = WorkerThread(name: "joined") {}
            thread.join()
            thread.join()
        }
    }

    @Test func aThreadThatIsLetGoEndsByItself() async throws {
        try await expectNothingLeft(threads: "let go") {
            let wakeup = ThreadWakeup()
            var thread: WorkerThread? = WorkerThread(name: "let go") { wakeup.wait() }
            #expect(thread != nil)
            thread = nil
            wakeup.signal()
        }
    }
}
