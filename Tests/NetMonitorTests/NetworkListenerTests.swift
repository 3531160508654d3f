import CLinux
import Glibc
import PRSNLCore
import Synchronization
import TestSupport
import Testing

@testable import NetMonitor

/// The listener in a network of its own.
@Suite(.enabled(if: NetworkNamespace.canBeMade, "needs root, for a network namespace"), .timeLimit(.minutes(2)))
struct NetworkListenerTests {
    private func listener(in network: NetworkNamespace, receiveBuffer: Int32? = nil) throws -> NetworkListener {
        try network.perform { try NetworkListener(receiveBuffer: receiveBuffer) }
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
        let listener = try listener(in: network)
        #expect(listener.how == .netlink)
        var events = listener.events.makeAsyncIterator()
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
        #expect(online?.snapshot.defaultRoutes.isEmpty == false && online?.snapshot.hasUsableLink == true)
        try network.run("ip", "link", "set", "v1", "down")
        #expect(await wait(for: "v0: carrier lost", &events)?.snapshot.hasUsableLink == false)
        try network.run("ip", "link", "del", "v0")
        #expect(await wait(for: "v0: link removed", &events)?.snapshot.defaultRoutes == [])
        listener.stop()
    }

    @Test func renamedLinksAndAddressesThatGoAreToldByName() async throws {
        let network = try NetworkNamespace()
        try network.run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        try network.run("ip", "address", "add", "192.0.2.2/24", "dev", "v0")
        try network.run("ip", "link", "set", "v1", "up")
        let listener = try listener(in: network)
        var events = listener.events.makeAsyncIterator()
        #expect(await events.next()?.reasons == [])
        try network.run("ip", "link", "set", "v0", "name", "lan0")
        #expect(await wait(for: "v0: renamed to lan0", &events) != nil)
        try network.run("ip", "link", "set", "lan0", "up")
        #expect(await wait(for: "lan0: carrier found", &events) != nil)
        try network.run("ip", "address", "add", "2001:db8:5::2/64", "dev", "lan0", "nodad")
        #expect(await wait(for: "lan0: address 2001:db8:5::2/64 added", &events) != nil)
        try network.run("ip", "route", "add", "default", "via", "2001:db8:5::1")
        #expect(await wait(for: "IPv6 default route via 2001:db8:5::1 added", &events) != nil)
        try network.run("ip", "route", "add", "blackhole", "default", "metric", "900")
        let closed = await wait(for: "default route (blackhole) added", &events)
        #expect(closed?.snapshot.defaultRoutes.map(\.kind).contains(.unicast) == true, "the one of IPv6")
        try network.run("ip", "route", "del", "default", "via", "2001:db8:5::1")
        let without = await wait(for: "IPv6 default route via 2001:db8:5::1 gone", &events)
        #expect(without?.snapshot.defaultRoutes.map(\.kind) == [.blackhole])
        try network.run("ip", "address", "del", "192.0.2.2/24", "dev", "lan0")
        #expect(await wait(for: "lan0: address 192.0.2.2/24 gone", &events) != nil)
        try network.run("ip", "link", "set", "lan0", "down")
        #expect(await wait(for: "lan0: down", &events)?.snapshot.hasUsableLink == false)
        listener.stop()
    }

    /// The route to a server may change without a link, an address or a default route.
    @Test func anotherRouteIsAnEventWithoutReasons() async throws {
        let network = try NetworkNamespace()
        let listener = try listener(in: network)
        var events = listener.events.makeAsyncIterator()
        _ = await events.next()
        try network.run("ip", "route", "add", "blackhole", "10.0.0.0/8")
        let event = await events.next()
        #expect(event?.reasons == [] && event?.hasLostEvents == false && event?.snapshot.isKnown == true)
        listener.stop()
    }

    /// So many changes at once that the smallest buffer there is holds a few of them only.
    private func flood(_ network: NetworkNamespace, _ lines: [String]) throws {
        let folder = TemporaryDirectory("flood")
        try TestFile.write(lines.joined(separator: "\n") + "\n", to: folder.file("batch"))
        try network.run("ip", "-batch", folder.file("batch"))
    }

    @Test func theDifferenceThatLostEventsWouldHaveToldIsFound() async throws {
        let network = try NetworkNamespace()
        let listener = try listener(in: network, receiveBuffer: 2_304)
        var events = listener.events.makeAsyncIterator()
        _ = await events.next()
        try network.run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        let addresses = (1...400).map { "10.0.\($0 / 250).\($0 % 250 + 1)/32" }
        try flood(network, addresses.map { "address add \($0) dev v0" })
        var missing = Set(addresses.map { "v0: address \($0) added" })
        var hasLost = false
        while !missing.isEmpty || !hasLost, let event = await events.next() {
            missing.subtract(event.reasons)
            hasLost = hasLost || event.hasLostEvents
        }
        #expect(hasLost && missing.isEmpty)
        #expect(listener.snapshot.addresses.filter { $0.text.hasPrefix("10.") }.count == 400)
        listener.stop()
    }

    @Test func aFloodEndsInTheRightState() async throws {
        let network = try NetworkNamespace()
        try network.run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1")
        let listener = try listener(in: network, receiveBuffer: 2_304)
        var events = listener.events.makeAsyncIterator()
        _ = await events.next()
        var random = SeededRandom()
        var lines: [String] = []
        var present: Set<String> = []
        for _ in 0..<4_000 {
            let address = "10.0.0.\(Int.random(in: 1...40, using: &random))/32"
            if present.insert(address).inserted {
                lines.append("address add \(address) dev v0")
            } else {
                present.remove(address)
                lines.append("address del \(address) dev v0")
            }
        }
        try flood(network, lines)
        var looks = 0
        func isRight(_ snapshot: NetworkSnapshot) -> Bool {
            Set(snapshot.addresses.filter { $0.link != 1 }.map { "\($0.text)/32" }) == present
        }
        while let event = await events.next(), !isRight(event.snapshot) { looks += 1 }
        #expect(looks < 400, "one per batch of events, not one per event")
        listener.stop()
    }

    @Test func stoppingEndsTheEventsAlsoTwiceAndWithoutAListener() async throws {
        let network = try NetworkNamespace()
        for _ in 0..<20 {
            let listener = try listener(in: network)
            let events = listener.events
            listener.stop()
            listener.stop()
            for await event in events { #expect(event.snapshot.isKnown) }
        }
        // The last reference ends it too.
        let events = try listener(in: network).events
        for await _ in events {}
    }

    // MARK: A kernel that refuses

    private func kernel(
        _ snapshot: @escaping @Sendable () throws(NetlinkSocket.Failure) -> NetworkSnapshot
    ) -> NetworkKernel {
        var kernel = NetworkKernel.real()
        kernel.snapshot = snapshot
        return kernel
    }

    @Test(arguments: [EPERM, EACCES, EAFNOSUPPORT, EPROTONOSUPPORT])
    func whereNetlinkIsRefusedTheNetworkIsPolled(_ code: Int32) async throws {
        var kernel = NetworkKernel.real()
        kernel.listen = { () throws(NetlinkSocket.Failure) in throw .notPermitted(code) }
        kernel.pollEvery = .seconds(3_600)
        kernel.pollEveryWhileUrgent = .milliseconds(1)
        let listener = try NetworkListener(kernel: kernel)
        #expect(listener.how == .polling && listener.reason?.hasSuffix(String(cString: strerror(code))) == true)
        var events = listener.events.makeAsyncIterator()
        let first = await events.next()
        #expect(first?.snapshot.isKnown == false && first?.reasons == [])
        // More often while a change is waited for.
        listener.setUrgent(true)
        for _ in 0..<3 { #expect(await events.next()?.snapshot.isKnown == false) }
        listener.setUrgent(false)
        listener.stop()
        while await events.next() != nil {}
    }

    @Test func aSandboxThatLetsListenAndNotAskIsPolledToo() throws {
        let listener = try NetworkListener(
            kernel: kernel { () throws(NetlinkSocket.Failure) in throw .refused(EACCES) })
        #expect(listener.how == .polling)
        listener.stop()
    }

    @Test(arguments: [NetlinkSocket.Failure.interrupted, .lost])
    func aLookThatFailsIsRepeatedWithoutAHint(_ failure: NetlinkSocket.Failure) async throws {
        let failures = Mutex(3)
        let network = try NetworkNamespace()
        let listener = try network.perform {
            try NetworkListener(
                kernel: self.kernel { () throws(NetlinkSocket.Failure) in
                    let isFailing = failures.withLock { left in
                        left -= 1
                        return left >= 0
                    }
                    if isFailing { throw failure }
                    return try NetworkSnapshot.read()
                })
        }
        #expect(listener.how == .netlink)
        var seen: [Bool] = []
        for await event in listener.events {
            seen.append(event.snapshot.isKnown)
            if event.snapshot.isKnown { break }
        }
        #expect(seen == [false, false, false, true])
        listener.stop()
    }

    @Test func stoppedOrLetGoOfItLeavesNoThreadAndNoDescriptor() async throws {
        try await expectNothingLeft(threads: "prsnl-net") {
            let listener = try NetworkListener()
            listener.stop()
            listener.stop()
            _ = try NetworkListener()
        }
    }

    // MARK: The clock

    /// As the kernel tells of it; the machine's own clock is left alone.
    @Test func aClockThatWasSetIsNoticedAtOnceEachTime() async throws {
        let readings = Mutex(ClockReading.now())
        let alarm = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        defer { close(alarm) }
        func ring() {
            var one: UInt64 = 1
            #expect(write(alarm, &one, 8) == 8)
        }
        var kernel = NetworkKernel.real()
        kernel.clocks = { readings.withLock { $0 } }
        kernel.clockAlarm = { dup(alarm) }
        let network = try NetworkNamespace()
        let listener = try network.perform { [kernel] in try NetworkListener(kernel: kernel) }
        var events = listener.events.makeAsyncIterator()
        _ = await events.next()
        for _ in 0..<3 {
            readings.withLock { $0.realtime += .seconds(3_600) }
            ring()
            #expect(await events.next()?.clock == .stepped(.seconds(3_600)))
        }
        readings.withLock {
            $0.realtime += .seconds(60)
            $0.boottime += .seconds(60)
        }
        ring()
        #expect(await events.next()?.clock == .woke(.seconds(60)))
        // And the network is looked at, whatever it has told.
        #expect(await events.next()?.snapshot.isKnown == true)
        listener.stop()
    }

    /// What the kernel itself says of the timer (proc_pid_fdinfo(5)): the wall's clock, which rings when it is set.
    @Test func theAlarmIsATimerThatTheKernelCancelsWhenTheClockIsSet() throws {
        let alarm = ClockAlarm()
        func lines() throws -> Set<String> {
            let text = String(decoding: try TestFile.read("/proc/self/fdinfo/\(alarm.descriptor)"), as: UTF8.self)
            return Set(text.split(separator: "\n").map(String.init))
        }
        // CLOCK_REALTIME; TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET
        #expect(try lines().isSuperset(of: ["clockid: 0", "settime flags: 03"]))
        alarm.reset()
        #expect(try lines().isSuperset(of: ["clockid: 0", "settime flags: 03"]))
    }
}
