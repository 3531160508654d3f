import CLinux
import Glibc

/// A listening socket.
struct Listener: Sendable {
    let socket: Int32
    let port: UInt16

    /// - Parameters:
    ///   - address: an IPv4 or IPv6 address of the network that the calling thread is in.
    ///   - port: 0 lets the kernel choose.
    init(address: String, port: UInt16) throws(DevServer.Failure) {
        var storage = try Self.socketAddress(address, port)
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let socket = Glibc.socket(Int32(storage.ss_family), type, 0)
        guard socket >= 0 else { throw DevServer.Failure(description: "socket: errno \(errno)") }
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        let isIPv6 = Int32(storage.ss_family) == AF_INET6
        var length = socklen_t(isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) != 0 || listen(socket, 512) != 0
                    ? errno : getsockname(socket, address, &length)
            }
        }
        guard code == 0 else {
            close(socket)
            let place = isIPv6 ? "[\(address)]:\(port)" : "\(address):\(port)"
            throw DevServer.Failure(description: "listen on \(place): \(String(cString: strerror(code)))")
        }
        self.socket = socket
        // At the same place in both forms: RFC 3493, 3.3.
        let bound = withUnsafeBytes(of: storage) { $0.load(fromByteOffset: 2, as: UInt16.self) }
        self.port = UInt16(bigEndian: bound)
    }

    private static func socketAddress(_ text: String, _ port: UInt16) throws(DevServer.Failure) -> sockaddr_storage {
        var storage = sockaddr_storage()
        let isKnown = withUnsafeMutableBytes(of: &storage) { bytes in
            guard let start = bytes.baseAddress else { return false }
            if text.contains(":") {
                let address = start.assumingMemoryBound(to: sockaddr_in6.self)
                address.pointee.sin6_family = sa_family_t(AF_INET6)
                address.pointee.sin6_port = port.bigEndian
                return inet_pton(AF_INET6, text, &address.pointee.sin6_addr) == 1
            }
            let address = start.assumingMemoryBound(to: sockaddr_in.self)
            address.pointee.sin_family = sa_family_t(AF_INET)
            address.pointee.sin_port = port.bigEndian
            return inet_pton(AF_INET, text, &address.pointee.sin_addr) == 1
        }
        guard isKnown else { throw DevServer.Failure(description: "\"\(text)\" is no IP address") }
        return storage
    }
}
