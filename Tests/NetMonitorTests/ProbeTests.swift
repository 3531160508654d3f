import CLinux
import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import NetMonitor

/// Pings over ICMP.
@Suite struct ProbeTests {
    private static let longTime: Duration = .seconds(3_600)

    private static func neverCancelled() throws -> EventDescriptor {
        try #require(EventDescriptor())
    }

    private static func isAnswered(_ outcome: EchoProbe.Outcome?) -> Bool {
        if case .answered = outcome { true } else { false }
    }

    /// A name: words, and no wait.
    @Test func whatIsNoAddressIsNoAnswer() async throws {
        #expect(
            try await EchoProbe.ping("prsnl.example", within: Self.longTime)
                == .noAnswer(because: "prsnl.example is not an IP address"))
    }

    @Test(
        .enabled(if: NetworkNamespace.canBeMade, "needs root, for a network namespace"),
        arguments: ["127.0.0.1", "::1"])
    func anEchoIsAnsweredWhereTheGroupMayAsk(_ address: String) throws {
        let network = try NetworkNamespace()
        try network.set("net/ipv4/ping_group_range", "0 0")
        let outcome = try network.perform { try EchoProbe.run(address, within: Self.longTime, Self.neverCancelled()) }
        #expect(Self.isAnswered(outcome), "\(String(describing: outcome))")
    }

    @Test(
        .enabled(if: NetworkNamespace.canBeMade, "needs root, for a network namespace"),
        arguments: ["127.0.0.1", "::1"])
    func anEchoIsNotPermittedWhereNoGroupMayAsk(_ address: String) throws {
        let network = try NetworkNamespace()
        try network.set("net/ipv4/ping_group_range", "1 0")
        let outcome = try network.perform { try EchoProbe.run(address, within: Self.longTime, Self.neverCancelled()) }
        #expect(outcome == .notPermitted(errno: EACCES))
    }

    /// Two networks with a cable between them.
    private func pair() async throws -> (here: NetworkNamespace, there: NetworkNamespace) {
        let (here, there) = (try NetworkNamespace(), try NetworkNamespace())
        try here.run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", there.path)
        for (network, link, number) in [(here, "v0", 2), (there, "v1", 1)] {
            try network.run("ip", "address", "add", "192.0.2.\(number)/24", "dev", link)
            try network.run("ip", "address", "add", "2001:db8:5::\(number)/64", "dev", link, "nodad")
            try network.run("ip", "link", "set", link, "up")
            try network.set("net/ipv4/ping_group_range", "0 0")
        }
        try await eventually("a carrier") {
            try here.perform { try NetworkSnapshot.read() }.links.values.allSatisfy(\.hasCarrier)
        }
        return (here, there)
    }

    @Test(.enabled(if: NetworkNamespace.canBeMade, "needs root, for a network namespace"))
    func anotherMachineAnswersAndOneThatKeepsSilentDoesNot() async throws {
        let (here, there) = try await pair()
        for address in ["192.0.2.1", "2001:db8:5::1"] {
            let outcome = try here.perform { try EchoProbe.run(address, within: Self.longTime, Self.neverCancelled()) }
            #expect(Self.isAnswered(outcome), "\(String(describing: outcome))")
        }
        try there.set("net/ipv4/icmp_echo_ignore_all", "1")
        let outcome = try here.perform {
            try EchoProbe.run("192.0.2.1", within: .milliseconds(50), Self.neverCancelled())
        }
        #expect(outcome == .noAnswer(because: "no answer in time"))
    }

    @Test(.enabled(if: NetworkNamespace.canBeMade, "needs root, for a network namespace"))
    func anEchoThatIsLostIsSentAgain() async throws {
        let (here, there) = try await pair()
        try there.set("net/ipv4/icmp_echo_ignore_all", "1")
        async let outcome = Task.detached {
            try here.perform { try EchoProbe.run("192.0.2.1", within: Self.longTime, Self.neverCancelled()) }
        }.value
        // The first request has been ignored by now, or else is answered, which is no failure either.
        try await eventually("an echo request that is ignored") {
            let counters = try there.perform { try TestFile.text("/proc/thread-self/net/snmp") }
            let icmp = counters.split(separator: "\n").filter { $0.hasPrefix("Icmp: ") }.map {
                $0.split(separator: " ")
            }
            guard icmp.count == 2, let column = icmp[0].firstIndex(of: "InEchos") else { return false }
            return icmp[1][column] != "0"
        }
        try there.set("net/ipv4/icmp_echo_ignore_all", "0")
        #expect(Self.isAnswered(try await outcome))
    }

    @Test(.enabled(if: NetworkNamespace.canBeMade, "needs root, for a network namespace"))
    func withoutARouteThereIsNoAnswerAndNoWait() throws {
        let network = try NetworkNamespace()
        try network.set("net/ipv4/ping_group_range", "0 0")
        let echo = try network.perform { try EchoProbe.run("192.0.2.1", within: Self.longTime, Self.neverCancelled()) }
        #expect(echo == .noAnswer(because: "Network is unreachable"))
    }

    @Test(.enabled(if: NetworkNamespace.canBeMade, "needs root, for a network namespace"))
    func anEchoThatIsCancelledEndsAtOnce() async throws {
        let (here, there) = try await pair()
        try there.set("net/ipv4/icmp_echo_ignore_all", "1")
        let cancellation = try #require(EventDescriptor())
        async let outcome = Task.detached {
            try here.perform { EchoProbe.run("192.0.2.1", within: Self.longTime, cancellation) }
        }.value
        cancellation.signal()
        #expect(try await outcome == nil)
    }

    /// Whether it is answered, not permitted to this user, or cancelled.
    @Test func aProbeLeavesNoThreadAndNoDescriptor() async throws {
        try await expectNothingLeft(threads: "prsnl-probe") {
            _ = try await EchoProbe.ping("127.0.0.1", within: .milliseconds(1))
            let probe = Task { try await EchoProbe.ping("127.0.0.1", within: Self.longTime) }
            probe.cancel()
            _ = await probe.result
        }
    }

    @Test func onlyTheAnswerToARequestOfOursCounts() {
        let now = ContinuousClock.now
        var conversation = EchoConversation(isIPv6: false, token: 0x0102_0304_0506_0708)
        let first = conversation.request(at: now)
        let second = conversation.request(at: now + .seconds(1))
        func answer(_ request: [UInt8], _ change: (inout [UInt8]) -> Void = { _ in }) -> Duration? {
            var bytes = request
            bytes[0] = 0
            change(&bytes)
            return conversation.time(of: bytes[...], at: now + .seconds(3))
        }
        #expect(answer(first) == .seconds(3))
        #expect(answer(second) == .seconds(2))
        #expect(answer(first) { $0[0] = 8 } == nil, "a request")
        #expect(answer(first) { $0[7] = 2 } == nil, "a number that was not sent")
        #expect(answer(first) { $0[15] ^= 1 } == nil, "another token")
        #expect(answer(first) { $0.removeLast() } == nil, "cut off")
        #expect(conversation.time(of: [], at: now) == nil)
    }
}
