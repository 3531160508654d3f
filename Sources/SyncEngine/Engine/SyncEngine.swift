package import Configuration
package import NetMonitor
package import PRSNLClient
package import PRSNLCore
package import Store
import Synchronization

/// Keeps the copy and the server the same: pulls on schedule, and sends what is written here.
///
/// It has two loops, which hear of everything through its inbox: `PullLoop` and `Replayer`. A third, `SearchIndexer`, follows
/// what they commit.
package final class SyncEngine: Sendable {
    private let store: Store
    private let client: PRSNLClient
    private let time: TimeSource
    private let random: SeededGenerator
    private let log: LogHandler
    private let shared: EngineSharedState
    private let inbox = EngineInbox()
    private let identity: Identity
    private let puller: Puller
    private let replayer: Replayer
    package let network: NetMonitor
    private let serverProbe: ServerProbe
    private let heartbeat = Heartbeat("the pulls")
    private let indexer: SearchIndexer
    /// One for each of the loops that `run` is made of.
    package var heartbeats: [Heartbeat] {
        [heartbeat, replayer.heartbeat, indexer.heartbeat, network.heartbeats.probes, network.heartbeats.events]
    }

    /// - Parameter source: what the kernel says about the network.
    package init(
        store: Store, client: PRSNLClient, serverURL: String, source: NetworkSource = .none,
        settings: SyncSettings = SyncSettings(), time: TimeSource = .system, seed: UInt64? = nil,
        log: @escaping LogHandler = { _, _, _ in }
    ) {
        self.store = store
        self.client = client
        store.follow { [weak client] in client?.serverTime }
        self.time = time
        self.log = log
        random = SeededGenerator(seed: seed)
        shared = EngineSharedState(settings)
        identity = Identity(store: store, client: client, serverURL: serverURL, shared: shared, log: log)
        puller = Puller(store: store, identity: identity, shared: shared, time: time, log: log)
        serverProbe = ServerProbe(client: client, shared: shared, time: time, log: log)
        let peer = client.peer
        network = NetMonitor(
            source: source, address: ServerAddress(host: peer.host, port: peer.port), time: time, random: random,
            log: log)
        replayer = Replayer(
            store: store, identity: identity, network: network, shared: shared, inbox: inbox, time: time,
            random: random, log: log)
        indexer = SearchIndexer(
            store: store, shared: shared, heartbeat: Heartbeat("the search index"), time: time, log: log)
        network.serve(self)
    }

    /// A snapshot, cheap enough to take several times a second.
    package var state: EngineState {
        var state = shared.state
        state.connectivity = network.current
        state.copiesTexts = shared.settings.texts
        state.keepsSearchIndex = shared.settings.searchIndex
        state.problem = replayer.problem ?? state.problem
        // The outbox may have found out first.
        if state.connectivity.state == .unauthorized { state.problem = state.problem ?? state.connectivity.reason }
        state.serverWait = replayer.serverWait
        state.refusedUntil = replayer.refusedUntil
        state.blocker = replayer.blocker
        return state
    }

    // MARK: Running

    /// Pulls on schedule, and sends what is written here, until the task is cancelled. Being offline is never a reason to
    /// return.
    package func run() async {
        network.begin()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.network.run() }
            group.addTask { await self.indexer.run() }
            group.addTask { await Heartbeat.$current.withValue(self.replayer.heartbeat) { await self.replayer.run() } }
            await Heartbeat.$current.withValue(heartbeat) {
                var pulls = makePullLoop()
                await pulls.run()
            }
            heartbeat.end()
            await group.waitForAll()
        }
    }

    /// Sends what waits and pulls everything there is, once, retrying nothing beyond the client's own retries.
    ///
    /// - Parameters:
    ///   - full: Also reads what is known already, as a sweep does.
    ///   - texts: The texts too, where the settings ask for them.
    package func runOnce(full: Bool = false, texts: Bool = true) async -> SyncResult {
        network.begin()
        // The kernel may be wrong about the route, and there is no later time to ask again.
        if network.current.state == .offline { _ = await ping() }
        var pulls = makePullLoop()
        let result = await pulls.runOnce(full: full, texts: texts, sending: replayer)
        await indexer.finish()
        await network.saveTransitions()
        return result
    }

    private func makePullLoop() -> PullLoop {
        let memory = PullMemory(
            schedule: Schedule(settings: shared.settings), answerLimit: client.maximumAnswerSize)
        return PullLoop(
            store: store, work: PullWork(puller: puller, store: store, time: time), network: network, shared: shared,
            inbox: inbox, heartbeat: heartbeat, time: time, random: random, log: log, memory: memory)
    }

    // MARK: What people and the daemon ask for

    /// Asks the server now, because a person wants to know. Like any other answer, it tells whether the server can be used.
    package func ping() async -> ProbeResult {
        let result = await serverProbe.run(manual: true)
        if let failure = result.failure {
            network.noteFailure(failure, isProbe: true, at: time.now())
        } else {
            network.noteAnswer(isProbe: true, at: time.now())
        }
        return result
    }

    /// Brings the time that the server could be reached up to date; to be called before writes are accepted, or they would
    /// be older than they are.
    package func countReachable() async {
        await replayer.countReachable()
    }

    /// There is something to send.
    ///
    /// - Parameter manual: A person wants all that waits to be tried now.
    package func writesAccepted(manual: Bool = false) {
        post(.writes(manual: manual), probing: manual)
    }

    private func post(_ event: EngineInbox.Event, probing isProbed: Bool) {
        if isProbed, network.current.state.isClosed { network.probeNow() }
        inbox.post(event)
        // What was given up, or replaced by what was accepted, is not waited for any longer.
        replayer.changes.announce()
    }

    /// Returns when each of the entries is delivered, parked or given up, or after `limit`.
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
            // Many entries are told of together.
            if waiting.count > 10 {
                do { try await time.sleep(min(left, .milliseconds(100))) } catch { return }
            }
            waiting = try await store.waiting(among: waiting)
        }
    }

    /// Takes effect from the next decision on.
    package func apply(_ settings: SyncSettings) {
        shared.settings = settings
        inbox.post(.settings)
        store.committed.signal()
        post(.released, probing: true)
    }

    /// The client has other credentials. What was refused is tried again at once.
    package func credentialsChanged() {
        inbox.post(.credentials)
        post(.released, probing: true)
    }

    /// Pulls now, while `run` runs, and says how it ended.
    package func sync(_ request: SyncRequest) async -> SyncResult {
        store.committed.signal()
        return await withCheckedContinuation { inbox.post(.sync((request, $0))) }
    }

    /// Compares the server's list, and some texts, with the file, while `run` runs. It writes nothing.
    ///
    /// - Parameters:
    ///   - poll: How the copy gets what is new, in between.
    ///   - onProgress: Called with each page and each text.
    package func verify(
        _ texts: VerifiedTexts, poll: (@Sendable () async -> Void)? = nil,
        onProgress: @escaping @Sendable (Progress) -> Void
    ) async throws(UserFacingError) -> VerifyReport {
        do throws(SyncFailure) {
            var verification = try await Verification(
                store: store, identity: identity, time: time, poll: poll ?? { _ = await self.sync(SyncRequest()) },
                onProgress: onProgress)
            return try await verification.run(texts)
        } catch {
            throw error.error
        }
    }
}

extension SyncEngine: NetworkUser {
    package func probe() async throws(NetMonitor.Failure) {
        if let failure = await serverProbe.run().failure { throw failure }
    }

    package var lastAddress: String? { client.lastAddress }

    package func setOffline(_ isOffline: Bool, ending: Bool) { client.setOffline(isOffline, ending: ending) }

    package func connectivityChanged(from old: Connectivity, isReturn: Bool, silence: Duration) {
        replayer.countReachable(asOf: old.state)
        inbox.post(.connectivity(isReturn: isReturn, silence: silence))
    }

    package func clockStepped() { inbox.post(.clockStepped) }

    package func save(_ transitions: [ConnectivityTransition]) async {
        await SyncFailure.logged(
            log, "changes of the connectivity could not be written", try await store.saveTransitions(transitions))
    }
}

package struct ProbeResult: Sendable {
    /// What was sent, or went ahead of the question to the server.
    package var sent: ProbeKind
    /// Why that is not what the configuration says.
    package var note: String?
    /// How long the ICMP echo took that went ahead.
    package var ahead: Duration?
    /// `nil` where the server was not asked, because nothing came back from its machine.
    package var ping: Ping?
    package var error: UserFacingError?
    package var address: String?
    /// From the first packet to the end.
    package var total: Duration = .zero

    /// What it says of the server; `nil` where PRSNL has answered, be it that it is not well.
    var failure: NetMonitor.Failure? {
        guard let error else { return nil }
        if let answer = ping?.error, answer.isPRSNLError { return nil }
        return NetMonitor.Failure(error, isGateway: ping?.error?.isGateway ?? false)
    }
}

/// Asks whether the server is there, as the owner wants it asked.
///
/// An echo proves that a machine is there, and not that PRSNL is: it goes ahead of the HTTP question, and saves the server
/// that question while nothing comes back. That a machine does not echo proves nothing either, nor that its
/// name still leads there. So the question is asked once in a while nevertheless.
final class ServerProbe: Sendable {
    private let client: PRSNLClient
    private let time: TimeSource
    private let echo: Echo
    private let shared: EngineSharedState
    private let log: LogHandler
    private let hasSaidWhy = Atomic(false)
    /// When HTTP was last asked (uptime).
    private let lastQuestion = Mutex<Duration?>(nil)

    /// Between two questions that are asked although nothing came back ahead of them.
    static let betweenQuestions: Duration = .seconds(60)

    /// Sends an echo to an address.
    typealias Echo = @Sendable (String, Duration) async throws(CancellationError) -> EchoProbe.Outcome

    /// - Parameter echo: the kernel's; tests put something else in.
    init(
        client: PRSNLClient, shared: EngineSharedState, time: TimeSource,
        echo: @escaping Echo = EchoProbe.ping, log: @escaping LogHandler
    ) {
        self.echo = echo
        self.client = client
        self.time = time
        self.shared = shared
        self.log = log
    }

    /// - Parameter manual: A person wants to know: everything is asked.
    func run(manual: Bool = false) async -> ProbeResult {
        let wanted = shared.settings.probe
        let peer = client.peer
        let address = ServerAddress(host: peer.host, port: peer.port, lastAddress: client.lastAddress)
        var result = ProbeResult(sent: wanted)
        if wanted != .http {
            if let address = address.literal {
                do throws(CancellationError) {
                    try await goAhead(address, &result)
                } catch {
                    result.error = UserFacingError(.cancelled, "The probe was stopped.")
                }
            } else {
                result.sent = .http
                result.note = "the address of \(peer.host) is not known yet"
            }
        }
        guard result.error == nil || result.error?.code != .cancelled && (manual || isQuestionDue) else {
            return result
        }
        lastQuestion.withLock { $0 = time.uptime() }
        let ping = await client.ping()
        result.ping = ping
        if result.error != nil, ping.error == nil { result.note = "nothing came back ahead, and the server answers" }
        result.error = ping.error?.userFacing
        result.address = ping.address ?? result.address
        result.total += ping.total
        return result
    }

    private var isQuestionDue: Bool {
        lastQuestion.withLock { $0.map { time.uptime() - $0 >= Self.betweenQuestions } ?? true }
    }

    private func goAhead(_ address: String, _ result: inout ProbeResult) async throws(CancellationError) {
        result.address = address
        switch try await echo(address, client.connectTimeout) {
        case .answered(let after):
            result.ahead = after
            result.total = after
        case .noAnswer(let because):
            result.error = UserFacingError(.timedOut, "Network error: no ICMP echo from \(address): \(because).")
        case .notPermitted:
            result.sent = .http
            let note = "ICMP is not permitted here (net.ipv4.ping_group_range)"
            result.note = note
            if !hasSaidWhy.exchange(true, ordering: .relaxed) {
                log(.warning, .net, "\(note): probe = icmp is done over HTTP")
            }
        }
    }
}
