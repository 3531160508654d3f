import PRSNLCore

/// How fast creations may be sent, learnt from the server's 429s: as many as it took in one window, in every window.
///
/// The server counts in windows that begin with their first request, which cannot be seen from here. No stretch of a
/// window's length has more sends than the limit, so no window of the server has, wherever it begins.
struct Pace: Sendable, Equatable {
    /// Requests per window; `nil` until the server has refused one.
    private(set) var limit: Int?
    private(set) var window: Duration = .seconds(60)
    /// When the last ones were sent (uptime), oldest first.
    private var sent: [Duration] = []
    private var closedUntil: Duration = .zero
    private var lastChange: Duration = .zero

    /// Requests travel for different times.
    private static let margin: Duration = .seconds(1)
    private static let longestMemory = 2_000
    /// A limit that somebody else took a part of may be larger now; found out with one request too many, and so not often.
    private static let growthPause: Duration = .seconds(2 * 3_600)

    mutating func noteSent(at uptime: Duration) {
        sent.append(uptime)
        if sent.count > Self.longestMemory { sent.removeFirst(sent.count - Self.longestMemory / 2) }
        if let limit, uptime - lastChange >= Self.growthPause {
            self.limit = limit + 1
            lastChange = uptime
        }
    }

    /// - Parameter retryAfter: What the server asked for: the rest of its window or, as most servers say, all of it.
    mutating func noteRefused(at uptime: Duration, retryAfter: Duration) {
        // The last one is the one that was refused.
        _ = sent.popLast()
        let asked = max(.seconds(1), min(retryAfter, .seconds(3_600)))
        // A limit belongs to its window.
        if asked != window { limit = nil }
        window = asked
        let accepted = sent.count { uptime - $0 < window }
        // None at all: somebody else has used the window up, which says nothing about its size.
        if accepted > 0 { limit = min(limit ?? accepted, accepted) }
        lastChange = uptime
        closedUntil = uptime + retryAfter + Self.margin
    }

    /// The last ones were not sent after all.
    mutating func noteUnsent(_ count: Int) {
        sent.removeLast(min(count, sent.count))
    }

    /// How many may be sent at once.
    func room(at uptime: Duration) -> Int {
        guard let limit else { return .max }
        return uptime < closedUntil ? 0 : max(0, limit - sent.count { uptime - $0 <= window + Self.margin })
    }

    /// When the next one may be sent; in the past means now.
    func nextAt() -> Duration {
        guard let limit, sent.count >= limit else { return closedUntil }
        return max(closedUntil, sent[sent.count - limit] + window + Self.margin)
    }
}
