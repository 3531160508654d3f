import Glibc

/// A path as unix(7) takes it.
struct SocketAddress {
    private var address: sockaddr_un

    /// `nil` for a path that does not fit (107 bytes) or cannot be one.
    init?(path: String) {
        let bytes = Array(path.utf8)
        address = sockaddr_un()
        guard !bytes.isEmpty, !bytes.contains(0), bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            return nil
        }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    }

    func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// A new stream socket, closed on exec; -1 and errno where that fails.
    static func stream(nonblocking: Bool) -> Int32 {
        let flags = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | (nonblocking ? SOCK_NONBLOCK.rawValue : 0))
        return socket(AF_UNIX, flags, 0)
    }
}
