import Glibc
import PRSNLCore

/// The machine's clocks at one moment (clock_gettime(2)).
struct ClockReading: Sendable, Equatable {
    /// UTC, which people and time servers set.
    var realtime: Duration
    /// Since boot, suspend included.
    var boottime: Duration
    /// Since boot, suspend left out.
    var monotonic: Duration

    /// The clocks are read one after another, and again where something came between: a suspend there would look like a step.
    static func now() -> ClockReading {
        var reading = ClockReading(realtime: .zero, boottime: .zero, monotonic: .zero)
        for _ in 0..<8 {
            reading = ClockReading(
                realtime: TimeSource.clock(CLOCK_REALTIME), boottime: TimeSource.clock(CLOCK_BOOTTIME),
                monotonic: TimeSource.clock(CLOCK_MONOTONIC))
            if TimeSource.clock(CLOCK_BOOTTIME) - reading.boottime < .milliseconds(1) { break }
        }
        return reading
    }
}
