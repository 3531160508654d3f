/// How fast the members of the socket's group may ask: each request costs a token, and tokens come back with time. It may
/// go below zero, because each connection has one request under way at most; the debt is waited for.
struct RequestRate: Sendable, Equatable {
    /// Thousandths of a token, so that nothing is lost between two milliseconds.
    private var tokens: Int64
    /// Milliseconds.
    private var lastAt: Int64
    private let burst: Int64
    private let perSecond: Int64

    private static let token: Int64 = 1_000

    init(burst: Int, perSecond: Int, now: Int64) {
        self.burst = Int64(burst) * Self.token
        self.perSecond = Int64(max(1, perSecond))
        tokens = self.burst
        lastAt = now
    }

    /// Takes some.
    mutating func charge(_ count: Int = 1, at now: Int64) {
        tokens = available(at: now) - Int64(count) * Self.token
        lastAt = max(lastAt, now)
    }

    /// When the next request may be read; `nil` for at once.
    func pause(at now: Int64) -> Int64? {
        let missing = Self.token - available(at: now)
        return missing > 0 ? now + (missing + perSecond - 1) / perSecond : nil
    }

    /// Whether it says as much as a new one.
    func isFull(at now: Int64) -> Bool { available(at: now) >= burst }

    /// A token per second is a thousandth per millisecond.
    private func available(at now: Int64) -> Int64 {
        min(burst, tokens + max(0, now - lastAt) * perSecond)
    }
}
