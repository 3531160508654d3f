import Configuration
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
        memory.schedule.begin(work, at: time.now())
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
        if let ahead, memory.clocksWereSet(ahead: ahead) {
            try await SyncFailure.from(try await store.restartWaits(at: time.now(), serverAhead: ahead))
            memory.savedNewAsOf = nil
        }
        if work == .pull { memory.serverAhead = ahead }
        memory.stage = .deep
        if work == .pull, memory.isPurgeDue(at: start) {
            try await puller.purge()
            memory.purgedAt = start
        }
        if work == .recent, let pacing {
            let found = try await puller.recent(pageSize: pageSize, pacing: pacing)
            changes += found
            // Where something is edited, more may be.
            if !found.isEmpty { memory.schedule.lastNews = start }
            return
        }
        // A head pull leaves what has failed lately alone.
        let skipsDeep = work == .pull && start < memory.schedule.deep.notBefore
        if dialect == .cursor, !skipsDeep, work == .pull || work == .fill {
            changes += try await puller.fillGaps(
                pageSize: pageSize, newAsOf: memory.newAsOf, serverAhead: aheadBefore)
        }
        if await store.coverage.isComplete, let head = memory.schedule.lastPull { memory.newAsOf = head }
        if !hasSwept, work == .sweep || request.full {
            if dialect == .cursor {
                let swept = try await puller.sweepCursor(pageSize: pageSize, pacing: pacing, fromStart: request.full)
                changes += swept.changes
                guard swept.end == .reachedBottom else { return }
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
                    .usage, "This server sends the texts with the timeline, not one by one.",
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
        // A poll that was begun and not finished may have left edits below what it read.
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

/// What the loop knows besides the file.
struct PullMemory {
    var schedule: Schedule
    var newAsOf: Timestamp?
    /// How far the server's clock was ahead of ours at the last poll of the newest items.
    var serverAhead: Duration?
    /// The same at the last work of this process.
    var aheadAtLastWork: Duration?
    var savedNewAsOf: Timestamp?
    var etag: String?
    /// Dialects P and E: how many items the server said it has, when the copy was last found to agree with it.
    var listTotal: Int?
    /// Those less the ones in the copy: items that are hidden, or could not be read.
    var surplus = 0
    var held = 0
    /// When what is kept for a time only was removed last.
    var purgedAt: Timestamp?
    /// Whether the last piece of work could not be done. A copy that lacks what no work can bring is no failure.
    var hasFailed = false
    /// Whether there is no next time.
    var isOnce = false
    /// What is being done now. Each has a backoff of its own.
    var stage = Stage.head
    /// What failed below the newest items and has not succeeded since.
    var deepProblem: UserFacingError?
    /// What failed of the texts, likewise.
    var textsProblem: UserFacingError?

    /// The longest answer that the client takes, in bytes.
    let answerLimit: Int
    /// The limit of a text's size that the file's list of too large ones was compared with.
    var textLimit: Int?

    enum Stage: Sendable {
        /// Looking at the newest items.
        case head
        /// Everything else of the timeline.
        case deep
        case texts

        var setback: WritableKeyPath<Schedule, Schedule.Setback> {
            switch self {
            case .head: \.head
            case .deep: \.deep
            case .texts: \.texts
            }
        }
    }

    /// Once a day, and where the clock was set back.
    func isPurgeDue(at now: Timestamp) -> Bool {
        guard let age = purgedAt.map({ now.duration(since: $0) }) else { return true }
        return age < .zero || age >= .seconds(86_400)
    }

    /// Brings what the schedule knows up to date with the file.
    mutating func remember(_ store: Store, now: Timestamp, log: LogHandler) async {
        let coverage = await store.coverage
        schedule.editsAsOf = coverage.oldestRead
        schedule.isSweeping = coverage.sweepStart != nil
        // The first pass over pages by number has its own way to go on.
        schedule.hasGaps =
            store.binding.dialect == .cursor && !coverage.intervals.isEmpty && !coverage.isComplete
        schedule.isComplete = coverage.isComplete
        schedule.ridesOnPolls = store.binding.dialect == .cursor && !isOnce
        do {
            schedule.live = try await store.liveCount()
            if textLimit != schedule.settings.textMaxSize {
                try await store.forgetTooLarge(text: schedule.settings.textMaxSize, answer: answerLimit)
                textLimit = schedule.settings.textMaxSize
            }
            schedule.textsDue = schedule.settings.texts ? try await store.nextText(now: now) : nil
            schedule.deletionCandidatesDue = try await store.deletionCandidatesDue(after: AbsenceCheck.cacheTime)
            let from = Puller.pendingFrom(coverage, now: store.serverNow ?? .earliest) { [serverAhead] readAt in
                serverAhead.map { ServerTime(at: readAt, ahead: $0) }
            }
            schedule.hasPending = try await !store.pending(from: from).isEmpty
            held = try await store.deletionsHeld()
            if newAsOf == nil {
                newAsOf = try await store.newAsOf()
                savedNewAsOf = newAsOf
            }
            if serverAhead == nil { serverAhead = try await store.serverAhead() }
        } catch {
            log(.warning, .store, "the schedule could not be read from the file: \(error.message)")
        }
    }

    /// A clock that was set back makes times of the past look like times to come. What was read then is not as new as its time
    /// says, however little that lies ahead: the step may have been a larger one, and another in between.
    mutating func distrustClock(_ store: Store, now: Timestamp, log: LogHandler) async {
        schedule.distrustClock(now: now)
        if let known = newAsOf, known > now {
            newAsOf = nil
            savedNewAsOf = nil
        }
        do {
            if try await store.distrust(timesAfter: now) { await remember(store, now: now, log: log) }
        } catch {
            log(.warning, .store, "times in the future could not be taken out of the file: \(error.message)")
        }
        schedule.editsAsOf = await store.coverage.oldestRead
    }

    /// Whether one of the clocks was set since the last work, or since the file was written.
    mutating func clocksWereSet(ahead: Duration) -> Bool {
        defer { aheadAtLastWork = ahead }
        guard let before = aheadAtLastWork ?? serverAhead else { return true }
        return max(ahead - before, before - ahead) > Schedule.clockTolerance
    }

    /// Saves T1, where the file does not have it yet.
    mutating func saveNewAsOf(_ store: Store) async throws(UserFacingError) {
        guard let newAsOf, newAsOf != savedNewAsOf else { return }
        try await store.saveNewAsOf(newAsOf, serverAhead: serverAhead)
        savedNewAsOf = newAsOf
    }

    /// Why the copy is not complete although the pull succeeded.
    func shortcoming(_ store: Store) async -> UserFacingError? {
        if let problem = deepProblem { return problem }
        if held > 0 {
            return UserFacingError(
                .deletionsHeld,
                "\(Count.text(held, "item", "is")) missing on the server, more than is believed at once.",
                consequence: "The copy still has them.")
        }
        do throws(UserFacingError) {
            let collisions = try await store.timestampCollisions()
            if let first = collisions.first {
                return UserFacingError(
                    .crowdedInstant,
                    "The server has possibly more items at \(first)"
                        + (collisions.count > 1 ? " and \(Count.text(collisions.count - 1, "other time"))" : "")
                        + " than it shows.", consequence: "Everything that can be reached is in the copy.")
            }
            let rejected = try await store.rejectedCount()
            if rejected > 0 {
                return UserFacingError(
                    .itemsRejected, "\(Count.text(rejected, "item")) of the server could not be read.",
                    consequence:
                        "What could not be read is kept as it came, in the table rejected_item; everything else is in the copy."
                )
            }
            guard let (count, message) = try await store.unanswered() else { return nil }
            let others = count > 1 ? " So it is with \(count - 1) more." : ""
            return UserFacingError(
                .deletionUndecided, message + others,
                consequence: "The copy still has it; other deletions are not held up.")
        } catch {
            return error
        }
    }
}
