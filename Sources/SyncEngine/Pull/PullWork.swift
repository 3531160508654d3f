import Configuration
import PRSNLClient
import PRSNLCore
import Store

/// Does one piece of the schedule's work: says, dialect by dialect, which pulls it takes.
struct PullWork {
    let puller: Puller
    let store: Store
    let time: TimeSource

    /// A session that ends in the middle of it costs what was not committed yet. That is read again, with the new login.
    func perform(
        _ work: Schedule.Work, _ memory: inout PullMemory, _ changes: inout Puller.Changes, request: SyncRequest,
        pacing: Pacing?
    ) async throws(SyncFailure) {
        var endedSessions = 0
        while true {
            do throws(SyncFailure) {
                return try await performOnce(work, &memory, &changes, request: request, pacing: pacing)
            } catch {
                endedSessions = error.changes.isEmpty ? endedSessions + 1 : 0
                guard error.origin == .session, endedSessions < Self.fruitlessSessions else { throw error }
                changes += error.changes
            }
        }
    }

    /// So many in a row that leave nothing committed between them end the pull.
    private static let fruitlessSessions = 3

    private func performOnce(
        _ work: Schedule.Work, _ memory: inout PullMemory, _ changes: inout Puller.Changes, request: SyncRequest,
        pacing: Pacing?
    ) async throws(SyncFailure) {
        let pageSize = memory.schedule.settings.pageSize
        let dialect = try await puller.identity.establish(pageSize: pageSize)
        if work == .texts { return try await texts(dialect, &memory, &changes, request, pacing) }
        var hasSwept = false
        let start = time.now()
        if work == .pull {
            if dialect == .cursor {
                // While there are gaps, T1 stands still, and the polls above them count.
                let above = await store.coverage.isComplete ? nil : memory.schedule.lastPull
                let lastHead = [above, memory.newAsOf].compactMap { $0 }.max()
                changes += try await puller.head(
                    pageSize: pageSize, newAsOf: lastHead, serverAhead: memory.serverAhead)
            } else {
                hasSwept = try await pullPages(dialect, &memory, &changes, pacing: pacing)
            }
            memory.schedule.headSucceeded(startedAt: start, foundNews: !changes.isEmpty)
        }
        let aheadBefore = memory.serverAhead
        let ahead = store.serverNow?.ahead(of: time.now())
        if let ahead, let aheadBefore, max(ahead - aheadBefore, aheadBefore - ahead) > Schedule.clockTolerance {
            try await SyncFailure.from(try await store.restartFound(at: time.now()))
        }
        if work == .pull { memory.serverAhead = ahead }
        memory.stage = .deep
        // A head pull leaves what has failed lately alone.
        let skipsDeep = work == .pull && start < memory.schedule.deep.notBefore
        if dialect == .cursor, !skipsDeep, work == .pull || work == .fill {
            changes += try await puller.fillGaps(
                pageSize: pageSize, newAsOf: memory.newAsOf, serverAhead: aheadBefore)
        }
        if await store.coverage.isComplete, let head = memory.schedule.lastPull { memory.newAsOf = head }
        if !hasSwept, work == .sweep || request.full {
            if dialect == .cursor {
                guard
                    let swept = try await puller.sweepCursor(
                        pageSize: pageSize, pacing: pacing, fromStart: request.full)
                else {
                    return
                }
                changes += swept
            } else {
                changes += try await pass(dialect, &memory, pacing: pacing)
            }
            hasSwept = true
        }
        if hasSwept || work == .check || request.acceptDeletions {
            let checked = try await puller.check(
                accepted: request.acceptDeletions, manual: request.full || request.acceptDeletions)
            changes += checked.changes
            memory.held = checked.held
            memory.schedule.lastCheck = time.now()
        }
        if let total = memory.listTotal { memory.surplus = try await surplus(total) }
        if !skipsDeep {
            memory.schedule.deep = Schedule.Setback()
            memory.deepProblem = nil
        }
    }

    private func texts(
        _ dialect: Dialect, _ memory: inout PullMemory, _ changes: inout Puller.Changes, _ request: SyncRequest,
        _ pacing: Pacing?
    ) async throws(SyncFailure) {
        memory.stage = .texts
        guard dialect != .express else {
            guard request.textOf != nil else { return }
            throw SyncFailure(
                UserFacingError(
                    .usage, "This server sends the texts with the timeline; none is asked for by itself.",
                    recoverySuggestion: "Pull: `prsnlctl sync`."), verdict: .tryRarely, origin: .database)
        }
        if let id = request.textOf {
            changes += try await puller.text(of: id)
            memory.textsProblem = nil
            return
        }
        guard let pacing else { return }
        let texts = try await puller.texts(dialect, pacing: pacing)
        changes += texts.changes
        memory.schedule.texts = Schedule.Setback()
        memory.textsProblem = nil
        if case .gaveWay(let owed) = texts.end { memory.schedule.texts.notBefore = time.now().advanced(by: owed) }
    }

    /// - Returns: Whether the pull was a whole pass.
    private func pullPages(
        _ dialect: Dialect, _ memory: inout PullMemory, _ changes: inout Puller.Changes, pacing: Pacing?
    ) async throws(SyncFailure) -> Bool {
        // A look that was begun and not finished may have left edits below what it read.
        let isOpen = try await SyncFailure.from(try await store.headIsOpen())
        guard await store.coverage.isComplete, !isOpen, let lastPoll = memory.newAsOf else {
            changes += try await pass(dialect, &memory, pacing: pacing)
            return true
        }
        let (found, head) = try await puller.headOfPages(
            dialect, etag: memory.etag, pageSize: memory.schedule.settings.pageSize, lastPoll: lastPoll)
        changes += found
        if head.isUnchanged { return false }
        let surplus = try await surplus(head.total)
        if !head.isProven || surplus != memory.surplus {
            changes += try await pass(dialect, &memory, pacing: pacing)
            return true
        }
        memory.etag = head.etag
        memory.listTotal = head.total
        return false
    }

    private func pass(
        _ dialect: Dialect, _ memory: inout PullMemory, pacing: Pacing?
    ) async throws(SyncFailure) -> Puller.Changes {
        // Until the pass has succeeded, an unchanged first page does not mean an unchanged list.
        memory.etag = nil
        let pass = try await puller.pass(dialect, pacing: pacing)
        memory.listTotal = pass.total
        return pass.changes
    }

    private func surplus(_ total: Int) async throws(SyncFailure) -> Int {
        total - (try await SyncFailure.from(try await store.liveCount()))
    }
}
