import CLinux
import Glibc
import Synchronization

/// Runs an actor's jobs one after another on one thread of its own.
///
/// For work that blocks (SQLite, fsync): on the shared pool, which has one thread per core, it would hold up everything
/// else. On Linux, Dispatch's queues are not executors, hence this type.
///
/// It lives as long as the process, because its thread holds it and never ends. An actor's jobs name their executor without
/// holding it (`UnownedSerialExecutor`), so that one which ended with its actor could be gone while `enqueue` is still
/// running: the job may have run by then, and have let go of the actor.
package final class SerialThreadExecutor: SerialExecutor {
    private let jobs = Mutex<[UnownedJob]>([])
    private let wakeup = ThreadWakeup()
    package let heartbeat: Heartbeat

    /// - Parameter name: the thread's name, 15 bytes at most (prctl(2)).
    package init(name: String) {
        heartbeat = Heartbeat("the \(name)")
        _ = WorkerThread(name: name) { [self] in work() }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        let isFirst = jobs.withLock { jobs in
            jobs.append(unowned)
            return jobs.count == 1
        }
        guard isFirst else { return }
        heartbeat.call()
        wakeup.signal()
    }

    /// Whether a job waits for the one that is under way.
    package var isWaitedFor: Bool { jobs.withLock { !$0.isEmpty } }

    private func work() -> Never {
        while true {
            while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                heartbeat.wake()
                job.runSynchronously(on: asUnownedSerialExecutor())
            }
            heartbeat.rest(atMost: nil)
            wakeup.wait()
        }
    }
}

/// A thread that ends with the work it was given. Its owner tells the work to end, then joins the thread. Where the system
/// gives no more threads, the program ends with `limit_reached`.
package final class WorkerThread: Sendable {
    /// Until it was joined or let go.
    private let thread: Mutex<pthread_t?>

    private final class Work {
        let name: String
        let run: () -> Void

        init(name: String, _ run: @escaping () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// - Parameter name: 15 bytes at most (prctl(2)).
    package init(name: String, _ work: sending @escaping () -> Void) {
        let argument = Unmanaged.passRetained(Work(name: name, work))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                prsnl_set_thread_name(work.name)
                work.run()
                return nil
            }, argument.toOpaque())
        guard code == 0 else {
            UserFacingError(
                .limitReached, "The thread \(name) cannot be started: \(String(cString: strerror(code)))."
            ).endProgram()
        }
        self.thread = Mutex(thread)
    }

    deinit {
        if let thread = take() { pthread_detach(thread) }
    }

    /// Waits until the thread has ended. At once the second time. The thread itself, which may hold the last reference to
    /// its owner, does not wait: it is about to end.
    package func join() {
        guard let thread = take() else { return }
        if pthread_equal(thread, pthread_self()) != 0 {
            pthread_detach(thread)
        } else {
            pthread_join(thread, nil)
        }
    }

    /// Runs work that blocks on a thread of its own, while the task waits.
    package static func result<Value: Sendable>(
        of name: String, _ work: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            _ = WorkerThread(name: name) { continuation.resume(returning: work()) }
        }
    }

    private func take() -> pthread_t? { thread.withLock { $0.take() } }
}
