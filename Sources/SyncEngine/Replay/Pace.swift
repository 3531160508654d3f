import PRSNLCore

/// How fast creations may be sent, learnt from the server's 429s.
///
/// The server counts in windows that begin with their first request, which cannot be seen from here, and other clients of the
/// same address use a part of them. So a refusal after a few sends says little: the server's wait is kept, and then the pace is as
/// before. The limit is what the server took of ours in the best of the last windows that ended with a refusal. No interval of a
/// window's length has more sends than that, so no window of the server has, wherever it begins.
struct Pace: Sendable, Equatable {
    /// How many of ours the server took in the windows that ended with a refusal, the newest last.
    private var accepted: [Int] = []
    private(set) var window: Duration = .seconds(60)
    /// When the last ones were sent (uptime), oldest first.
    private var sent: [Duration] = []
    private var closedUntil: Duration = .zero
    private var lastChange: Duration = .zero
    /// So many windows without a refusal, and the limit is tried: other clients may have gone.
    private var patience = Pace.shortestPatience
    /// More than was seen to be taken, as a trial.
    private var trial: Int?

    /// Requests travel for different times.
    private static let margin: Duration = .seconds(1)
    private static let longestMemory = 2_000
    /// A refusal after fewer than this may be another client's doing: it takes a second one to make a limit.
    private static let plausibleLimit = 20
    private static let remembered = 3
    private static let shortestPatience = 10
    private static let longestPatience = 120

    /// Requests per window; `nil` while nothing is known.
    var limit: Int? {
        guard let most = accepted.max(), most >= Self.plausibleLimit || accepted.count > 1 else { return nil }
        return trial ?? max(1, most)
    }

    mutating func noteSent(at uptime: Duration) {
        sent.append(uptime)
        if sent.count > Self.longestMemory { sent.removeFirst(sent.count - Self.longestMemory / 2) }
        if let limit, uptime - lastChange >= window * patience {
            trial = limit * 2
            lastChange = uptime
        }
    }

    /// - Parameter retryAfter: What the server asked for: the rest of its window or, as most servers say, all of it.
    mutating func noteRefused(at uptime: Duration, retryAfter: Duration) {
        // The last one is the one that was refused.
        _ = sent.popLast()
        let asked = max(.seconds(1), min(retryAfter, .seconds(3_600)))
        // A limit belongs to its window.
        if asked != window { accepted = [] }
        window = asked
        let count = sent.count { uptime - $0 < window }
        // A trial that brought nothing is repeated less and less often.
        if trial != nil {
            patience = count > accepted.max() ?? 0 ? Self.shortestPatience : min(patience * 2, Self.longestPatience)
        }
        trial = nil
        accepted.append(count)
        if accepted.count > Self.remembered { accepted.removeFirst() }
        lastChange = uptime
        closedUntil = uptime + retryAfter + Self.margin
    }

    /// Sends nothing before then.
    mutating func hold(until uptime: Duration) { closedUntil = max(closedUntil, uptime) }

    /// The last ones were not sent after all.
    mutating func noteUnsent(_ count: Int) {
        sent.removeLast(min(count, sent.count))
    }

    /// How many may be sent at once.
    func room(at uptime: Duration) -> Int {
        if uptime < closedUntil { return 0 }
        guard let limit else { return .max }
        return max(0, limit - sent.count { uptime - $0 <= window + Self.margin })
    }

    /// When the next one may be sent; in the past means now.
    func nextAt() -> Duration {
        guard let limit, sent.count >= limit else { return closedUntil }
        return max(closedUntil, sent[sent.count - limit] + window + Self.margin)
    }
}
