import Synchronization

/// Runs an actor's jobs one after another on one thread of its own.
///
/// For work that blocks (SQLite, fsync): on the shared pool, which has one thread per core, it would hold up everything
/// else. On Linux, Dispatch's queues are not executors, hence this type.
package final class SerialThreadExecutor: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isStopped = false
        /// It keeps the executor until it is stopped, because jobs name their executor without holding it.
        var thread: WorkerThread?
    }

    private let state = Mutex(State())
    private let wakeup = ThreadWakeup()

    /// - Parameter name: the thread's name, 15 bytes at most (prctl(2)).
    /// - Throws: `limit_reached`.
    package init(name: String) throws(UserFacingError) {
        let thread = try WorkerThread(name: name) { [self] in work() }
        state.withLock { $0.thread = thread }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        let isFirst = state.withLock { state in
            state.jobs.append(unowned)
            return state.jobs.count == 1
        }
        if isFirst { wakeup.signal() }
    }

    /// Ends the thread after the jobs that are queued, and returns when it has ended. At once in one of these jobs. Nothing
    /// may be enqueued afterwards.
    package func stop() {
        let thread = state.withLock { state in
            state.isStopped = true
            defer { state.thread = nil }
            return state.thread
        }
        wakeup.signal()
        thread?.join()
    }

    private func work() {
        while true {
            let (jobs, isStopped) = state.withLock { state in
                defer { state.jobs = [] }
                return (state.jobs, state.isStopped)
            }
            for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
            guard jobs.isEmpty else { continue }
            if isStopped { return }
            wakeup.wait()
        }
    }
}
