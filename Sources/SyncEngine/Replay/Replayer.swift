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
    let client: PRSNLClient
    let identity: Identity
    let time: TimeSource
    let random: SeededGenerator
    let network: NetMonitor
    let log: LogHandler
    let settings: @Sendable () -> SyncSettings
    /// Called when something was delivered that a look at the newest items would show.
    let wantsHead: @Sendable () -> Void
    /// Called when there is nothing to send at the moment.
    let isThrough: @Sendable () -> Void
    let changes = OutboxChanges()

    let heartbeat = Heartbeat("the outbox")
    /// The items that were made here, as far as this process has sent them.
    let made = Mutex(RecentIDs())
    private let wakeup = Wakeup()
    private let isUrged = Flag()
    private let hasReturned = Flag()
    private let hasRecovered = Flag()
    private let counting: Mutex<Counting>
    /// Why the file does not take what becomes of writes, while it does not.
    private let refusedByDisk = Mutex<UserFacingError?>(nil)
    var problem: UserFacingError? { refusedByDisk.withLock { $0 } }
    /// Until when (uptime) the server has asked not to send, with what it counts as its pace.
    private let asked = Mutex<(creations: Duration, others: Duration)>((.zero, .zero))
    /// Until when (uptime) entries are left alone that were refused.
    private let refused = Mutex<[Int64: Duration]>([:])
    /// When those have their turn again.
    var refusedUntil: [Int64: Timestamp] {
        let (now, uptime) = (time.now(), time.uptime())
        return refused.withLock { $0.filter { $0.value > uptime } }.mapValues { now.advanced(by: $0 - uptime) }
    }

    init(
        store: Store, client: PRSNLClient, identity: Identity, time: TimeSource, random: SeededGenerator,
        network: NetMonitor, log: @escaping LogHandler, settings: @escaping @Sendable () -> SyncSettings,
        wantsHead: @escaping @Sendable () -> Void, isThrough: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.client = client
        self.identity = identity
        self.time = time
        self.random = random
        self.network = network
        self.log = log
        self.settings = settings
        self.wantsHead = wantsHead
        self.isThrough = isThrough
        counting = Mutex(Counting(until: time.uptime(), wakesAt: time.uptime()))
    }

    /// What the loop knows besides the file.
    struct Memory {
        var pace = Pace()
        /// Requests in a row that were not answered.
        var unanswered = 0
        /// Writes in a row that went back because the login had changed since its proof.
        var overtaken = 0
        /// Writes in a row that the server failed at, by kind: a release that fails at every edit takes new items all the same.
        var failures: [OutboxEntry.Kind: Int] = [:]
        /// Until when (uptime) a kind is left alone for that.
        var slowedUntil: [OutboxEntry.Kind: Duration] = [:]
        /// 429s in a row, without a write that was taken.
        var slowDowns = 0
        /// Entries that were refused, while others may go.
        var refusals = Refusals()
        /// When a person was last listened to (uptime).
        var urgedAt: Duration?
        /// What was shown to the server then.
        var urgedWith = Credentials.none
        /// An entry is `sending` in the file and nothing is under way.
        var hasStray = false
        /// Nothing is sent before this (uptime), unless a person asks.
        var pausedUntil: Duration = .zero
        /// Nothing is sent before this, whoever asks: the server has said so.
        var closedUntil: Duration = .zero
        /// The credentials that were last proven to be the pinned account's, and when.
        var proof: (credentials: Credentials, at: Duration)?
        /// When something was delivered that no pull has shown yet.
        var unseenSince: Duration?
        /// What the wall clock said when the machine was started: changes where it is set.
        var bootTime: Timestamp
        /// So many sends are still spread a little, after the server came back.
        var spread = 0
    }

    /// The time during which the server could be reached, as far as it was counted (uptime).
    private struct Counting {
        var until: Duration
        /// When the loop meant to wake up: what passes long after that was spent asleep, with the whole machine.
        var wakesAt: Duration
        /// Counted and not yet in the file.
        var passed: Duration = .zero

        mutating func advance(to uptime: Duration, asOf state: Connectivity.State) {
            if state == .online { passed += min(uptime - until, max(wakesAt - until, .zero) + .seconds(60)) }
            until = uptime
        }
    }

    /// A proof of the account is believed for this long: a login that expires in between is refused by writes, not
    /// taken for another's.
    static let proofLife: Duration = .seconds(300)
    /// While much is delivered, pulls look for it this often.
    private static let betweenHeads: Duration = .seconds(30)
    /// What many writes have left in SQLite's cache is not kept through a pause longer than this.
    private static let longPause: Duration = .seconds(10)
    /// Everybody's clients come back together with a server: the first sends are spread, by this much each at most.
    private static let spreadSends = 16
    private static let longestSpread: Duration = .milliseconds(50)
    private static let afterOffline: Duration = .milliseconds(50)
    /// Failures that may be the entry's own before the whole queue is slowed down.
    static let tolerated = 2

    /// There is something to send; or, by a person, what waits is to be tried now.
    func wake(byHand: Bool) {
        if byHand { isUrged.set() }
        wakeup.signal()
    }

    /// The server is back: what waited for that goes now.
    func noteReturn() {
        hasReturned.set()
        wakeup.signal()
    }

    /// The server answers again after it has failed: what it failed at goes now.
    func noteRecovery() {
        hasRecovered.set()
        wakeup.signal()
    }

    // MARK: Running

    /// Sends until the task is cancelled.
    func run() async {
        var memory = Memory(bootTime: bootTime)
        do {
            try await store.distrustDueTimes(now: time.now())
        } catch {
            log(.warning, .store, "the times of waiting writes could not be checked: \(error.message)")
        }
        while !Task.isCancelled {
            heartbeat.wake()
            await HangPoint.replayer.suspend()
            if isUrged.isSet {
                isUrged.clear()
                listen(&memory)
            }
            if hasReturned.isSet {
                hasReturned.clear()
                memory.pausedUntil = .zero
                memory.slowedUntil = [:]
                memory.spread = Self.spreadSends
            }
            if hasRecovered.isSet {
                hasRecovered.clear()
                await hasten(&memory)
            }
            await followClock(&memory)
            guard let wait = await step(&memory) else { continue }
            isThrough()
            if memory.unseenSince != nil {
                memory.unseenSince = nil
                wantsHead()
            }
            if wait > Self.longPause { await store.releaseMemory() }
            counting.withLock { $0.wakesAt = time.uptime() + wait }
            heartbeat.rest(atMost: wait)
            await wakeup.wait(atMost: wait, time: time)
        }
        heartbeat.end()
        await countReachable()
        do {
            try await store.saveReachable()
        } catch {
            log(.warning, .store, "stopping: \(error.message)")
        }
    }

    /// Sends what is due, once, and returns when nothing is, or when the server does not take it now.
    func drain() async {
        var memory = Memory(bootTime: bootTime)
        while !Task.isCancelled, await step(&memory) == nil {}
    }

    private func hasten(_ memory: inout Memory) async {
        memory.slowedUntil = [:]
        do {
            try await store.hastenFailed(now: time.now())
        } catch {
            log(.warning, .store, "what the server failed at could not be made due: \(error.message)")
        }
    }

    /// What was to wait waits as long as before, whatever the clock says now.
    private func followClock(_ memory: inout Memory) async {
        let step = clockStep(memory)
        memory.bootTime = bootTime
        guard step != .zero else { return }
        do {
            try await store.shiftDueTimes(by: step, now: time.now())
        } catch {
            log(.warning, .store, "the times of waiting writes could not be set with the clock: \(error.message)")
        }
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
    private func clockStep(_ memory: Memory) -> Duration {
        let step = bootTime.duration(since: memory.bootTime)
        return max(step, .zero - step) >= .seconds(1) ? step : .zero
    }

    /// A person wants it tried now. Who wants that again and again is heard now and then.
    private func listen(_ memory: inout Memory) {
        let uptime = time.uptime()
        let credentials = client.credentials
        // Other credentials are another question: a login that follows a logout is not to wait for what that was answered.
        if let last = memory.urgedAt, uptime - last < Store.retryPause, credentials == memory.urgedWith { return }
        memory.urgedAt = uptime
        memory.urgedWith = credentials
        memory.pausedUntil = .zero
        memory.slowedUntil = [:]
        memory.refusals = Refusals()
        memory.proof = nil
    }

    /// One piece of work.
    ///
    /// - Returns: How long there is nothing to do; `nil` to go on at once.
    private func step(_ memory: inout Memory) async -> Duration? {
        let uptime = time.uptime()
        await countReachable()
        asked.withLock { $0 = (memory.pace.nextAt(), memory.closedUntil) }
        refused.withLock { $0 = memory.refusals.ends }
        let closed = max(memory.pausedUntil, memory.closedUntil)
        do {
            if memory.hasStray {
                try await store.doubtWhatIsSending()
                memory.hasStray = false
            }
            let kinds = sendable(memory)
            guard closed <= uptime,
                let task = try await store.dueEntry(
                    now: time.now(), sending: kinds, excluding: memory.refusals.leftAlone(at: uptime))
            else {
                if closed <= uptime { refusedByDisk.withLock { $0 = nil } }
                return try await idle(memory, closedUntil: closed)
            }
            // Probes find out when that is over, and say so.
            if network.current.state.isClosed { return .seconds(86_400) }
            if memory.spread > 0 { try await spread(&memory) }
            let dialect = try await ready(&memory)
            await handle(task, dialect, &memory)
            if let since = memory.unseenSince, uptime - since >= Self.betweenHeads {
                memory.unseenSince = nil
                wantsHead()
            }
            return nil
        } catch {
            let failure = PullFailure(error)
            if failure.endpoint == "database" { await noteRefusal(by: failure.error) }
            pause(after: failure, &memory)
            return nil
        }
    }

    /// The disk does not take what has to be written before and after each request.
    func noteRefusal(by error: UserFacingError) async {
        refusedByDisk.withLock { $0 = error }
        do {
            try await store.recordError(code: error.code, endpoint: "database", message: error.message, at: time.now())
        } catch {
            log(.debug, .store, "the error is remembered until it can be written: \(error.message)")
        }
    }

    /// How long nothing has to be done.
    private func idle(_ memory: Memory, closedUntil: Duration) async throws(UserFacingError) -> Duration {
        let longest: Duration = .seconds(86_400)
        let uptime = time.uptime()
        if closedUntil > uptime { return closedUntil - uptime }
        let now = time.now()
        var wait = try await store.nextDue(after: now)?.duration(since: now) ?? longest
        if wait > Store.longestWait {
            if clockStep(memory) != .zero { return .zero }
            try await store.distrustDueTimes(now: now)
        }
        for opens in Array(memory.slowedUntil.values) + Array(memory.refusals.ends.values) + [memory.pace.nextAt()]
        where opens > uptime {
            wait = min(wait, opens - uptime)
        }
        return min(wait, longest)
    }

    /// What `status` and `queue` say of the server's wait.
    var serverWait: EngineState.ServerWait? {
        let (now, uptime) = (time.now(), time.uptime())
        let asked = asked.withLock { $0 }
        func end(_ until: Duration) -> Timestamp? { until > uptime ? now.advanced(by: until - uptime) : nil }
        guard let creations = end(max(asked.creations, asked.others)) else { return nil }
        return EngineState.ServerWait(creationsUntil: creations, othersUntil: end(asked.others))
    }

    /// Which entries may be sent now; creations at the server's pace.
    func sendable(_ memory: Memory) -> Set<OutboxEntry.Kind> {
        let uptime = time.uptime()
        let isPaced = memory.pace.nextAt() > uptime
        return Set(
            OutboxEntry.Kind.allCases.filter { kind in
                !(isPaced && kind.isCreation) && memory.slowedUntil[kind] ?? .zero <= uptime
            })
    }

    /// Adds what has passed since the last time, if the server could be reached. Before writes are accepted too, so that
    /// they are not older than they are.
    func countReachable() async {
        countReachable(asOf: network.current.state)
        let passed = counting.withLock { counting -> Duration in
            guard counting.passed >= .seconds(1) else { return .zero }
            defer { counting.passed = .zero }
            return counting.passed
        }
        if passed > .zero { await store.noteReachable(passed) }
    }

    /// Adds what has passed in that state, which ends now or goes on.
    func countReachable(asOf state: Connectivity.State) {
        let uptime = time.uptime()
        counting.withLock { $0.advance(to: uptime, asOf: state) }
    }

    // MARK: Being let in

    /// The first send goes at once, and the next ones after a moment.
    private func spread(_ memory: inout Memory) async throws {
        if memory.spread < Self.spreadSends { try await time.sleep(Self.longestSpread * random.unit()) }
        memory.spread -= 1
    }

    /// The dialect, once the server has proven to be the one and the account that the copy is bound to.
    private func ready(_ memory: inout Memory) async throws(PullFailure) -> Dialect {
        let dialect = try await identity.establish(pageSize: settings().pageSize)
        // For a copy of nobody's, whom nobody can prove; what is sent and read is held to it all the same.
        let credentials = client.credentials
        if let proof = memory.proof, proof.credentials == credentials, time.uptime() - proof.at < Self.proofLife {
            return dialect
        }
        let requests = RequestCounter()
        let proven = try await identity.prove(counting: requests)
        memory.proof = (proven ?? credentials, time.uptime())
        // Where there is no account to be proven, nothing was asked.
        if requests.count > 0 { noteAnswer(&memory) }
        return dialect
    }

    func noteAnswer(_ memory: inout Memory) {
        memory.unanswered = 0
        network.noteAnswer(at: time.now())
    }

    /// Leaves the server alone for a while.
    func pause(after failure: PullFailure, _ memory: inout Memory) {
        // What was read with the login before is asked for again with the one that has replaced it, at once.
        guard failure.verdict != .cancelled, !failure.isOfRenewal else { return }
        if failure.error.code == .offline {
            // The network's return starts everything again, and may have come already.
            memory.pausedUntil = max(memory.pausedUntil, time.uptime() + Self.afterOffline)
            return
        }
        memory.unanswered += 1
        let now = time.now()
        let uptime = time.uptime()
        network.noteFailure(NetMonitor.Failure(failure.error, isGateway: failure.isGateway), at: now)
        let wait: Duration
        switch failure.verdict {
        case .retry(after: let asked?):
            memory.closedUntil = max(memory.closedUntil, uptime + asked)
            wait = asked
        case .retry(after: nil), .cancelled:
            wait = Backoff.probes.wait(failures: memory.unanswered, draw: random.unit())
        case .needsPerson where !failure.concernsEverything && failure.endpoint != "database":
            // A proxy's 404 while the server is being updated, perhaps.
            wait = Backoff.probes.wait(failures: memory.unanswered, draw: random.unit())
        case .needsPerson:
            wait = PullFailure.Verdict.needsPerson.wait(failures: 1, draw: random.unit())
        }
        memory.pausedUntil = max(memory.pausedUntil, uptime + wait)
        log(
            .info, .http,
            "the outbox waits \(wait.wholeMilliseconds) ms: \(failure.endpoint): \(failure.logText) [\(failure.error.code.rawValue)]"
        )
    }

    /// Writes settlements. What the server has answered must not be forgotten because a disk is full: until it is
    /// written, nothing else is done.
    func record(
        _ settlements: [Settlement], thenSending unprepared: Set<OutboxEntry.Kind> = [], _ memory: inout Memory
    ) async -> [OutboxTask] {
        let numbers = settlements.map { "#\($0.entry)" }.joined(separator: ", ")
        var tries = 0
        while true {
            do {
                let next = try await store.settle(
                    settlements, now: time.now(), thenSending: sendable(memory), unprepared: unprepared,
                    excluding: memory.refusals.leftAlone(at: time.uptime()), most: batch(memory))
                refusedByDisk.withLock { $0 = nil }
                changes.announce()
                for parked in settlements where parked.outcome.isParked { sayParked(parked) }
                return next
            } catch {
                tries += 1
                await noteRefusal(by: error)
                log(
                    .error, .store, "\(numbers): what became of it could not be written: \(error.description)"
                )
                if error.code == .storeBug {
                    memory.hasStray = true
                    memory.pausedUntil = time.uptime() + .seconds(60)
                    return []
                }
                // Stopping: it stays `sending` in the file, and the next start looks it up.
                let wait = Backoff.probes.wait(failures: tries, draw: 1)
                heartbeat.expect(within: wait)
                do { try await time.sleep(wait) } catch { return [] }
            }
        }
    }
}

extension Replayer {
    /// Without the server's words, which may hold a title.
    private func sayParked(_ settlement: Settlement) {
        let code = settlement.error.map { " [\($0.code.rawValue)]" } ?? ""
        log(
            .warning, .http,
            "#\(settlement.entry) is parked\(code): it is not sent before you decide. See `prsnlctl queue show \(settlement.entry)`"
        )
    }
}

extension Settlement.Outcome {
    fileprivate var isParked: Bool {
        if case .parked = self { true } else { false }
    }
}

/// Lets others wait until the outbox has moved.
final class OutboxChanges: Sendable {
    private let waiters = Mutex<[UInt64: Wakeup]>([:])
    private let last = Atomic<UInt64>(0)

    func announce() {
        let all = waiters.withLock { Array($0.values) }
        for waiter in all { waiter.signal() }
    }

    /// A place to wait at; moves from now on are not missed.
    func join() -> (id: UInt64, wakeup: Wakeup) {
        let id = last.wrappingAdd(1, ordering: .relaxed).newValue
        let wakeup = Wakeup()
        waiters.withLock { $0[id] = wakeup }
        return (id, wakeup)
    }

    func leave(_ id: UInt64) { waiters.withLock { $0[id] = nil } }
}
