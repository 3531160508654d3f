import PRSNLCore
import Synchronization

/// Feeds systemd's watchdog for as long as every loop of the daemon lives (sd_watchdog_enabled(3)).
///
/// Each loop says by when it is back (`Heartbeat`). The watchdog is fed when the daemon is awake anyway and no loop is late,
/// so that being watched costs no wake-up. Only where that has not happened for four fifths of the interval does a timer run
/// out. All times are CLOCK_MONOTONIC, systemd's own: time in suspend does not count.
final class Watchdog: Sendable {
    /// What it does to the world.
    struct Effects: Sendable {
        /// Tells systemd. False where that was not possible: it is tried again.
        var feed: @Sendable () -> Bool
        /// Has `alarm()` called at that time of CLOCK_MONOTONIC, instead of the time that was set before.
        var setAlarm: @Sendable (Duration) -> Void
        /// Tells people which loops are hung.
        var complain: @Sendable ([String]) -> Void
        /// All are back.
        var recover: @Sendable () -> Void
    }

    private struct State {
        var lastFed: Duration
        /// The same, and also where systemd could not be notified.
        var lastTried: Duration
        var complainedAt: Duration?
        var isStopped = false
    }

    /// Within which systemd wants to be notified.
    private let interval: Duration
    private let heartbeats: [Heartbeat]
    private let effects: Effects
    private let now: @Sendable () -> Duration
    private let state: Mutex<State>

    /// - Parameters:
    ///   - interval: `$WATCHDOG_USEC`.
    ///   - heartbeats: In the order in which people are told of them: a loop that others wait for comes before them.
    ///   - now: CLOCK_MONOTONIC.
    init(
        interval: Duration, heartbeats: [Heartbeat], effects: Effects,
        now: @escaping @Sendable () -> Duration = Heartbeat.monotonic
    ) {
        self.interval = interval
        self.heartbeats = heartbeats
        self.effects = effects
        self.now = now
        // READY=1 counts as the first feeding.
        let start = now()
        state = Mutex(State(lastFed: start, lastTried: start))
    }

    /// How often systemd wants to hear from this process; `nil` where it does not.
    static func interval(environment: [String: String], processID: Int32) -> Duration? {
        guard let text = environment["WATCHDOG_USEC"], let microseconds = Int64(text), microseconds > 0 else {
            return nil
        }
        // Set for another process of the service: a shell that has started this one, perhaps.
        if let watched = environment["WATCHDOG_PID"], watched != String(processID) { return nil }
        return .microseconds(microseconds)
    }

    func start() { effects.setAlarm(firstAlarm) }

    /// The daemon ends, and its loops with it.
    func stop() { state.withLock { $0.isStopped = true } }

    /// The daemon is awake: a good time to feed. A loop that works without a pause wakes up all the time, so it is done every
    /// sixteenth of the interval at most.
    func feedIfDue() {
        let now = now()
        let isDue = state.withLock { !$0.isStopped && now - $0.lastTried >= interval / 16 }
        if isDue, late.isEmpty { feed(now) }
    }

    /// To be called when the time of `setAlarm` has come, by a thread that does nothing else, and so cannot hang
    /// itself.
    func alarm() {
        let now = now()
        if state.withLock(\.isStopped) { return }
        // Fed since the timer was set.
        if now < firstAlarm { return start() }
        let late = late
        if late.isEmpty { return feed(now) }
        effects.setAlarm(now + interval / 10)
        let complains = state.withLock { state in
            // Before systemd ends it, so that the journal says why; and again for as long as it does not.
            guard now - state.lastFed >= interval * 17 / 20, state.complainedAt.map({ now - $0 >= interval }) ?? true
            else { return false }
            state.complainedAt = now
            return true
        }
        if complains { effects.complain(late) }
    }

    /// Until then any wake-up may feed.
    private var firstAlarm: Duration { state.withLock(\.lastFed) + interval * 4 / 5 }

    /// A busy machine is no hung loop: each may be late by a tenth of the interval.
    private var late: [String] { heartbeats.filter { $0.isLate(tolerance: interval / 10) }.map(\.name) }

    private func feed(_ now: Duration) {
        state.withLock { $0.lastTried = now }
        guard effects.feed() else { return effects.setAlarm(max(firstAlarm, now + interval / 20)) }
        let isRecovery = state.withLock { state in
            defer { state.complainedAt = nil }
            state.lastFed = now
            return state.complainedAt != nil
        }
        effects.setAlarm(firstAlarm)
        if isRecovery { effects.recover() }
    }
}
