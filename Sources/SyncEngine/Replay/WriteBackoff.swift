import PRSNLCore

/// When a write that failed is sent again, and when it is given up: values only.
enum WriteBackoff {
    /// How long the server must have been reachable before a write that never succeeded is parked.
    static let ageLimit: Duration = .seconds(30 * 86_400)

    /// A server that answers an edit or a deletion with 500 every time is asked eight times over at least a day: the steps
    /// add up to 25 h 36 min, and jitter only lengthens them.
    static let serverErrorSteps: [Duration] = [
        .seconds(60), .seconds(5 * 60), .seconds(30 * 60), .seconds(2 * 3_600), .seconds(5 * 3_600),
        .seconds(8 * 3_600), .seconds(10 * 3_600),
    ]

    /// A deletion that the server failed at is tried at least so often, for a day.
    static let longestForDeletions: Duration = .seconds(600)

    static var serverErrorAttempts: Int { serverErrorSteps.count + 1 }

    /// - Parameters:
    ///   - failures: in a row, this one included.
    ///   - draw: from 0 to 1, at random.
    /// - Returns: `nil` where that was the last attempt.
    static func afterServerError(failures: Int, draw: Double) -> Duration? {
        guard failures <= serverErrorSteps.count else { return nil }
        return serverErrorSteps[max(failures, 1) - 1] * (1 + 0.1 * draw)
    }

    /// Exponential with full jitter, from 4 s to an hour; at least as long as the server asks for.
    static func afterFailure(failures: Int, after wait: Duration?, draw: Double) -> Duration {
        let own = PullFailure.Verdict.retry(after: nil).wait(failures: failures, draw: draw)
        guard let wait else { return own }
        return max(own, PullFailure.Verdict.retry(after: wait).wait(failures: failures, draw: draw))
    }
}
