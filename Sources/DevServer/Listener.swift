import CLinux
import Glibc

/// A listening socket on 127.0.0.1.
struct Listener: Sendable {
    let socket: Int32
    let port: UInt16

    /// - Parameter port: 0 lets the kernel choose.
    init(port: UInt16) throws(DevServer.Failure) {
        let socket = Glibc.socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { throw DevServer.Failure(description: "socket: errno \(errno)") }
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(socket, address, length) != 0 || listen(socket, 512) != 0
                    ? errno : getsockname(socket, address, &length)
            }
        }
        guard code == 0 else {
            close(socket)
            throw DevServer.Failure(description: "listen on 127.0.0.1:\(port): \(String(cString: strerror(code)))")
        }
        self.socket = socket
        self.port = UInt16(bigEndian: address.sin_port)
    }
}
