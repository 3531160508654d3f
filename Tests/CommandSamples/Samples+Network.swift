import Console
package import PRSNLCore

@testable package import NetMonitor
@testable package import Requests

/// Representative networks, with fixed times.
extension Samples {
    package static var snapshot: NetworkSnapshot {
        var snapshot = NetworkSnapshot()
        snapshot.links = [
            1: .init(name: "lo", isUp: true, hasCarrier: true, isLoopback: true),
            2: .init(name: "eth0", isUp: true, hasCarrier: true, isLoopback: false),
            7: .init(name: "wlan0", isUp: true, hasCarrier: false, isLoopback: false),
            9: .init(name: "tun0", isUp: false, hasCarrier: false, isLoopback: false),
        ]
        snapshot.addresses = [
            .init(link: 1, text: "127.0.0.1", prefixLength: 8, isIPv6: false, isLinkLocal: false),
            .init(link: 2, text: "192.0.2.7", prefixLength: 24, isIPv6: false, isLinkLocal: false),
            .init(link: 2, text: "2001:db8::7", prefixLength: 64, isIPv6: true, isLinkLocal: false),
        ]
        snapshot.defaultRoutes = [
            .init(isIPv6: false, gateway: "192.0.2.1", link: 2, metric: 100, kind: .unicast),
            .init(isIPv6: false, gateway: nil, link: 9, metric: 0, kind: .unicast),
            .init(isIPv6: true, gateway: nil, link: nil, metric: 1_024, kind: .blackhole),
        ]
        return snapshot
    }

    package static let offline = UserFacingError(.offline, "No route to prsnl.example.org: eth0: carrier lost.")

    package static let away = Connectivity(
        state: .offline, since: time("2026-11-21T01:06:14Z"), reason: offline)

    package static var transitions: [ConnectivityTransition] {
        [
            ConnectivityTransition(
                at: time("2026-11-21T01:06:14Z"), state: .offline, code: "offline", reason: offline.message),
            ConnectivityTransition(at: time("2026-11-20T22:00:01Z"), state: .online),
        ]
    }

    /// Every member has a value.
    package static var net: NetReport {
        var report = NetReport(
            snapshot, how: .polling, reason: "netlink is not permitted: Operation not permitted",
            transitions: transitions, source: .daemon, now: now)
        report.route = "eth0: carrier lost"
        report.connectivity = away
        return report
    }

    package static var netChange: NetworkChange {
        NetworkChange(
            at: now, kind: .network, reasons: ["eth0: carrier lost", "default route via 192.0.2.1 gone"],
            state: .offline, route: "eth0: carrier lost")
    }

    /// Every member has a value, as no probe has them all.
    package static var ping: PingReport {
        var report = PingReport(state: .online, probe: .icmp, total: .microseconds(23_456), now: now)
        report.note = "ICMP is not permitted here: net.ipv4.ping_group_range"
        report.address = "192.0.2.9"
        report.phases = .init(name: 0.25, connect: 10, tls: 8.049, firstByte: 5)
        report.status = 200
        report.failedPhase = .answer
        report.error = problem
        report.clockOffset = -1.5
        return report
    }
}
