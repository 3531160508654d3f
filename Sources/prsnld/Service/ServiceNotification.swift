import Glibc
import PRSNLCore

/// Tells systemd how far the daemon is: the datagrams of sd_notify(3), without its library.
struct ServiceNotification: Sendable {
    /// One assignment of a datagram.
    enum Message: Sendable, Equatable {
        /// Started, or a reload is over.
        case ready
        /// The configuration is being read again; CLOCK_MONOTONIC at the beginning.
        case reloading(since: Duration)
        case stopping
        /// All that is watched lives.
        case watchdog
        /// One line for people.
        case status(String)

        var text: String {
            switch self {
            case .ready: "READY=1"
            case .reloading(let since): "RELOADING=1\nMONOTONIC_USEC=\(since.wholeMicroseconds)"
            case .stopping: "STOPPING=1"
            case .watchdog: "WATCHDOG=1"
            // A line break would begin another assignment.
            case .status(let text): "STATUS=" + String(text.map { $0.isNewline ? " " : $0 })
            }
        }
    }

    private let address: String?

    /// Does nothing where `$NOTIFY_SOCKET` is not set.
    init(environment: [String: String]) {
        address = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether systemd listens.
    var isWanted: Bool { address != nil }

    /// Sends one datagram.
    ///
    /// - Parameter waits: Whether to wait where systemd has much unread; what is sent again and again does not.
    /// - Throws: `control_socket_failed` with the reason; the daemon goes on without it.
    func send(_ messages: Message..., waits: Bool = true) throws(UserFacingError) {
        try send(messages, waits: waits)
    }

    func send(_ messages: [Message], waits: Bool = true) throws(UserFacingError) {
        guard let address else { return }
        var name = sockaddr_un()
        var bytes = Array(address.utf8)
        let capacity = MemoryLayout.size(ofValue: name.sun_path)
        guard let first = bytes.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "@"), bytes.count < capacity
        else { throw Self.failure("its address is none") }
        // An abstract address begins with a NUL, which the variable shows as @ (unix(7)).
        if first == UInt8(ascii: "@") { bytes[0] = 0 }
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        // An abstract name is as long as it says; a path ends at its NUL either way.
        let length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path).map { $0 + bytes.count } ?? 0)
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Self.failure(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        let message = Array(messages.map(\.text).joined(separator: "\n").utf8)
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        let sent = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, message, message.count, flags, $0, length)
            }
        }
        guard sent == message.count else { throw Self.failure(String(cString: strerror(errno))) }
    }

    private static func failure(_ reason: String) -> UserFacingError {
        UserFacingError(.controlSocketFailed, "systemd cannot be told through $NOTIFY_SOCKET: \(reason).")
    }
}
