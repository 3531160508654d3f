import Control
package import NetMonitor
package import PRSNLClient
package import PRSNLCore

/// Asks for the network and the route to the server.
package struct NetRequest: Request, BareRequest {
    package static let command = "net"
    package var isChange: Bool { false }
    package init() {}

    /// Without a daemon: the links and routes as this process sees them, and what the file remembers.
    package func answer(_ context: RequestContext) throws(UserFacingError) -> NetReport? {
        if let daemon = context.daemon { return try daemon.net(context) }
        let network = try NetworkSource.kernel()
        defer { network.stop() }
        return NetReport(
            network.snapshot(), how: network.how, reason: network.reason,
            transitions: try Self.transitions(context), source: .file, now: context.now)
    }

    /// Links can be shown before there is a copy.
    private static func transitions(
        _ context: RequestContext
    ) throws(UserFacingError) -> [ConnectivityTransition] {
        do throws(UserFacingError) {
            return try context.reader().connectivityHistory(limit: NetReport.mostTransitions)
        } catch {
            guard error.code == .noDatabase else { throw error }
            return []
        }
    }
}

extension RunningDaemon {
    fileprivate var network: NetMonitor { parts.engine.network }

    fileprivate func net(_ context: RequestContext) throws(UserFacingError) -> NetReport {
        // They are written with some delay, and a person looks at once.
        let unsaved = network.unsavedTransitions
        let saved = try context.reader().connectivityHistory(limit: NetReport.mostTransitions)
        var report = NetReport(
            network.source.snapshot(), how: network.source.how, reason: network.source.reason,
            transitions: unsaved.reversed() + saved.filter { !unsaved.contains($0) },
            source: .daemon, now: context.now)
        report.route = network.routeText
        report.connectivity = network.current
        return report
    }
}

/// The network as the kernel describes it, the route to the server, and the state that follows: the JSON of
/// `prsnlctl net --json`.
package struct NetReport: ControlReply {
    package static let type = "net"

    package struct Link: Sendable, Equatable, Codable {
        package var name: String
        /// Switched on.
        package var up: Bool
        /// The other end is there.
        package var carrier: Bool
        package var loopback: Bool
        /// With the length of their network's prefix: `192.0.2.7/24`.
        package var addresses: [String]
    }

    package struct Route: Sendable, Equatable, Codable {
        /// `ipv4`, `ipv6`.
        package var family: String
        @Nullable package var gateway: String? = nil
        @Nullable package var link: String? = nil
        /// The lowest one is taken.
        package var metric: UInt32
        package var kind: NetworkSnapshot.Route.Kind
    }

    package var schemaVersion = 1
    /// Who answered. `file`: no daemon runs; links and routes are as prsnlctl itself sees them.
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    package var listening: NetworkSource.How
    /// Why it is not netlink.
    @Nullable package var listeningReason: String? = nil
    /// By their numbers.
    package var links: [Link]
    package var defaultRoutes: [Route]
    /// The route to the server in words; `null` where no daemon runs.
    @Nullable package var route: String? = nil
    @Nullable package var connectivity: Connectivity? = nil
    /// The newest first.
    package var transitions: [ConnectivityTransition]

    package static let mostTransitions = 20

    package init(
        _ snapshot: NetworkSnapshot, how: NetworkSource.How, reason: String? = nil,
        transitions: [ConnectivityTransition], source: StatusReport.Source, now: Timestamp
    ) {
        (self.source, generatedAt) = (source, now)
        (listening, listeningReason) = (how, reason)
        links = snapshot.links.sorted { $0.key < $1.key }.map { number, link in
            let addresses = snapshot.addresses.filter { $0.link == number }.map { "\($0.text)/\($0.prefixLength)" }
            return Link(
                name: link.name, up: link.isUp, carrier: link.hasCarrier, loopback: link.isLoopback,
                addresses: addresses.sorted())
        }
        defaultRoutes = snapshot.defaultRoutes.map { route in
            Route(
                family: route.isIPv6 ? "ipv6" : "ipv4", gateway: route.gateway,
                link: route.link.map { snapshot.name($0) }, metric: route.metric, kind: route.kind)
        }
        .sorted { ($0.family, $0.metric, $0.gateway ?? "") < ($1.family, $1.metric, $1.gateway ?? "") }
        self.transitions = Array(transitions.prefix(Self.mostTransitions))
    }
}

/// Asks for the state of the network, and then for each change until one side leaves.
package struct NetWatchRequest: Request, BareRequest {
    package static let command = "net"
    package static let variant: String? = "watch"
    package var isChange: Bool { false }
    package var place: RequestPlace { .daemon }
    package init() {}

    /// Until the client leaves, or the daemon stops.
    package func answer(_ context: RequestContext) async throws(UserFacingError) -> NetworkChange? {
        let network = try context.requireDaemon().network
        // Before the state is read, so that no change falls in between.
        let changes = network.changes()
        context.send(network.asItIs)
        for await change in changes { context.send(change) }
        return nil
    }
}

extension NetworkChange: ControlReply { package static let type = "net_change" }

/// Asks for one probe of the server, now.
package struct PingRequest: Request, BareRequest {
    package static let command = "ping"
    package static let asksServer = true
    package var isChange: Bool { false }
    package var place: RequestPlace { .daemon }
    /// A name, a connection and an answer, each as slow as it usually may be.
    package var patience: Duration? { .seconds(120) }
    package init() {}

    /// A probe that a person asked for. Like any other, it tells whether the server can be used.
    package func answer(_ context: RequestContext) async throws(UserFacingError) -> PingReport? {
        let parts = try context.requireDaemon().parts
        let result = await parts.engine.ping()
        let current = parts.engine.network.current
        var report = PingReport(
            state: current.state, probe: result.sent, total: result.total, now: context.now)
        report.note = result.note
        report.address = result.address
        report.ahead = result.ahead?.milliseconds
        if let ping = result.ping { report.add(ping) } else { report.failedPhase = .ahead }
        report.clockOffset = parts.client.serverClockOffset?.seconds
        // The health check needs no login: an answer does not mean that the server can be used.
        report.error = (result.error ?? (current.state == .online ? nil : current.reason))
        return report
    }
}

/// One probe of the server: the JSON of `prsnlctl ping --json`.
package struct PingReport: ControlReply {
    package static let type = "ping"

    /// Milliseconds; `null` where it was not reached, and where there is no such phase.
    package struct Phases: Sendable, Equatable, Codable {
        @Nullable package var name: Double? = nil
        @Nullable package var connect: Double? = nil
        @Nullable package var tls: Double? = nil
        @Nullable package var firstByte: Double? = nil
    }

    package var schemaVersion = 1
    package var generatedAt: Timestamp
    /// What the answer means, or that none came.
    package var state: Connectivity.State
    /// What was really sent.
    package var probe: ProbeKind
    /// Why it is not the probe that is configured.
    @Nullable package var note: String? = nil
    /// Where the connection led: the server, or the proxy.
    @Nullable package var address: String? = nil
    /// Milliseconds that the ICMP echo took that went ahead of the question.
    @Nullable package var ahead: Double? = nil
    package var phases = Phases()
    /// Milliseconds, from the question to the end.
    package var total: Double
    /// HTTP's.
    @Nullable package var status: Int? = nil
    @Nullable package var failedPhase: Ping.Phase? = nil
    @Nullable package var error: UserFacingError? = nil
    /// The server's clock minus this machine's, in seconds, from its newest answer; good to a second or two.
    @Nullable package var clockOffset: Double? = nil

    package init(state: Connectivity.State, probe: ProbeKind, total: Duration, now: Timestamp) {
        (self.state, self.probe) = (state, probe)
        self.total = total.milliseconds
        generatedAt = now
    }

    /// What the question to the server itself has shown.
    package mutating func add(_ ping: Ping) {
        let took = ping.phases.mapValues(\.milliseconds)
        phases = Phases(name: took[.name], connect: took[.connect], tls: took[.tls], firstByte: took[.firstByte])
        status = ping.status
        failedPhase = ping.failedPhase
    }
}
