import Glibc
import PRSNLCore

/// Tells systemd how far the daemon is: sd_notify(3), without its library.
struct ServiceNotification {
    private let address: String?

    /// Does nothing where `$NOTIFY_SOCKET` is not set.
    init(environment: [String: String]) {
        address = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
    }

    func ready() throws(UserFacingError) { try send("READY=1\nSTATUS=Pulling") }
    func stopping() throws(UserFacingError) { try send("STOPPING=1\nSTATUS=Stopping") }

    /// Sends one datagram.
    ///
    /// - Throws: `control_socket_failed` with the reason; a daemon whose systemd cannot hear it goes on all the same.
    func send(_ state: String) throws(UserFacingError) {
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
        let message = Array(state.utf8)
        let sent = withUnsafePointer(to: name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, message, message.count, Int32(MSG_NOSIGNAL), $0, length)
            }
        }
        guard sent == message.count else { throw Self.failure(String(cString: strerror(errno))) }
    }

    private static func failure(_ reason: String) -> UserFacingError {
        UserFacingError(.controlSocketFailed, "systemd cannot be told through $NOTIFY_SOCKET: \(reason).")
    }
}
