package import PRSNLCore
import Synchronization

/// Whether the server can be used: the kernel's hints and the server's answers as one value, and the probes that keep it
/// true.
///
/// While the server answers, nothing is asked: the requests of others are the proof, and their outcomes are told here.
package final class NetMonitor: Sendable {
    /// What went wrong with a request or a probe.
    package struct Failure: Error, Sendable {
        package var error: UserFacingError
        /// A proxy in front of the server says that it does not answer (502, 503, 504).
        package var isGateway: Bool

        package init(_ error: UserFacingError, isGateway: Bool = false) {
            self.error = error
            self.isGateway = isGateway
        }
    }

    private struct State {
        var rules = ConnectivityRules()
        var address: ServerAddress
        var watchers: [UInt64: AsyncStream<NetworkChange>.Continuation] = [:]
        var lastWatcher: UInt64 = 0
        /// Transitions that are not in the file yet.
        var unsaved: [ConnectivityTransition] = []
        var probe: Task<Void, any Error>?
        var probes = 0
    }

    package let source: NetworkSource
    /// Of the loop that probes and of the one that listens to the source.
    package let heartbeats = (probes: Heartbeat("the probes"), events: Heartbeat("the network's events"))
    private let time: TimeSource
    private let random: SeededGenerator
    private let log: LogHandler
    private let state: Mutex<State>
    private let user = Mutex(WeakUser())
    private let wakeup = Wakeup()
    /// Held while requests are told whether they may go.
    private let telling = Mutex<Void>(())

    /// Transitions are written together when they come fast.
    private static let betweenSaves: Duration = .seconds(5)
    private static let mostUnsaved = 100

    /// - Parameter address: of the server, or of the proxy towards it.
    package init(
        source: NetworkSource, address: ServerAddress, time: TimeSource, random: SeededGenerator,
        log: @escaping LogHandler = { _, _, _ in }
    ) {
        self.source = source
        self.time = time
        self.random = random
        self.log = log
        state = Mutex(State(address: address))
    }

    /// To be called once, before `run`. The user owns the monitor, and is not held by it.
    package func serve(_ user: any NetworkUser) { self.user.withLock { $0.object = user } }

    private struct WeakUser { weak var object: (any NetworkUser)? }
    private var served: (any NetworkUser)? { user.withLock(\.object) }

    package var current: Connectivity { state.withLock { $0.rules.current } }
    /// Transitions that are not in the file yet, the oldest first.
    package var unsavedTransitions: [ConnectivityTransition] { state.withLock(\.unsaved) }
    package var probes: Int { state.withLock(\.probes) }

    /// The route to the server in words.
    package var routeText: String {
        switch state.withLock({ $0.rules.routeState }) {
        case .routable(let path): path
        case .unroutable(let reason): reason
        case .notKnown(hasNetwork: true): "not known"
        case .notKnown(hasNetwork: false): "no network"
        }
    }

    /// How it is, for a watch to begin with.
    package var asItIs: NetworkChange { changed(.current, current.reason.map { [$0.message] } ?? []) }

    private func changed(_ kind: NetworkChange.Kind, _ reasons: [String]) -> NetworkChange {
        NetworkChange(at: time.now(), kind: kind, reasons: reasons, state: current.state, route: routeText)
    }

    /// Each change from now on, for as long as the stream is read.
    package func changes() -> AsyncStream<NetworkChange> {
        let (stream, continuation) = AsyncStream<NetworkChange>.makeStream(bufferingPolicy: .bufferingNewest(256))
        let id = state.withLock { state in
            state.lastWatcher += 1
            state.watchers[state.lastWatcher] = continuation
            return state.lastWatcher
        }
        continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.watchers[id] = nil } }
        return stream
    }

    // MARK: Told by requests

    /// PRSNL has answered a request, or a probe, which may not have been sent from here.
    package func noteAnswer(isProbe: Bool = false, at now: Timestamp) {
        learnAddress()
        apply { $0.noteAnswer(isProbe: isProbe, at: now) }
    }

    /// Other credentials are in use, of which the server has said nothing yet.
    package func forgetRefusal(at now: Timestamp) { apply { $0.forgetRefusal(at: now) } }

    /// A request has failed. What says nothing about the route to the server changes nothing.
    package func noteFailure(_ failure: Failure, isProbe: Bool = false, at now: Timestamp) {
        let draw = random.unit()
        let host = state.withLock { $0.address.host }
        apply {
            $0.noteFailure(
                failure.error, isProbe: isProbe, isGateway: failure.isGateway, host: host, at: now,
                uptime: time.uptime(), draw: draw)
        }
    }

    /// A person wants to know now: a probe is sent whatever the kernel says.
    package func probeNow() {
        state.withLock { $0.rules.ask(uptime: time.uptime()) }
        wakeup.signal()
    }

    /// Changes the value, and tells its user and its watchers of it.
    private func apply(_ change: (inout ConnectivityRules) -> ConnectivityRules.Outcome) {
        let (outcome, old, new, isDueNews, staleProbe) = state.withLock { state in
            let old = state.rules.current
            let oldDue = state.rules.probeAt
            let outcome = change(&state.rules)
            let new = state.rules.current
            if outcome.hasChanged {
                state.unsaved.append(
                    ConnectivityTransition(
                        at: new.since ?? time.now(), state: new.state, code: new.reason?.code.rawValue,
                        reason: new.reason?.message))
                if state.unsaved.count > Self.mostUnsaved { state.unsaved.removeFirst() }
            }
            let due = state.rules.probeAt
            // One that is overdue was slept through.
            let isNews = due != oldDue || due.map { $0 <= time.uptime() } ?? false
            return (outcome, old, new, isNews, outcome.isProbeStale ? state.probe : nil)
        }
        staleProbe?.cancel()
        if outcome.isOtherWay || outcome.hasChanged && (new.state == .offline || old.state == .offline) {
            // Two changes may come here at once, on two threads: the last one tells how it is then.
            telling.withLock { _ in
                let isOffline = current.state == .offline
                // What goes another way came from an address, or over a link, that is perhaps gone.
                served?.setOffline(isOffline, ending: isOffline || outcome.isOtherWay)
            }
        }
        if outcome.hasChanged {
            report(old, new)
            served?.connectivityChanged(from: old, isReturn: outcome.isReturn, silence: outcome.silence)
            source.setUrgent(new.state == .offline)
        } else if outcome.isReturn {
            served?.connectivityChanged(from: old, isReturn: true, silence: outcome.silence)
        }
        if outcome.hasChanged || isDueNews { wakeup.signal() }
    }

    private func report(_ old: Connectivity, _ new: Connectivity) {
        tell(.connectivity, [new.reason?.message ?? "the server answers"])
        guard new.state != .unknown, old.state != .unknown || new.state != .online else { return }
        log(
            new.state == .online ? .notice : .warning, .net,
            "\(new.state.rawValue)" + (new.reason.map { ": \($0.message) [\($0.code.rawValue)]" } ?? ""))
    }

    private func tell(_ kind: NetworkChange.Kind, _ reasons: [String]) {
        let watchers = state.withLock { Array($0.watchers.values) }
        guard !watchers.isEmpty else { return }
        let change = changed(kind, reasons)
        for watcher in watchers { watcher.yield(change) }
    }

    // MARK: Running

    /// Asks the kernel for the first time: before the first request, so that none is sent without a route.
    package func begin() { observe(hasChanged: false) }

    /// Follows the kernel, and probes, until the task is cancelled.
    package func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.listen() }
            await Heartbeat.$current.withValue(heartbeats.probes) { await probeOnSchedule() }
            heartbeats.probes.end()
            source.stop()
            group.cancelAll()
            await group.waitForAll()
        }
        let watchers = state.withLock { exchange(&$0.watchers, with: [:]) }
        for watcher in watchers.values { watcher.finish() }
    }

    private func listen() async {
        var isFirst = true
        defer { heartbeats.events.end() }
        for await event in source.events {
            heartbeats.events.wake()
            defer { heartbeats.events.rest(atMost: nil) }
            if let clock = event.clock {
                let words = clock.words
                log(.notice, .net, "\(words)")
                tell(.clock, [words])
                state.withLock { $0.rules.wake(uptime: time.uptime()) }
                served?.clockStepped()
                wakeup.signal()
            }
            if !event.reasons.isEmpty {
                log(.debug, .net, "\(event.reasons.joined(separator: "; "))")
                tell(.network, event.reasons)
            }
            observe(
                hasChanged: !isFirst && (!event.reasons.isEmpty || event.hasLostEvents), isFirst ? [] : event.reasons)
            isFirst = false
        }
    }

    private func observe(hasChanged: Bool, _ reasons: [String] = []) {
        let newest = served?.lastAddress
        let address = state.withLock { state in
            if let newest { state.address.lastAddress = newest }
            return state.address
        }
        let routeState = source.route(address)
        apply {
            $0.observe(
                routeState, hasChanged: hasChanged, reasons, host: address.host, at: time.now(), uptime: time.uptime())
        }
    }

    /// The first connection tells where a name leads: from then on the kernel can be asked about it.
    private func learnAddress() {
        let newest = served?.lastAddress
        let address = state.withLock { state -> ServerAddress? in
            guard let newest, newest != state.address.lastAddress else { return nil }
            state.address.lastAddress = newest
            return state.address
        }
        guard let address else { return }
        let routeState = source.route(address)
        state.withLock { $0.rules.learn(routeState) }
    }

    private func probeOnSchedule() async {
        var savedAt: Duration?
        while !Task.isCancelled {
            heartbeats.probes.wake()
            await HangPoint.network.suspend()
            let uptime = time.uptime()
            var wait: Duration = .seconds(86_400)
            if let due = state.withLock({ $0.rules.probeAt }) {
                if due <= uptime {
                    await ask()
                    continue
                }
                wait = due - uptime
            }
            if state.withLock({ !$0.unsaved.isEmpty }) {
                let at = savedAt.map { $0 + Self.betweenSaves } ?? uptime
                if at <= uptime {
                    savedAt = uptime
                    await saveTransitions()
                    continue
                } else {
                    wait = min(wait, at - uptime)
                }
            }
            heartbeats.probes.rest(atMost: wait)
            await wakeup.wait(atMost: wait, time: time)
        }
        await saveTransitions()
    }

    /// One probe. It is given up where the route to the server changes meanwhile; the new route gets its own.
    private func ask() async {
        let task = state.withLock { state in
            state.rules.beginProbe(uptime: time.uptime())
            state.probes += 1
            let task = Task(executorPreference: TaskLoop.current) { [served] in
                guard let served else { throw CancellationError() }
                try await served.probe()
            }
            state.probe = task
            return task
        }
        let result = await withTaskCancellationHandler {
            await task.result
        } onCancel: {
            task.cancel()
        }
        state.withLock { $0.probe = nil }
        defer { state.withLock { $0.rules.endProbe(uptime: time.uptime()) } }
        guard !task.isCancelled else { return }
        let now = time.now()
        switch result {
        case .success: noteAnswer(isProbe: true, at: now)
        case .failure(let failure as Failure): noteFailure(failure, isProbe: true, at: now)
        case .failure: break
        }
    }

    package func saveTransitions() async {
        let unsaved = state.withLock { exchange(&$0.unsaved, with: []) }
        if !unsaved.isEmpty { await served?.save(unsaved) }
    }
}

/// What a watcher of the network is told: in JSON, a line of `prsnlctl net --watch --json`.
package struct NetworkChange: Sendable, Equatable, Codable {
    package enum Kind: String, Sendable, Codable {
        /// How it was when the watch began.
        case current
        case network, connectivity, clock
    }

    package var schemaVersion = 1
    package var at: Timestamp
    package var kind: Kind
    /// What has changed, in words.
    package var reasons: [String]
    /// As it is after the change.
    package var state: Connectivity.State
    /// The route to the server in words.
    package var route: String
}

/// What uses the network, asks the server, and is told of changes: at once, on the task where they came up.
package protocol NetworkUser: AnyObject, Sendable {
    /// Asks the server once.
    ///
    /// - Throws: what went wrong, `cancelled` where it was stopped.
    func probe() async throws(NetMonitor.Failure)
    /// The address that the newest connection used; `nil` where there was none.
    var lastAddress: String? { get }
    /// No request may begin, or may again. `ending`: those under way end.
    func setOffline(_ isOffline: Bool, ending: Bool)
    /// - Parameters:
    ///   - isReturn: The server is back after it was away, so what failed for that may be tried at once.
    ///   - silence: How long it had not answered, where it was not this machine that was away.
    func connectivityChanged(from old: Connectivity, isReturn: Bool, silence: Duration)
    /// The clock was set, or the machine was asleep.
    func clockStepped()
    /// Keeps transitions; called on the task of `run`.
    func save(_ transitions: [ConnectivityTransition]) async
}
