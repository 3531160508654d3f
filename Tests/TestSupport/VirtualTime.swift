package import PRSNLCore
import Synchronization

/// Time that passes only when all tasks wait: the clock then moves on to the earliest time that a task waits for.
package final class VirtualTime: Sendable {
    private struct Sleeper {
        var deadline: Duration
        var waiter: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var elapsed: Duration = .zero
        /// How far the wall clock was set.
        var step: Duration = .zero
        var slept: [Duration] = []
        var limit: Duration?
        var participants = 1
        var sleepers: [UInt64: Sleeper] = [:]
        var cancelled: Set<UInt64> = []
        var nextID: UInt64 = 0
        /// Grows with everything that happens, so that "nothing has happened" can be seen.
        var events = 0
    }

    private let start: Timestamp
    private let state = Mutex(State())
    private let onLimit = Mutex<(@Sendable () -> Void)?>(nil)

    package init(start: Timestamp = TimeSource.system.now()) {
        self.start = start
    }

    package var elapsed: Duration { state.withLock(\.elapsed) }
    /// Each wait so far.
    package var sleeps: [Duration] { state.withLock(\.slept) }
    package var now: Timestamp { start.advanced(by: state.withLock { $0.elapsed + $0.step }) }

    package func advance(by duration: Duration) { state.withLock { $0.elapsed += duration } }

    /// Sets the wall clock; forward is positive.
    package func stepClock(by step: Duration) { state.withLock { $0.step += step } }

    /// Whether a task waits for a time that is so near.
    package func isAwaited(within duration: Duration) -> Bool {
        state.withLock { state in state.sleepers.values.contains { $0.deadline - state.elapsed <= duration } }
    }

    /// How many loops must wait before time passes; 1 at first.
    package func setParticipants(_ count: Int) { state.withLock { $0.participants = count } }

    /// Lets no time pass by waiting any more: only what is asked for happens.
    package func stand() { stop(after: elapsed) {} }

    /// Calls `action` when the clock would pass `limit`. A task that waits then waits until it is cancelled.
    package func stop(after limit: Duration, _ action: @escaping @Sendable () -> Void) {
        onLimit.withLock { $0 = action }
        let events = state.withLock { state in
            state.limit = limit
            return state.events
        }
        // Those who wait at an earlier limit may go on.
        Task { await letTimePass(since: events) }
    }

    package var source: TimeSource {
        TimeSource(now: { self.now }, uptime: { self.elapsed }, sleep: { try await self.sleep($0) })
    }

    private func sleep(_ duration: Duration) async throws {
        try Task.checkCancellation()
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let events = state.withLock { state -> Int? in
                    state.events += 1
                    if state.cancelled.remove(id) != nil { return nil }
                    state.slept.append(duration)
                    state.sleepers[id] = Sleeper(deadline: state.elapsed + max(duration, .zero), waiter: waiter)
                    return state.events
                }
                guard let events else { return waiter.resume(throwing: CancellationError()) }
                Task { await self.letTimePass(since: events) }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                state.events += 1
                if let sleeper = state.sleepers.removeValue(forKey: id) { return sleeper }
                state.cancelled.insert(id)
                return nil
            }
            sleeper?.waiter.resume(throwing: CancellationError())
        }
        _ = state.withLock { $0.cancelled.remove(id) }
    }

    /// Moves the clock on if everybody waits and goes on waiting while others have their turn: a signal that was given to
    /// a waiter may not have reached it yet.
    private func letTimePass(since events: Int) async {
        for _ in 0..<20 { await Task.yield() }
        let (sleeper, isAtLimit) = state.withLock { state -> (Sleeper?, Bool) in
            guard state.events == events, state.sleepers.count >= state.participants,
                let first = state.sleepers.min(by: { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) })
            else { return (nil, false) }
            if let limit = state.limit, first.value.deadline >= limit {
                state.elapsed = max(state.elapsed, limit)
                return (nil, true)
            }
            state.events += 1
            state.elapsed = max(state.elapsed, first.value.deadline)
            return (state.sleepers.removeValue(forKey: first.key), false)
        }
        sleeper?.waiter.resume()
        guard isAtLimit else { return }
        let action = onLimit.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }
}
