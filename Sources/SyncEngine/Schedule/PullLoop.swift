import NetMonitor
import PRSNLCore
import Store

/// The loop that pulls: takes what the engine has heard, asks the schedule what is due, does it, and deals with how it ended.
struct PullLoop {
    let store: Store
    let work: PullWork
    let network: NetMonitor
    let shared: EngineSharedState
    let inbox: EngineInbox
    let heartbeat: Heartbeat
    let time: TimeSource
    let random: SeededGenerator
    let log: LogHandler
    private(set) var memory: PullMemory
    private(set) var requests: [EngineInbox.RequestedPull] = []
    /// Who waits for the texts, after a pull.
    private(set) var textWaiters: [(request: EngineInbox.RequestedPull, result: SyncResult)] = []
    /// Until when pulls let the outbox go first (uptime).
    private(set) var holdsUntil: Duration?

    /// From a pull that ended with the network to the next, so that nothing spins whatever the kernel says.
    private static let afterOffline: Duration = .milliseconds(200)
    /// After a reconnect the outbox goes first, for this long at most.
    private static let longestHold: Duration = .seconds(30)

    /// Until the task is cancelled.
    mutating func run() async {
        await memory.remember(store, now: time.now(), log: log)
        while !Task.isCancelled {
            heartbeat.wake()
            HangPoint.tasks.block()
            await HangPoint.pulls.suspend()
            let news = inbox.pulls.take()
            for event in news { handle(event) }
            if news.contains(where: { if case .settings = $0 { true } else { false } }) {
                await memory.remember(store, now: time.now(), log: log)
            }
            await memory.distrustClock(store, now: time.now(), log: log)
            let now = time.now()
            memory.schedule.hurriesTexts = !textWaiters.isEmpty
            let next = memory.schedule.next(now: now)
            if !requests.isEmpty {
                await serveRequests()
            } else if textWaiters.isEmpty, let wait = waitForNetwork() {
                shared.publish { state in
                    state.activity = .waiting
                    state.nextPullAt = nil
                }
                await rest(atMost: wait)
            } else if next.at <= now {
                let result = await attempt(next.work, SyncRequest(), pacing: pacing(for: next.work))
                await answerTextWaiters(after: result)
            } else {
                shared.publish { [memory] state in
                    state.activity = memory.schedule.isWaiting(now: now) ? .waiting : .idle
                    state.nextPullAt = next.at
                    state.nextSweepAt = memory.schedule.nextSweep
                }
                await rest(atMost: next.at.duration(since: now))
            }
        }
        await stop()
    }

    /// Sends what waits and pulls everything there is, once.
    mutating func runOnce(full: Bool, texts: Bool, sending outbox: Replayer) async -> SyncResult {
        await memory.remember(store, now: time.now(), log: log)
        memory.isOnce = true
        await memory.distrustClock(store, now: time.now(), log: log)
        await outbox.drain()
        let request = SyncRequest(full: full)
        var result = await attempt(.pull, request)
        // What waited until the server had processed an item, as the pull has shown.
        if !memory.hasFailed, result.added != 0 || result.changed != 0 { await outbox.drain() }
        let next = memory.schedule.next(now: time.now())
        if !memory.hasFailed, next.at <= time.now(), next.work != .pull, next.work != .texts {
            result.add(await attempt(next.work, request))
        }
        // What was delivered above is in this pull already. Left in the inbox, it would end the texts after each one.
        for event in inbox.pulls.take() { handle(event) }
        let pacing = Pacing(events: inbox.pulls, time: time, pollAt: .latest, manner: .hurry)
        while texts, !memory.hasFailed, memory.schedule.textsDue == .earliest, !Task.isCancelled {
            result.add(await attempt(.texts, SyncRequest(), pacing: pacing))
        }
        if texts, !memory.hasFailed, await hasFailingTexts() { result.outcome = .incomplete }
        await stop()
        return result
    }

    private func rest(atMost wait: Duration) async {
        heartbeat.rest(atMost: wait)
        await inbox.pulls.wait(atMost: wait, time: time)
    }

    private mutating func handle(_ event: EngineInbox.Event) {
        switch event {
        case .settings:
            memory.schedule.settings = shared.settings
            memory.schedule.forgetFailures()
        case .credentials:
            memory.schedule.forgetFailures()
            memory.schedule.wantsHead = true
            // They are not refused yet.
            network.forgetRefusal(at: time.now())
            shared.publish { $0.problem = nil }
        case .connectivity(isReturn: true, let silence):
            memory.schedule.forgetFailures()
            memory.schedule.serverReturned(
                at: time.now(), after: silence, draws: (random.unit(), random.unit(), random.unit()))
            holdsUntil = time.uptime() + Self.longestHold
        case .outboxSent: holdsUntil = nil
        case .delivered:
            // It lets us in again.
            if memory.schedule.head.isRefused { memory.schedule.forgetFailures() }
            memory.schedule.wantsHead = true
        case .sync(let request): requests.append(request)
        case .connectivity(isReturn: false, _), .clockStepped, .writes, .released, .recovered: break
        }
    }

    /// How long no pull is begun for the network's sake; `nil`: not at all.
    private func waitForNetwork() -> Duration? {
        // Probes find out when that is over, and say so.
        if network.current.state.isClosed { return .seconds(86_400) }
        guard let holdsUntil else { return nil }
        let left = holdsUntil - time.uptime()
        return left > .zero ? left : nil
    }

    private mutating func serveRequests() async {
        var served = requests
        requests = []
        // Who asks may have removed the cause of a failure.
        memory.schedule.forgetFailures()
        for one in served where one.request.textOf != nil {
            one.answer.resume(returning: await attempt(.texts, one.request))
        }
        served.removeAll { $0.request.textOf != nil }
        guard !served.isEmpty else { return }
        if served.contains(where: \.request.texts) {
            await SyncFailure.logged(
                log, "texts that have failed could not be made due", try await store.hastenTexts(now: time.now()))
        }
        let request = SyncRequest(
            full: served.contains { $0.request.full }, acceptDeletions: served.contains { $0.request.acceptDeletions })
        let result = await attempt(.pull, request)
        for one in served {
            if one.request.texts {
                textWaiters.append((one, result))
            } else {
                one.answer.resume(returning: result)
            }
        }
        await answerTextWaiters(after: nil)
    }

    private func hasFailingTexts() async -> Bool {
        do {
            return try await store.failingTexts() > 0
        } catch {
            log(.warning, .store, "the texts that fail could not be counted: \(error.message)")
            return true
        }
    }

    /// Answers those who wait for texts, where there are none to wait for any more.
    ///
    /// - Parameter result: of the pull since the last time.
    private mutating func answerTextWaiters(after result: SyncResult?) async {
        guard !textWaiters.isEmpty else { return }
        if let result {
            for index in textWaiters.indices { textWaiters[index].result.add(result) }
        }
        guard memory.hasFailed || memory.schedule.textsDue != .earliest else { return }
        let isFailing = await hasFailingTexts()
        for var waiter in textWaiters {
            if isFailing, waiter.result.isComplete { waiter.result.outcome = .incomplete }
            waiter.request.answer.resume(returning: waiter.result)
        }
        textWaiters = []
    }

    private func pacing(for work: Schedule.Work) -> Pacing {
        let manner: Pacing.Manner = work != .texts ? .sweep : textWaiters.isEmpty ? .texts : .hurry
        let now = time.now()
        return Pacing(
            events: inbox.pulls, time: time, pollAt: memory.schedule.pullAt(now: now), manner: manner,
            mostPages: memory.schedule.mostPages(for: work, now: now))
    }

    // MARK: One piece of work

    private mutating func attempt(
        _ what: Schedule.Work, _ request: SyncRequest, pacing: Pacing? = nil
    ) async -> SyncResult {
        shared.publish { state in
            state.activity = .pulling
            state.nextPullAt = nil
        }
        var isComplete = false
        var problem: UserFacingError?
        var changes = Puller.Changes()
        do {
            memory.stage = what == .texts ? .texts : .head
            if let replaced = store.replacement() { throw replaced }
            let hadFailed = memory.schedule.head.failures > 0
            await store.beginPull()
            try await work.perform(what, &memory, &changes, request: request, pacing: pacing)
            try await settle(changes)
            // The server may have gone since the texts' last answer. The next poll finds out, as where one fails.
            if what != .texts { noteAnswer() }
            if hadFailed { inbox.post(.recovered) }
            memory.hasFailed = false
            problem = await memory.shortcoming(store)
            isComplete = await store.coverage.isComplete
        } catch {
            let failure = SyncFailure(error)
            changes += failure.changes
            problem = failure.error
            memory.hasFailed = true
            await fail(failure, after: changes)
        }
        await store.endPull()
        shared.publish { [memory] state in
            if memory.stage != .texts { state.problem = problem }
            state.textsProblem = memory.textsProblem
            state.newAsOf = memory.newAsOf
        }
        return SyncResult(
            isComplete: isComplete, added: changes.added, changed: changes.changed, deleted: changes.deleted,
            texts: changes.texts, problem: problem)
    }

    /// The server has answered, so what waits for it is tried.
    private func noteAnswer() {
        let was = network.current.state
        network.noteAnswer(at: time.now())
        if was != .online { inbox.post(was == .unknown ? .writes(manual: false) : .released) }
    }

    private mutating func settle(_ changes: Puller.Changes) async throws {
        await memory.remember(store, now: time.now(), log: log)
        // Where something was written, one more row costs nothing. A quiet poll writes nothing at all.
        if !changes.isEmpty {
            try await memory.saveNewAsOf(store)
            // Edits may have waited for what the pull has shown.
            inbox.post(.writes(manual: false))
        }
        // Reads last: the first read after a commit notes its place in the -shm file, which would else be the one thing
        // that the next quiet poll writes.
        if memory.schedule.head.failures == 0, memory.deepProblem == nil, memory.textsProblem == nil {
            try await store.noteSuccess()
        }
        await store.releaseMemory()
    }

    private mutating func fail(_ failure: SyncFailure, after changes: Puller.Changes) async {
        guard failure.verdict != .cancelled else { return }
        if failure.error.code == .offline {
            // Its turn comes with the network, which may be there again already. That is no failure.
            memory.schedule.closedUntil = max(memory.schedule.closedUntil, time.now().advanced(by: Self.afterOffline))
            return log(.info, .pull, "\(failure.endpoint): \(failure.logText)")
        }
        let now = time.now()
        if failure.error.code == .textsUnavailable { return noteNoTexts(failure, now) }
        if failure.isOfLogin { memory.stage = .head }
        // What one text fails with says little of the server. The next poll finds out.
        if memory.stage != .texts {
            network.noteFailure(NetMonitor.Failure(failure.error, isGateway: failure.isGateway), at: now)
        }
        let draw = random.unit()
        switch memory.stage {
        case .head: break
        case .deep: memory.deepProblem = failure.error
        case .texts: memory.textsProblem = failure.error
        }
        let setback = memory.stage.setback
        // One that got further is the first in a row.
        if !changes.isEmpty { memory.schedule[keyPath: setback].failures = 0 }
        memory.schedule[keyPath: setback].fail(
            at: now, failure.verdict, draw: draw, isOfFile: failure.origin == .database)
        let notBefore = memory.schedule[keyPath: setback].notBefore
        if failure.concernsEverything, memory.stage != .texts { memory.schedule.closedUntil = notBefore }
        let wait = notBefore.duration(since: now).wholeMilliseconds
        log(
            failure.verdict == .tryRarely ? .error : .warning, .pull,
            "\(failure.endpoint): \(failure.logText) [\(failure.error.code.rawValue)]"
                + (memory.isOnce ? "" : "; next try in \(wait / 1_000) s"))
        await SyncFailure.logged(
            log, "the error could not be recorded", at: .error,
            try await store.recordError(
                code: failure.error.code, endpoint: failure.endpoint, message: failure.error.message, at: now))
        await memory.remember(store, now: time.now(), log: log)
        await store.releaseMemory()
    }

    /// Said once, and asked again after a day.
    private mutating func noteNoTexts(_ failure: SyncFailure, _ now: Timestamp) {
        if memory.textsProblem?.code != failure.error.code { log(.notice, .pull, failure.logText) }
        memory.textsProblem = failure.error
        memory.schedule.texts.notBefore = now.advanced(by: Schedule.betweenAsking)
    }

    /// Writes what only memory knows, and answers those that still wait.
    private mutating func stop() async {
        await SyncFailure.logged(log, "stopping", try await memory.saveNewAsOf(store))
        await SyncFailure.logged(log, "stopping", try await store.saveCoverage())
        for event in inbox.pulls.take() { handle(event) }
        for one in requests + textWaiters.map(\.request) {
            one.answer.resume(returning: SyncResult(isComplete: false, problem: SyncFailure.cancelled.error))
        }
        textWaiters = []
        shared.publish { $0.activity = .stopped }
    }
}
