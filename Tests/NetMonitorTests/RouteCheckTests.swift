import TestSupport
import Testing

@testable import NetMonitor

/// What the kernel says of the route to a server, in networks of the tests' own.
@Suite(.enabled(if: NetworkNamespace.canBeMade, "needs root, for a network namespace"))
struct RouteCheckTests {
    /// `v0` with 192.0.2.2/24 and 2001:db8:5::2/64, both ends of its pair up.
    private func network() async throws -> NetworkNamespace {
        let network = try NetworkNamespace()
        try network.run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        try network.run("ip", "address", "add", "192.0.2.2/24", "dev", "v0")
        try network.run("ip", "address", "add", "2001:db8:5::2/64", "dev", "v0", "nodad")
        try network.run("ip", "link", "set", "v1", "up")
        try network.run("ip", "link", "set", "v0", "up")
        try await waitForCarrier(true, network)
        return network
    }

    private func route(
        _ host: String, last: String? = nil, in network: NetworkNamespace, usesNetlink: Bool = true
    ) throws -> RouteState {
        try network.perform {
            let snapshot = usesNetlink ? try NetworkSnapshot.read() : NetworkSnapshot()
            return RouteCheck(usesNetlink: usesNetlink) { snapshot }
                .route(to: ServerAddress(host: host, port: 443, lastAddress: last))
        }
    }

    private func loseCarrier(_ network: NetworkNamespace) async throws {
        try network.run("ip", "link", "set", "v1", "down")
        try await waitForCarrier(false, network)
    }

    /// A worker of the kernel's notices it, a little later.
    private func waitForCarrier(_ hasCarrier: Bool, _ network: NetworkNamespace) async throws {
        try await eventually("a carrier of v0: \(hasCarrier)") {
            let links = try network.perform { try NetworkSnapshot.read() }.links.values
            return links.contains { $0.name == "v0" && $0.hasCarrier == hasCarrier }
        }
    }

    @Test(arguments: [true, false])
    func loopbackIsAlwaysRoutable(_ usesNetlink: Bool) throws {
        let network = try NetworkNamespace()
        try network.run("ip", "link", "set", "lo", "down")
        for host in [
            "127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost", "LOCALHOST.", "x.localhost", "::ffff:127.0.0.1",
        ] {
            #expect(try route(host, in: network, usesNetlink: usesNetlink) == .routable(path: "loopback"), "\(host)")
        }
        #expect(try route("prsnl.example", last: "127.0.0.1", in: network) == .routable(path: "loopback"))
    }

    @Test func aNeighbourIsRoutableOverItsLink() async throws {
        let network = try await network()
        #expect(try route("192.0.2.9", in: network) == .routable(path: "from 192.0.2.2 over v0"))
        #expect(try route("::ffff:192.0.2.9", in: network) == .routable(path: "from 192.0.2.2 over v0"))
        #expect(try route("[2001:db8:5::9]", in: network) == .routable(path: "from 2001:db8:5::2 over v0"))
        #expect(try route("192.0.2.9", in: network, usesNetlink: false) == .routable(path: "from 192.0.2.2"))
    }

    @Test func theMachinesOwnAddressIsRoutableWithoutACarrier() async throws {
        let network = try await network()
        try await loseCarrier(network)
        #expect(try route("192.0.2.2", in: network) == .routable(path: "from 192.0.2.2"))
        #expect(try route("2001:db8:5::2", in: network) == .routable(path: "from 2001:db8:5::2"))
    }

    @Test func theWayChangesWithGatewayAndSource() async throws {
        let network = try await network()
        try network.run("ip", "route", "add", "default", "via", "192.0.2.1")
        try network.run("ip", "route", "add", "default", "via", "2001:db8:5::1")
        #expect(try route("198.51.100.1", in: network) == .routable(path: "from 192.0.2.2 over v0 via 192.0.2.1"))
        #expect(
            try route("2001:db8:9::1", in: network) == .routable(path: "from 2001:db8:5::2 over v0 via 2001:db8:5::1"))
        try network.run("ip", "route", "replace", "default", "via", "192.0.2.3")
        #expect(try route("198.51.100.1", in: network) == .routable(path: "from 192.0.2.2 over v0 via 192.0.2.3"))
        try network.run("ip", "address", "add", "192.0.2.7/24", "dev", "v0")
        try network.run("ip", "route", "replace", "default", "via", "192.0.2.3", "src", "192.0.2.7")
        #expect(try route("198.51.100.1", in: network) == .routable(path: "from 192.0.2.7 over v0 via 192.0.2.3"))
        try network.run("ip", "-4", "route", "replace", "default", "via", "inet6", "fe80::1", "dev", "v0")
        #expect(try route("198.51.100.1", in: network) == .routable(path: "from 192.0.2.2 over v0 via fe80::1"))
    }

    @Test func askingSendsNoPacket() async throws {
        let network = try await network()
        try network.run("ip", "route", "add", "default", "via", "192.0.2.1")
        for host in ["192.0.2.9", "198.51.100.1", "192.0.2.2"] { _ = try route(host, in: network) }
        _ = try route("prsnl.example", last: "10.0.0.2", in: network)
        let counters = try network.perform { try TestFile.text("/proc/thread-self/net/snmp") }
        let ip = counters.split(separator: "\n").filter { $0.hasPrefix("Ip: ") }.map { $0.split(separator: " ") }
        let column = try #require(ip.first?.firstIndex(of: "OutRequests"))
        #expect(ip.last?[column] == "0")
        let neighbours = try network.perform { try TestFile.text("/proc/thread-self/net/arp") }
        #expect(neighbours.split(separator: "\n").count == 1, "its heading only: \(neighbours)")
    }

    @Test(arguments: [true, false])
    func withoutARouteItSaysSo(_ usesNetlink: Bool) throws {
        let network = try NetworkNamespace()
        #expect(
            try route("192.0.2.2", in: network, usesNetlink: usesNetlink)
                == .unroutable(reason: "no route to 192.0.2.2 (network unreachable)"))
        #expect(
            try route("[2001:db8::2]", in: network, usesNetlink: usesNetlink)
                == .unroutable(reason: "no route to 2001:db8::2 (network unreachable)"))
    }

    @Test(arguments: [
        ("blackhole", "the route to 10.0.0.2 is a blackhole", "the route to 2001:db8:1::1 is a blackhole"),
        (
            "unreachable", "no route to 10.0.0.2 (host unreachable)", "no route to 2001:db8:1::1 (host unreachable)"
        ),
    ])
    func aRouteThatRefusesSaysHow(_ kind: String, _ reason4: String, _ reason6: String) async throws {
        let network = try await network()
        try network.run("ip", "route", "add", "default", "via", "192.0.2.1")
        try network.run("ip", "route", "add", kind, "10.0.0.0/8")
        try network.run("ip", "route", "add", kind, "2001:db8:1::/48")
        for usesNetlink in [true, false] {
            #expect(try route("10.0.0.2", in: network, usesNetlink: usesNetlink) == .unroutable(reason: reason4))
            #expect(try route("2001:db8:1::1", in: network, usesNetlink: usesNetlink) == .unroutable(reason: reason6))
        }
    }

    /// It might as well be a security module that prohibits it, and datagrams only.
    @Test func aRouteThatIsProhibitedHoldsNothingUp() async throws {
        let network = try await network()
        try network.run("ip", "route", "add", "prohibit", "10.0.0.0/8")
        #expect(try route("10.0.0.2", in: network) == .routable(path: ""))
    }

    @Test func aLinkWithoutCarrierIsNoWay() async throws {
        let network = try await network()
        try network.run("ip", "route", "add", "default", "via", "192.0.2.1")
        try await loseCarrier(network)
        for host in ["192.0.2.9", "198.51.100.1", "2001:db8:5::9"] {
            #expect(try route(host, in: network) == .unroutable(reason: "v0: carrier lost"), "\(host)")
        }
    }

    @Test func withoutIPv6ItSaysSo() async throws {
        let network = try await network()
        try network.set("net/ipv6/conf/all/disable_ipv6", "1")
        guard case .unroutable(let reason) = try route("2001:db8:5::9", in: network) else {
            return #expect(Bool(false), "routable")
        }
        #expect(reason.hasPrefix("no route to 2001:db8:5::9 ("))
    }

    @Test func ofAnAddressOfOneLinkOnlyTheNetworkIsKnown() async throws {
        let network = try await network()
        for host in ["[fe80::1%25v0]", "fe80::1"] {
            #expect(try route(host, in: network) == .notKnown(hasNetwork: true), "\(host)")
            #expect(try route(host, last: "fe80::1", in: network) == .notKnown(hasNetwork: true), "\(host)")
        }
    }

    @Test func ofANameThatWasNeverResolvedOnlyTheNetworkIsKnown() async throws {
        let network = try NetworkNamespace()
        #expect(try route("prsnl.example", in: network) == .notKnown(hasNetwork: false))
        #expect(try route("prsnl.example", in: network, usesNetlink: false) == .notKnown(hasNetwork: false))
        let other = try await self.network()
        // A neighbour may have that name.
        #expect(try route("prsnl.example", in: other) == .notKnown(hasNetwork: true))
        try await loseCarrier(other)
        #expect(try route("prsnl.example", in: other) == .notKnown(hasNetwork: false))
    }

    @Test func aNameLeadsWhereItLedLast() async throws {
        let network = try await network()
        try network.run("ip", "route", "add", "10.0.0.0/8", "via", "192.0.2.1")
        #expect(
            try route("prsnl.example", last: "10.0.0.2", in: network)
                == .routable(path: "from 192.0.2.2 over v0 via 192.0.2.1"))
        try network.run("ip", "route", "del", "10.0.0.0/8")
        #expect(
            try route("prsnl.example", last: "10.0.0.2", in: network)
                == .unroutable(reason: "no route to 10.0.0.2 (network unreachable)"))
    }

    @Test(arguments: ["2001:db8:5::1", "192.0.2.1"])
    func aNameMayLeadElsewhereWhereThereIsAnotherDefaultRoute(_ gateway: String) async throws {
        let network = try await network()
        try network.run("ip", "route", "add", "default", "via", gateway)
        try network.run("ip", "route", "add", "blackhole", "10.0.0.0/8")
        #expect(try route("prsnl.example", last: "10.0.0.2", in: network) == .notKnown(hasNetwork: true))
        #expect(
            try route("prsnl.example", last: "10.0.0.2", in: network, usesNetlink: false)
                == .notKnown(hasNetwork: true))
        try await loseCarrier(network)
        #expect(
            try route("prsnl.example", last: "10.0.0.2", in: network)
                == .unroutable(reason: "the route to 10.0.0.2 is a blackhole"))
    }
}
