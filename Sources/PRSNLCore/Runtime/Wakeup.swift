import Synchronization

/// Lets a task wait for a time or for a call, whichever comes first. A call that comes while no task waits is kept.
package final class Wakeup: Sendable {
    private struct State {
        var isSignalled = false
        /// Ends the wait.
        var waiter: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    package func signal() {
        let waiter = state.withLock { state in
            state.isSignalled = state.waiter == nil
            return state.waiter.take()
        }
        waiter?()
    }

    /// Waits at most `duration`. Returns early when signalled or cancelled. One task at a time.
    ///
    /// The sleep has ended when `signal` returns: a count of sleepers, such as that of the time of tests, no longer has it.
    package func wait(atMost duration: Duration, time: TimeSource) async {
        let nap = state.withLock { state -> Task<Void, Never>? in
            if state.isSignalled || Task.isCancelled {
                state.isSignalled = false
                return nil
            }
            let nap = Task(executorPreference: TaskLoop.current) {
                // Cancelled means that the signal came first.
                do { try await time.sleep(duration) } catch { return }
            }
            state.waiter = { nap.cancel() }
            return nap
        }
        guard let nap else { return }
        await withTaskCancellationHandler {
            await nap.value
        } onCancel: {
            nap.cancel()
        }
        // Where it was no signal.
        state.withLock { $0.waiter = nil }
    }

    /// Waits until it is signalled, or cancelled, without a timer. One task at a time.
    package func waitForSignal() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isSignalled || Task.isCancelled {
                        state.isSignalled = false
                        return true
                    }
                    state.waiter = { continuation.resume() }
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiter.take() }
            waiter?()
        }
    }
}

/// Lets any number of others wait until something has moved.
package final class Announcements: Sendable {
    private let waiters = Mutex<[UInt64: Wakeup]>([:])
    private let last = Atomic<UInt64>(0)

    package init() {}

    package func announce() {
        let all = waiters.withLock { Array($0.values) }
        for waiter in all { waiter.signal() }
    }

    /// A place to wait at; moves from now on are not missed.
    package func join() -> (id: UInt64, wakeup: Wakeup) {
        let id = last.wrappingAdd(1, ordering: .relaxed).newValue
        let wakeup = Wakeup()
        waiters.withLock { $0[id] = wakeup }
        return (id, wakeup)
    }

    package func leave(_ id: UInt64) { waiters.withLock { $0[id] = nil } }
}
