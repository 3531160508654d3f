/// Decides whether a GET that failed is repeated in place, and when. Pure: time and randomness come from outside.
struct RetryPolicy: Equatable {
    static let mostAttempts = 3
    static let firstDelay: Duration = .seconds(1)
    static let longestDelay: Duration = .seconds(10)
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
        let factor = Double(1 << (attempts - 1)) * (0.8 + 0.4 * unit)
        var delay = min(Self.firstDelay * factor, Self.longestDelay)
        if case .serviceUnavailable(_, let asked?) = error.kind {
            if asked > Self.longestDelay { return nil }
            delay = max(delay, asked)
        }
        attempts += 1
        return delay
    }
}
