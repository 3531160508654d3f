import Glibc
import PRSNLCore

extension DevServer {
    // MARK: The log

    /// Requests in order of arrival, those without an answer included.
    package func requests() -> [LoggedRequest] { shared.state.withLock { $0.log } }

    package func requests(_ matcher: RequestMatcher) -> [LoggedRequest] { requests().filter(matcher.matches) }

    /// All requests since the start, also those that the log has dropped.
    package var requestCount: Int { shared.state.withLock { $0.requestCount } }

    /// Requests by "METHOD /path", with `{id}` for an item's id.
    package func requestCounts() -> [String: Int] { shared.state.withLock { $0.endpointCounts } }

    package func clearLog() {
        shared.state.withLock { state in
            state.log = []
            state.endpointCounts = [:]
        }
    }

    /// Waits until so many requests that match have arrived since the log was cleared, answered or not.
    ///
    /// - Returns: the last of them.
    /// - Throws: `Failure` after the deadline, `CancellationError`.
    @discardableResult
    package func waitForRequest(
        _ matcher: RequestMatcher, count: Int = 1, within deadline: Duration = .seconds(60)
    ) async throws -> LoggedRequest {
        let clock = ContinuousClock()
        let end = clock.now + deadline
        while true {
            let found = shared.state.withLock { state in
                state.log.lazy.filter(matcher.matches).dropFirst(count - 1).first
            }
            if let found { return found }
            guard clock.now < end else { throw Failure(description: "no such request within \(deadline)") }
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    // MARK: Faults

    /// Applies a fault to requests that match. Among several, the one scripted first that is not used up.
    ///
    /// - Parameters:
    ///   - times: to so many requests. `.max` for all.
    ///   - skip: so many requests that match are served as usual first.
    @discardableResult
    package func script(
        _ fault: Fault, on matcher: RequestMatcher, times: Int = 1, skip: Int = 0
    ) -> ScriptedFault {
        shared.add(fault, matcher: matcher, times: times, skip: skip)
    }

    /// Ends the script and the random faults. Held requests go on.
    package func removeFaults() { shared.removeAllFaults() }
}
