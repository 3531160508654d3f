package import PRSNLCore

/// What is made of the kernel's hints and the server's answers: values only, told what happened, asked what to do next.
///
/// The kernel's word counts for `offline` alone, because what it has no route for cannot be sent. Everything else is the
/// server's to say.
struct ConnectivityRules: Sendable, Equatable {
    private(set) var current = Connectivity()
    private(set) var routeState = RouteState.notKnown(hasNetwork: true)
    /// When the next probe is due (uptime); `nil`: when something happens.
    private(set) var probeAt: Duration?
    /// Probes and requests in a row that were not answered since the route to the server last changed.
    private(set) var failures = 0
    /// When the first of them failed (uptime).
    private var silentSince = Duration.zero
    /// The next answer means that the server is back, and not only that one request has failed.
    private var isReturning = false
    private var lastProbe: Duration?

    /// What a step came to.
    struct Outcome: Sendable, Equatable {
        var hasChanged = false
        /// The server is back: what has waited for it may go at once.
        var isReturn = false
        /// How long it had not answered over the route that it has answered over now.
        var silence = Duration.zero
        /// A probe under way asks over a route that is gone.
        var isProbeStale = false
        /// Connections lead over a route that is no longer taken.
        var isOtherWay = false
    }

    /// A flapping link is not followed with more probes than this.
    static let betweenHintedProbes: Duration = .milliseconds(200)
    /// While the route is not known, any change of the network is a hint.
    static let betweenVagueProbes: Duration = .seconds(1)
    /// While the route is known and the same, other changes are a weak one: machines with containers have many.
    static let betweenWeakProbes: Duration = .seconds(10)
    /// The kernel may be wrong about a route, by a carrier that is not needed for one: it is tried now and then.
    static let betweenOfflineProbes: Duration = .seconds(300)
    /// In which a server that is away is asked once a minute.
    private static let firstSilence: Duration = .seconds(600)
    /// Of a server that has not answered for longer.
    static let longestBetweenProbes: Duration = .seconds(660)

    // MARK: The kernel

    /// The network was looked at.
    ///
    /// - Parameters:
    ///   - hasChanged: Something is different, whether or not the route to the server is.
    ///   - reasons: what is different, in words.
    mutating func observe(
        _ routeState: RouteState, hasChanged: Bool, _ reasons: [String] = [], host: String, at now: Timestamp,
        uptime: Duration
    ) -> Outcome {
        let old = self.routeState
        self.routeState = routeState
        switch routeState {
        case .unroutable(let reason):
            // The same words again are no news, even where the server has answered over a route that the kernel denies.
            guard old != routeState else { return Outcome() }
            // What the kernel refuses is half of why; what has just gone is the other half.
            let news = current.state == .offline ? [] : reasons.filter { $0 != reason }
            return lose(.noWay(to: host, ([reason] + news).joined(separator: "; ")), at: now, uptime)
        case .notKnown(hasNetwork: false)
        where old == .notKnown(hasNetwork: true) && !reasons.isEmpty && current.state != .offline:
            // Where the name leads was never found out. What has just lost its network will not find it out either.
            return lose(
                .noWay(to: host, (["this machine has no network"] + reasons).joined(separator: "; ")), at: now, uptime)
        case .routable, .notKnown:
            guard current.state != .unauthorized else { return Outcome() }
            let isOtherWay = old != routeState && current.state != .unknown
            guard isOtherWay || hasChanged && current.state.isClosed else { return Outcome() }
            if isOtherWay { failures = 0 }
            let pause =
                isOtherWay
                ? Self.betweenHintedProbes
                : routeState.isKnown ? Self.betweenWeakProbes : Self.betweenVagueProbes
            let earliest = lastProbe.map { max(uptime, $0 + pause) } ?? uptime
            probeAt = min(probeAt ?? earliest, earliest)
            return Outcome(isProbeStale: isOtherWay, isOtherWay: isOtherWay && old.isKnown && routeState.isKnown)
        }
    }

    private mutating func lose(_ reason: UserFacingError, at now: Timestamp, _ uptime: Duration) -> Outcome {
        var outcome = goOffline(reason, at: now, uptime)
        outcome.isProbeStale = true
        return outcome
    }

    private mutating func goOffline(_ reason: UserFacingError, at now: Timestamp, _ uptime: Duration) -> Outcome {
        failures = 0
        isReturning = true
        probeAt = uptime + Self.betweenOfflineProbes
        return set(.offline, reason, at: now)
    }

    /// Now it is known where the server's name leads; that is news of no change.
    mutating func learn(_ routeState: RouteState) {
        if case .routable = routeState { self.routeState = routeState }
    }

    /// The machine was asleep, or its clock was set: nothing that was known is.
    mutating func wake(uptime: Duration) {
        isReturning = true
        guard current.state != .unauthorized else { return }
        if case .unroutable = routeState { return }
        failures = 0
        probeAt = uptime
    }

    // MARK: Probes

    /// A person, or something that cannot wait, wants to know.
    mutating func ask(uptime: Duration) {
        probeAt = uptime
    }

    mutating func beginProbe(uptime: Duration) {
        lastProbe = uptime
        probeAt = nil
    }

    /// A probe that told nothing, because it was stopped with the network, is repeated: nothing else asks.
    mutating func endProbe(uptime: Duration) {
        if current.state.isClosed, probeAt == nil { probeAt = uptime + Self.betweenVagueProbes }
    }

    // MARK: The server

    /// PRSNL has answered.
    ///
    /// - Parameter isProbe: The health endpoint needs no credentials, so it says nothing about them; and a request's
    ///   answer may have been under way while the network went.
    mutating func noteAnswer(isProbe: Bool, at now: Timestamp) -> Outcome {
        if current.state == .offline, !isProbe { return Outcome() }
        if current.state == .unauthorized, isProbe { return Outcome() }
        // Almost always a probe has found it out.
        let silence = failures > 0 ? (lastProbe ?? .zero) - silentSince : .zero
        failures = 0
        probeAt = nil
        var outcome = set(.online, nil, at: now)
        outcome.isReturn = isReturning
        outcome.silence = max(silence, .zero)
        isReturning = false
        return outcome
    }

    /// The server has not refused these credentials.
    mutating func forgetRefusal(at now: Timestamp) -> Outcome {
        current.state == .unauthorized ? set(.unknown, nil, at: now) : Outcome()
    }

    /// A request or a probe has failed. What says nothing about the route to the server changes nothing.
    ///
    /// - Parameters:
    ///   - isGateway: A proxy in front of the server says that it does not answer.
    ///   - draw: from 0 to 1, at random.
    mutating func noteFailure(
        _ error: UserFacingError, isProbe: Bool, isGateway: Bool = false, host: String, at now: Timestamp,
        uptime: Duration, draw: Double
    ) -> Outcome {
        let next: (state: Connectivity.State, reason: UserFacingError)
        switch error.code.traits.reply {
        case .login:
            probeAt = nil
            return set(.unauthorized, error, at: now)
        case .later where isGateway: next = (.unreachable, error)
        case .later: return noteAnswer(isProbe: isProbe, at: now)
        case .refusal where !isProbe: return noteAnswer(isProbe: false, at: now)
        case .silence: next = stateOfSilence(error, host: host)
        case .cutOff where isProbe: next = stateOfSilence(error, host: host)
        // What answers the health request, and not as PRSNL does, which wants no credentials for it, is something else.
        case .portal, .refusal: next = (.portal, error)
        case .other where isProbe: next = (.portal, error)
        case .stopped, .cutOff, .other: return Outcome()
        }
        return fail(next, isProbe, at: now, uptime, draw)
    }

    /// What silence means: with no way, and where a name could not be asked for, this machine is offline.
    private func stateOfSilence(
        _ error: UserFacingError, host: String
    ) -> (Connectivity.State, UserFacingError) {
        switch routeState {
        case .unroutable(let reason): (.offline, .noWay(to: host, reason))
        case .notKnown(hasNetwork: false) where error.code == .nameNotResolved:
            (.offline, .noWay(to: host, "this machine has no network"))
        case .notKnown, .routable: (.unreachable, error)
        }
    }

    private mutating func fail(
        _ next: (state: Connectivity.State, reason: UserFacingError), _ isProbe: Bool, at now: Timestamp,
        _ uptime: Duration, _ draw: Double
    ) -> Outcome {
        if next.state == .offline { return goOffline(next.reason, at: now, uptime) }
        // Requests that were under way together fail together; the first of them has ordered the probe.
        if !isProbe, current.state.isClosed, probeAt != nil { return set(next.state, next.reason, at: now) }
        if failures == 0 { silentSince = uptime }
        failures += 1
        if isProbe { isReturning = true }
        // What was ordered while a probe was under way is not put off by its failure.
        let due = uptime + Self.betweenProbes(failures: failures, silence: uptime - silentSince, draw: draw)
        probeAt = min(probeAt ?? due, due)
        return set(next.state, next.reason, at: now)
    }

    /// Many daemons ask a server that is away: the longer it is, the more rarely. A change of the route, a manual write and a
    /// person's command are followed by a probe at once.
    private static func betweenProbes(failures: Int, silence: Duration, draw: Double) -> Duration {
        var backoff = Backoff.probes
        backoff.cap = min(max(backoff.cap, (silence - firstSilence) / 3), longestBetweenProbes)
        return backoff.wait(failures: failures, draw: draw)
    }

    private mutating func set(_ state: Connectivity.State, _ reason: UserFacingError?, at now: Timestamp) -> Outcome {
        let hasChanged = current.state != state
        // The newest reason stands, and since when is since the state changed.
        if hasChanged || current.reason?.code != reason?.code || current.reason?.message != reason?.message {
            current = Connectivity(state: state, since: hasChanged ? now : current.since, reason: reason)
        }
        return Outcome(hasChanged: hasChanged)
    }
}

extension Backoff {
    /// Between two probes of a server that does not answer, in its first ten minutes. The jitter only shortens a step, so that the
    /// cap is a bound.
    package static let probes = Backoff(base: .seconds(1), cap: .seconds(60), jitter: 0.8...1)
}

extension UserFacingError {
    static func noWay(to host: String, _ reason: String) -> UserFacingError {
        UserFacingError(.offline, "No route to \(host): \(reason).")
    }
}
