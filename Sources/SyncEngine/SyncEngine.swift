package import Configuration
package import NetMonitor
package import PRSNLClient
package import PRSNLCore
package import Store
import Synchronization

/// Pulls the timeline into the store: decides what to ask for and when.
package final class SyncEngine: Sendable {
    private let store: Store
    private let time: TimeSource
    private let log: LogHandler
    private let puller: Puller
    private let replayer: Replayer
    /// Whether the server can be used.
    package let network: NetMonitor
    private let probe: ServerProbe
    private let heartbeat = Heartbeat("the pulls")
    /// One for each of the loops that `run` is made of.
    package var heartbeats: [Heartbeat] {
        [heartbeat, replayer.heartbeat, network.heartbeats.probes, network.heartbeats.events]
    }
    private let shared: EngineNewsBox
    private let random: SeededGenerator
    private let wakeup = Wakeup()
    /// A person waits: what is read in the background is read without pauses.
    private let hurry = Wakeup()

    /// From a pull that ended with the network to the next, so that nothing spins whatever the kernel says.
    private static let afterOffline: Duration = .milliseconds(200)
    /// After a reconnect the outbox goes first, for this long at most.
    private static let longestHold: Duration = .seconds(30)

    /// - Parameter source: what the kernel says about the network.
    package init(
        store: Store, client: PRSNLClient, serverURL: String, source: NetworkSource = .none,
        settings: SyncSettings = SyncSettings(), time: TimeSource = .system, seed: UInt64? = nil,
        log: @escaping LogHandler = { _, _, _ in }
    ) {
        self.store = store
        self.time = time
        self.log = log
        let board = ProgressBoard()
        shared = EngineNewsBox(EngineNews(settings: settings))
        random = SeededGenerator(seed: seed)
        self.board = board
        let identity = Identity(
            store: store, client: client, serverURL: serverURL,
            anonymous: { [shared] in shared.value.withLock { $0.settings.anonymous } }, log: log)
        puller = Puller(
            store: store, client: client, identity: identity, time: time, log: log, progress: { board.set($0) })
        let probe = ServerProbe(
            client: client, time: time, kind: { [shared] in shared.value.withLock { $0.settings.probe } }, log: log)
        self.probe = probe
        let network = NetMonitor(
            source: source, client: client, probe: probe, time: time, random: random,
            save: { transitions in
                do throws(UserFacingError) {
                    try await store.saveTransitions(transitions)
                } catch {
                    log(.warning, .store, "changes of the connectivity could not be written: \(error.message)")
                }
            }, log: log)
        self.network = network
        replayer = Replayer(
            store: store, client: client, identity: identity, time: time, random: random, network: network,
            log: log, settings: { [shared] in shared.value.withLock { $0.settings } },
            wantsHead: { [shared, wakeup] in
                shared.value.withLock { $0.wantsHead = true }
                wakeup.signal()
            },
            isThrough: { [shared, wakeup] in
                let wasHeld = shared.value.withLock { shared in
                    defer { shared.holdsUntil = nil }
                    return shared.holdsUntil != nil
                }
                if wasHeld { wakeup.signal() }
            })
        // Weak, because the replayer holds the network: neither would ever end, nor the store and the client with them.
        network.follow { followers in
            followers.setOffline = { client.setOffline($0) }
            followers.changed = { [shared, wakeup, weak replayer] old, new, isReturn in
                guard let replayer else { return }
                replayer.countReachable(asOf: old.state)
                if isReturn {
                    shared.value.withLock { shared in
                        shared.hasReturned = true
                        shared.holdsUntil = time.uptime() + Self.longestHold
                    }
                    replayer.tell(.returned)
                } else if !new.state.isClosed {
                    replayer.tell(.writes)
                }
                wakeup.signal()
            }
            followers.clockStepped = { [wakeup, weak replayer] in
                replayer?.tell(.writes)
                wakeup.signal()
            }
        }
    }

    private let board: ProgressBoard

    /// A snapshot, cheap enough to take several times a second.
    package var state: EngineState {
        var state = shared.withLock { $0.state }
        state.progress = board.progress
        state.connectivity = network.current
        state.problem = replayer.problem ?? state.problem
        state.serverWait = replayer.serverWait
        state.refusedUntil = replayer.refusedUntil
        return state
    }

    /// Asks the server now, because somebody wants to know. Like any other answer, it tells whether the server can be used.
    package func ping() async -> ProbeResult {
        let result = await probe.run(byHand: true)
        if let failure = result.failure {
            network.noteFailure(failure, isProbe: true, at: time.now())
        } else {
            network.noteProbe(at: time.now())
        }
        return result
    }

    /// Brings the time that the server could be reached up to date; to be called before writes are accepted, or they would
    /// be older than they are.
    package func countReachable() async {
        await replayer.countReachable()
    }

    /// Tells the replayer that there is something to send; by a person, that what waits is to be tried now.
    package func writesAccepted(byHand: Bool = false) {
        if byHand, network.current.state.isClosed { network.probeNow() }
        replayer.tell(byHand ? .urged : .writes)
        // What was given up, or replaced by what was accepted, is not waited for any longer.
        replayer.changes.announce()
    }

    /// Returns when none of the entries is to be sent any more: delivered, parked, or given up; or after `limit`.
    ///
    /// - Parameter progress: Gets the first that still waits, each time that something has moved.
    package func waitForDelivery(
        _ ids: [Int64], atMost limit: Duration?, progress: (OutboxEntry) -> Void = { _ in }
    ) async throws(UserFacingError) {
        let place = replayer.changes.join()
        defer { replayer.changes.leave(place.id) }
        let end = limit.map { time.uptime() + $0 }
        var waiting = try await store.waiting(among: ids)
        while !waiting.isEmpty, !Task.isCancelled {
            let left = end.map { $0 - time.uptime() } ?? .seconds(3_600)
            guard left > .zero else { return }
            if let first = try await store.outboxEntries([waiting[0]]).first { progress(first) }
            await place.wakeup.wait(atMost: left, time: time)
            // Who waits for many is told of them together.
            if waiting.count > 10 {
                do { try await time.sleep(min(left, .milliseconds(100))) } catch { return }
            }
            waiting = try await store.waiting(among: waiting)
        }
    }

    /// Takes effect from the next decision on; what has failed is tried again at once, because the owner may just have
    /// mended it.
    package func apply(_ settings: SyncSettings) {
        shared.withLock { shared in
            shared.settings = settings
            shared.isReloaded = true
        }
        wakeup.signal()
        writesAccepted(byHand: true)
    }

    /// The client has other credentials: what was refused is tried again at once, and whose timeline it is now is found out.
    package func credentialsChanged() {
        shared.withLock { shared in
            shared.isReloaded = true
            shared.wantsHead = true
        }
        wakeup.signal()
        writesAccepted(byHand: true)
    }

    /// Pulls now, while `run` runs, and says how it ended.
    package func sync(_ request: SyncRequest) async -> SyncResult {
        await withCheckedContinuation { continuation in
            shared.withLock { $0.requests.append(RequestedPull(request: request, answer: continuation)) }
            wakeup.signal()
            hurry.signal()
        }
    }

    // MARK: Running

    /// Pulls on schedule, and sends what is written here, until the task is cancelled. Being offline is never a reason to
    /// return.
    package func run() async {
        network.begin()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.network.run() }
            group.addTask { await Heartbeat.$current.withValue(self.replayer.heartbeat) { await self.replayer.run() } }
            await Heartbeat.$current.withValue(heartbeat) { await runPulls() }
            heartbeat.end()
            await group.waitForAll()
        }
    }

    private func runPulls() async {
        var memory = EngineMemory(schedule: Schedule(settings: shared.withLock { $0.settings }))
        await memory.remember(store, now: time.now(), log: log)
        while !Task.isCancelled {
            heartbeat.wake()
            HangPoint.tasks.block()
            await HangPoint.pulls.suspend()
            takeNews(&memory)
            await memory.distrustClock(store, now: time.now(), log: log)
            let requested = takeRequests()
            let now = time.now()
            let next = memory.schedule.next(now: now)
            if !requested.isEmpty {
                await serve(requested, &memory)
            } else if let wait = waitForNetwork() {
                publish { state in
                    state.activity = .waiting
                    state.nextPullAt = nil
                }
                await rest(atMost: wait)
            } else if next.at <= now {
                _ = await attempt(next.work, &memory, request: SyncRequest(), manners: manners(memory.schedule))
            } else {
                publish { state in
                    state.activity = memory.schedule.isWaiting(now: now) ? .waiting : .idle
                    state.nextPullAt = next.at
                }
                await rest(atMost: next.at.duration(since: now))
            }
        }
        await stop(memory)
    }

    private func rest(atMost wait: Duration) async {
        heartbeat.rest(atMost: wait)
        await wakeup.wait(atMost: wait, time: time)
    }

    /// What others have said since the last time.
    private func takeNews(_ memory: inout EngineMemory) {
        let news = shared.withLock { shared in
            defer {
                shared.isReloaded = false
                shared.wantsHead = false
                shared.hasReturned = false
            }
            return shared
        }
        memory.schedule.settings = news.settings
        if news.wantsHead || news.hasReturned { memory.schedule.wantsHead = true }
        if news.isReloaded || news.hasReturned { memory.schedule.forgetFailures() }
    }

    /// How long no pull is begun for the network's sake; `nil`: not at all.
    private func waitForNetwork() -> Duration? {
        // Probes find out when that is over, and say so.
        if network.current.state.isClosed { return .seconds(86_400) }
        guard let until = shared.withLock(\.holdsUntil) else { return nil }
        let left = until - time.uptime()
        return left > .zero ? left : nil
    }

    /// Sends what waits and pulls everything there is, once, retrying nothing beyond the client's own retries.
    ///
    /// - Parameter full: Also reads what is known already, as a sweep does.
    package func runOnce(full: Bool = false) async -> SyncResult {
        var memory = EngineMemory(schedule: Schedule(settings: shared.withLock { $0.settings }))
        await memory.remember(store, now: time.now(), log: log)
        memory.isOnce = true
        network.begin()
        // The kernel may be wrong about the way; nobody asks again later.
        if network.current.state == .offline { _ = await ping() }
        await memory.distrustClock(store, now: time.now(), log: log)
        await replayer.drain()
        let request = SyncRequest(full: full)
        var result = await attempt(.pull, &memory, request: request, manners: .none)
        // What waited until the server had processed an item, as the pull has shown.
        if result.problem == nil, result.added + result.changed > 0 { await replayer.drain() }
        if result.problem == nil {
            let next = memory.schedule.next(now: time.now())
            if next.at <= time.now(), next.work != .pull {
                result.add(await attempt(next.work, &memory, request: request, manners: .none))
            }
        }
        await network.saveTransitions()
        await stop(memory)
        return result
    }

    private func serve(_ requested: [RequestedPull], _ memory: inout EngineMemory) async {
        let request = SyncRequest(
            full: requested.contains { $0.request.full },
            acceptDeletions: requested.contains { $0.request.acceptDeletions })
        // Somebody who asks has perhaps just mended it.
        memory.schedule.forgetFailures()
        let result = await attempt(.pull, &memory, request: request, manners: .none)
        for one in requested { one.answer.resume(returning: result) }
    }

    private func takeRequests() -> [RequestedPull] {
        shared.withLock { shared in
            defer { shared.requests = [] }
            return shared.requests
        }
    }

    /// A sweep in the background leaves the server four fifths of its time, and lets polls and people go first.
    private func manners(_ schedule: Schedule) -> Puller.Manners {
        let pollAt = schedule.pullAt(now: time.now())
        return Puller.Manners(
            pace: { [time, hurry, shared] took in
                if !shared.withLock(\.requests.isEmpty) { return }
                await hurry.wait(atMost: min(max(took * 4, .milliseconds(20)), .seconds(10)), time: time)
                try Task.checkCancellation()
            },
            givesWay: { [time, shared] in
                time.now() >= pollAt || !shared.withLock(\.requests.isEmpty)
            })
    }

    // MARK: One piece of work

    private func attempt(
        _ work: Schedule.Work, _ memory: inout EngineMemory, request: SyncRequest, manners: Puller.Manners
    ) async -> SyncResult {
        publish { state in
            state.activity = .pulling
            state.nextPullAt = nil
        }
        var result = SyncResult(isComplete: false)
        var changes = Puller.Changes()
        do {
            memory.isDeep = false
            if let replaced = store.replacement() { throw replaced }
            let hadFailed = memory.schedule.head.failures > 0
            await store.beginPull()
            try await PullWork(puller: puller, store: store, time: time)
                .perform(work, &memory, &changes, request: request, manners: manners)
            try await settle(&memory, changes: changes)
            noteAnswer()
            if hadFailed { replayer.tell(.recovered) }
            result.problem = await memory.shortcoming(store)
            let coverage = await store.coverage
            result.isComplete = result.problem == nil && coverage.isComplete
        } catch {
            let failure = SyncFailure(error)
            changes += failure.changes
            result.problem = failure.error
            await fail(failure, after: changes, &memory)
        }
        await store.endPull()
        result.added = changes.added
        result.changed = changes.changed
        result.deleted = changes.deleted
        publish { [newAsOf = memory.newAsOf] state in
            state.problem = result.problem
            state.newAsOf = newAsOf
        }
        return result
    }

    /// The server has answered: what waits for it need not wait any longer.
    private func noteAnswer() {
        let was = network.current.state
        network.noteAnswer(at: time.now())
        if was != .online { replayer.tell(was != .unknown ? .urged : .writes) }
    }

    // MARK: Afterwards

    private func settle(_ memory: inout EngineMemory, changes: Puller.Changes) async throws {
        await memory.remember(store, now: time.now(), log: log)
        // Where something was written, one more row costs nothing; a quiet poll writes nothing at all.
        if !changes.isEmpty {
            try await memory.saveNewAsOf(store)
            // Edits may have waited for what the pull has shown.
            replayer.tell(.writes)
        }
        // Reads last: the first read after a commit notes its place in the -shm file, which would else be the one thing
        // that the next quiet poll writes.
        if memory.schedule.head.failures == 0, memory.deepProblem == nil { try await store.noteSuccess() }
        await store.releaseMemory()
    }

    private func fail(_ failure: SyncFailure, after changes: Puller.Changes, _ memory: inout EngineMemory) async {
        guard failure.verdict != .cancelled else { return }
        if failure.error.code == .offline {
            // No failure of anybody's: its turn comes with the network, which may be there again already.
            memory.schedule.closedUntil = max(memory.schedule.closedUntil, time.now().advanced(by: Self.afterOffline))
            return log(.info, .pull, "\(failure.endpoint): \(failure.logText)")
        }
        let now = time.now()
        network.noteFailure(NetMonitor.Failure(failure.error, isGateway: failure.isGateway), at: now)
        let draw = random.unit()
        if memory.isDeep { memory.deepProblem = failure.error }
        let setback = memory.isDeep ? \Schedule.deep : \Schedule.head
        // One that got further is the first in a row.
        if !changes.isEmpty { memory.schedule[keyPath: setback].failures = 0 }
        memory.schedule[keyPath: setback].fail(at: now, failure.verdict, draw: draw)
        let notBefore = memory.schedule[keyPath: setback].notBefore
        if failure.concernsEverything { memory.schedule.closedUntil = notBefore }
        let wait = notBefore.duration(since: now).wholeMilliseconds
        log(
            failure.verdict == .needsPerson ? .error : .warning, .pull,
            "\(failure.endpoint): \(failure.logText) [\(failure.error.code.rawValue)]"
                + (memory.isOnce ? "" : "; next try in \(wait / 1_000) s"))
        do {
            try await store.recordError(
                code: failure.error.code, endpoint: failure.endpoint, message: failure.error.message, at: now)
        } catch {
            log(.error, .store, "the error could not be recorded: \(error.message)")
        }
        await memory.remember(store, now: time.now(), log: log)
    }

    /// Writes what only memory knows, and answers whoever still waits.
    private func stop(_ memory: EngineMemory) async {
        var memory = memory
        do {
            try await memory.saveNewAsOf(store)
            try await store.saveCoverage()
        } catch {
            log(.warning, .store, "stopping: \(error.message)")
        }
        for one in takeRequests() {
            var result = SyncResult(isComplete: false)
            result.problem = SyncFailure.cancelled.error
            one.answer.resume(returning: result)
        }
        publish { state in state.activity = .stopped }
    }

    private func publish(_ change: (inout EngineState) -> Void) {
        shared.withLock { change(&$0.state) }
    }
}

extension SyncResult {
    fileprivate mutating func add(_ other: SyncResult) {
        added += other.added
        changed += other.changed
        deleted += other.deleted
        problem = other.problem
        isComplete = other.isComplete
    }
}
