import Control
import Glibc
package import NetMonitor
package import PRSNLCore

/// Asks for the network and the route to the server.
package struct NetRequest: BareRequest {
    package typealias Answer = NetReport
    package static let command = "net"
    package var isChange: Bool { false }

    package init() {}
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
        /// `unicast`, `blackhole`, `unreachable`, `prohibit`.
        package var kind: String
    }

    package var schemaVersion = 1
    /// Who answered. `file`: no daemon runs; links and routes are as prsnlctl itself sees them.
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// `netlink`; `polling`, where netlink is not permitted; `none`.
    package var listening: String
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
        self.transitions = Array(transitions.prefix(Self.mostTransitions))
    }
}

extension NetworkSource.How {
    /// `netlink`, `polling`, `none`.
    package var name: String {
        switch self {
        case .netlink: "netlink"
        case .polling: "polling"
        case .none: "none"
        }
    }

    /// Why the kernel does not tell what happens.
    package var reason: String? {
        switch self {
        case .netlink, .none: nil
        case .polling(let code): "netlink is not permitted: \(String(cString: strerror(code)))"
        }
    }
}

extension StatusReport.Network {
    package init(how: NetworkSource.How, route: String) {
        self.init(listening: how.name, listeningReason: how.reason, route: route)
    }
}
