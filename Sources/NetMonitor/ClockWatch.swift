import CLinux
import Glibc
import PRSNLCore

/// Notices that the wall clock was set, and that the machine slept.
///
/// NTP slews all three clocks together, so their differences change by steps and suspends only.
struct ClockWatch: Sendable {
    /// Less is neither worth a dump nor told from the time between two readings.
    static let threshold: Duration = .seconds(1)

    private var step: Duration
    private var sleep: Duration

    init(_ first: ClockReading) {
        step = first.realtime - first.boottime
        sleep = first.boottime - first.monotonic
    }

    /// What happened since the last change that was told: small steps add up.
    mutating func changes(to reading: ClockReading) -> [NetworkEvent.Clock] {
        var changes: [NetworkEvent.Clock] = []
        let sleep = reading.boottime - reading.monotonic
        if sleep - self.sleep >= Self.threshold {
            changes.append(.woke(sleep - self.sleep))
            self.sleep = sleep
        }
        let step = reading.realtime - reading.boottime
        if step - self.step >= Self.threshold || self.step - step >= Self.threshold {
            changes.append(.stepped(step - self.step))
            self.step = step
        }
        return changes
    }
}

/// The machine's clocks at one moment (clock_gettime(2)).
struct ClockReading: Sendable, Equatable {
    /// UTC, which people and time servers set.
    var realtime: Duration
    /// Since boot, suspend included.
    var boottime: Duration
    /// Since boot, suspend left out.
    var monotonic: Duration

    static func now() -> ClockReading {
        ClockReading(
            realtime: TimeSource.clock(CLOCK_REALTIME), boottime: TimeSource.clock(CLOCK_BOOTTIME),
            monotonic: TimeSource.clock(CLOCK_MONOTONIC))
    }
}

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
