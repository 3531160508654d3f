import CLinux
import Glibc

/// A descriptor that becomes readable when the wall clock is set or the machine wakes up (TFD_TIMER_CANCEL_ON_SET of
/// timerfd_create(2)). Costs no wake-up until then.
final class ClockAlarm {
    /// -1, which poll(2) skips, where the kernel has none left; then the clock is not watched.
    let descriptor: Int32

    static func timer() -> Int32 { timerfd_create(CLOCK_REALTIME, Int32(TFD_CLOEXEC) | Int32(TFD_NONBLOCK)) }

    /// - Parameter descriptor: Closed with the alarm. Tests give one that is no timer, and make it readable.
    init(_ descriptor: Int32 = ClockAlarm.timer()) {
        self.descriptor = descriptor
        arm()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    func reset() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)  // ECANCELED, which is the news
        arm()
    }

    private func arm() {
        guard descriptor >= 0 else { return }
        // The year 2255: the kernel counts nanoseconds in 63 bits.
        var time = itimerspec(it_interval: timespec(), it_value: timespec(tv_sec: 9_000_000_000, tv_nsec: 0))
        // Says ECANCELED where the clock was set since it was armed before; it is armed nevertheless.
        timerfd_settime(descriptor, Int32(TFD_TIMER_ABSTIME) | Int32(TFD_TIMER_CANCEL_ON_SET), &time, nil)
    }
}
