import TestSupport
import Testing

@testable import NetMonitor

/// The parser with recorded messages, whole, cut off, and changed.
@Suite struct RecordedDumpTests {
    private static let all = RecordedDumps.links + RecordedDumps.addresses + RecordedDumps.routes

    private func snapshot(_ bytes: [UInt8]) throws -> NetworkSnapshot {
        var snapshot = NetworkSnapshot()
        for message in try NetlinkMessage.parse(bytes[...]) { snapshot.take(message) }
        return snapshot
    }

    @Test func aRecordedNetworkIsRead() throws {
        let read = try snapshot(Self.all)
        #expect(
            read.links == [
                1: .init(name: "lo", isUp: true, hasCarrier: true, isLoopback: true),
                2: .init(name: "v1", isUp: true, hasCarrier: true, isLoopback: false),
                3: .init(name: "v0", isUp: true, hasCarrier: true, isLoopback: false),
            ])
        #expect(
            read.addresses.filter { !$0.isLinkLocal }.map(\.text).sorted() == [
                "127.0.0.1", "192.0.2.2", "2001:db8:5::2", "::1",
            ])
        #expect(
            read.addresses.filter(\.isLinkLocal).allSatisfy { $0.text.hasPrefix("fe80::") && $0.prefixLength == 64 })
        #expect(read.addresses.filter(\.isLinkLocal).count == 2)
        func route(_ gateway: String?, metric: UInt32, isIPv6: Bool = false) -> NetworkSnapshot.Route {
            .init(isIPv6: isIPv6, gateway: gateway, link: 3, metric: metric, kind: .unicast)
        }
        #expect(
            read.defaultRoutes == [
                route("192.0.2.1", metric: 100),
                // Two ways at once.
                route("192.0.2.3", metric: 200), route("192.0.2.4", metric: 200),
                // An IPv6 gateway of an IPv4 route.
                route("fe80::1", metric: 300),
                .init(isIPv6: false, gateway: nil, link: nil, metric: 900, kind: .blackhole),
                route("2001:db8:5::1", metric: 1_024, isIPv6: true),
            ])
        #expect(read.hasUsableLink && !read.defaultRoutes.isEmpty)
    }

    @Test func everyTruncationIsReadOrRefused() {
        for whole in [Self.all, RecordedDumps.events] {
            for count in 0..<whole.count {
                do { _ = try snapshot(Array(whole[..<count])) } catch { #expect(error is NetlinkSocket.Failure) }
            }
        }
    }

    @Test func everyTruncatedPayloadIsReadWithinItsBounds() throws {
        for message in try NetlinkMessage.parse((Self.all + RecordedDumps.events)[...]) {
            for count in 0..<message.payload.count {
                var short = message
                short.payload = message.payload.prefix(count)
                var snapshot = NetworkSnapshot()
                snapshot.take(short)
                #expect(snapshot.links.count <= 1 && snapshot.addresses.count <= 1)
                for route in snapshot.defaultRoutes { #expect(route.gateway.map { IPAddress($0) != nil } ?? true) }
            }
        }
    }

    /// Memory behind a slice would be read without a trap: so what is made of a message must not depend on it.
    @Test func nothingBehindAMessageIsRead() throws {
        var random = SeededRandom()
        for message in try NetlinkMessage.parse(Self.all[...]) {
            var alone = NetworkSnapshot()
            alone.take(message)
            for _ in 0..<20 {
                let noise = (0..<64).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                let padded = noise + message.payload + noise
                var embedded = message
                embedded.payload = padded[noise.count..<noise.count + message.payload.count]
                var snapshot = NetworkSnapshot()
                snapshot.take(embedded)
                #expect(snapshot == alone)
            }
        }
    }

    @Test func mutatedRecordingsAreReadOrRefused() {
        var random = SeededRandom()
        for whole in [RecordedDumps.links, RecordedDumps.addresses, RecordedDumps.routes, RecordedDumps.events] {
            for _ in 0..<2_500 {
                var bytes = whole
                for _ in 0...Int.random(in: 0..<8, using: &random) {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    // Lengths and counts are where it hurts: small, huge and off by one.
                    bytes[place] = [0, 1, 3, 4, 0x7F, 0x80, 0xFF, bytes[place] &+ 1, bytes[place] &- 1].randomElement(
                        using: &random)!
                }
                do {
                    let read = try snapshot(bytes)
                    #expect(read.links.count + read.addresses.count + read.defaultRoutes.count <= whole.count / 8)
                } catch { #expect(error is NetlinkSocket.Failure) }
            }
        }
    }

    @Test func anErrorsCodeIsRead() throws {
        func code(_ payload: [UInt8]) -> Int32? {
            NetlinkMessage(type: 2, flags: 0, sequence: 1, payload: payload[...]).errorCode
        }
        #expect(code(NetlinkMessage.native(Int32(-22)) + [1, 2, 3]) == 22)
        #expect(code(NetlinkMessage.native(Int32(0))) == 0)
        #expect(code(NetlinkMessage.native(Int32.min)) == nil)
        #expect(code([1, 2, 3]) == nil)
    }
}
