/// When the network's state is read next. A hint of the kernel's is followed at once; a flood of them costs bounded work.
///
/// Times are those of any clock that never runs backwards.
struct LookSchedule: Sendable {
    /// From the end of one look to the next: ten looks a second at most.
    static let pause: Duration = .milliseconds(100)
    /// A pause is so many times what the look took, so that large tables take less than a twentieth of one core.
    static let costFactor = 20
    /// Some changes come without an event of their own (the routes of an address that was removed), or just after it:
    /// so long after the last look that a hint led to, there is one more.
    static let settling: Duration = .seconds(1)
    /// The longest pause after looks that failed.
    static let longestRetry: Duration = .seconds(60)

    /// No look before.
    private var earliest: Duration = .zero
    /// A look without a hint: after things have settled, or because the last one failed.
    private var planned: Duration?
    private var failures = 0
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
        earliest = now + max(Self.pause, cost * Self.costFactor)
        if isComplete {
            planned = isHinted ? max(now + Self.settling, earliest) : nil
            failures = 0
        } else {
            failures += 1
            planned = max(now + min(Self.pause * (1 << min(failures, 12)), Self.longestRetry), earliest)
            // Where looking fails, more of the same hints are no reason to look more often, but for the first few times.
            if failures > 5 { earliest = planned ?? earliest }
        }
        isHinted = false
    }
}
