import Glibc

/// Where time comes from: the wall clock, a clock that never steps, and a way to wait. Injected, so that tests run a day
/// in a second.
package struct TimeSource: Sendable {
    /// The wall clock, UTC. It may step.
    package var now: @Sendable () -> Timestamp
    /// Time since some fixed point, never running backwards, suspend included (CLOCK_BOOTTIME).
    package var uptime: @Sendable () -> Duration
    /// Waits. Throws `CancellationError` when the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void

    package init(
        now: @escaping @Sendable () -> Timestamp, uptime: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.uptime = uptime
        self.sleep = sleep
    }

    package static let system = TimeSource(
        now: { Timestamp(microseconds: 0).advanced(by: clock(CLOCK_REALTIME)) },
        uptime: { clock(CLOCK_BOOTTIME) },
        // The tolerance lets the kernel fire this timer together with another one: fewer wake-ups.
        sleep: { try await Task.sleep(for: $0, tolerance: $0 / 20) }
    )

    /// What one of the machine's clocks says (clock_gettime(2)).
    package static func clock(_ id: Int32) -> Duration { .nanoseconds(nanoseconds(id)) }

    package static func nanoseconds(_ id: Int32 = CLOCK_MONOTONIC) -> Int64 {
        var time = timespec()
        // Fails only for an unknown clock or a bad pointer. Both are constants here.
        clock_gettime(id, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
