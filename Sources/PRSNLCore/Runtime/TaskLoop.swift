import CLinux
import Glibc
import Synchronization

/// Runs all of a process's tasks, and its timers, on one thread.
///
/// Swift's own pool stands on libdispatch, whose pool monitor wakes up once a second for as long as the process lives, and
/// whose threads each keep a stack. A daemon that mostly waits should do neither: this loop sleeps until there is a job or
/// a timer is due. What blocks or computes for long has threads of its own (the store, the HTTP client).
///
/// It takes over by the runtime's enqueue hook, so it must be installed before the first task exists, and nothing may use
/// `Task.sleep`, which would bring libdispatch back: use `time`. The hook is no part of the language. With a runtime that does
/// not honour it, tasks run in Swift's own pool, and this thread keeps the timers only.
package final class TaskLoop: TaskExecutor {
    private struct Timer {
        var deadline: Duration
        var id: UInt64
        var waiter: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var jobs: [UnownedJob] = []
        /// Sorted, the next one last. There are never more than a few.
        var timers: [Timer] = []
        /// Cancelled before they began to wait.
        var cancelled: Set<UInt64> = []
        var nextTimer: UInt64 = 0
    }

    private let state = Mutex(State())
    private let wakeup = ThreadWakeup()
    private let thread = Mutex<pthread_t?>(nil)

    private static let installed = TaskLoop()

    /// Whether the runtime hands its tasks to the loop.
    package static var isInEffect: Bool { inEffect.load(ordering: .relaxed) }
    private static let inEffect = Atomic(false)
    /// Jobs that the hook has handed over.
    private static let handedOver = Atomic(0)

    /// In debug builds, "no" makes a runtime that does not honour the hook, for tests.
    package static let variable = "PRSNL_TASK_HOOK"

    private init() {}

    /// Makes the loop the place where all tasks run, and starts its thread, which lives as long as the process. Call it in
    /// `main`, once, before the first task.
    ///
    /// - Throws: `limit_reached`.
    package static func install() throws(UserFacingError) -> TaskLoop {
        let loop = installed
        _ = try WorkerThread(name: "tasks") { loop.run() }
        inEffect.store(takeOver(), ordering: .relaxed)
        return loop
    }

    /// - Returns: Whether the runtime calls the hook.
    private static func takeOver() -> Bool {
        #if DEBUG
            if getenv(variable).map({ String(cString: $0) }) == "no" { return false }
        #endif
        let isThere = prsnl_set_enqueue_hook { job, _ in
            guard let job else { return }
            TaskLoop.handedOver.wrappingAdd(1, ordering: .relaxed)
            TaskLoop.installed.add(unsafeBitCast(job, to: UnownedJob.self))
        }
        guard isThere != 0 else { return false }
        // A task is handed over when it is made.
        Task.detached {}
        return handedOver.load(ordering: .relaxed) > 0
    }

    package func enqueue(_ job: consuming ExecutorJob) { add(UnownedJob(job)) }

    private func add(_ job: UnownedJob) {
        let first = state.withLock { state in
            state.jobs.append(job)
            return state.jobs.count == 1
        }
        if first { signal() }
    }

    /// Only for other threads: the loop itself looks for jobs and timers before it waits. One `await` is several jobs.
    private func signal() {
        if let thread = thread.withLock({ $0 }), pthread_equal(thread, pthread_self()) != 0 { return }
        wakeup.signal()
    }

    private func run() -> Never {
        thread.withLock { $0 = pthread_self() }
        while true {
            let jobs = state.withLock { state in
                defer { state.jobs = [] }
                return state.jobs
            }
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
            fireTimers()
            waitForWork()
        }
    }

    private func waitForWork() {
        let (hasJobs, next) = state.withLock { (!$0.jobs.isEmpty, $0.timers.last?.deadline) }
        guard !hasJobs else { return }
        // Rounded up: a timer must not find itself woken early.
        wakeup.wait(atMost: next.map { .milliseconds(($0 - TimeSource.system.uptime()).wholeMilliseconds + 1) })
    }

    // MARK: Timers

    /// The system's clocks, waiting in this loop.
    package var time: TimeSource {
        var time = TimeSource.system
        time.sleep = { try await self.sleep($0) }
        return time
    }

    private func sleep(_ duration: Duration) async throws {
        let id = state.withLock { state in
            state.nextTimer += 1
            return state.nextTimer
        }
        let deadline = TimeSource.system.uptime() + duration
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                let isCancelled = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return true }
                    let place = state.timers.firstIndex { $0.deadline < deadline } ?? state.timers.endIndex
                    state.timers.insert(Timer(deadline: deadline, id: id, waiter: waiter), at: place)
                    return false
                }
                if isCancelled { waiter.resume(throwing: CancellationError()) } else { signal() }
            }
        } onCancel: {
            let timer = state.withLock { state -> Timer? in
                if let place = state.timers.firstIndex(where: { $0.id == id }) {
                    return state.timers.remove(at: place)
                }
                state.cancelled.insert(id)
                return nil
            }
            timer?.waiter.resume(throwing: CancellationError())
        }
        _ = state.withLock { $0.cancelled.remove(id) }
    }

    private func fireTimers() {
        let now = TimeSource.system.uptime()
        let due = state.withLock { state in
            var due: [Timer] = []
            while let next = state.timers.last, next.deadline <= now { due.append(state.timers.removeLast()) }
            return due
        }
        for timer in due { timer.waiter.resume() }
    }
}
