import CLinux
import Glibc
import PRSNLCore
import Synchronization

/// Work on a thread of its own, which is waited for only so long: a disk, a name service or a daemon that hangs must not
/// hang the one who looks for the reason. What is not done in time is left to itself; the process ends soon.
final class BoundedCheck<Value: Sendable>: Sendable {
    private let result = Mutex<Value?>(nil)
    /// eventfd(2): readable when the value is there.
    private let done: Int32
    private let body: @Sendable () -> Value

    init(_ body: @escaping @Sendable () -> Value) {
        self.body = body
        done = eventfd(0, Int32(EFD_CLOEXEC))
        precondition(done >= 0, "eventfd: errno \(errno)")
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work { [self] in run() })
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, work.toOpaque())
        precondition(code == 0, "pthread_create: errno \(code)")
        pthread_detach(thread)
    }

    deinit { close(done) }

    private func run() {
        let value = body()
        result.withLock { $0 = value }
        var one: UInt64 = 1
        while write(done, &one, 8) < 0 && errno == EINTR {}
    }

    /// `nil` where it has not ended by then.
    func value(by end: ContinuousClock.Instant) -> Value? {
        while true {
            var descriptors = [pollfd(fd: done, events: Int16(POLLIN), revents: 0)]
            let left = max(.zero, ContinuousClock.now.duration(to: end))
            let count = poll(&descriptors, 1, Int32(clamping: left > .zero ? left.wholeMilliseconds + 1 : 0))
            if count > 0 { return result.withLock { $0 } }
            if count == 0, ContinuousClock.now >= end { return nil }
        }
    }

    /// `nil` where it did not end within that time.
    static func run(within limit: Duration, _ body: @escaping @Sendable () -> Value) -> Value? {
        BoundedCheck(body).value(by: .now + limit)
    }
}

/// What a thread is given: it has no generic parameters, which a C function pointer could not know.
private final class Work: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
