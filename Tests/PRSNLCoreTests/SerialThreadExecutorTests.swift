import Glibc
import PRSNLCore
import TestSupport
import Testing

/// An actor whose jobs run on the executor.
private actor Worker {
    private let executor: SerialThreadExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var threads: Set<pthread_t> = []
    private var count = 0
    private var isInside = false

    init(_ executor: SerialThreadExecutor) { self.executor = executor }

    func work() -> Bool {
        let wasAlone = !isInside
        isInside = true
        threads.insert(pthread_self())
        count += 1
        isInside = false
        return wasAlone
    }

    func figures() -> (count: Int, threads: Set<pthread_t>) { (count, threads) }
}

struct SerialThreadExecutorTests {
    @Test func jobsRunOneAfterAnotherOnOneThread() async throws {
        let executor = SerialThreadExecutor(name: "test")
        let worker = Worker(executor)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<1_000 { group.addTask { await worker.work() } }
            for await wasAlone in group { #expect(wasAlone) }
        }
        let figures = await worker.figures()
        #expect(figures.count == 1_000)
        #expect(figures.threads.count == 1)
    }

    /// A job that enqueues the next one: the wake-up is not lost between two batches.
    @Test func aChainOfJobsIsNotStranded() async throws {
        let executor = SerialThreadExecutor(name: "test")
        let worker = Worker(executor)
        for _ in 0..<5_000 { _ = await worker.work() }
        #expect(await worker.figures().count == 5_000)
    }

    /// `enqueue` may still be running when the job has run and let go of the actor: the executor has to be there then.
    @Test func anExecutorOutlivesItsActor() async throws {
        weak var executor: SerialThreadExecutor?
        weak var worker: Worker?
        do {
            let made = SerialThreadExecutor(name: "outlives")
            let actor = Worker(made)
            (executor, worker) = (made, actor)
            _ = await actor.work()
        }
        try await eventually("the end of the actor") { worker == nil }
        let found = try #require(executor)
        // And it works.
        #expect(await Worker(found).work())
    }
}
