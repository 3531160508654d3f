import Glibc
import Synchronization

/// Runs the tasks of a process, and its timers, on one thread.
///
/// Swift's own pool stands on libdispatch, whose pool monitor wakes up once a second for as long as the process lives, and
/// whose threads each keep a stack. A daemon that mostly waits should do neither: this loop sleeps until there is a job or
/// a timer is due. What blocks or computes for long has threads of its own (the store, the HTTP client).
///
/// A task runs here when it prefers the loop (SE-0417), and so do its child tasks and what it calls, unless an actor has an
/// executor of its own. A task that is made by `Task { }` or `Task.detached { }` takes no preference over, so each has to name
/// it: `Task(executorPreference: TaskLoop.current)`. Nothing may use `Task.sleep`, whose timers are libdispatch's: use `time`.
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
    package let heartbeat = Heartbeat("the tasks")

    private static let started = Mutex<TaskLoop?>(nil)

    /// The loop of this process. `nil`, which leaves tasks to Swift's own pool, in one that did not start it: the tests.
    package static var current: TaskLoop? { started.withLock(\.self) }

    private init() {}

    /// Makes the loop at the first call, and starts its thread. Both live as long as the process.
    @discardableResult
    package static func start() -> TaskLoop {
        started.withLock { started in
            if let started { return started }
            let loop = TaskLoop()
            _ = WorkerThread(name: "tasks") { loop.run() }
            started = loop
            return loop
        }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        let isFirst = state.withLock { state in
            state.jobs.append(unowned)
            return state.jobs.count == 1
        }
        if isFirst { signal() }
    }

    /// Only for other threads: the loop itself looks for jobs and timers before it waits. One `await` is several jobs.
    private func signal() {
        if let thread = thread.withLock({ $0 }), pthread_equal(thread, pthread_self()) != 0 { return }
        heartbeat.call()
        wakeup.signal()
    }

    private func run() -> Never {
        thread.withLock { $0 = pthread_self() }
        while true {
            for job in state.withLock({ exchange(&$0.jobs, with: []) }) {
                heartbeat.wake()
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
            fireTimers()
            waitForWork()
        }
    }

    private func waitForWork() {
        let (hasJobs, next) = state.withLock { (!$0.jobs.isEmpty, $0.timers.last?.deadline) }
        guard !hasJobs else { return }
        // Rounded up: a timer must not find itself woken early.
        let limit = next.map { Duration.milliseconds(($0 - TimeSource.system.uptime()).wholeMilliseconds + 1) }
        heartbeat.rest(atMost: limit)
        wakeup.wait(atMost: limit)
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
