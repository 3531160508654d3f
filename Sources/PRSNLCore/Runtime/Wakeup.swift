import Synchronization

/// Lets a task wait for a time or for a call, whichever comes first. A call that comes while no task waits is kept.
package final class Wakeup: Sendable {
    private struct State {
        var isSignalled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    package func signal() {
        let waiter = state.withLock { state in
            state.isSignalled = state.waiter == nil
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Waits at most `duration`. Returns early when signalled or cancelled. One task at a time.
    package func wait(atMost duration: Duration, time: TimeSource) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // Cancelled means that the signal came first.
                do { try await time.sleep(duration) } catch { return }
            }
            group.addTask { await self.waitForSignal() }
            await group.next()
            group.cancelAll()
        }
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
                    state.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume()
        }
    }
}
