import CLinux
import Glibc

/// A name server that takes every question and answers none.
package final class SilentNameServer: Sendable {
    private let socket: Int32

    /// - Parameter address: IPv4, of that network.
    package init(in network: NetworkNamespace, address: String) throws {
        socket = try network.perform {
            let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            let socket = Glibc.socket(AF_INET, type, 0)
            var own = sockaddr_in()
            own.sin_family = sa_family_t(AF_INET)
            own.sin_port = UInt16(53).bigEndian
            inet_pton(AF_INET, address, &own.sin_addr)
            let isBound = withUnsafePointer(to: &own) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            guard isBound else {
                throw WaitedInVain("a name server on \(address): \(String(cString: strerror(errno)))")
            }
            return socket
        }
    }

    deinit { close(socket) }

    /// Waits for a question.
    package func waitForQuestion() async throws {
        try await eventually("a question to the name server") {
            var question = [UInt8](repeating: 0, count: 512)
            return recv(socket, &question, question.count, Int32(MSG_DONTWAIT)) >= 0
        }
    }

    /// Takes the questions that have come and says how many there were.
    package func drain() -> Int {
        var question = [UInt8](repeating: 0, count: 512)
        var count = 0
        while recv(socket, &question, question.count, Int32(MSG_DONTWAIT)) >= 0 { count += 1 }
        return count
    }
}
