public import PRSNLCore
import Synchronization

/// Time that passes only when somebody waits: a wait ends at once, and the clock has moved on by it.
public final class VirtualTime: Sendable {
    private struct State {
        var elapsed: Duration = .zero
        var slept: [Duration] = []
        var limit: Duration?
    }

    private let start: Timestamp
    private let state = Mutex(State())
    private let onLimit = Mutex<(@Sendable () -> Void)?>(nil)

    public init(start: Timestamp = TimeSource.system.now()) {
        self.start = start
    }

    public var elapsed: Duration { state.withLock(\.elapsed) }
    /// Each wait so far.
    public var sleeps: [Duration] { state.withLock(\.slept) }
    public var now: Timestamp { start.advanced(by: elapsed) }

    public func advance(by duration: Duration) { state.withLock { $0.elapsed += duration } }

    /// Lets no time pass by waiting any more: only what is asked for happens.
    public func stand() { stop(after: elapsed) {} }

    /// Calls `action` when the clock would pass `limit`; whoever waits then waits until it is cancelled.
    public func stop(after limit: Duration, _ action: @escaping @Sendable () -> Void) {
        onLimit.withLock { $0 = action }
        state.withLock { $0.limit = limit }
    }

    public var source: TimeSource {
        TimeSource(
            now: { self.now }, uptime: { self.elapsed },
            sleep: { duration in
                try Task.checkCancellation()
                let isOver = self.state.withLock { state in
                    state.slept.append(duration)
                    state.elapsed += duration
                    guard let limit = state.limit, state.elapsed >= limit else { return false }
                    state.elapsed = limit
                    return true
                }
                guard isOver else { return await Task.yield() }
                self.onLimit.withLock { $0 }?()
                try await Self.untilCancelled()
            })
    }

    private static func untilCancelled() async throws {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        _ = continuation
        for await _ in stream {}
        throw CancellationError()
    }
}
