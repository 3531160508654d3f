import PRSNLCore
import Synchronization

/// Lets others wait until the outbox has moved.
final class OutboxChanges: Sendable {
    private let waiters = Mutex<[UInt64: Wakeup]>([:])
    private let last = Atomic<UInt64>(0)

    func announce() {
        let all = waiters.withLock { Array($0.values) }
        for waiter in all { waiter.signal() }
    }

    /// A place to wait at; moves from now on are not missed.
    func join() -> (id: UInt64, wakeup: Wakeup) {
        let id = last.wrappingAdd(1, ordering: .relaxed).newValue
        let wakeup = Wakeup()
        waiters.withLock { $0[id] = wakeup }
        return (id, wakeup)
    }

    func leave(_ id: UInt64) { waiters.withLock { $0[id] = nil } }
}
