import PRSNLCore

/// How work in the background treats the server and other work: it leaves the server most of its time, and lets polls and
/// people go first.
struct Pacing: Sendable {
    let events: EngineInbox.Queue
    let time: TimeSource
    /// When the next poll is due.
    let pollAt: Timestamp
    let manner: Manner

    enum Manner: Sendable {
        /// A sweep: the server is left four fifths of its time.
        case sweep
        /// Texts: nine tenths.
        case texts
        /// A person waits.
        case hurry
    }

    private static let shortest: Duration = .milliseconds(20)
    private static let longestOfSweep: Duration = .seconds(10)

    /// - Parameter took: the duration of the last request.
    private func wait(after took: Duration) -> Duration {
        switch manner {
        case .sweep: min(max(took * 4, Self.shortest), Self.longestOfSweep)
        case .texts: max(took * 9, Self.shortest)
        case .hurry: .zero
        }
    }

    /// Waits between two requests, or until a pull is wanted. The long pauses of texts end for a poll too: a pass
    /// cannot be left for one.
    ///
    /// - Returns: What is left of the wait then.
    @discardableResult
    func pause(after took: Duration) async throws(CancellationError) -> Duration {
        let end = time.uptime() + wait(after: took)
        while !Task.isCancelled, !events.wantsPull, case let left = end - time.uptime(), left > .zero {
            let untilPoll = manner == .texts ? pollAt.duration(since: time.now()) : left
            guard untilPoll > .zero else { break }
            Heartbeat.current?.expect(within: min(left, untilPoll))
            await events.wait(atMost: min(left, untilPoll), time: time)
        }
        if Task.isCancelled { throw CancellationError() }
        return max(end - time.uptime(), .zero)
    }

    /// Whether something more urgent waits.
    var givesWay: Bool { time.now() >= pollAt || events.wantsPull }
}
