import PRSNLCore

/// When the network's state is read next. A hint of the kernel's is followed at once; a flood of them costs bounded work.
///
/// Times are those of any clock that never runs backwards.
struct LookSchedule: Sendable {
    /// From one look to the next in a flood: ten looks a second.
    static let pause: Duration = .milliseconds(100)
    /// So many looks may follow each other faster than that. A link that comes up is a handful of events within some
    /// milliseconds, the last of which is the one that matters.
    static let burst = 5
    /// Between the looks of a burst: events that belong together are seen together.
    static let shortPause: Duration = .milliseconds(2)
    /// A pause is so many times what the look took, so that large tables take less than a twentieth of one core.
    static let costFactor = 20
    /// Some changes come without an event of their own (the routes of an address that was removed), or just after it:
    /// so long after the last look that a hint led to, there is one more.
    static let settling: Duration = .seconds(1)
    /// After looks that failed.
    static let retry = Backoff(base: pause, cap: .seconds(60), jitter: 1...1)

    /// No look before.
    private var earliest: Duration = .zero
    /// A look without a hint: after things have settled, or because the last one failed.
    private var planned: Duration?
    private var failures = 0
    /// How many looks may still follow each other fast, and until when the pauses between them are counted.
    private var credit = Self.burst
    private var credited: Duration = .zero
    private(set) var isHinted = false

    /// When to look; `nil` where there is nothing to look for.
    var next: Duration? { isHinted ? earliest : planned }

    /// Whether the last look did.
    var hasFailed: Bool { failures > 0 }

    mutating func hint() { isHinted = true }

    /// - Parameters:
    ///   - now: When the look ended.
    ///   - cost: Time that it took of the processor.
    mutating func looked(at now: Duration, cost: Duration, isComplete: Bool) {
        while credit < Self.burst, now - credited >= Self.pause {
            credit += 1
            credited += Self.pause
        }
        if credit == Self.burst { credited = now }
        if credit > 0 { credit -= 1 }
        earliest = now + max(credit > 0 ? Self.shortPause : Self.pause, cost * Self.costFactor)
        if isComplete {
            planned = isHinted ? max(now + Self.settling, earliest) : nil
            failures = 0
        } else {
            failures += 1
            planned = max(now + Self.retry.step(failures + 1), earliest)
            // Where looking fails, more of the same hints are no reason to look more often, but for the first few times.
            if failures > 5 { earliest = planned ?? earliest }
        }
        isHinted = false
    }
}
