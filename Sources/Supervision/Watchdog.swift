package import PRSNLCore
import Synchronization

/// Feeds systemd's watchdog for as long as every loop of the daemon lives (sd_watchdog_enabled(3)).
///
/// Loops made of tasks promise when they will be back (`Heartbeat`). Loops that are threads asleep in poll(2) are asked, by
/// a real round trip through what wakes them for their work.
package final class Watchdog: Sendable {
    /// A loop that is asked: it is to call the closure itself.
    package struct Loop: Sendable {
        let name: String
        let ask: @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void

        package init(
            _ name: String, ask: @escaping @Sendable (_ answer: @escaping @Sendable () -> Void) -> Void
        ) {
            self.name = name
            self.ask = ask
        }
    }

    /// What it does to the world.
    package struct Effects: Sendable {
        /// Tells systemd. False where that was not possible: it is tried again.
        package var feed: @Sendable () -> Bool
        /// Has `alarm()` called at that time of CLOCK_MONOTONIC, instead of the time that was set before.
        package var setAlarm: @Sendable (Duration) -> Void
        /// Tells people which loops are hung.
        package var complain: @Sendable ([String]) -> Void
        /// All are back.
        package var recover: @Sendable () -> Void

        package init(
            feed: @escaping @Sendable () -> Bool, setAlarm: @escaping @Sendable (Duration) -> Void,
            complain: @escaping @Sendable ([String]) -> Void, recover: @escaping @Sendable () -> Void
        ) {
            self.feed = feed
            self.setAlarm = setAlarm
            self.complain = complain
            self.recover = recover
        }
    }

    private struct State {
        var rules: WatchdogRules
        var isStopped = false
    }

    private let state: Mutex<State>
    private let loops: [Loop]
    private let heartbeats: [Heartbeat]
    private let effects: Effects
    private let now: @Sendable () -> Duration

    /// - Parameters:
    ///   - interval: `$WATCHDOG_USEC`.
    ///   - loops: The one that others stand on first: where it is silent, no other is blamed.
    ///   - now: CLOCK_MONOTONIC, which is systemd's own: time in suspend does not count.
    package init(
        interval: Duration, loops: [Loop], heartbeats: [Heartbeat], effects: Effects,
        now: @escaping @Sendable () -> Duration = Heartbeat.monotonic
    ) {
        self.loops = loops
        self.heartbeats = heartbeats
        self.effects = effects
        self.now = now
        state = Mutex(State(rules: WatchdogRules(interval: interval, now: now())))
    }

    /// How often systemd wants to hear from this process; `nil` where it does not.
    package static func interval(environment: [String: String], processID: Int32) -> Duration? {
        guard let text = environment["WATCHDOG_USEC"], let microseconds = Int64(text), microseconds > 0 else {
            return nil
        }
        // Set for another process of the service: a shell that has started this one, perhaps.
        if let watched = environment["WATCHDOG_PID"], watched != String(processID) { return nil }
        return .microseconds(microseconds)
    }

    package func start() {
        let now = now()
        effects.setAlarm(state.withLock { $0.rules.nextAlarm(now) })
    }

    /// The daemon ends, and its loops with it.
    package func stop() { state.withLock { $0.isStopped = true } }

    /// The daemon is awake: a good time to ask all loops.
    ///
    /// - Returns: Whether they were asked.
    @discardableResult
    package func askIfDue() -> Bool {
        let now = now()
        let round = state.withLock { state -> UInt64? in
            guard !state.isStopped, state.rules.isDue(now) else { return nil }
            return state.rules.begin(Set(loops.map(\.name)), now)
        }
        guard let round else { return false }
        ask(round)
        return true
    }

    /// To be called when the time of `setAlarm` has come, by a thread that does nothing else, and so cannot hang
    /// itself.
    package func alarm() {
        let now = now()
        let late = late
        let (alarm, next) = state.withLock { state -> (WatchdogRules.Alarm?, Duration) in
            if state.isStopped { return (nil, now) }
            // Fed since the timer was set.
            if now < state.rules.firstAlarm { return (nil, state.rules.firstAlarm) }
            let alarm = state.rules.alarm(loops.map(\.name), late: late, now)
            return (alarm, state.rules.nextAlarm(now))
        }
        if next > now { effects.setAlarm(next) }
        guard let alarm else { return }
        if !alarm.complaint.isEmpty { effects.complain(alarm.complaint) }
        ask(alarm.round)
    }

    private var late: [String] {
        let tolerance = state.withLock(\.rules.tolerance)
        return heartbeats.filter { $0.isLate(tolerance: tolerance) }.map(\.name)
    }

    private func ask(_ round: UInt64) {
        for loop in loops {
            loop.ask { [weak self] in self?.take(loop.name, round) }
        }
    }

    private func take(_ loop: String, _ round: UInt64) {
        guard state.withLock({ $0.rules.answer(loop, round: round) }) else { return }
        let late = late
        let now = now()
        let (feeds, isRecovery, lastFed) = state.withLock { state in
            let lastFed = state.rules.lastFed
            if state.isStopped { return (false, false, lastFed) }
            let settled = state.rules.settle(late: late, now)
            return (settled.feeds, settled.isRecovery, lastFed)
        }
        guard feeds else { return }
        let isFed = effects.feed()
        effects.setAlarm(
            state.withLock { state in
                isFed ? state.rules.nextAlarm(now) : state.rules.lose(lastFed: lastFed, now)
            })
        if isRecovery { effects.recover() }
    }
}
