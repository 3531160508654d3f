import PRSNLCore
import Synchronization

/// Work on a thread of its own, which is waited for only so long: a disk, a name service or a daemon that hangs must not
/// hang `doctor` too. What is not done in time is left running, and the process then ends by `_exit`.
final class BoundedCheck<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)
    private let done = ThreadWakeup()

    init(_ body: @escaping @Sendable () -> Value) {
        checksUnderWay.add(1, ordering: .relaxed)
        _ = WorkerThread(name: "check") { [self] in run(body) }
    }

    private func run(_ body: () -> Value) {
        let value = body()
        result.withLock { $0 = value }
        checksUnderWay.subtract(1, ordering: .releasing)
        done.signal()
    }

    /// `nil` where it has not ended by then.
    func value(by end: ContinuousClock.Instant) -> Value? {
        if let value = result.withLock({ $0 }) { return value }
        done.wait(atMost: ContinuousClock.now.duration(to: end))
        return result.withLock { $0 }
    }

    /// `nil` where it did not end within that time.
    static func run(within limit: Duration, _ body: @escaping @Sendable () -> Value) -> Value? {
        BoundedCheck(body).value(by: .now + limit)
    }
}

/// Threads of checks that have not ended. Such a thread may be inside libcurl, whose memory exit(3) would free.
let checksUnderWay = Atomic(0)
