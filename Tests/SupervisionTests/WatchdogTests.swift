import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import Supervision

/// The watchdog with a clock, loops and a timer of the test's own.
private final class Kennel: Sendable {
    struct State {
        var now: Duration = .seconds(1_000)
        var alarmAt: Duration?
        var meals: [Duration] = []
        var complaints: [[String]] = []
        var recoveries = 0
        /// Loops that do not answer, and what they have been asked.
        var hung: Set<String> = []
        var unanswered: [String: [@Sendable () -> Void]] = [:]
    }

    static let interval: Duration = .seconds(1_200)
    let state = Mutex(State())
    let heartbeat: Heartbeat
    let names: [String]
    private let made = Mutex<Watchdog?>(nil)
    var watchdog: Watchdog { made.withLock { $0! } }

    init(_ names: [String] = ["first", "second"]) {
        self.names = names
        let clock = Mutex<(@Sendable () -> Duration)?>(nil)
        let box = Box(clock)
        heartbeat = Heartbeat("the pulls", now: { box.now() })
        box.set { [unowned self] in state.withLock(\.now) }
        let loops = names.map { name in
            Watchdog.Loop(name) { [unowned self] answer in
                let isHung = state.withLock { state in
                    let isHung = state.hung.contains(name)
                    if isHung { state.unanswered[name, default: []].append(answer) }
                    return isHung
                }
                if !isHung { answer() }
            }
        }
        let watchdog = Watchdog(
            interval: Self.interval, loops: loops, heartbeats: [heartbeat],
            effects: Watchdog.Effects(
                feed: { [unowned self] in state.withLock { $0.meals.append($0.now) } },
                setAlarm: { [unowned self] time in state.withLock { $0.alarmAt = time } },
                complain: { [unowned self] names in state.withLock { $0.complaints.append(names) } },
                recover: { [unowned self] in state.withLock { $0.recoveries += 1 } }),
            now: { [unowned self] in state.withLock(\.now) })
        made.withLock { $0 = watchdog }
        watchdog.start()
    }

    func pass(_ seconds: Int) { state.withLock { $0.now += .seconds(seconds) } }

    /// Lets time pass, with the alarms that come meanwhile.
    func sleep(_ seconds: Int) {
        let end = state.withLock(\.now) + .seconds(seconds)
        while let due = state.withLock(\.alarmAt), due <= end {
            state.withLock { state in
                state.now = max(state.now, due)
                state.alarmAt = nil
            }
            watchdog.alarm()
        }
        state.withLock { $0.now = end }
    }

    func hang(_ name: String) { state.withLock { _ = $0.hung.insert(name) } }

    func goOn(_ name: String) {
        let answers = state.withLock { state in
            state.hung.remove(name)
            defer { state.unanswered[name] = nil }
            return state.unanswered[name] ?? []
        }
        for answer in answers { answer() }
    }

    var meals: [Int] { state.withLock { $0.meals.map { Int($0.components.seconds) } } }
    var complaints: [[String]] { state.withLock(\.complaints) }
    var alarmAt: Int? { state.withLock { $0.alarmAt.map { Int($0.components.seconds) } } }
}

private final class Box: Sendable {
    private let value = Mutex<(@Sendable () -> Duration)?>(nil)
    init(_: borrowing Mutex<(@Sendable () -> Duration)?>) {}
    func set(_ now: @escaping @Sendable () -> Duration) { value.withLock { $0 = now } }
    func now() -> Duration { value.withLock { $0 }?() ?? .zero }
}
