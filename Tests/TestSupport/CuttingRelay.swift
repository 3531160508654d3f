import CLinux
import Glibc
import PRSNLCore
import Synchronization

/// Stands between a client and a server on loopback, and can cut a large request off in its middle.
///
/// A thread per connection, for the few that a test makes.
package final class CuttingRelay: Sendable {
    package let port: UInt16
    private let listener: Int32
    private let target: UInt16
    private let plan = Mutex<Plan?>(nil)
    private let accepting = Mutex<WorkerThread?>(nil)

    private struct Plan {
        var size: Int
        var limit: Int
        var action: @Sendable () -> Void
    }

    package init(to target: UInt16) throws {
        self.target = target
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        // A small window: what was not read here has not left the client either.
        var size: Int32 = 4_096
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        var address = Self.loopback(0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isBound, listen(listener, 16) == 0 else { throw WaitedInVain("a relay: errno \(errno)") }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        let thread = WorkerThread(name: "relay") { [weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else {
                    if errno == EINTR || errno == ECONNABORTED { continue }
                    return
                }
                guard let self else {
                    close(client)
                    return
                }
                _ = WorkerThread(name: "relay") { self.relay(client) }
            }
        }
        accepting.withLock { $0 = thread }
    }

    /// Ends the accepting thread; a connection keeps the relay for as long as it lasts.
    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        accepting.withLock { $0 }?.join()
        close(listener)
    }

    /// Of the next request whose head announces at least so many bytes, lets `limit` pass; then `action`, and the
    /// connection is closed.
    package func cut(requestOfAtLeast size: Int, after limit: Int, _ action: @escaping @Sendable () -> Void) {
        plan.withLock { $0 = Plan(size: size, limit: limit, action: action) }
    }

    private func relay(_ client: Int32) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer {
            close(client)
            close(server)
        }
        var address = Self.loopback(target)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return }
        var passed: Int?
        var ends = [
            pollfd(fd: client, events: Int16(POLLIN), revents: 0),
            pollfd(fd: server, events: Int16(POLLIN), revents: 0),
        ]
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            guard poll(&ends, 2, -1) > 0 || errno == EINTR else { return }
            for (index, other) in [(0, server), (1, client)] where ends[index].revents != 0 {
                let count = read(ends[index].fd, &buffer, buffer.count)
                guard count > 0 else { return }
                if index == 0, isCut(buffer[..<count], &passed) { return }
                guard Self.send(buffer[..<count], to: other) else { return }
            }
        }
    }

    /// Whether the connection ends here, and what was to be done then is done.
    private func isCut(_ bytes: ArraySlice<UInt8>, _ passed: inout Int?) -> Bool {
        guard let plan = plan.withLock({ $0 }) else { return false }
        if passed == nil, let size = Self.announcedSize(bytes), size >= plan.size { passed = 0 }
        guard let before = passed else { return false }
        passed = before + bytes.count
        guard before + bytes.count >= plan.limit else { return false }
        self.plan.withLock { $0 = nil }
        plan.action()
        return true
    }

    private static func announcedSize(_ bytes: ArraySlice<UInt8>) -> Int? {
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("content-length:") {
            return Int(line.dropFirst("content-length:".count).drop { $0 == " " })
        }
        return nil
    }

    private static func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }
}
