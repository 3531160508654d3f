import Glibc
import Synchronization

/// One loop's promise of when it will say something again: at once, or after what it waits for has ended. The watchdog
/// takes it for hung when that time is over and nothing was said.
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

    private struct State {
        /// When it will say something again; `nil` where it has promised nothing.
        var due: Duration?
        var follower: (@Sendable (Sign) -> Void)?
    }

    /// The loop that the current task belongs to, for what is far below it: a request promises for the loop that sends
    /// it.
    @TaskLocal package static var current: Heartbeat?

    /// For people: "the pulls".
    package let name: String
    private let now: @Sendable () -> Duration
    private let state = Mutex(State())

    /// - Parameter now: A clock that does not run while the machine is suspended: systemd's watchdog does not either, and a
    ///   loop that slept with the machine has not hung.
    package init(_ name: String, now: @escaping @Sendable () -> Duration = Heartbeat.monotonic) {
        self.name = name
        self.now = now
    }

    /// CLOCK_MONOTONIC, which stands still during suspend (clock_gettime(2)).
    package static let monotonic: @Sendable () -> Duration = { TimeSource.clock(CLOCK_MONOTONIC) }

    /// To be called once, before the loop begins. `tell` is called by the loop itself, and must not wait.
    package func follow(_ tell: @escaping @Sendable (Sign) -> Void) { state.withLock { $0.follower = tell } }

    /// The loop begins a turn.
    package func wake() {
        let now = now()
        say(.awake) { $0 = now }
    }

    /// Another thread is about to wake the loop, which rests. To be called before that, so that the loop's next rest follows.
    package func call() {
        let now = now()
        state.withLock { $0.due = min($0.due ?? now, now) }
    }

    /// The loop is getting on, and waits for something that ends by itself after `limit` at the latest. Several parts of
    /// one loop may wait at once: the longest wait counts.
    package func expect(within limit: Duration) {
        let end = now() + limit
        // A loop that rests, or that has not begun, has promised nothing.
        say(.progress) { due in due = due.map { max($0, end) } }
    }

    /// The loop sleeps now. `nil`: until it is woken.
    package func rest(atMost limit: Duration?) {
        let end = limit.map { now() + $0 }
        say(.rest) { $0 = end }
    }

    /// The loop is over, as it should be.
    package func end() { state.withLock { $0.due = nil } }

    package func isLate(tolerance: Duration) -> Bool {
        guard let due = state.withLock(\.due) else { return false }
        return now() > due + tolerance
    }

    private func say(_ sign: Sign, _ promise: (inout Duration?) -> Void) {
        let follower = state.withLock { state in
            promise(&state.due)
            return state.follower
        }
        follower?(sign)
    }
}
