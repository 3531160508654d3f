import Glibc
import Synchronization

/// One loop's promise of when it will say something again: at once, or after what it waits for has ended. Whoever watches
/// it (the watchdog) takes it for hung when that time is over and nothing was said.
///
/// A loop costs nothing by this while it rests: it only writes down how long it means to.
package final class Heartbeat: Sendable {
    package enum Sign: Sendable {
        /// It has woken up.
        case awake
        /// It works, and has got on.
        case progress
        /// It has nothing to do, and is about to wait.
        case rest
    }

    /// The loop that the current task belongs to, for what is far below it: a request promises for the loop that sends
    /// it.
    @TaskLocal package static var current: Heartbeat?

    /// For people: "the pulls".
    package let name: String
    private let now: @Sendable () -> Duration
    private let due: Mutex<Duration?>
    private let follower = Mutex<(@Sendable (Sign) -> Void)?>(nil)

    /// - Parameter now: A clock that does not run while the machine is suspended: systemd's watchdog does not either, and a
    ///   loop that slept with the machine has not hung.
    package init(_ name: String, now: @escaping @Sendable () -> Duration = Heartbeat.monotonic) {
        self.name = name
        self.now = now
        due = Mutex(nil)
    }

    /// CLOCK_MONOTONIC, which stands still during suspend (clock_gettime(2)).
    package static let monotonic: @Sendable () -> Duration = { TimeSource.clock(CLOCK_MONOTONIC) }

    /// To be called once, before the loop begins. `tell` is called by the loop itself, and must not wait.
    package func follow(_ tell: @escaping @Sendable (Sign) -> Void) { follower.withLock { $0 = tell } }

    /// The loop begins a turn.
    package func wake() {
        let now = now()
        due.withLock { $0 = now }
        tell(.awake)
    }

    /// The loop is getting on, and waits for something that ends by itself after `limit` at the latest. Several parts of
    /// one loop may wait at once: the longest wait counts.
    package func expect(within limit: Duration) {
        let end = now() + limit
        due.withLock { due in
            // A loop that rests, or that has not begun, has promised nothing.
            if let earlier = due { due = max(earlier, end) }
        }
        tell(.progress)
    }

    /// The loop sleeps now. `nil`: until it is woken.
    package func rest(atMost limit: Duration?) {
        let end = limit.map { now() + $0 }
        due.withLock { $0 = end }
        tell(.rest)
    }

    /// The loop is over, as it should be.
    package func end() { due.withLock { $0 = nil } }

    /// Whether its time is over by more than `tolerance`.
    package func isLate(tolerance: Duration) -> Bool {
        guard let due = due.withLock({ $0 }) else { return false }
        return now() > due + tolerance
    }

    private func tell(_ sign: Sign) { follower.withLock { $0 }?(sign) }
}
