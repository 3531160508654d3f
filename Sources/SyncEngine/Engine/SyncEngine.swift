package import Configuration
package import NetMonitor
package import PRSNLClient
package import PRSNLCore
package import Store

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
    private let puller: Puller
    private let replayer: Replayer
    /// Whether the server can be used.
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
        let identity = Identity(store: store, client: client, serverURL: serverURL, shared: shared, log: log)
        puller = Puller(store: store, identity: identity, shared: shared, time: time, log: log)
        serverProbe = ServerProbe(client: client, shared: shared, time: time, log: log)
        let peer = client.peer
        network = NetMonitor(
            source: source, address: ServerAddress(host: peer.host, port: peer.port), time: time, random: random,
            log: log)
        replayer = Replayer(
            store: store, client: client, identity: identity, network: network, shared: shared, inbox: inbox,
            time: time,
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
        state.hindrance = replayer.hindrance
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
        PullLoop(
            store: store, puller: puller, network: network, shared: shared, inbox: inbox, heartbeat: heartbeat,
            time: time, random: random, log: log)
    }

    // MARK: What people and the daemon ask for

    /// Asks the server now, because a person wants to know. Like any other answer, it tells whether the server can be used.
    package func ping() async -> ProbeResult {
        let result = await serverProbe.run(manual: true)
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

    /// There is something to send.
    ///
    /// - Parameter manual: A person wants all that waits to be tried now.
    package func writesAccepted(manual: Bool = false) {
        if manual, network.current.state.isClosed { network.probeNow() }
        inbox.post(.writes(manual: manual))
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
        writesAccepted(manual: true)
    }

    /// The client has other credentials. What was refused is tried again at once.
    package func credentialsChanged() {
        inbox.post(.credentials)
        writesAccepted(manual: true)
    }

    /// Pulls now, while `run` runs, and says how it ended.
    package func sync(_ request: SyncRequest) async -> SyncResult {
        await withCheckedContinuation { inbox.post(.sync(.init(request: request, answer: $0))) }
    }
}

extension SyncEngine: NetworkUser {
    package func probe() async throws(NetMonitor.Failure) {
        if let failure = await serverProbe.run().failure { throw failure }
    }

    package var lastAddress: String? { client.lastAddress }

    package func setOffline(_ isOffline: Bool) { client.setOffline(isOffline) }

    package func connectivityChanged(from old: Connectivity, isReturn: Bool) {
        replayer.countReachable(asOf: old.state)
        inbox.post(.connectivity(isReturn: isReturn))
    }

    package func clockStepped() { inbox.post(.clockStepped) }

    package func save(_ transitions: [ConnectivityTransition]) async {
        do throws(UserFacingError) {
            try await store.saveTransitions(transitions)
        } catch {
            log(.warning, .store, "changes of the connectivity could not be written: \(error.message)")
        }
    }
}
