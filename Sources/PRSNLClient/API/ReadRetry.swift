import PRSNLCore

/// Decides whether a GET that failed is repeated in place, and when. Pure: time and randomness come from outside.
struct ReadRetry: Equatable {
    static let mostAttempts = 3
    private static let backoff = Backoff(base: .seconds(1), cap: .seconds(10), jitter: 0.8...1.2)
    /// A rate limit is waited for in place up to here; the scheduler waits longer ones.
    static let longestRateLimit: Duration = .seconds(60)

    private(set) var attempts = 1
    private(set) var waitedForRateLimit = false

    /// How long to wait before the next attempt; `nil` when the error goes to the caller.
    ///
    /// - Parameter unit: a random number, 0..<1.
    mutating func delay(after error: APIError, unit: Double) -> Duration? {
        if case .rateLimitExceeded(let wait) = error.kind {
            guard !waitedForRateLimit, wait <= Self.longestRateLimit else { return nil }
            waitedForRateLimit = true  // and not an attempt
            return wait
        }
        guard error.isRetryable, attempts < Self.mostAttempts else { return nil }
        var delay = Self.backoff.wait(failures: attempts, draw: unit)
        if case .serviceUnavailable(_, let asked?) = error.kind {
            if asked > Self.backoff.cap { return nil }
            delay = max(delay, asked)
        }
        attempts += 1
        return delay
    }
}
