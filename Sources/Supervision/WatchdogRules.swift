/// When the watchdog is fed, and when people are told that it is not: a value, told what happened.
///
/// The loops are asked in rounds. A round begins when the daemon is awake anyway, so that being watched costs no wake-up; only
/// where that has not happened for four fifths of the interval does a timer begin one. All times are CLOCK_MONOTONIC.
struct WatchdogRules: Sendable, Equatable {
    /// What to do when the timer has run out.
    struct Alarm: Sendable, Equatable {
        /// The loops to report as hung; empty most of the time.
        var complaint: [String] = []
        var round: UInt64
    }

    /// Within which systemd wants to be told (`$WATCHDOG_USEC`).
    let interval: Duration
    private(set) var lastFed: Duration
    /// The loops that have not answered in the round under way; `nil` where none is.
    private(set) var waitsFor: Set<String>?
    private var round: UInt64 = 0
    private var roundBegan: Duration = .zero
    private var complainedAt: Duration?

    /// - Parameter now: READY=1 counts as the first feeding.
    init(interval: Duration, now: Duration) {
        self.interval = interval
        lastFed = now
    }

    /// How late a loop may be: a busy machine is no hung loop.
    var tolerance: Duration { interval / 10 }

    /// Whether a round is worth its while now that the daemon is awake.
    func isDue(_ now: Duration) -> Bool {
        // A loop that works without a pause wakes up all the time.
        let often = interval / 16
        if now - lastFed < often { return false }
        return waitsFor == nil || now - roundBegan >= often
    }

    /// - Returns: The round's number: late answers to an earlier one do not count.
    mutating func begin(_ loops: Set<String>, _ now: Duration) -> UInt64 {
        waitsFor = loops
        roundBegan = now
        round += 1
        return round
    }

    /// - Returns: Whether that was the last one.
    mutating func answer(_ loop: String, round number: UInt64) -> Bool {
        guard number == round, waitsFor?.remove(loop) != nil else { return false }
        return waitsFor?.isEmpty == true
    }

    /// All loops have answered.
    ///
    /// - Parameter late: Loops that have promised to be back by now, and are not.
    /// - Returns: Whether to feed, and whether that ends what was complained about.
    mutating func settle(late: [String], _ now: Duration) -> (feeds: Bool, isRecovery: Bool) {
        guard late.isEmpty else { return (false, false) }
        defer { complainedAt = nil }
        lastFed = now
        waitsFor = nil
        return (true, complainedAt != nil)
    }

    /// The message to systemd was not delivered.
    ///
    /// - Parameter lastFed: before it.
    /// - Returns: when to try again, while there is time.
    mutating func lose(lastFed: Duration, _ now: Duration) -> Duration {
        self.lastFed = lastFed
        // No loop is waited for, and yet not every wake-up may ask again.
        waitsFor = []
        return max(firstAlarm, now + interval / 20)
    }

    /// Until then a wake-up may begin a round: no alarm before this.
    var firstAlarm: Duration { lastFed + interval * 4 / 5 }

    /// When the timer is to run out next.
    func nextAlarm(_ now: Duration) -> Duration { firstAlarm > now ? firstAlarm : now + interval / 10 }

    /// The timer has run out: a loop that did not answer in the round before is silent, and a new round begins.
    ///
    /// - Parameter loops: In the order of blame: a loop that is hung makes those behind it wait.
    mutating func alarm(_ loops: [String], late: [String], _ now: Duration) -> Alarm {
        var complaint: [String] = []
        let silent = loops.first { waitsFor?.contains($0) == true }.map { [$0] } ?? late
        // Before systemd ends it, so that the journal says why; and again for as long as it does not.
        let isTime = now - lastFed >= interval * 17 / 20
        if isTime, !silent.isEmpty, complainedAt.map({ now - $0 >= interval }) ?? true {
            complaint = silent
            complainedAt = now
        }
        return Alarm(complaint: complaint, round: begin(Set(loops), now))
    }
}
