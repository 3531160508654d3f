import Console
import Control
import Glibc
package import NetMonitor
package import PRSNLCore
import Store

/// `prsnlctl net`
enum NetCommand {
    static let command = Command(
        "net", "Show the network, the route to the server, and whether it can be reached.",
        options: [CommandOption("--watch", nil, "Print each change as it happens, with its reason.")],
        asks: [NetRequest.self, NetWatchRequest.self], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        if arguments.has("--watch") { return try watch(context) }
        try context.write(try context.answer(NetRequest()))
        return .fine
    }

    /// A line for each change, until the daemon stops or the reader leaves.
    private static func watch(_ context: CommandContext) throws(UserFacingError) -> ExitCode {
        let interruption = Interruption.watch()
        var client = try context.reach()
        try client.send(NetWatchRequest())
        var isFirst = true
        while true {
            let change: NetworkChange
            do throws(UserFacingError) {
                change = try client.receive(
                    NetWatchRequest.self, timeout: isFirst ? .seconds(10) : nil, interruption: interruption
                ).get()
            } catch {
                if error.code == .cancelled { return .fine }
                guard error.code == .daemonNotRunning, !isFirst else { throw error }
                context.say("the daemon has stopped, or its lines were read too slowly")
                return .daemonNotRunning
            }
            isFirst = false
            // The reader has left.
            guard StandardStream.output.write(try line(change, context.format)) else { return .fine }
        }
    }

    private static func line(_ change: NetworkChange, _ format: OutputFormat) throws(UserFacingError) -> String {
        switch format {
        case .text(let style): return change.line(style) + "\n"
        case .json: return try JSONOutput.text(change) + "\n"
        }
    }
}

/// Asks for the network and the route to the server.
struct NetRequest: Request, BareRequest {
    typealias Answer = NetReport
    static let command = "net"
    var isChange: Bool { false }

    /// Without a daemon: the links and routes as this process sees them, and what the file remembers.
    func answer(_ context: RequestContext) async throws(UserFacingError) -> NetReport? {
        if let daemon = context.daemon { return try daemon.net(context) }
        let network = try NetworkSource.kernel()
        defer { network.stop() }
        return NetReport(
            await Self.snapshot(network), how: network.how, transitions: try Self.transitions(context), source: .file,
            now: context.now)
    }

    /// The first event is the state at the start; where netlink is not permitted there is nothing to wait for.
    private static func snapshot(_ network: NetworkSource) async -> NetworkSnapshot {
        guard network.how == .netlink else { return network.snapshot() }
        for await event in network.events { return event.snapshot }
        return network.snapshot()
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
            network.source.snapshot(), how: network.source.how,
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

/// Asks for the state of the network, and then for each change until one side leaves.
struct NetWatchRequest: Request, BareRequest {
    typealias Answer = NetworkChange
    static let command = "net"
    static let variant: String? = "watch"
    var isChange: Bool { false }
    var place: RequestPlace { .daemon }

    /// Until the client leaves, or the daemon stops.
    func answer(_ context: RequestContext) async throws(UserFacingError) -> NetworkChange? {
        let network = try context.requireDaemon().network
        // Before the state is read, so that no change falls in between.
        let changes = network.changes()
        context.send(network.asItIs)
        for await change in changes { context.send(change) }
        return nil
    }
}

extension NetworkChange: ControlReply {
    package static let type = "net_change"
}
