import PRSNLCore
import Synchronization
import Testing

@testable import prsnld

@Suite struct WatchdogTests {
    @Test(
        arguments: [
            ([:], nil), (["WATCHDOG_USEC": "20000000"], .seconds(20)),
            (["WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "17"], .seconds(20)),
            (["WATCHDOG_USEC": "20000000", "WATCHDOG_PID": "18"], nil),
            (["WATCHDOG_USEC": "0"], nil), (["WATCHDOG_USEC": "-1"], nil), (["WATCHDOG_USEC": "soon"], nil),
            (["WATCHDOG_USEC": ""], nil),
        ] as [([String: String], Duration?)])
    func theIntervalIsSystemdsIfItMeansThisProcess(environment: [String: String], expected: Duration?) {
        #expect(Watchdog.interval(environment: environment, processID: 17) == expected)
    }

    @Test func itIsFedWhenALoopIsAwakeAndNoTimerRunsOut() {
        let scene = WatchdogScene()
        // Polls of a quiet day.
        for _ in 0..<100 {
            scene.sleep(900)
            scene.watchdog.feedIfDue()
        }
        #expect(scene.meals.count == 100)
        #expect(scene.alarms == 0)
        #expect(scene.complaints.isEmpty)
    }

    @Test func aLoopThatNeverRestsDoesNotFeedItAllTheTime() {
        let scene = WatchdogScene()
        for _ in 0..<7_500 {
            scene.sleep(1)
            scene.watchdog.feedIfDue()
        }
        // Every sixteenth of the interval, which is 75 s.
        #expect(scene.meals.count == 100)
    }

    @Test func wherePollsAreRareATimerFeedsIt() {
        let scene = WatchdogScene()
        scene.sleep(9_600)
        #expect(scene.meals == (1...10).map { 960 * $0 })
        #expect(scene.complaints.isEmpty)
    }

    @Test func aMealPutsTheTimerOff() {
        let scene = WatchdogScene()
        #expect(scene.alarmAt == 960)
        scene.sleep(500)
        scene.watchdog.feedIfDue()
        #expect(scene.alarmAt == 500 + 960)
    }

    @Test(arguments: ["the tasks", "the store"])
    func aThreadThatHangsStarvesItAndIsNamedBeforeTheTimeIsOver(hung: String) {
        let scene = WatchdogScene()
        scene.sleep(300)
        scene.watchdog.feedIfDue()
        scene.hang(hung)
        scene.sleep(300)
        scene.watchdog.feedIfDue()
        scene.sleep(1_080 - 300 - 1)
        #expect(scene.complaints.isEmpty)
        scene.sleep(1)
        #expect(scene.complaints == [[hung]])
        scene.sleep(119)
        // systemd ends the process now.
        #expect(scene.meals == [300])
        #expect(scene.complaints == [[hung]])
    }

    @Test func allThatHangAreNamedInTheirOrder() {
        let scene = WatchdogScene()
        for loop in scene.names.reversed() { scene.hang(loop) }
        scene.sleep(1_199)
        #expect(scene.complaints == [scene.names])
        #expect(scene.meals.isEmpty)
    }

    @Test func aThreadThatIsCalledAndDoesNotWakeUpStarvesIt() {
        let scene = WatchdogScene()
        scene.heartbeat("the store").call()
        scene.sleep(1_199)
        #expect(scene.complaints == [["the store"]])
        #expect(scene.meals.isEmpty)
    }

    @Test func aLoopThatDoesNotComeBackInTimeStarvesIt() {
        let scene = WatchdogScene()
        scene.heartbeat("the pulls").rest(atMost: .seconds(600))
        scene.sleep(599)
        scene.watchdog.feedIfDue()
        #expect(scene.meals == [599])
        scene.sleep(1_199)
        #expect(scene.meals == [599])
        #expect(scene.complaints == [["the pulls"]])
    }

    @Test func aLoopThatWorksForLongIsNotHungWhileItGetsOn() {
        let scene = WatchdogScene()
        scene.heartbeat("the pulls").wake()
        for _ in 0..<1_000 {
            scene.heartbeat("the pulls").expect(within: .seconds(60))
            scene.sleep(60)
            scene.watchdog.feedIfDue()
        }
        #expect(scene.meals.count == 500)
        #expect(scene.complaints.isEmpty)
    }

    @Test func aRestThatIsEndedEarlyIsNoReasonToWaitForItsEnd() {
        let scene = WatchdogScene()
        scene.heartbeat("the pulls").rest(atMost: .seconds(86_400))
        scene.heartbeat("the pulls").wake()
        scene.sleep(1_199)
        #expect(scene.complaints == [["the pulls"]])
    }

    @Test func whatGoesOnByItselfFeedsItAgain() {
        let scene = WatchdogScene()
        scene.hang("the store")
        scene.sleep(1_100)
        #expect(scene.complaints == [["the store"]])
        #expect(scene.recoveries == 0)
        scene.goOn("the store")
        scene.watchdog.feedIfDue()
        #expect(scene.meals == [1_100])
        #expect(scene.recoveries == 1)
        scene.sleep(960)
        #expect(scene.meals == [1_100, 2_060])
        #expect(scene.recoveries == 1)
    }

    @Test func aMealThatIsLostIsSentAgainWhileThereIsTime() {
        let scene = WatchdogScene()
        // Two of the timer's, when nothing else wakes the daemon.
        scene.lose(2)
        scene.sleep(1_199)
        #expect(scene.meals == [960 + 60 + 60])
        #expect(scene.complaints.isEmpty)
    }

    @Test func aMealThatIsLostIsSentAgainWithTheNextWakeUpButNotWithEachOne() {
        let scene = WatchdogScene()
        scene.lose(2)
        scene.sleep(500)
        scene.watchdog.feedIfDue()
        for _ in 0..<74 {
            scene.sleep(1)
            scene.watchdog.feedIfDue()
        }
        #expect(scene.lost == 1)
        scene.sleep(1)
        scene.watchdog.feedIfDue()
        #expect(scene.lost == 0)
        #expect(scene.meals.isEmpty)
        #expect(scene.alarmAt == 960)
        scene.sleep(75)
        scene.watchdog.feedIfDue()
        #expect(scene.meals == [650])
        #expect(scene.alarmAt == 650 + 960)
    }

    @Test func withoutASystemdThatActsItComplainsOnceAnInterval() {
        let scene = WatchdogScene()
        scene.hang("the tasks")
        scene.sleep(1_080 + 1_200 * 2)
        #expect(scene.complaints.count == 3)
    }

    @Test func afterItWasStoppedItIsFedNoMore() {
        let scene = WatchdogScene()
        scene.watchdog.stop()
        scene.sleep(5_000)
        scene.watchdog.feedIfDue()
        #expect(scene.meals.isEmpty)
        #expect(scene.complaints.isEmpty)
        #expect(scene.alarms == 1)
    }
}

/// A watchdog of twenty minutes, with a clock, loops and a timer of the test's own.
private final class WatchdogScene: Sendable {
    private struct State {
        var now: Duration = .zero
        var alarmAt: Duration?
        var alarms = 0
        var meals: [Duration] = []
        /// How many of the next meals do not get there.
        var lost = 0
        var complaints: [[String]] = []
        var recoveries = 0
    }

    /// In an object, so that the watchdog's closures need not hold the scene.
    private final class Box: Sendable {
        let value = Mutex(State())
        var now: Duration { value.withLock(\.now) }
    }

    let names = ["the tasks", "the store", "the control socket", "the pulls"]
    let watchdog: Watchdog
    private let heartbeats: [Heartbeat]
    private let box: Box

    init() {
        let box = Box()
        self.box = box
        heartbeats = names.map { Heartbeat($0, now: { box.now }) }
        watchdog = Watchdog(
            interval: .seconds(1_200), heartbeats: heartbeats,
            effects: Watchdog.Effects(
                feed: {
                    box.value.withLock { state in
                        guard state.lost == 0 else {
                            state.lost -= 1
                            return false
                        }
                        state.meals.append(state.now)
                        return true
                    }
                },
                setAlarm: { time in box.value.withLock { $0.alarmAt = time } },
                complain: { names in box.value.withLock { $0.complaints.append(names) } },
                recover: { box.value.withLock { $0.recoveries += 1 } }),
            now: { box.now })
        watchdog.start()
    }

    /// Lets time pass, with the alarms that come meanwhile.
    func sleep(_ seconds: Int) {
        let end = box.now + .seconds(seconds)
        while let due = box.value.withLock(\.alarmAt), due <= end {
            box.value.withLock { state in
                state.now = max(state.now, due)
                state.alarmAt = nil
                state.alarms += 1
            }
            watchdog.alarm()
        }
        box.value.withLock { $0.now = end }
    }

    func lose(_ count: Int) { box.value.withLock { $0.lost = count } }

    func heartbeat(_ name: String) -> Heartbeat { heartbeats[names.firstIndex(of: name) ?? 0] }

    func hang(_ name: String) { heartbeat(name).wake() }

    func goOn(_ name: String) { heartbeat(name).rest(atMost: nil) }

    var meals: [Int] { box.value.withLock { $0.meals.map { Int($0.components.seconds) } } }
    var lost: Int { box.value.withLock(\.lost) }
    var complaints: [[String]] { box.value.withLock(\.complaints) }
    var recoveries: Int { box.value.withLock(\.recoveries) }
    var alarms: Int { box.value.withLock(\.alarms) }
    var alarmAt: Int? { box.value.withLock { $0.alarmAt.map { Int($0.components.seconds) } } }
}
