/// Who still gets a place at the control socket: a value, so that nobody takes all of them.
enum ClientQuota {
    /// - Parameters:
    ///   - ofUser: how many the same user has already.
    ///   - inAll: how many are taken.
    static func admits(
        _ standing: PeerPolicy.Standing, ofUser: Int, inAll: Int, limits: ControlServer.Limits
    ) -> Bool {
        switch standing {
        case .root: inAll < limits.clients
        // One of the reserved places stays free for root, whatever the daemon's user does.
        case .owner: inAll < max(1, limits.clients - limits.reserved / 2)
        case .member: inAll < limits.clients - limits.reserved && ofUser < limits.clientsPerUser
        case .stranger: false
        }
    }
}

/// How fast the members of the socket's group may ask: each request costs a token, and tokens come back with time. It may
/// go below zero, because each connection has one request under way at most; the debt is waited for.
struct RequestRate: Sendable, Equatable {
    private var tokens: Double
    /// Milliseconds.
    private var lastAt: Int64
    private let burst: Double
    private let perSecond: Double

    init(burst: Int, perSecond: Int, now: Int64) {
        self.burst = Double(burst)
        self.perSecond = Double(perSecond)
        tokens = Double(burst)
        lastAt = now
    }

    /// Takes one.
    mutating func charge(at now: Int64) {
        refill(now)
        tokens -= 1
    }

    /// When the next request may be read; `nil` for at once.
    mutating func pause(at now: Int64) -> Int64? {
        refill(now)
        guard tokens < 1 else { return nil }
        return now + max(1, Int64(((1 - tokens) / perSecond * 1_000).rounded(.up)))
    }

    /// Whether it says as much as a new one.
    mutating func isFull(at now: Int64) -> Bool {
        refill(now)
        return tokens >= burst
    }

    private mutating func refill(_ now: Int64) {
        tokens = min(burst, tokens + Double(max(0, now - lastAt)) / 1_000 * perSecond)
        lastAt = max(lastAt, now)
    }
}
