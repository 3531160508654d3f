import CLinux
import Glibc
import PRSNLCore

/// An IP address as one writes it in a URL or as a connection reports it.
struct IPAddress: Sendable, Equatable {
    /// 4 or 16.
    var bytes: [UInt8]
    /// The name or number of a link, where an IPv6 address is valid on one link only (RFC 4007).
    var zone: String?

    var isIPv6: Bool { bytes.count == 16 }
    var family: Int32 { isIPv6 ? AF_INET6 : AF_INET }

    init(bytes: [UInt8], zone: String? = nil) {
        self.bytes = bytes
        self.zone = zone
    }

    /// Reads `192.0.2.1`, `2001:db8::1`, `[2001:db8::1]`, `fe80::1%eth0` and, as RFC 6874 writes it in URLs, `fe80::1%25eth0`.
    /// `nil` for a name. An IPv4 address that IPv6 carries (`::ffff:192.0.2.1`) is the IPv4 address.
    init?(_ text: String) {
        var text = text[...]
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        if text.contains(":") {
            let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
            guard let bytes = ServerURL.addressBytes(String(parts[0])), bytes.count == 16 else { return nil }
            let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
            if parts.count == 2, !isMapped {
                let zone = parts[1].hasPrefix("25") && parts[1].count > 2 ? parts[1].dropFirst(2) : parts[1]
                self.zone = String(zone)
            }
        } else {
            guard let bytes = ServerURL.addressBytes(String(text)) ?? Self.readShort(text) else { return nil }
            self.bytes = bytes
        }
    }

    /// `127.1`, `0x7f000001` and their like, which libcurl takes for addresses too (inet_aton(3)).
    private static func readShort(_ text: Substring) -> [UInt8]? {
        // inet_aton would also read what stands before a space.
        guard let first = text.utf8.first, (0x30...0x39).contains(first),
            text.utf8.allSatisfy({ $0 == 0x2E || $0 | 0x20 == 0x78 || Character(Unicode.Scalar($0)).isHexDigit })
        else { return nil }
        var address = in_addr()
        guard inet_aton(String(text), &address) != 0 else { return nil }
        return withUnsafeBytes(of: address.s_addr) { Array($0) }
    }

    /// This machine itself, whatever its links do. The unspecified address leads there too.
    var isLoopback: Bool {
        guard isIPv6 else { return bytes[0] == 127 || bytes.allSatisfy { $0 == 0 } }
        return bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] <= 1
    }

    /// fe80::/10.
    var isIPv6LinkLocal: Bool { isIPv6 && bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 }

    /// The zone's number; 0 where there is none, `nil` where it names no link of this network.
    var zoneIndex: UInt32? {
        guard let zone else { return 0 }
        let index = if_nametoindex(zone)
        if index != 0 { return index }
        return UInt32(zone).flatMap { $0 == 0 ? nil : $0 }
    }

    /// In the notation of RFC 5952, with the zone.
    var text: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return zone.map { "\(address)%\($0)" } ?? address
    }

    // MARK: For the kernel

    /// The address and a port as the system's calls take them. A zone that names nothing is left out.
    func withSocketAddress<Result>(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
            address.sin6_scope_id = zoneIndex ?? 0
            return Self.pass(address, body)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
        return Self.pass(address, body)
    }

    private static func pass<Address, Result>(
        _ address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    /// A socket's own end (getsockname(2)); `nil` where it has none.
    init?(localEndOf descriptor: Int32) {
        var storage = sockaddr_in6()  // the larger of the two
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let code = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard code == 0 else { return nil }
        let bytes = withUnsafeBytes(of: storage) { Array($0) }
        switch Int32(storage.sin6_family) {
        case AF_INET: self.init(bytes: Array(bytes[4..<8]))
        case AF_INET6: self.init(bytes: Array(bytes[8..<24]))
        default: return nil
        }
    }
}
