import Glibc
import PRSNLCore

/// A timer that can be put off from any thread without waking another: timer_create(2). Where it runs out, the process gets
/// SIGALRM, which the main thread waits for.
///
/// CLOCK_MONOTONIC, as systemd's own: time in suspend does not count. An execv(2) removes it.
final class WatchdogTimer: Sendable {
    /// The kernel's number for it, as a pointer: the first one is 0, which Swift takes for none.
    private nonisolated(unsafe) let timer: timer_t?

    /// - Throws: `control_socket_failed`: the kernel has no memory for a timer.
    init() throws(UserFacingError) {
        var timer: timer_t?
        guard timer_create(CLOCK_MONOTONIC, nil, &timer) == 0 else {
            throw UserFacingError(.controlSocketFailed, "timer_create: \(String(cString: strerror(errno))).")
        }
        self.timer = timer
    }

    deinit { timer_delete(timer) }

    func set(_ time: Duration) {
        let parts = time.components
        // All zeros would disarm it (timer_settime(2)).
        var setting = itimerspec(
            it_interval: timespec(),
            it_value: timespec(
                tv_sec: Int(max(parts.seconds, 0)), tv_nsec: max(Int(parts.attoseconds / 1_000_000_000), 1)))
        timer_settime(timer, Int32(TIMER_ABSTIME), &setting, nil)
    }
}
