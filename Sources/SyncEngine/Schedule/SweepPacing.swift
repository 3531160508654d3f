import PRSNLCore

/// How a sweep in the background treats the server and other work: it leaves the server four fifths of its time, and lets
/// polls and people go first.
struct SweepPacing: Sendable {
    let events: EngineInbox.Queue
    let time: TimeSource
    /// When the next poll is due.
    let pollAt: Timestamp

    private static let shortest: Duration = .milliseconds(20)
    private static let longest: Duration = .seconds(10)

    /// Waits between two requests, or until a person asks for a pull.
    ///
    /// - Parameter took: the duration of the last request.
    func pause(after took: Duration) async throws(CancellationError) {
        let end = time.uptime() + min(max(took * 4, Self.shortest), Self.longest)
        while !Task.isCancelled, !events.hasRequest, case let left = end - time.uptime(), left > .zero {
            await events.wait(atMost: left, time: time)
        }
        if Task.isCancelled { throw CancellationError() }
    }

    /// Whether something more urgent waits.
    var givesWay: Bool { time.now() >= pollAt || events.hasRequest }
}
