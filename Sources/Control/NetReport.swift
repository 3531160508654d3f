public import NetMonitor
public import PRSNLCore

/// The network as the kernel describes it, the way to the server, and the state that follows: the JSON of
/// `prsnlctl net --json`.
public struct NetReport: Sendable, Equatable, Codable {
    public struct Link: Sendable, Equatable, Codable {
        public var name: String
        /// Switched on.
        public var up: Bool
        /// The other end is there.
        public var carrier: Bool
        public var loopback: Bool
        /// With the length of their network's prefix: `192.0.2.7/24`.
        public var addresses: [String]
    }

    public struct Route: Sendable, Equatable, Codable {
        /// `ipv4`, `ipv6`.
        public var family: String
        @Nullable public var gateway: String? = nil
        @Nullable public var link: String? = nil
        /// The lowest one is taken.
        public var metric: UInt32
        /// `unicast`, `blackhole`, `unreachable`, `prohibit`.
        public var kind: String
    }

    public struct Transition: Sendable, Equatable, Codable {
        public var at: Timestamp
        public var state: String
        @Nullable public var code: String? = nil
        /// In words.
        @Nullable public var reason: String? = nil
    }

    public var schemaVersion = 1
    /// Who answered. `file`: no daemon runs; links and routes are as prsnlctl itself sees them.
    public var source: StatusReport.Source
    public var generatedAt: Timestamp
    /// `netlink`; `polling`, where netlink is not permitted; `none`.
    public var listening: String
    /// Why it is not netlink.
    @Nullable public var listeningReason: String? = nil
    /// By their numbers.
    public var links: [Link]
    public var defaultRoutes: [Route]
    /// The way to the server in words; `null` where no daemon runs.
    @Nullable public var route: String? = nil
    @Nullable public var connectivity: StatusReport.Connectivity? = nil
    /// The newest first.
    public var transitions: [Transition]

    public static let mostTransitions = 20

    enum CodingKeys: String, CodingKey {
        case source, listening, links, route, connectivity, transitions
        case schemaVersion = "schema_version"
        case generatedAt = "generated_at"
        case listeningReason = "listening_reason"
        case defaultRoutes = "default_routes"
    }

    public init(
        _ snapshot: NetworkSnapshot, how: NetworkSource.How, transitions: [ConnectivityTransition],
        source: StatusReport.Source, now: Timestamp
    ) {
        self.source = source
        generatedAt = now
        listening = how.name
        listeningReason = how.reason
        links = snapshot.links.sorted { $0.key < $1.key }.map { number, link in
            let addresses = snapshot.addresses.filter { $0.link == number }.map { "\($0.text)/\($0.prefixLength)" }
            return Link(
                name: link.name, up: link.isUp, carrier: link.hasCarrier, loopback: link.isLoopback,
                addresses: addresses.sorted())
        }
        defaultRoutes = snapshot.defaultRoutes.map { route in
            Route(
                family: route.isIPv6 ? "ipv6" : "ipv4", gateway: route.gateway,
                link: route.link.map { snapshot.name($0) }, metric: route.metric, kind: route.kind.rawValue)
        }
        .sorted { ($0.family, $0.metric, $0.gateway ?? "") < ($1.family, $1.metric, $1.gateway ?? "") }
        self.transitions = transitions.prefix(Self.mostTransitions).map(Transition.init)
    }
}

extension NetReport.Transition {
    init(_ transition: ConnectivityTransition) {
        self.init(
            at: transition.at, state: transition.state.rawValue, code: transition.code?.rawValue,
            reason: transition.reason)
    }
}

/// One change, as `prsnlctl net --watch --json` prints it, one per line.
public struct NetChange: Sendable, Equatable, Codable {
    public var schemaVersion = 1
    public var at: Timestamp
    /// `current` (as it was when the watch began), `network`, `connectivity`, `clock`.
    public var kind: String
    /// What has changed, in words.
    public var reasons: [String]
    /// As it is after the change.
    public var state: String
    /// The way to the server in words.
    public var route: String

    enum CodingKeys: String, CodingKey {
        case at, kind, reasons, state, route
        case schemaVersion = "schema_version"
    }

    public init(_ change: NetworkChange, route: String) {
        at = change.at
        kind = change.kind.rawValue
        reasons = change.reasons
        state = change.connectivity.state.rawValue
        self.route = route
    }

    /// What a watch begins with.
    public init(current connectivity: Connectivity, route: String, now: Timestamp) {
        at = now
        kind = "current"
        reasons = connectivity.reason.map { [$0.message] } ?? []
        state = connectivity.state.rawValue
        self.route = route
    }
}
