import CLinux
import Glibc

/// Asks the kernel whether it knows a route to a server, without sending a packet.
///
/// connect(2) of a datagram socket looks a route up, with the rules and tables that a connection would use, and chooses a
/// source address; it sends nothing. Netlink, where it is permitted, tells the link and its state, because the kernel goes
/// on using routes over a link that has lost its carrier. The network is that of the calling thread.
package struct RouteCheck: Sendable {
    let usesNetlink: Bool
    /// The state of the network, asked for where a server's address is not known.
    let snapshot: @Sendable () -> NetworkSnapshot

    package func route(to server: ServerAddress) -> RouteState {
        if Self.isLocalName(server.host) { return .routable(path: "loopback") }
        let known = IPAddress(server.host)
        // The kernel knows no route to an address of one link, where that link is not named.
        guard let address = known ?? server.lastAddress.flatMap(IPAddress.init), !address.isIPv6LinkLocal else {
            return .notKnown(hasNetwork: hasDefaultRoute || hasUsableLink)
        }
        let verdict = route(to: address, port: server.port)
        if known != nil { return verdict }
        // The name may lead elsewhere by now, by another family or another network.
        if case .unroutable = verdict, hasDefaultRoute { return .notKnown(hasNetwork: true) }
        return verdict
    }

    /// RFC 6761, section 6.3: these names never leave the machine, and libcurl keeps to it.
    private static func isLocalName(_ host: String) -> Bool {
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    // MARK: An address

    private func route(to address: IPAddress, port: UInt16) -> RouteState {
        if address.isLoopback { return .routable(path: "loopback") }
        switch Self.source(towards: address, port: port) {
        case .success(let source): return route(to: address, from: source)
        case .failure(let failure):
            // Where it is not the route's doing, nothing is held up: the request will say what is wrong.
            return failure.reason(address.text).map { .unroutable(reason: $0) } ?? .routable(path: "")
        }
    }

    /// The errno of a lookup.
    private struct Failure: Error {
        var code: Int32

        /// `nil` where it says nothing about routes, such as where there is no descriptor left, or where it may be a security module's
        /// word (EACCES): then nothing is held up.
        func reason(_ address: String) -> String? {
            switch code {
            case ENETUNREACH: "no route to \(address) (network unreachable)"
            case EHOSTUNREACH: "no route to \(address) (host unreachable)"
            case ENETDOWN: "no route to \(address) (network down)"
            case EADDRNOTAVAIL: "no route to \(address) (no address of its own to come from)"
            case EAFNOSUPPORT: "no route to \(address) (\(address.contains(":") ? "IPv6" : "IPv4") is switched off)"
            case ENODEV: "no route to \(address) (its link is gone)"
            // fib_props in fib_semantics.c
            case EINVAL: "the route to \(address) is a blackhole"
            default: nil
            }
        }
    }

    /// The address that a connection would come from.
    private static func source(towards address: IPAddress, port: UInt16) -> Result<IPAddress, Failure> {
        let descriptor = socket(
            address.family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), Int32(IPPROTO_UDP))
        // A sandbox may keep datagrams from us, and let connections be.
        guard descriptor >= 0 else { return .failure(Failure(code: errno == EAFNOSUPPORT ? errno : EMFILE)) }
        defer { close(descriptor) }
        // Port 0 is none; 9 is the one that discards.
        guard address.withSocketAddress(port: port == 0 ? 9 : port, { connect(descriptor, $0, $1) }) == 0,
            let source = IPAddress(localEndOf: descriptor)
        else { return .failure(Failure(code: errno)) }
        return .success(source)
    }

    private func route(to address: IPAddress, from source: IPAddress) -> RouteState {
        let plain = RouteState.routable(path: "from \(source.text)")
        guard usesNetlink else { return plain }
        do throws(NetlinkSocket.Failure) {
            let socket = try NetlinkSocket()
            // Towards this machine itself no link carries it.
            guard let hop = RouteHop(try socket.ask(UInt16(RTM_GETROUTE), RouteHop.request(address))), !hop.isLocal,
                let index = hop.link
            else { return plain }
            var snapshot = NetworkSnapshot()
            snapshot.take(try socket.ask(UInt16(RTM_GETLINK), NetworkSnapshot.linkRequest(index)))
            guard let link = snapshot.links[index] else { return plain }
            if !link.isUp { return .unroutable(reason: "\(link.name): down") }
            if !link.hasCarrier { return .unroutable(reason: "\(link.name): carrier lost") }
            // Routers pass on nothing that comes from an address of one link: RFC 4291, section 2.5.6.
            if source.isIPv6LinkLocal, hop.gateway != nil {
                return .unroutable(reason: "\(link.name): no address that is valid beyond this link")
            }
            let gateway = hop.gateway.map { " via \($0)" } ?? ""
            return .routable(path: "from \(source.text) over \(link.name)\(gateway)")
        } catch {
            // It has found a route above; an error here may as well be about the question.
            return plain
        }
    }

    // MARK: Any network

    /// Whether addresses that belong to no network can be reached: one that is reserved (240/4, RFC 1112) and one of
    /// documentation (3fff::/20, RFC 9637). No machine has a route for them alone, and nothing is sent to them. Unlike the list
    /// of default routes, this goes by all tables and rules, as a VPN sets them, and by halves of a default route.
    private var hasDefaultRoute: Bool {
        ["240.0.0.1", "3fff::1"].compactMap(IPAddress.init).contains {
            if case .routable(let path) = route(to: $0, port: 9) { !path.isEmpty } else { false }
        }
    }

    /// A network without a default route may have the server in it.
    private var hasUsableLink: Bool {
        let snapshot = snapshot()
        // Where the kernel cannot be asked, what was not found is not there.
        return snapshot.isKnown ? snapshot.hasUsableLink : usesNetlink
    }
}

/// The kernel's answer to RTM_GETROUTE: which way a packet would go. Constants are those of linux/rtnetlink.h.
private struct RouteHop {
    var link: Int32?
    var gateway: String?
    var type: UInt8

    init?(_ message: NetlinkMessage) {
        guard message.type == UInt16(RTM_NEWROUTE), message.payload.count >= 12 else { return nil }
        type = message.payload[message.payload.startIndex + 7]
        let attributes = NetlinkAttributes(message.payload.dropFirst(12))
        link = attributes.uint32(4).map { Int32(bitPattern: $0) }  // RTA_OIF
        // RTA_GATEWAY, RTA_VIA with the family before it
        let bytes = attributes[5].map { Array($0) } ?? attributes[18].map { Array($0.dropFirst(2)) }
        if let bytes, [4, 16].contains(bytes.count) { gateway = IPAddress(bytes: bytes).text }
    }

    /// RTN_LOCAL, RTN_ANYCAST.
    var isLocal: Bool { [2, 4].contains(type) }

    /// `struct rtmsg` and RTA_DST.
    static func request(_ address: IPAddress) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 12)
        bytes[0] = UInt8(address.family)
        bytes[1] = UInt8(address.bytes.count * 8)
        return bytes + NetlinkMessage.attribute(1, address.bytes)
    }
}

/// Whether the kernel knows a route to the server. No packet is sent to find out.
package enum RouteState: Sendable, Equatable {
    /// `path` is a text that changes when the route does: source address, interface, gateway.
    case routable(path: String)
    /// In words: `v0: carrier lost`.
    case unroutable(reason: String)
    /// The server has a name that was never resolved, or leads elsewhere now. `hasNetwork`: some address other than this
    /// machine's own can be reached.
    case notKnown(hasNetwork: Bool)

    var isKnown: Bool {
        if case .notKnown = self { false } else { true }
    }
}
