import CLinux
import Glibc
import Synchronization

/// Runs an actor's jobs one after another on one thread of its own.
///
/// For work that blocks (SQLite, fsync): on the shared pool, which has one thread per core, it would hold up everything
/// else. On Linux, Dispatch's queues are not executors, hence this type.
public final class SerialThreadExecutor: SerialExecutor {
    private struct State: ~Copyable {
        var jobs: [UnownedJob] = []
        var stopped = false
    }

    private let state = Mutex(State())
    private let wake: Int32
    private let name: String

    /// - Parameter name: the thread's name, 15 bytes at most (prctl(2)).
    public init(name: String) {
        self.name = name
        wake = eventfd(0, Int32(EFD_CLOEXEC))
        precondition(wake >= 0, "eventfd: errno \(errno)")
        let pointer = Unmanaged.passRetained(self).toOpaque()
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                Unmanaged<SerialThreadExecutor>.fromOpaque(argument!).takeRetainedValue().work()
                return nil
            }, pointer)
        precondition(code == 0, "pthread_create: errno \(code)")
        pthread_detach(thread)
    }

    public func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        // Signalled under the lock: the thread closes the descriptor when it ends, and cannot end before it has the lock.
        state.withLock { state in
            state.jobs.append(unowned)
            if state.jobs.count == 1 { signal() }
        }
    }

    /// Ends the thread after the jobs that are queued. Nothing may be enqueued afterwards.
    public func stop() {
        state.withLock { state in
            state.stopped = true
            signal()
        }
    }

    private func signal() {
        var one: UInt64 = 1
        while write(wake, &one, 8) < 0 && errno == EINTR {}
    }

    private func work() {
        prsnl_set_thread_name(name)
        defer { close(wake) }
        while true {
            var count: UInt64 = 0
            while read(wake, &count, 8) < 0 && errno == EINTR {}
            while true {
                let (jobs, stopped) = state.withLock { state in
                    let taken = state.jobs
                    state.jobs = []
                    return (taken, state.stopped)
                }
                for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
                if jobs.isEmpty {
                    if stopped { return }
                    break
                }
            }
        }
    }
}
