import CLinux
import CTestSupport
import Glibc

/// Two networks of a test's own and what joins them: a cable (a pair of veth links) from the near one, which has a default
/// route over it, to the far one, which is the gateway and has an address behind it. Everything ends with the last
/// reference. Needs root.
package final class NetworkCable: Sendable {
    package enum Family: Sendable, CaseIterable {
        case ipv4, ipv6

        /// Of the near end. These, and those below, are addresses for documentation: RFC 5737 and RFC 3849.
        package var nearAddress: String { self == .ipv4 ? "192.0.2.2" : "2001:db8::2" }
        /// Of the far end: the gateway.
        package var gateway: String { self == .ipv4 ? "192.0.2.1" : "2001:db8::1" }
        /// Behind the gateway; only the default route leads there.
        package var farAddress: String { self == .ipv4 ? "198.51.100.1" : "2001:db8:1::1" }

        var option: String { self == .ipv4 ? "-4" : "-6" }
        var nearWithPrefix: String { nearAddress + (self == .ipv4 ? "/24" : "/64") }
        var gatewayWithPrefix: String { gateway + (self == .ipv4 ? "/24" : "/64") }
        /// The kernel checks a new address for doubles in the background, and does not use it until then.
        var unchecked: [String] { self == .ipv4 ? [] : ["nodad"] }
        var farWithPrefix: String { farAddress + (self == .ipv4 ? "/32" : "/128") }
    }

    /// Why there can be none here; `nil` where there can. What the tests use is tried once, because kernels are built
    /// without this or that.
    package static let obstacle: String? = {
        let network: NetworkNamespace
        do { network = try NetworkNamespace() } catch {
            return "networks of a test's own need root and ip(8) (\(error))"
        }
        let chain = "add table inet try; add chain inet try"
        let parts: [(name: String, command: [String])] = [
            ("veth links", ["ip", "link", "add", "try0", "type", "veth", "peer", "name", "try1"]),
            (
                "tc(8) with tbf",
                ["tc", "qdisc", "add", "dev", "try1", "root", "tbf", "rate", "1mbit", "burst", "4kb", "latency", "2s"]
            ),
            ("nft(8) with filters", ["nft", "\(chain) in { type filter hook input priority 0; }"]),
            ("nft(8) with numgen", ["nft", "add rule inet try in numgen random mod 100 < 35 drop"]),
            ("nft(8) with nat", ["nft", "\(chain) portal { type nat hook prerouting priority -100; }"]),
            ("nft(8) with redirect", ["nft", "add rule inet try portal tcp dport 1 redirect to :2"]),
            ("nsenter(1)", ["nsenter", "--version"]),
        ]
        for part in parts {
            do { try network.run(part.command[0], Array(part.command.dropFirst())) } catch {
                return "this machine has no \(part.name) (\(error))"
            }
        }
        return nil
    }()

    /// In CI nothing is skipped: what cannot be made there fails.
    package static let isToBeUsed = obstacle == nil || getenv("CI") != nil

    package static let nearLink = "v0"
    package static let farLink = "w0"

    package let near: NetworkNamespace
    package let far: NetworkNamespace
    package let family: Family

    /// - Parameter near: where the near end goes; `nil` for a network of its own.
    package init(_ family: Family = .ipv4, near: NetworkNamespace? = nil) throws {
        self.family = family
        self.near = try near ?? NetworkNamespace()
        far = try NetworkNamespace()
        for network in [self.near, far] {
            switch family {
            // A network without IPv6 is to be one: no family but the one that the test is about. Whatever has none has no
            // such file.
            case .ipv4: try Self.setIPv6(network, "disable_ipv6", "1", isNeeded: false)
            // An address of one's own takes two seconds to be checked for doubles.
            case .ipv6: try Self.setIPv6(network, "accept_dad", "0")
            }
        }
        let far = try far.perform { try Self.ownNamespace() }
        try self.near.run(
            "ip", "link", "add", Self.nearLink, "type", "veth", "peer", "name", Self.farLink, "netns", far)
        try self.far.run("ip", ["address", "add", family.gatewayWithPrefix, "dev", Self.farLink] + family.unchecked)
        try self.far.run("ip", ["address", "add", family.farWithPrefix, "dev", "lo"] + family.unchecked)
        try self.far.run("ip", "link", "set", Self.farLink, "up")
        try connect()
        if family == .ipv6 { try beRouter() }
    }

    // MARK: The near end

    /// What a machine does that joins a network: the link is switched on, and gets an address and a default route. What is
    /// there already stays.
    package func connect() throws {
        try near.run("ip", "link", "set", Self.nearLink, "up")
        try near.run("ip", "address", "replace", family.nearWithPrefix, "dev", Self.nearLink)
        try addDefaultRoute()
    }

    package func switchLinkOff() throws { try near.run("ip", "link", "set", Self.nearLink, "down") }

    package func removeAddress() throws {
        try near.run("ip", "address", "delete", family.nearWithPrefix, "dev", Self.nearLink)
    }

    package func removeDefaultRoute() throws { try near.run("ip", family.option, "route", "delete", "default") }

    package func addDefaultRoute() throws {
        try near.run("ip", family.option, "route", "replace", "default", "via", family.gateway, "dev", Self.nearLink)
    }

    /// A route to the far address that swallows everything.
    package func addBlackhole() throws {
        try near.run("ip", family.option, "route", "add", "blackhole", family.farWithPrefix)
    }

    package func removeBlackhole() throws {
        try near.run("ip", family.option, "route", "delete", "blackhole", family.farWithPrefix)
    }

    /// Puts files in the place of the system's, for what is started on the near side from now on.
    package func replaceFiles(_ files: [String: String]) throws {
        try near.perform {
            guard prsnl_unshare_mounts() == 0,
                mount(nil, "/", nil, UInt(MS_REC) | UInt(MS_PRIVATE), nil) == 0
            else { throw Self.failure("a mount namespace") }
            for (path, other) in files {
                guard mount(other, path, nil, UInt(MS_BIND), nil) == 0 else { throw Self.failure("mount \(path)") }
            }
        }
    }

    /// Lets nothing that is started on the near side from now on have a netlink socket. The near end can then be changed from
    /// outside only.
    package func refuseNetlink() throws {
        try near.perform {
            guard prsnl_refuse_netlink() == 0 else { throw Self.failure("seccomp") }
        }
    }

    /// Runs a program in the near network and from a thread that nothing was refused.
    package func runFromOutside(_ program: String, _ arguments: String...) throws {
        try far.run("nsenter", ["--net=\(try near.path)", program] + arguments)
    }

    // MARK: The far end

    /// The other end's carrier is lost by this.
    package func unplug() throws { try far.run("ip", "link", "set", Self.farLink, "down") }

    /// Plugs in again what was unplugged.
    package func plug() throws {
        try far.run("ip", "link", "set", Self.farLink, "up")
        // IPv6 addresses go with the link's last up.
        try far.run("ip", "address", "replace", family.gatewayWithPrefix, "dev", Self.farLink)
    }

    /// Filters what arrives at the far end, by rules of nft(8), in place of those before; none for no rules.
    package func filter(_ rules: String...) throws {
        // Removing what is not there is an error, unless it was just made.
        try far.run("nft", "add table inet cable; delete table inet cable")
        guard !rules.isEmpty else { return }
        try far.run("nft", "add table inet cable; add chain inet cable in { type filter hook input priority 0; }")
        for rule in rules { try far.run("nft", "add rule inet cable in \(rule)") }
    }

    /// Leads connections to one port of the far end to another one of it; `nil` for no longer.
    package func redirect(port: UInt16, to other: UInt16?) throws {
        try far.run("nft", "add table inet portal; delete table inet portal")
        guard let other else { return }
        try far.run(
            "nft", "add table inet portal; add chain inet portal in { type nat hook prerouting priority -100; }")
        try far.run("nft", "add rule inet portal in tcp dport \(port) redirect to :\(other)")
    }

    /// Lets what the far end sends go no faster (tc-tbf(8)); `nil` for as fast as it will.
    package func slowDown(to rate: String?) throws {
        guard let rate else { return try far.run("tc", "qdisc", "delete", "dev", Self.farLink, "root") }
        try far.run(
            "tc", "qdisc", "add", "dev", Self.farLink, "root", "tbf", "rate", rate, "burst", "4kb", "latency", "2s")
    }

    /// What comes from an address of one link leaves that link through no router: RFC 4291, section 2.5.6. The far end
    /// would take it, because it is router and server in one.
    private func beRouter() throws {
        try far.run("nft", "add table inet router; add chain inet router in { type filter hook input priority -10; }")
        try far.run("nft", "add rule inet router in ip6 saddr fe80::/10 ip6 daddr \(family.farAddress) drop")
    }

    // MARK: Making it

    /// As a path for ip(8).
    private static func ownNamespace() throws -> String {
        guard let thread = realpath("/proc/thread-self", nil) else { throw failure("/proc/thread-self") }
        defer { free(thread) }
        return "\(String(cString: thread))/ns/net"
    }

    /// For all links that are made from now on.
    private static func setIPv6(
        _ network: NetworkNamespace, _ name: String, _ value: String, isNeeded: Bool = true
    ) throws {
        let file = "/proc/sys/net/ipv6/conf/default/\(name)"
        try network.run("sh", "-c", (isNeeded ? "" : "[ ! -e \(file) ] || ") + "echo \(value) >\(file)")
    }

    private static func failure(_ what: String) -> NetworkNamespace.Failure {
        NetworkNamespace.Failure(description: "\(what): \(String(cString: strerror(errno)))")
    }
}
