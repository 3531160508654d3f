import PRSNLCore

/// How long to wait after a pull that failed: exponential backoff with full jitter, capped
/// (https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/).
struct RetryPolicy: Sendable {
    /// The first step.
    var base: Duration = .seconds(4)
    /// The longest step.
    var cap: Duration = .seconds(3_600)
    /// Even a lucky draw leaves the server this long.
    var floor: Duration = .seconds(1)
    /// So often in a row a server is believed that says when to come again; after that its wait is the least one.
    var patience = 8

    /// - Parameters:
    ///   - failures: How many pulls in a row have failed, from 1.
    ///   - draw: A number from 0 to 1, at random.
    func delay(failures: Int, verdict: PullFailure.Verdict, draw: Double) -> Duration {
        switch verdict {
        case .retry(after: let wait?):
            // The server said when; a little later than that, so that not all come in the same instant.
            let asked = min(max(wait, floor), cap) + .milliseconds(Int64(draw * 1_000))
            return failures > patience ? max(asked, step(failures - patience) * draw) : asked
        case .needsPerson:
            return cap / 2 + cap / 2 * draw
        case .retry(after: nil), .cancelled:
            return max(floor, step(failures) * draw)
        }
    }

    private func step(_ failures: Int) -> Duration { min(cap, base * (1 << min(max(failures, 1) - 1, 20))) }
}
