import PRSNLCore
import TestSupport
import Testing

@testable import NetMonitor

/// The parser of netlink messages, with what a kernel has sent and with what none would.
@Suite struct NetlinkMessageTests {
    /// RTM_NEWLINK of `lo`, up and running, shortened to the attributes that are read.
    static let loopback = header(
        type: 16,
        payload: joined(
            [0, 0, 4, 3], word(1), word(0x10049), word(0), attribute(3, joined(Array("lo".utf8), [0])),
            attribute(16, [0])))
    static let address = header(
        type: 20,
        payload: joined(
            [2, 24, 0x80, 0], word(2), attribute(1, [192, 0, 2, 7]), attribute(2, [192, 0, 2, 7])))
    static let route = header(
        type: 24,
        payload: joined([2, 0, 0, 0, 254, 4, 0, 1], word(0), attribute(4, word(2)), attribute(5, [192, 0, 2, 1])))

    /// Swift 6.0 takes minutes to find the types of a long sum of arrays.
    private static func joined(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap(\.self) }

    static func word(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value, Array.init) }
    static func half(_ value: UInt16) -> [UInt8] { withUnsafeBytes(of: value, Array.init) }

    static func attribute(_ type: UInt16, _ bytes: [UInt8]) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
        return half(UInt16(bytes.count + 4)) + half(type) + bytes + padding
    }

    static func header(type: UInt16, payload: [UInt8]) -> [UInt8] {
        word(UInt32(payload.count + 16)) + half(type) + half(0) + word(1) + word(0) + payload
    }

    private func snapshot(_ bytes: [UInt8]) throws -> NetworkSnapshot {
        var snapshot = NetworkSnapshot()
        for message in try NetlinkMessage.parse(bytes[...]) { snapshot.take(message) }
        return snapshot
    }

    @Test func linksAddressesAndDefaultRoutesAreRead() throws {
        let read = try snapshot(Self.loopback + Self.address + Self.route)
        #expect(read.links == [1: .init(name: "lo", isUp: true, hasCarrier: true, isLoopback: true)])
        #expect(
            read.addresses == [
                .init(link: 2, text: "192.0.2.7", prefixLength: 24, isIPv6: false, isLinkLocal: false)
            ])
        #expect(
            read.defaultRoutes == [.init(isIPv6: false, gateway: "192.0.2.1", link: 2, metric: 0, kind: .unicast)])
    }

    @Test func everyTruncationIsReadOrRefusedAndNothingElse() {
        let whole = Self.loopback + Self.address + Self.route
        for count in 0..<whole.count {
            do { _ = try snapshot(Array(whole[..<count])) } catch { #expect(error is NetlinkSocket.Failure) }
        }
    }

    @Test func mutatedMessagesAreReadOrRefusedAndNothingElse() {
        var random = SeededRandom()
        let whole = Self.loopback + Self.address + Self.route
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0...Int.random(in: 0..<6, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            // From any place on: a slice has its own indices.
            let start = Int.random(in: 0..<bytes.count, using: &random)
            do { _ = try snapshot(Array(bytes[start...])) } catch { #expect(error is NetlinkSocket.Failure) }
        }
    }

    @Test(arguments: [UInt32(0), 15, 17, 4_096, .max])
    func aLengthThatCannotBeIsRefused(_ length: UInt32) {
        var bytes = Self.address
        bytes.replaceSubrange(0..<4, with: Self.word(length))
        #expect(throws: NetlinkSocket.Failure.lost) { try NetlinkMessage.parse(bytes[...]) }
    }

    // MARK: Found while fuzzing

    @Test(arguments: [("e\u{1B}[2J", "e?[2J"), ("", "link 1"), ("wlan0\u{7F}", "wlan0?")])
    func aLinksNameIsFitForATerminal(_ sent: String, _ shown: String) throws {
        let link = Self.header(
            type: 16,
            payload: Self.joined(
                [0, 0, 4, 3], Self.word(1), Self.word(1), Self.word(0),
                Self.attribute(3, Self.joined(Array(sent.utf8), [0]))))
        #expect(try snapshot(link).links[1]?.name == shown)
    }

    /// AF_MPLS is 28, RTNL_FAMILY_IPMR 128 (linux/socket.h, linux/rtnetlink.h).
    @Test(arguments: [UInt8(0), 28, 128])
    func aDefaultRouteOfAnotherFamilyIsNone(_ family: UInt8) throws {
        var route = Self.route
        route[NetlinkMessage.headerSize] = family
        #expect(try snapshot(route).defaultRoutes.isEmpty)
    }

    @Test func anAddressWithAPrefixThatCannotBeIsNone() throws {
        var address = Self.address
        address[NetlinkMessage.headerSize + 1] = 33
        #expect(try snapshot(address).addresses.isEmpty)
    }

    @Test func anIndexThatWentToAnotherLinkIsAChange() throws {
        var other = Self.loopback
        other[NetlinkMessage.headerSize + 8] &= ~0x8  // without IFF_LOOPBACK
        let (old, new) = (try snapshot(Self.loopback), try snapshot(other))
        #expect(old.changes(to: new) == ["lo: another link than before"])
    }
}
