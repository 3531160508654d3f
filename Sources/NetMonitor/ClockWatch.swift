import Glibc

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
                realtime: clock(CLOCK_REALTIME), boottime: clock(CLOCK_BOOTTIME), monotonic: clock(CLOCK_MONOTONIC))
            if clock(CLOCK_BOOTTIME) - reading.boottime < .milliseconds(1) { break }
        }
        return reading
    }

    static func clock(_ id: Int32) -> Duration {
        var time = timespec()
        // Fails only for an unknown clock or a bad pointer; both are constants here.
        clock_gettime(id, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// Notices that the wall clock was set, and that the machine slept.
///
/// NTP slews all three clocks together, so their differences change by steps and suspends only.
struct ClockWatch: Sendable {
    /// Less is neither worth a look nor told from the time between two readings.
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
