import PRSNLCore
import TestSupport
import Testing

@testable import NetMonitor

/// The listener in a network of its own.
@Suite struct NetworkListenerTests {
    private func monitor(in network: NetworkNamespace, receiveBuffer: Int32? = nil) throws -> NetworkListener {
        try network.perform { NetworkListener(receiveBuffer: receiveBuffer) }
    }

    /// Reads events until one gives that reason.
    private func wait(
        for reason: String, _ events: inout AsyncStream<NetworkEvent>.Iterator
    ) async -> NetworkEvent? {
        while let event = await events.next() {
            if event.reasons.contains(reason) { return event }
        }
        return nil
    }

    @Test func changesAreToldWithTheirReasons() async throws {
        let network = try NetworkNamespace()
        let monitor = try monitor(in: network)
        #expect(monitor.how == .netlink)
        var events = monitor.events.makeAsyncIterator()
        _ = await events.next()
        try network.run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        #expect(await wait(for: "v0: link added, down", &events) != nil)
        try network.run("ip", "address", "add", "192.0.2.2/24", "dev", "v0")
        #expect(await wait(for: "v0: address 192.0.2.2/24 added", &events) != nil)
        try network.run("ip", "link", "set", "v1", "up")
        try network.run("ip", "link", "set", "v0", "up")
        #expect(await wait(for: "v0: carrier found", &events) != nil)
        try network.run("ip", "route", "add", "default", "via", "192.0.2.1")
        let online = await wait(for: "default route via 192.0.2.1 added", &events)
        #expect(online?.snapshot.hasDefaultRoute == true && online?.snapshot.hasUsableLink == true)
        try network.run("ip", "link", "set", "v1", "down")
        #expect(await wait(for: "v0: carrier lost", &events)?.snapshot.hasUsableLink == false)
        try network.run("ip", "link", "del", "v0")
        #expect(await wait(for: "v0: link removed", &events)?.snapshot.defaultRoutes == [])
        monitor.stop()
    }

    @Test func lostEventsAreMadeUpForByTheNextLook() async throws {
        let network = try NetworkNamespace()
        let monitor = try monitor(in: network, receiveBuffer: 2_304)
        var events = monitor.events.makeAsyncIterator()
        _ = await events.next()
        try network.run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        // A few hundred events at once: the smallest buffer there is holds some of them.
        let batch = (1...400).map { "address add 10.0.\($0 / 250).\($0 % 250 + 1)/32 dev v0" }.joined(separator: "\n")
        let folder = TemporaryDirectory("flood")
        try TestFile.write(batch + "\n", to: folder.file("batch"))
        try network.run("ip", "-batch", folder.file("batch"))
        var hasLost = false
        while monitor.snapshot.addresses.count < 401, let event = await events.next() {
            hasLost = hasLost || event.hasLostEvents
            if event.snapshot.addresses.filter({ $0.link != 1 }).count == 400 { break }
        }
        #expect(hasLost)
        monitor.stop()
    }
}
