import CLinux
import Glibc
import PRSNLCore

/// The network as the kernel describes it at one moment: links, addresses, default routes.
package struct NetworkSnapshot: Sendable, Equatable {
    package struct Link: Sendable, Equatable {
        package var name: String
        /// Switched on by an administrator.
        package var isUp: Bool
        /// The other end is there: RFC 2863's operational state is up, or not known and the link is running.
        package var hasCarrier: Bool
        package var isLoopback: Bool
    }

    package struct Address: Sendable, Hashable {
        package var link: Int32
        /// In the notation of RFC 5952 for IPv6.
        package var text: String
        package var prefixLength: UInt8
        package var isIPv6: Bool
        /// Valid on one link only (fe80::/10, 169.254/16).
        package var isLinkLocal: Bool
    }

    package struct Route: Sendable, Hashable {
        package enum Kind: String, Sendable, Codable { case unicast, blackhole, unreachable, prohibit }

        package var isIPv6: Bool
        package var gateway: String?
        package var link: Int32?
        package var metric: UInt32
        package var kind: Kind
    }

    /// By the kernel's index.
    package var links: [Int32: Link] = [:]
    package var addresses: Set<Address> = []
    package var defaultRoutes: Set<Route> = []

    package init() {}

    /// Whether the kernel was asked: every network has a loopback link at least.
    package var isKnown: Bool { !links.isEmpty }

    package func name(_ link: Int32?) -> String { link.flatMap { links[$0]?.name } ?? "link \(link ?? 0)" }

    /// Whether anything but this machine itself may be reached at all: a link that works, with an address.
    package var hasUsableLink: Bool {
        addresses.contains { address in
            guard let link = links[address.link] else { return false }
            return link.isUp && link.hasCarrier && !link.isLoopback && !address.isLinkLocal
        }
    }
}

extension NetworkSnapshot {
    /// What is different now, in words: `eth0: carrier lost`, `default route via 192.0.2.1 gone`.
    package func changes(to new: NetworkSnapshot) -> [String] {
        guard isKnown, new.isKnown, self != new else { return [] }
        var changes: [String] = []
        for index in Set(links.keys).union(new.links.keys).sorted() {
            switch (links[index], new.links[index]) {
            case (let old?, nil): changes.append("\(old.name): link removed")
            case (nil, let link?): changes.append("\(link.name): link added" + (link.isUp ? "" : ", down"))
            case (let old?, let link?): changes += old.changes(to: link)
            case (nil, nil): break
            }
        }
        func words(_ address: Address, in snapshot: NetworkSnapshot) -> String {
            "\(snapshot.name(address.link)): address \(address.text)/\(address.prefixLength)"
        }
        changes += addresses.subtracting(new.addresses).map { words($0, in: self) + " gone" }.sorted()
        changes += new.addresses.subtracting(addresses).map { words($0, in: new) + " added" }.sorted()
        changes += defaultRoutes.subtracting(new.defaultRoutes).map { $0.words(in: self) + " gone" }.sorted()
        changes += new.defaultRoutes.subtracting(defaultRoutes).map { $0.words(in: new) + " added" }.sorted()
        return changes
    }
}

extension NetworkSnapshot.Link {
    fileprivate func changes(to new: NetworkSnapshot.Link) -> [String] {
        var changes: [String] = []
        if name != new.name { changes.append("\(name): renamed to \(new.name)") }
        // Between two dumps, an index may have gone to another link.
        if isLoopback != new.isLoopback { changes.append("\(new.name): another link than before") }
        if isUp != new.isUp { changes.append("\(new.name): \(new.isUp ? "up" : "down")") }
        if hasCarrier != new.hasCarrier, isUp == new.isUp || new.hasCarrier {
            changes.append("\(new.name): carrier \(new.hasCarrier ? "found" : "lost")")
        }
        return changes
    }
}

extension NetworkSnapshot.Route {
    package func words(in snapshot: NetworkSnapshot) -> String {
        let family = isIPv6 ? "IPv6 default" : "default"
        guard kind == .unicast else { return "\(family) route (\(kind.rawValue))" }
        if let gateway { return "\(family) route via \(gateway)" }
        return "\(family) route over \(snapshot.name(link))"
    }
}

// Building a snapshot from the messages of a dump. Constants are those of linux/rtnetlink.h and linux/if*.h.
extension NetworkSnapshot {
    /// Takes up one message of a dump; those of other kinds, and half ones, say nothing.
    mutating func take(_ message: NetlinkMessage) {
        switch Int(message.type) {
        case RTM_NEWLINK: takeLink(message.payload)
        case RTM_NEWADDR: takeAddress(message.payload)
        case RTM_NEWROUTE: takeRoute(message.payload)
        default: break
        }
    }

    /// `struct ifinfomsg`: family, type, index, flags, change; 16 bytes.
    private mutating func takeLink(_ payload: ArraySlice<UInt8>) {
        let start = payload.startIndex
        guard payload.count >= 16, let index = payload.uint32(at: start + 4), let flags = payload.uint32(at: start + 8)
        else { return }
        let attributes = NetlinkAttributes(payload.dropFirst(16))
        let state = attributes.uint8(16) ?? 0  // IFLA_OPERSTATE
        let isRunning = flags & 0x40 != 0  // IFF_RUNNING
        links[Int32(bitPattern: index)] = Link(
            name: Self.name(attributes.text(3)) ?? "link \(index)",  // IFLA_IFNAME
            isUp: flags & 0x1 != 0,  // IFF_UP
            // IF_OPER_UP is 6; many virtual links never say more than IF_OPER_UNKNOWN, 0.
            hasCarrier: state == 6 || state == 0 && isRunning,
            isLoopback: flags & 0x8 != 0)  // IFF_LOOPBACK
    }

    /// `struct ifaddrmsg`: family, prefix length, flags, scope, index; 8 bytes.
    private mutating func takeAddress(_ payload: ArraySlice<UInt8>) {
        let start = payload.startIndex
        guard payload.count >= 8, let index = payload.uint32(at: start + 4) else { return }
        let attributes = NetlinkAttributes(payload.dropFirst(8))
        // IFA_LOCAL is our end of a point-to-point link, IFA_ADDRESS the other one.
        guard let bytes = attributes[2] ?? attributes[1], let text = Self.address(bytes, family: payload[start]),
            Int(payload[start + 1]) <= 8 * bytes.count
        else { return }
        let flags = attributes.uint32(8) ?? UInt32(payload[start + 2])  // IFA_FLAGS
        // Not usable yet, or not at all: duplicate address detection runs (IFA_F_TENTATIVE, without _OPTIMISTIC) or has
        // failed (IFA_F_DADFAILED).
        guard flags & 0x08 == 0, flags & 0x40 == 0 || flags & 0x04 != 0 else { return }
        addresses.insert(
            Address(
                link: Int32(bitPattern: index), text: text, prefixLength: payload[start + 1],
                isIPv6: payload[start] == UInt8(AF_INET6),
                // RT_SCOPE_LINK; not every program that sets an address of RFC 3927 says so.
                isLinkLocal: payload[start + 3] == 253 || text.hasPrefix("169.254.")))
    }

    /// `struct rtmsg`: family, destination length, …, table, protocol, scope, type, flags; 12 bytes.
    private mutating func takeRoute(_ payload: ArraySlice<UInt8>) {
        let start = payload.startIndex
        // Default routes only; there are also those for multicast (RTNL_FAMILY_IPMR).
        guard payload.count >= 12, payload[start + 1] == 0, [UInt8(AF_INET), UInt8(AF_INET6)].contains(payload[start])
        else { return }
        let attributes = NetlinkAttributes(payload.dropFirst(12))
        guard attributes.uint32(15) ?? UInt32(payload[start + 4]) == 254 else { return }  // RTA_TABLE: the main one
        let kind: Route.Kind
        switch payload[start + 7] {
        case 1: kind = .unicast
        case 6: kind = .blackhole
        case 7: kind = .unreachable
        case 8: kind = .prohibit
        default: return
        }
        var route = Route(
            isIPv6: payload[start] == UInt8(AF_INET6), gateway: nil, link: nil,
            metric: attributes.uint32(6) ?? 0, kind: kind)  // RTA_PRIORITY
        route.takeHop(attributes, link: attributes.uint32(4))  // RTA_OIF
        // RTA_MULTIPATH: several routes at once, each of them a default route to us.
        guard var hops = attributes[9] else {
            defaultRoutes.insert(route)
            return
        }
        // `struct rtnexthop`: length, flags, weight, link; 8 bytes, and attributes.
        while let length = hops.uint16(at: hops.startIndex), length >= 8, Int(length) <= hops.count {
            route.takeHop(
                NetlinkAttributes(hops.prefix(Int(length)).dropFirst(8)), link: hops.uint32(at: hops.startIndex + 4))
            defaultRoutes.insert(route)
            hops = hops.dropFirst(NetlinkMessage.aligned(Int(length)))
        }
    }

    /// The kernel refuses white space, `/` and `:` in a name, and nothing else (dev_valid_name): what a terminal would obey
    /// is shown as `?`. `nil` for an empty one.
    private static func name(_ text: String?) -> String? {
        guard let text, !text.isEmpty else { return nil }
        return SafeText.withoutControls(text, by: "?")
    }

    fileprivate static func address(_ bytes: ArraySlice<UInt8>, family: UInt8) -> String? {
        let size = [UInt8(AF_INET): 4, UInt8(AF_INET6): 16][family]
        return bytes.count == size ? IPAddress(bytes: Array(bytes)).text : nil
    }
}

extension NetworkSnapshot.Route {
    fileprivate mutating func takeHop(_ attributes: NetlinkAttributes, link: UInt32?) {
        self.link = link.map { Int32(bitPattern: $0) }
        let family = UInt8(isIPv6 ? AF_INET6 : AF_INET)
        gateway = attributes[5].flatMap { NetworkSnapshot.address($0, family: family) }  // RTA_GATEWAY
        // RTA_VIA: a gateway of the other family, which stands before it in two bytes.
        if let via = attributes[18], let family = via.uint16(at: via.startIndex), family == UInt16(AF_INET6) {
            gateway = NetworkSnapshot.address(via.dropFirst(2), family: UInt8(AF_INET6))
        }
    }
}

// Asking the kernel for the state.
extension NetworkSnapshot {
    /// The state now, in this thread's network.
    static func read() throws(NetlinkSocket.Failure) -> NetworkSnapshot {
        // A socket per dump: one whose dump has failed half-way would answer EBUSY, and none is held while idle.
        let socket = try NetlinkSocket()
        // So that the kernel leaves out the routes of other tables than the main one.
        var one: Int32 = 1
        setsockopt(socket.descriptor, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, socklen_t(MemoryLayout<Int32>.size))
        var snapshot = NetworkSnapshot()
        try snapshot.take(socket, UInt16(RTM_GETLINK), Self.linkRequest())
        try snapshot.take(socket, UInt16(RTM_GETADDR), [UInt8](repeating: 0, count: 8))
        var route = [UInt8](repeating: 0, count: 12)
        route[4] = UInt8(RT_TABLE_MAIN.rawValue)
        try snapshot.take(socket, UInt16(RTM_GETROUTE), route)
        return snapshot
    }

    /// `struct ifinfomsg` with a link's number, 0 for all of them; without the counters, which are most of a link's message.
    static func linkRequest(_ index: Int32 = 0) -> [UInt8] {
        [0, 0, 0, 0] + NetlinkMessage.native(index) + [UInt8](repeating: 0, count: 8)
            + NetlinkMessage.attribute(
                UInt16(IFLA_EXT_MASK), NetlinkMessage.native(UInt32(RTEXT_FILTER_SKIP_STATS)))
    }

    /// One list, which is asked for again where a change has come between its pieces.
    private mutating func take(
        _ socket: NetlinkSocket, _ type: UInt16, _ body: [UInt8]
    ) throws(NetlinkSocket.Failure) {
        for _ in 0..<4 {
            var attempt = self
            if try socket.dump(type, body, take: { attempt.take($0) }) {
                self = attempt
                return
            }
        }
        throw .interrupted
    }
}
