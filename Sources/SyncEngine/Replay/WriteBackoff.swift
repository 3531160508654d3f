import PRSNLCore
import Store

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
    static var serverErrorAttempts: Int { serverErrorSteps.count + 1 }

    /// A deletion that the server failed at is tried at least this often, for a day.
    private static let longestForDeletions: Duration = .seconds(600)

    /// - Parameter asked: The wait that the server asks for.
    /// - Returns: How long the entry waits after a failure that is its own; `nil` where it is parked instead.
    static func wait(
        of task: OutboxTask, after error: UserFacingError, asked: Duration?, _ moment: OutboxMachine.Moment
    ) -> Duration? {
        guard task.manual == nil, task.tooOld == nil else { return nil }
        let failures = task.failures + 1
        guard error.code == .serverError, !task.entry.kind.isCreation else {
            return afterFailure(failures: failures, after: asked, draw: moment.draw)
        }
        // A title that the server replaced is tried now and then, for as long as the server fails at edits.
        if task.entry.follows != nil {
            return afterServerError(failures: min(failures, serverErrorSteps.count), draw: moment.draw)
        }
        let step = afterServerError(failures: failures, draw: moment.draw)
        if let step, task.entry.kind == .edit { return step }
        // Failures of other kinds count too: it is given up after eight sends over a day, whatever else has failed.
        let age = moment.now.duration(since: task.entry.acceptedAt)
        if task.entry.attempts >= serverErrorAttempts, age >= .seconds(86_400) { return nil }
        // No release fails at every deletion, and one that is sent again does no harm.
        guard task.entry.kind == .edit else { return min(step ?? longestForDeletions, longestForDeletions) }
        return serverErrorSteps.last
    }

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
        let own = SyncFailure.Verdict.retry(after: nil).wait(failures: failures, draw: draw)
        guard let wait else { return own }
        return max(own, SyncFailure.Verdict.retry(after: wait).wait(failures: failures, draw: draw))
    }
}
