import CLinux
import Glibc
import PRSNLCore

/// An IP address as one writes it in a URL or as a connection reports it.
struct IPAddress: Sendable, Equatable {
    /// 4 or 16.
    var bytes: [UInt8]

    var isIPv6: Bool { bytes.count == 16 }
    var family: Int32 { isIPv6 ? AF_INET6 : AF_INET }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads `192.0.2.1`, `2001:db8::1` and `[2001:db8::1]`. `nil` for a name, and for an address with a link (`fe80::1%eth0`), which
    /// is asked about as a name is. An IPv4 address that IPv6 carries (`::ffff:192.0.2.1`) is the IPv4 address.
    init?(_ text: String) {
        var text = text[...]
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        guard let bytes = ServerURL.addressBytes(String(text)) else { return nil }
        let isMapped = bytes.count == 16 && bytes.starts(with: Array(repeating: 0, count: 10) + [0xFF, 0xFF])
        self.bytes = isMapped ? Array(bytes.suffix(4)) : bytes
    }

    /// This machine itself, whatever its links do. The unspecified address leads there too.
    var isLoopback: Bool {
        guard isIPv6 else { return bytes[0] == 127 || bytes.allSatisfy { $0 == 0 } }
        return bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] <= 1
    }

    /// fe80::/10.
    var isIPv6LinkLocal: Bool { isIPv6 && bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 }

    /// In the notation of RFC 5952.
    var text: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
    }

    // MARK: For the kernel

    /// The address and a port as the system's calls take them.
    func withSocketAddress<Result>(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
            return Descriptors.withAddress(address, body)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
        return Descriptors.withAddress(address, body)
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
