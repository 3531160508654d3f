import CLinux
import Testing

@testable import NetMonitor

/// What the parser finds by offsets and numbers, written with the structs and constants of this architecture's headers.
@Suite struct LayoutTests {
    private func bytes<Value>(_ value: Value) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

    private func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
        bytes(rtattr(rta_len: UInt16(4 + value.count), rta_type: UInt16(type))) + value
            + [UInt8](repeating: 0, count: -value.count & 3)
    }

    private func read(_ type: Int, _ payload: [UInt8]) throws -> NetworkSnapshot {
        let header = nlmsghdr(
            nlmsg_len: UInt32(MemoryLayout<nlmsghdr>.size + payload.count), nlmsg_type: UInt16(type),
            nlmsg_flags: UInt16(NLM_F_DUMP_INTR), nlmsg_seq: 7, nlmsg_pid: 9)
        let message = try #require(try NetlinkMessage.parse((bytes(header) + payload)[...]).first)
        #expect(message.flags == UInt16(NLM_F_DUMP_INTR) && message.sequence == 7)
        var snapshot = NetworkSnapshot()
        snapshot.take(message)
        return snapshot
    }

    @Test func aLinkIsRead() throws {
        var link = ifinfomsg()
        (link.ifi_index, link.ifi_flags) = (5, 0x49)  // IFF_UP, IFF_LOOPBACK, IFF_RUNNING
        let attributes = attribute(IFLA_IFNAME, Array("v5\0".utf8)) + attribute(IFLA_OPERSTATE, [6])
        #expect(
            try read(RTM_NEWLINK, bytes(link) + attributes).links
                == [5: .init(name: "v5", isUp: true, hasCarrier: true, isLoopback: true)])
    }

    @Test func anAddressIsRead() throws {
        var address = ifaddrmsg()
        (address.ifa_family, address.ifa_prefixlen, address.ifa_index) = (UInt8(AF_INET), 24, 5)
        (address.ifa_scope, address.ifa_flags) = (UInt8(RT_SCOPE_LINK.rawValue), UInt8(IFA_F_TENTATIVE))
        let attributes = attribute(IFA_ADDRESS, [192, 0, 2, 1]) + attribute(IFA_LOCAL, [192, 0, 2, 7])
        #expect(try read(RTM_NEWADDR, bytes(address) + attributes).addresses.isEmpty)
        let usable = attribute(IFA_FLAGS, bytes(UInt32(IFA_F_TENTATIVE | IFA_F_OPTIMISTIC)))
        #expect(
            try read(RTM_NEWADDR, bytes(address) + attributes + usable).addresses
                == [.init(link: 5, text: "192.0.2.7", prefixLength: 24, isIPv6: false, isLinkLocal: true)])
    }

    @Test func aRouteOverSeveralHopsIsRead() throws {
        var route = rtmsg()
        (route.rtm_family, route.rtm_table) = (UInt8(AF_INET), UInt8(RT_TABLE_MAIN.rawValue))
        route.rtm_type = UInt8(RTN_UNICAST)
        var hop = rtnexthop()
        (hop.rtnh_len, hop.rtnh_ifindex) = (16, 5)
        let hops = bytes(hop) + attribute(Int(RTA_GATEWAY.rawValue), [192, 0, 2, 1])
        let attributes =
            attribute(Int(RTA_PRIORITY.rawValue), bytes(UInt32(100))) + attribute(Int(RTA_MULTIPATH.rawValue), hops)
        #expect(
            try read(RTM_NEWROUTE, bytes(route) + attributes).defaultRoutes
                == [.init(isIPv6: false, gateway: "192.0.2.1", link: 5, metric: 100, kind: .unicast)])
    }
}
