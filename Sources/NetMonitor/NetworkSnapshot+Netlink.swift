import CLinux
import Glibc

// Building a snapshot from the messages of a dump. Constants are those of linux/rtnetlink.h and linux/if*.h.
extension NetworkSnapshot {
    enum MessageType {
        static let newLink: UInt16 = 16
        static let newAddress: UInt16 = 20
        static let newRoute: UInt16 = 24
    }

    /// Takes up one message of a dump; those of other kinds, and half ones, say nothing.
    mutating func take(_ message: NetlinkMessage) {
        switch message.type {
        case MessageType.newLink: takeLink(message.payload)
        case MessageType.newAddress: takeAddress(message.payload)
        case MessageType.newRoute: takeRoute(message.payload)
        default: break
        }
    }

    /// `struct ifinfomsg`: family, type, index, flags, change; 16 bytes.
    private mutating func takeLink(_ payload: ArraySlice<UInt8>) {
        let start = payload.startIndex
        guard payload.count >= 16, let index = payload.uint32(at: start + 4), let flags = payload.uint32(at: start + 8)
        else { return }
        let attributes = NetlinkAttributes(payload.dropFirst(16))
        let state = attributes.uint8(16) ?? 0  // IFLA_OPERSTATE
        let isRunning = flags & 0x40 != 0  // IFF_RUNNING
        links[Int32(bitPattern: index)] = Link(
            name: attributes.text(3) ?? "link \(index)",  // IFLA_IFNAME
            isUp: flags & 0x1 != 0,  // IFF_UP
            // IF_OPER_UP is 6; many virtual links never say more than IF_OPER_UNKNOWN, 0.
            hasCarrier: state == 6 || state == 0 && isRunning,
            isLoopback: flags & 0x8 != 0)  // IFF_LOOPBACK
    }

    /// `struct ifaddrmsg`: family, prefix length, flags, scope, index; 8 bytes.
    private mutating func takeAddress(_ payload: ArraySlice<UInt8>) {
        let start = payload.startIndex
        guard payload.count >= 8, let index = payload.uint32(at: start + 4) else { return }
        let attributes = NetlinkAttributes(payload.dropFirst(8))
        // IFA_LOCAL is our end of a point-to-point link, IFA_ADDRESS the other one.
        guard let bytes = attributes[2] ?? attributes[1], let text = Self.address(bytes, family: payload[start]) else {
            return
        }
        let flags = attributes.uint32(8) ?? UInt32(payload[start + 2])  // IFA_FLAGS
        // Not usable yet, or not at all: duplicate address detection runs (IFA_F_TENTATIVE) or has failed.
        guard flags & (0x40 | 0x08) == 0 else { return }
        addresses.insert(
            Address(
                link: Int32(bitPattern: index), text: text, prefixLength: payload[start + 1],
                isIPv6: payload[start] == UInt8(AF_INET6), isLinkLocal: payload[start + 3] == 253))  // RT_SCOPE_LINK
    }

    /// `struct rtmsg`: family, destination length, …, table, protocol, scope, type, flags; 12 bytes.
    private mutating func takeRoute(_ payload: ArraySlice<UInt8>) {
        let start = payload.startIndex
        guard payload.count >= 12, payload[start + 1] == 0 else { return }  // default routes only
        let attributes = NetlinkAttributes(payload.dropFirst(12))
        guard attributes.uint32(15) ?? UInt32(payload[start + 4]) == 254 else { return }  // RTA_TABLE: the main one
        let kind: Route.Kind
        switch payload[start + 7] {
        case 1: kind = .unicast
        case 6: kind = .blackhole
        case 7: kind = .unreachable
        case 8: kind = .prohibit
        default: return
        }
        let family = payload[start]
        defaultRoutes.insert(
            Route(
                isIPv6: family == UInt8(AF_INET6),
                gateway: attributes[5].flatMap { Self.address($0, family: family) },  // RTA_GATEWAY
                link: attributes.uint32(4).map { Int32(bitPattern: $0) },  // RTA_OIF
                metric: attributes.uint32(6) ?? 0, kind: kind))  // RTA_PRIORITY
    }

    private static func address(_ bytes: ArraySlice<UInt8>, family: UInt8) -> String? {
        guard bytes.count == (family == UInt8(AF_INET6) ? 16 : 4) else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isWritten = bytes.withUnsafeBytes { bytes in
            inet_ntop(Int32(family), bytes.baseAddress, &text, socklen_t(text.count)) != nil
        }
        guard isWritten else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
