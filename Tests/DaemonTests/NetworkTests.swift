import Commands
import DevServer
import Glibc
import PRSNLCore
import Requests
import Synchronization
import TestSupport
import Testing

/// The network goes away in each of the ways that networks do, and comes back: what the daemon calls it, and that nothing
/// is lost, doubled or late.
@Suite(.serialized, .enabled(if: NetworkCable.isToBeUsed, Comment(rawValue: NetworkCable.obstacle ?? "")))
struct NetworkTests {
    private typealias Scene = NetworkScene

    // MARK: The kernel tells

    @Test(arguments: NetworkCable.Family.allCases)
    func linkSwitchedOff(family: NetworkCable.Family) async throws {
        let scene = try await Scene(family)
        try await scene.awayAndBack(
            state: .offline, codes: [.offline], reason: "\(NetworkCable.nearLink): down",
            leave: scene.cable.switchLinkOff,
            comeBack: scene.cable.connect)
    }

    @Test(arguments: NetworkCable.Family.allCases)
    func carrierLost(family: NetworkCable.Family) async throws {
        let scene = try await Scene(family)
        try await scene.awayAndBack(
            state: .offline, codes: [.offline], reason: "\(NetworkCable.nearLink): carrier lost",
            leave: scene.cable.unplug,
            comeBack: scene.cable.plug)
    }

    @Test(arguments: NetworkCable.Family.allCases)
    func addressRemoved(family: NetworkCable.Family) async throws {
        let scene = try await Scene(family)
        let words = "\(NetworkCable.nearLink): address \(family.nearAddress)"
        try await scene.awayAndBack(
            state: .offline, codes: [.offline], reason: words, leave: scene.cable.removeAddress,
            comeBack: scene.cable.connect)
    }

    @Test(arguments: NetworkCable.Family.allCases)
    func defaultRouteRemoved(family: NetworkCable.Family) async throws {
        let scene = try await Scene(family)
        try await scene.awayAndBack(
            state: .offline, codes: [.offline], reason: "default route via \(family.gateway) gone",
            leave: scene.cable.removeDefaultRoute, comeBack: scene.cable.addDefaultRoute)
    }

    @Test(arguments: NetworkCable.Family.allCases)
    func blackholeRoute(family: NetworkCable.Family) async throws {
        let scene = try await Scene(family)
        try await scene.awayAndBack(
            state: .offline, codes: [.offline], reason: "blackhole", leave: scene.cable.addBlackhole,
            comeBack: scene.cable.removeBlackhole)
    }

    /// What is sent over a link without a carrier makes the kernel ask for the gateway's address in vain; the first request
    /// after the link's return would wait for its next try, a second later.
    @Test func nothingIsSentOverALinkThatIsGone() async throws {
        let scene = try await Scene()
        try scene.cable.unplug()
        try await scene.waitFor(state: .offline)
        // TCP_FIN_WAIT1 (tcp_states.h): closed from here, and not acknowledged.
        try scene.cable.near.run("sh", "-c", "! awk '$4 == \"04\"' /proc/net/tcp | grep .")
        try scene.cable.plug()
        try await scene.waitFor(state: .online)
        #expect(try await scene.daemon.terminate() == .status(0), "\(scene.daemon.stderr)")
    }

    /// Everything in any order, one upon the other, and writes in between.
    @Test func networkThatIsNeverQuiet() async throws {
        var random = SeededRandom()
        let scene = try await Scene()
        let cable = scene.cable
        let port = scene.server.port
        let troubles: [() throws -> Void] = [
            cable.switchLinkOff, cable.unplug, cable.removeDefaultRoute, cable.addBlackhole,
            scene.server.refuseConnections, scene.server.closeConnections,
            { try cable.filter("tcp dport \(port) drop") }, { try cable.filter("tcp sport \(port) drop") },
            { try cable.filter("tcp dport \(port) numgen random mod 2 < 1 drop") },
        ]
        /// As if there had never been anything. The server's port may be open, and what is not there cannot be removed.
        func mend() throws {
            try cable.plug()
            try cable.near.run(
                "sh", "-c", "ip route delete blackhole \(cable.family.farAddress)/32 2>/dev/null || true")
            try cable.connect()
            try cable.filter()
            scene.server.refuseConnections()
            try scene.acceptConnections()
        }
        var urls: [String] = []
        for round in 1...12 {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let trouble = Int.random(in: troubles.indices, using: &random)
                // The routes of a link that is off cannot be changed.
                do { try troubles[trouble]() } catch is NetworkNamespace.Failure { continue }
                let url = "https://example.com/\(round)/\(urls.count)"
                try await scene.capture(url)
                urls.append(url)
            }
            try mend()
            if Bool.random(using: &random) {
                try await scene.waitFor("the network's return") { $0.daemon?.connectivity.state == .online }
            }
        }
        try await scene.waitFor("an empty queue", within: .seconds(180)) { $0.outbox?.waiting == 0 }
        try await scene.expectDelivered(state: nil, urls: urls)
    }

    // MARK: Only the server, or its silence, tells

    @Test func serverStopped() async throws {
        let scene = try await Scene()
        try await scene.awayAndBack(
            state: .unreachable, codes: [.connectFailed], asksFirst: true, leave: scene.server.refuseConnections,
            comeBack: scene.acceptConnections)
    }

    @Test func portFiltered() async throws {
        let scene = try await Scene()
        try await scene.awayAndBack(
            state: .unreachable, codes: [.timedOut], asksFirst: true,
            leave: {
                try scene.cable.filter("tcp dport \(scene.server.port) drop")
                scene.server.closeConnections()
            }, comeBack: { try scene.cable.filter() })
    }

    @Test func captivePortal() async throws {
        let scene = try await Scene()
        // Answers everything with a page of its own.
        let portal = try scene.cable.far.perform {
            var configuration = DevServer.Configuration()
            configuration.address = NetworkCable.Family.ipv4.gateway
            return try DevServer.start(configuration)
        }
        portal.script(.portal, on: .any, times: .max)
        try await scene.awayAndBack(
            state: .portal, codes: [.portal], asksFirst: true,
            leave: {
                try scene.cable.redirect(port: scene.server.port, to: portal.port)
                scene.server.closeConnections()
            }, comeBack: { try scene.cable.redirect(port: scene.server.port, to: nil) })
        portal.stop()
    }

    // MARK: A bad way

    @Test func packetLoss() async throws {
        let scene = try await Scene()
        try scene.cable.filter("tcp dport \(scene.server.port) numgen random mod 100 < 35 drop")
        let urls = (1...5).map { "https://example.com/lossy/\($0)" }
        for url in urls {
            // New connections, so that their beginnings are lost too.
            scene.server.closeConnections()
            try await scene.capture(url)
        }
        let patience: Duration = .seconds(240)
        try await scene.waitFor("an empty queue", within: patience) { $0.outbox?.waiting == 0 }
        try scene.cable.filter()
        try await scene.expectDelivered(state: nil, urls: urls, within: patience)
    }

    @Test func slowLink() async throws {
        let scene = try await Scene()
        try scene.cable.slowDown(to: "64kbit")
        try await scene.capture()
        let new = scene.server.addNew(count: 20)
        #expect(new.count == 20)
        try await scene.expectDelivered(state: nil)
        #expect(!scene.daemon.stderr.contains("unreachable"), "slow is not gone: \(scene.daemon.stderr)")
    }

    /// No event and no request tells: only that the daemon looks by itself, once a minute, and while it is offline every ten
    /// seconds.
    @Test func netlinkRefused() async throws {
        let scene = try await Scene { try $0.refuseNetlink() }
        #expect(try await scene.fixture.status().daemon?.network?.listening == .polling)
        let text = try await scene.fixture.control("status").stdout
        #expect(text.contains("netlink is not permitted"), "\(text)")
        let gateway = scene.cable.family.gateway
        try await scene.awayAndBack(
            state: .offline, codes: [.offline], reason: "no route to \(scene.cable.family.farAddress)",
            within: .seconds(120),
            leave: { try scene.cable.runFromOutside("ip", "route", "delete", "default") },
            comeBack: { try scene.cable.runFromOutside("ip", "route", "add", "default", "via", gateway) })
    }

    @Test func serverStoppedWhereNetlinkIsRefused() async throws {
        let scene = try await Scene { try $0.refuseNetlink() }
        try await scene.awayAndBack(
            state: .unreachable, codes: [.connectFailed], asksFirst: true, leave: scene.server.refuseConnections,
            comeBack: scene.acceptConnections)
    }

    // MARK: Names

    /// Files that let a name lead to the server's address, and name a server for names.
    private final class Names: Sendable {
        let folder = TemporaryDirectory("names")
        let host = "prsnl.example.org"

        init(isKnown: Bool, server: String = NetworkCable.Family.ipv4.gateway) throws {
            try TestFile.write(
                "nameserver \(server)\noptions timeout:5 attempts:4\n", to: folder.file("resolv.conf"), mode: 0o644)
            try setKnown(isKnown)
        }

        func setKnown(_ isKnown: Bool) throws {
            let line = isKnown ? "\(NetworkCable.Family.ipv4.farAddress) \(host)\n" : "\n"
            try TestFile.write(line, to: folder.file("hosts"), mode: 0o644)
        }

        func install(_ cable: NetworkCable) throws {
            try cable.replaceFiles([
                "/etc/hosts": folder.file("hosts"), "/etc/resolv.conf": folder.file("resolv.conf"),
            ])
        }
    }

    @Test func nameServerDead() async throws {
        let names = try Names(isKnown: false)
        let nameServer = Mutex<SilentNameServer?>(nil)
        let scene = try await Scene(host: names.host, waits: false) { cable in
            try names.install(cable)
            let server = try SilentNameServer(in: cable.far, address: NetworkCable.Family.ipv4.gateway)
            nameServer.withLock { $0 = server }
        }
        try await nameServer.withLock(\.self)?.waitForQuestion()
        try await scene.awayAndBack(
            state: .unreachable, codes: [.nameNotResolved, .timedOut], leave: {},
            comeBack: { try names.setKnown(true) })
    }

    /// One that takes questions and never answers, and a machine without one.
    @Test(arguments: [true, false])
    func aPingSaysThatTheNameIsNotResolved(isListening: Bool) async throws {
        let names = try Names(isKnown: false, server: isListening ? NetworkCable.Family.ipv4.gateway : "127.0.0.1")
        let nameServer = Mutex<SilentNameServer?>(nil)
        let scene = try await Scene(host: names.host, waits: false) { cable in
            try names.install(cable)
            guard isListening else { return }
            let server = try SilentNameServer(in: cable.far, address: NetworkCable.Family.ipv4.gateway)
            nameServer.withLock { $0 = server }
        }
        try await scene.waitFor(state: .unreachable)
        let ended = try await scene.fixture.control("ping", "--json")
        #expect(ended.exit == .status(1), "\(ended)")
        let report = try scene.fixture.decode(PingReport.self, ended)
        #expect(report.failedPhase == .name && report.error?.codeName == "name_not_resolved", "\(ended)")
        #expect(
            report.error?.message == "Network error: the name \(names.host) cannot be resolved.", "\(ended)")
        #expect(report.error?.recoverySuggestion.description.contains("name servers") == true)
        #expect(try await scene.daemon.terminate() == .status(0), "\(scene.daemon.stderr)")
        withExtendedLifetime(nameServer) {}
    }

    @Test func nameWithoutNetwork() async throws {
        let names = try Names(isKnown: false)
        let scene = try await Scene(host: names.host, waits: false) { cable in
            try names.install(cable)
            try cable.switchLinkOff()
        }
        try await scene.awayAndBack(
            state: .offline, codes: [.offline], reason: names.host, leave: {},
            comeBack: {
                try names.setKnown(true)
                try scene.cable.connect()
            })
    }

    /// One that never comes so far: what it asks first is the name, for ten minutes. The name server is on its own machine, so
    /// that it can be asked without a network too.
    private func asking() async throws -> (Scene, Names, SilentNameServer) {
        let names = try Names(isKnown: false, server: "127.0.0.1")
        let nameServer = Mutex<SilentNameServer?>(nil)
        let scene = try await Scene(
            host: names.host, waits: false, ["connect_timeout": "10m", "request_timeout": "1h", "stall_timeout": "1h"]
        ) { cable in
            try names.install(cable)
            let server = try SilentNameServer(in: cable.near, address: "127.0.0.1")
            nameServer.withLock { $0 = server }
        }
        let server = try #require(nameServer.withLock { $0 })
        try await server.waitForQuestion()
        return (scene, names, server)
    }

    @Test func deadNameServerDoesNotDelayTheEnd() async throws {
        let (scene, _, nameServer) = try await asking()
        // Exit code 1 would say that something did not end in time.
        #expect(try await scene.daemon.terminate() == .status(0), "\(scene.daemon.stderr)")
        withExtendedLifetime(nameServer) {}
    }

    @Test func deadNameServerDoesNotDelayGoingOffline() async throws {
        let (scene, names, nameServer) = try await asking()
        try scene.cable.switchLinkOff()
        try await scene.waitFor("a pull that is cancelled") { report in
            report.daemon?.connectivity.state == .offline && report.daemon?.activity != .pulling
        }
        // The second round comes after five seconds; a pull that had waited for the resolver would have seen it.
        #expect(nameServer.drain() <= 1, "IPv4 and IPv6 are asked for at once; more is a second round")
        try names.setKnown(true)
        try scene.cable.connect()
        try await scene.waitForCopy()
        #expect(try await scene.daemon.terminate() == .status(0), "\(scene.daemon.stderr)")
        withExtendedLifetime(nameServer) {}
    }
}
