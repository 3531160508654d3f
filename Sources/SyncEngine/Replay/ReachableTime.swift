import NetMonitor
import PRSNLCore

/// The time during which the server could be reached, as far as it was counted (uptime).
struct ReachableTime: Sendable {
    private var countedUntil: Duration
    /// When the loop meant to wake up: what passes long after that was spent asleep, with the whole machine.
    var wakesAt: Duration
    /// Counted and not yet in the file.
    private var passed: Duration = .zero

    init(from uptime: Duration) {
        countedUntil = uptime
        wakesAt = uptime
    }

    /// Adds what has passed in that state, which ends now or goes on.
    mutating func advance(to uptime: Duration, asOf state: Connectivity.State) {
        if state == .online { passed += min(uptime - countedUntil, max(wakesAt - countedUntil, .zero) + .seconds(60)) }
        countedUntil = uptime
    }

    /// What has to be added to the file, in steps of a second at least.
    mutating func take() -> Duration? {
        guard passed >= .seconds(1) else { return nil }
        defer { passed = .zero }
        return passed
    }
}
