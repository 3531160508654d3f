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
