import CLinux
import Glibc
import Synchronization

/// systemd's end of sd_notify(3): a datagram socket that keeps what a daemon says.
package final class NotifySocket: Sendable {
    package enum Kind: Sendable, CaseIterable { case path, abstract }

    /// For `$NOTIFY_SOCKET`.
    package let address: String
    private let descriptor: Int32
    private let folder = TemporaryDirectory("notify")
    private let received = Mutex<[String]>([])

    package init(_ kind: Kind = .path) throws {
        // The folder's name is unique, in the file system or out of it.
        address = kind == .path ? folder.file("socket") : "@\(folder.path)"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(address.utf8)
        if kind == .abstract { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(2 + bytes.count)
        let code = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard code == 0 else { throw WaitedInVain("bind \(address): errno \(errno)") }
    }

    deinit { close(descriptor) }

    /// Every datagram so far.
    package var datagrams: [String] {
        received.withLock { received in
            var buffer = [UInt8](repeating: 0, count: 4_096)
            while case let count = recv(descriptor, &buffer, buffer.count, 0), count >= 0 {
                received.append(String(decoding: buffer[..<count], as: UTF8.self))
            }
            return received
        }
    }

    /// Every line of every datagram so far.
    package var lines: [String] { datagrams.flatMap { $0.split(separator: "\n").map(String.init) } }

    /// The first line that will do.
    @discardableResult
    package func waitForLine(_ what: String, where isIt: @Sendable (String) -> Bool) async throws -> String {
        try await eventually("\(what) from the daemon") { lines.first(where: isIt) }
    }
}
