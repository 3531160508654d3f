import CLinux
import Glibc

@testable import NetMonitor

/// A datagram from the kernel: its messages, and the snapshots that they make.
extension FuzzTarget {
    static let netlink = FuzzTarget(name: "netlink") { bytes in
        let messages: [NetlinkMessage]
        do { messages = try NetlinkMessage.parse(bytes[...]) } catch { return }
        let size = messages.map { NetlinkMessage.headerSize + $0.payload.count }.reduce(0, +)
        require(size <= bytes.count, "\(size) bytes of messages in \(bytes.count)")
        require(written(messages) == messages, "reads as other messages")

        // The state before and after the second half of them.
        var old = NetworkSnapshot()
        for message in messages.prefix(messages.count / 2) { old.take(message) }
        var new = old
        for message in messages.dropFirst(messages.count / 2) { new.take(message) }
        check(new)
        check(old, new)
        check(new, old)
        check(NetworkSnapshot(), new)
    }

    private static func check(_ old: NetworkSnapshot, _ new: NetworkSnapshot) {
        let changes = old.changes(to: new)
        // Nothing is said of a state that is not known.
        let isSaid = old.isKnown && new.isKnown && old != new
        require(changes.isEmpty != isSaid, "changed and not said, or said and not changed: \(changes)")
        require(changes.allSatisfy { !$0.isEmpty }, "a change without words")
    }

    private static func check(_ snapshot: NetworkSnapshot) {
        for address in snapshot.addresses {
            require(isAddress(address.text, isIPv6: address.isIPv6), "no address: \(address)")
            require(address.prefixLength <= (address.isIPv6 ? 128 : 32), "a prefix that is too long: \(address)")
        }
        for route in snapshot.defaultRoutes {
            if let gateway = route.gateway {
                require(isAddress(gateway, isIPv6: route.isIPv6 || gateway.contains(":")), "no gateway: \(route)")
            }
            require(!route.words(in: snapshot).isEmpty, "a route without words")
        }
        for link in snapshot.links.values {
            require(!link.name.isEmpty, "a link without a name")
            // A name goes to a terminal and into the log, and a sandbox's may be chosen by a stranger.
            require(link.name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "\(link)")
        }
        _ = (snapshot.hasUsableLink, !snapshot.defaultRoutes.isEmpty)
    }

    private static func isAddress(_ text: String, isIPv6: Bool) -> Bool {
        var address = in6_addr()
        return inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, &address) == 1
    }

    /// The messages as a datagram, read again.
    private static func written(_ messages: [NetlinkMessage]) -> [NetlinkMessage]? {
        var bytes: [UInt8] = []
        for message in messages {
            let length = NetlinkMessage.headerSize + message.payload.count
            withUnsafeBytes(of: UInt32(length)) { bytes += $0 }
            withUnsafeBytes(of: message.type) { bytes += $0 }
            withUnsafeBytes(of: message.flags) { bytes += $0 }
            withUnsafeBytes(of: message.sequence) { bytes += $0 }
            bytes += [0, 0, 0, 0] + message.payload
            bytes += [UInt8](repeating: 0, count: NetlinkMessage.aligned(length) - length)
        }
        do { return try NetlinkMessage.parse(bytes[...]) } catch { return nil }
    }
}
