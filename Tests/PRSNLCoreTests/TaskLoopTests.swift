import Glibc
import PRSNLCore
import TestSupport
import Testing

struct TaskLoopTests {
    /// An actor without an executor of its own.
    private actor Counter {
        private(set) var threads: Set<pthread_t> = []
        func note() { threads.insert(pthread_self()) }
    }

    private static func noteChildren(in counter: Counter) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { await counter.note() } }
        }
        async let one: Void = counter.note()
        await one
    }

    @Test func aTaskOnTheLoopItsChildrenAndItsActorsRunOnOneThread() async throws {
        let counter = Counter()
        try await Task(executorPreference: TaskLoop.start()) {
            await Self.noteChildren(in: counter)
            // Back from another executor, and from a timer.
            let other = SerialThreadExecutor(name: "other")
            await Elsewhere(other).work()
            await counter.note()
            try await TaskLoop.start().time.sleep(.milliseconds(1))
            await counter.note()
            await Task(executorPreference: TaskLoop.current) { await counter.note() }.value
        }.value
        #expect(await counter.threads.count == 1)
    }

    private actor Elsewhere {
        private let executor: SerialThreadExecutor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
        init(_ executor: SerialThreadExecutor) { self.executor = executor }
        func work() {}
    }

    @Test func sleepersWakeInTheOrderOfTheirTimesAndACancelledOneAtOnce() async throws {
        let time = TaskLoop.start().time
        let order = try await Task(executorPreference: TaskLoop.current) {
            let cancelled = Task(executorPreference: TaskLoop.current) { try await time.sleep(.seconds(3_600)) }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            return try await withThrowingTaskGroup(of: Int.self) { group in
                for pause in [30, 10, 20] {
                    group.addTask {
                        try await time.sleep(.milliseconds(pause))
                        return pause
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }.value
        #expect(order == [10, 20, 30])
    }

    /// One that does not name its executor runs in Swift's own pool, whose monitor then wakes up once a second.
    @Test func everyTaskOfTheProgramsNamesItsExecutor() async throws {
        let pool = #"^[^/]*\bTask(\.(detached|init))?( \{|\((priority|name):)|^[^/]*\bTask\.(sleep|yield)\("#
        // The time that only tests wait with.
        let others = ["--exclude=TimeSource.swift"]
        let found = try await ChildProcess.run(
            "/usr/bin/grep", ["-rnE", pool, RepositoryFile.root() + "/Sources"] + others)
        #expect(found.stdout == "", "write Task(executorPreference: TaskLoop.current)")
        #expect(found.exit == .status(1), "\(found.stderr)")
    }
}
