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

    /// - Parameter name: the thread's name, 15 bytes at most (prctl(2)).
    /// - Throws: `limit_reached`.
    package init(name: String) throws(UserFacingError) {
        _ = try WorkerThread(name: name) { [self] in work() }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        let isFirst = jobs.withLock { jobs in
            jobs.append(unowned)
            return jobs.count == 1
        }
        if isFirst { wakeup.signal() }
    }

    private func work() -> Never {
        while true {
            let due = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            for job in due { job.runSynchronously(on: asUnownedSerialExecutor()) }
            if due.isEmpty { wakeup.wait() }
        }
    }
}
