import PRSNLCore
import Store

/// The loop that keeps the full-text index up to date, after the writes and not with them.
///
/// It works in short steps, between which the store does whatever else waits. It sleeps until something was committed, so
/// that an idle daemon is not woken.
struct SearchIndexer: Sendable {
    let store: Store
    let shared: EngineSharedState
    let heartbeat: Heartbeat
    let time: TimeSource
    let log: LogHandler

    /// From a commit to the first step, so that what comes together is indexed together.
    private static let collecting: Duration = .seconds(2)
    /// While a pull is under way, which is then not slowed down: a short one is over by then, and of a long one the new items
    /// can be found a few seconds after they came.
    private static let collectingInPull: Duration = .seconds(4)
    /// Between two steps while a pull is under way: four fifths of the store's time are the pull's.
    private static let pauseInPull: Duration = .milliseconds(100)

    private var isPulling: Bool { shared.state.activity == .pulling }

    /// Until the task is cancelled.
    func run() async {
        var isFirst = true
        while !Task.isCancelled {
            let problem = shared.state.searchProblem
            if let problem {
                // Unless something is committed first: then the lock is free again, or the disk has room. A person who has
                // removed the cause asks for a pull, or has the configuration read again.
                let wait: Duration = .seconds(problem.code == .databaseBusy ? 5 : 120)
                heartbeat.rest(atMost: wait)
                await store.committed.wait(atMost: wait, time: time)
            } else if !isFirst {
                heartbeat.rest(atMost: nil)
                await store.committed.waitForSignal()
            }
            defer { isFirst = false }
            guard shared.settings.searchIndex else {
                shared.publish { $0.searchProblem = nil }
                continue
            }
            do {
                heartbeat.rest(atMost: Self.collectingInPull)
                try await time.sleep(Self.collecting)
                if isPulling { try await time.sleep(Self.collectingInPull - Self.collecting) }
                heartbeat.wake()
                try await work(whilePulling: Self.pauseInPull)
                shared.publish { $0.searchProblem = nil }
                if isFirst || problem != nil { try await store.endErrors(at: Store.searchEndpoint) }
            } catch is CancellationError {
                break
            } catch let error as UserFacingError {
                await note(error)
            } catch {
                log(.error, .store, "the full-text index: \(error)")
            }
        }
        heartbeat.end()
    }

    /// All that is due, for a daemon that ends afterwards. The copy is as good without it.
    func finish() async {
        do {
            try await work(whilePulling: .zero)
        } catch let error as UserFacingError {
            log(.warning, .store, "the full-text index is not up to date: \(error.message)")
        } catch {
            // Cancelled: the next start goes on.
        }
    }

    private func work(whilePulling pause: Duration) async throws {
        guard shared.settings.searchIndex else { return }
        var worked = false
        defer { shared.publish { $0.indexing = nil } }
        do throws(UserFacingError) {
            let due = try await store.searchState().notIndexed
            var meter = ProgressMeter(.index, of: due, time: time)
            while try await store.indexSome(now: time.now(), uptime: time.uptime) {
                worked = true
                // What was committed meanwhile is due too.
                let left = try await store.searchState().notIndexed
                let done = max(meter.progress.items, due - left)
                meter.reach(done, of: done + left)
                shared.publish { [progress = meter.progress] in $0.indexing = progress }
                heartbeat.wake()
                if Task.isCancelled { break }
                if pause > .zero, isPulling {
                    do { try await time.sleep(pause) } catch { break }
                }
            }
        } catch {
            guard [.databaseDamaged, .databaseUnreadable].contains(error.code), try await store.isIndexDamaged() else {
                throw error
            }
            log(.warning, .store, "the full-text index is damaged, and is built again: \(error.message)")
            try await store.rebuildIndex()
            store.committed.signal()
        }
        if worked, !isPulling { await store.releaseMemory() }
        try Task.checkCancellation()
    }

    /// The copy is as good without the index. It is said once, because the commit that records it ends the wait.
    private func note(_ error: UserFacingError) async {
        let isKnown = shared.state.searchProblem?.code == error.code
        shared.publish { $0.searchProblem = error }
        guard !isKnown else { return }
        log(.warning, .store, "the full-text index is not kept up to date: \(error.message); it is tried again soon")
        await SyncFailure.logged(
            log, "an error was not recorded", at: .debug,
            try await store.recordError(
                code: error.code, endpoint: Store.searchEndpoint, message: error.message, at: time.now()))
    }
}
