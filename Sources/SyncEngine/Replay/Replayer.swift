import Configuration
import NetMonitor
import PRSNLClient
import PRSNLCore
import Store
import Synchronization

/// Carries the outbox to the server: one request at a time, in order, at the server's pace.
///
/// Everything that must survive the process is in the file before and after each request (docs/outbox.md); what is kept
/// here is only how the server behaves at the moment.
final class Replayer: Sendable {
    let store: Store
    let identity: Identity
    var client: PRSNLClient { identity.client }
    let time: TimeSource
    let random: SeededGenerator
    let network: NetMonitor
    let log: LogHandler
    let shared: EngineSharedState
    private let inbox: EngineInbox
    let changes = Announcements()

    let heartbeat = Heartbeat("the outbox")
    /// The items that were made here, as far as this process has sent them.
    let made = Mutex(RecentIDs())
    private let reachable: Mutex<ReachableTime>
    /// Why the file does not take what becomes of writes, while it does not.
    let refusedByDisk = Mutex<UserFacingError?>(nil)
    var problem: UserFacingError? { refusedByDisk.withLock { $0 } }
    /// How the server takes writes, as of the last piece of work.
    let gate = Mutex(SendGate())

    init(
        store: Store, identity: Identity, network: NetMonitor, shared: EngineSharedState, inbox: EngineInbox,
        time: TimeSource, random: SeededGenerator, log: @escaping LogHandler
    ) {
        (self.store, self.identity, self.network, self.shared) = (store, identity, network, shared)
        (self.inbox, self.time, self.random, self.log) = (inbox, time, random, log)
        reachable = Mutex(ReachableTime(from: time.uptime()))
    }

    /// While much is delivered, pulls look for it this often.
    private static let betweenHeads: Duration = .seconds(30)
    /// What many writes have left in SQLite's cache is not kept through a pause longer than this.
    private static let longPause: Duration = .seconds(10)
    /// All clients come back together with their server: the first sends are spread, by this much each at most.
    private static let spreadSends = 16
    private static let longestSpread: Duration = .milliseconds(50)
    /// So many are `sending` in the file at most, besides those under way: what a kill leaves to be looked up.
    private static let batchSize = 4

    // MARK: Running

    /// Sends until the task is cancelled.
    func run() async {
        var memory = await remember()
        await endBlocker()
        while !Task.isCancelled {
            heartbeat.wake()
            await HangPoint.replayer.suspend()
            for event in inbox.outbox.take() { await handle(event, &memory) }
            if let due = memory.nextManualRetry, due <= time.uptime() { retryNow(&memory) }
            await followClock(&memory)
            let wait = await step(&memory)
            shared.isSending = wait == nil
            guard var wait else { continue }
            if let due = memory.nextManualRetry { wait = min(wait, max(.zero, due - time.uptime())) }
            if exchange(&memory.isAwaited, with: false) { inbox.post(.outboxSent) }
            if exchange(&memory.unseenSince, with: nil) != nil { inbox.post(.delivered) }
            if wait > Self.longPause { await store.releaseMemory() }
            reachable.withLock { $0.wakesAt = time.uptime() + wait }
            heartbeat.rest(atMost: wait)
            await inbox.outbox.wait(atMost: wait, time: time)
        }
        heartbeat.end()
        await countReachable()
        await SyncFailure.logged(log, "stopping", try await store.saveReachable())
    }

    /// Sends what is due, once, and returns when nothing is, or when the server does not take it now.
    func drain() async {
        var memory = await remember()
        while !Task.isCancelled, await step(&memory) == nil {}
    }

    private func remember() async -> ReplayMemory {
        await SyncFailure.logged(
            log, "the times of waiting writes could not be checked", try await store.distrustDueTimes(now: time.now()))
        return ReplayMemory(bootTime: bootTime)
    }

    private func handle(_ event: EngineInbox.Event, _ memory: inout ReplayMemory) async {
        switch event {
        case .writes(manual: true): retryNow(&memory)
        case .released: release(&memory)
        case .connectivity(isReturn: true, _):
            memory.machine.gate.noteReturn()
            memory.spread = Self.spreadSends
            memory.isAwaited = true
        case .recovered:
            // The server answers again what it has failed at.
            memory.machine.gate.slowedUntil = [:]
            await SyncFailure.logged(
                log, "failed writes could not be made due", try await store.hastenFailed(now: time.now()))
        case .connectivity, .clockStepped, .writes, .settings, .credentials, .sync, .delivered, .outboxSent: break
        }
    }

    /// A manual retry. Repeats within `Store.retryPause` are coalesced.
    private func retryNow(_ memory: inout ReplayMemory) {
        let (uptime, credentials) = (time.uptime(), client.credentials)
        // Other credentials are another question: a login after a logout does not wait for the answer to the logout.
        if let last = memory.lastManualRetry, uptime - last < Store.retryPause, credentials == memory.retriedWith {
            return memory.nextManualRetry = last + Store.retryPause
        }
        (memory.lastManualRetry, memory.retriedWith) = (uptime, credentials)
        release(&memory)
    }

    /// What was refused may be taken now.
    private func release(_ memory: inout ReplayMemory) {
        memory.nextManualRetry = nil
        memory.machine.gate.forgetPauses()
        memory.proof = nil
    }

    /// What was to wait waits as long as before, whatever the clock says now.
    private func followClock(_ memory: inout ReplayMemory) async {
        let step = clockStep(memory)
        memory.bootTime = bootTime
        guard step != .zero else { return }
        await SyncFailure.logged(
            log, "the times of waiting writes could not be set with the clock",
            try await store.shiftDueTimes(by: step, now: time.now()))
    }

    /// Both clocks in one moment: a process that was stopped in between would take that for a step.
    private var bootTime: Timestamp {
        while true {
            let uptime = time.uptime()
            let now = time.now()
            if time.uptime() - uptime < .milliseconds(100) { return now.advanced(by: .zero - uptime) }
        }
    }

    /// How far the clock was set since the loop looked last; time servers' small steps do not count.
    private func clockStep(_ memory: ReplayMemory) -> Duration {
        let step = bootTime.duration(since: memory.bootTime)
        return max(step, .zero - step) >= .seconds(1) ? step : .zero
    }

    /// One piece of work.
    ///
    /// - Returns: How long there is nothing to do; `nil` to go on at once.
    private func step(_ memory: inout ReplayMemory) async -> Duration? {
        let uptime = time.uptime()
        await countReachable()
        let gate = memory.machine.gate
        await publish(gate)
        do {
            if memory.hasStray {
                try await store.markSendingUnknown()
                memory.hasStray = false
            }
            if gate.opensAt > uptime { return gate.opensAt - uptime }
            guard
                let task = try await store.dueEntry(
                    now: time.now(), sending: gate.sendable(at: uptime), excluding: gate.leftAlone(at: uptime))
            else {
                refusedByDisk.withLock { $0 = nil }
                memory.machine.gate.blocker = nil
                await publish(memory.machine.gate)
                return try await idle(memory)
            }
            // Probes find out when that is over, and say so.
            if network.current.state.isClosed { return .seconds(86_400) }
            if memory.spread > 0 {
                // The first send goes at once, and the next ones after a moment.
                if memory.spread < Self.spreadSends { try await time.sleep(Self.longestSpread * random.unit()) }
                memory.spread -= 1
            }
            await handle(task, try await ready(&memory), &memory)
            if let since = memory.unseenSince, uptime - since >= Self.betweenHeads {
                memory.unseenSince = nil
                inbox.post(.delivered)
            }
            return nil
        } catch {
            let failure = SyncFailure(error)
            if failure.origin == .database { await noteRefusal(by: failure.error) }
            memory.machine.gate.pause(after: failure, moment)
            takeNotes(&memory)
            return nil
        }
    }

    private func idle(_ memory: ReplayMemory) async throws(UserFacingError) -> Duration {
        let (now, uptime) = (time.now(), time.uptime())
        var wait = try await store.nextDue(after: now)?.duration(since: now) ?? .seconds(86_400)
        if wait > Store.longestWait {
            if clockStep(memory) != .zero { return .zero }
            try await store.distrustDueTimes(now: now)
        }
        if let opens = memory.machine.gate.nextOpening(after: uptime) { wait = min(wait, opens - uptime) }
        return min(wait, .seconds(86_400))
    }

    /// Adds what has passed since the last time, if the server could be reached. Before writes are accepted too, so that
    /// they are not older than they are.
    func countReachable() async {
        countReachable(asOf: network.current.state)
        if let passed = reachable.withLock({ $0.take() }) { await store.noteReachable(passed) }
    }

    func countReachable(asOf state: Connectivity.State) {
        reachable.withLock { $0.advance(to: time.uptime(), asOf: state) }
    }

    // MARK: Being let in

    /// Asks in a session that the server has proven to be the account's that the copy is bound to.
    private func ready(_ memory: inout ReplayMemory) async throws(SyncFailure) -> OutboxLookup {
        let dialect = try await identity.establish(pageSize: shared.settings.pageSize)
        let session: ClientSession
        if let proven = memory.provenSession(at: time.uptime()) {
            session = proven
        } else {
            let requests = RequestCounter()
            session = try await identity.session(waitsForRateLimit: false)
            try await identity.prove(session, counting: requests)
            memory.proof = (session, time.uptime())
            // Where there is no account to be proven, nothing was asked.
            if requests.count > 0 { memory.machine.gate.noteAnswer() }
            takeNotes(&memory)
        }
        return OutboxLookup(
            store: store, session: session, identity: identity, time: time, dialect: dialect,
            interval: shared.settings.lookupInterval)
    }

    var moment: OutboxMachine.Moment {
        OutboxMachine.Moment(
            now: time.now(), uptime: time.uptime(), draw: random.unit(), resendsUnknown: shared.settings.resendUnknown)
    }

    func takeNotes(_ memory: inout ReplayMemory) {
        for note in exchange(&memory.machine.gate.notes, with: []) {
            switch note {
            case .answered: network.noteAnswer(at: time.now())
            case .failed(let failure):
                network.noteFailure(NetMonitor.Failure(failure.error, isGateway: failure.isGateway), at: time.now())
            case .unproven: memory.proof = nil
            case .log(let line): log(.info, .http, line)
            }
        }
    }

    /// Writes down what became of writes, and begins the next ones of the `unprepared` kinds. What the server has answered must
    /// not be forgotten because a disk is full: until it is written, nothing else is done.
    @discardableResult
    func record(
        _ records: [WriteRecord], thenSending unprepared: Set<OutboxEntry.Kind> = [], _ memory: inout ReplayMemory
    ) async -> [OutboxTask] {
        var tries = 0
        while true {
            do {
                let (gate, uptime) = (memory.machine.gate, time.uptime())
                let next = try await store.record(
                    records, now: time.now(), thenSending: gate.sendable(at: uptime), unprepared: unprepared,
                    excluding: gate.leftAlone(at: uptime),
                    most: min(Self.batchSize, max(1, gate.pace.room(at: uptime))))
                if records.isEmpty { return next }
                refusedByDisk.withLock { $0 = nil }
                changes.announce()
                for parked in records where parked.outcome.isParked {
                    // Without the server's words, which may hold a title.
                    let code = parked.error.map { " [\($0.code.rawValue)]" } ?? ""
                    log(
                        .warning, .http,
                        "#\(parked.entry) is parked\(code): it is not sent before you decide. See `prsnlctl queue show \(parked.entry)`"
                    )
                }
                return next
            } catch {
                if records.isEmpty {
                    // Its turn comes again; what must not be lost is not in it.
                    log(.warning, .store, "the next entry could not be begun: \(error.message)")
                    return []
                }
                tries += 1
                await noteRefusal(by: error)
                let numbers = records.map { "#\($0.entry)" }.joined(separator: ", ")
                log(.error, .store, "\(numbers): what became of it could not be written: \(error.inFull)")
                if error.code == .storeBug {
                    memory.hasStray = true
                    memory.machine.gate.pausedUntil = time.uptime() + .seconds(60)
                    return []
                }
                let wait = Backoff.probes.wait(failures: tries, draw: 1)
                heartbeat.expect(within: wait)
                // A write that was accepted shows that the file takes it again. What is heard stays for the loop.
                await inbox.outbox.wait(atMost: wait, time: time)
                // Stopping: it stays `sending` in the file, and the next start looks it up.
                if Task.isCancelled { return [] }
            }
        }
    }
}
