package import Glibc
import PRSNLCore

/// The control socket in the file system: made, replaced when its daemon is dead, removed at the end.
struct ListeningSocket {
    let descriptor: Int32
    let path: String
    /// The group of the file: the daemon's, or the folder's where that hands its own on (setgid).
    let group: gid_t

    /// Rights on the socket: the daemon's user and group (docs/configuration.md, "control_socket").
    static let mode: mode_t = 0o660

    /// - Throws: `control_socket_taken`, `control_socket_failed`.
    init(path: String, backlog: Int32) throws(UserFacingError) {
        guard let address = SocketAddress(path: path) else {
            throw Self.failure(path, "the path is empty or longer than 107 bytes")
        }
        let directory = Descriptors.folder(of: path)
        if let reason = Folder.make(directory) { throw Self.failure(path, "make folder \(directory): \(reason)") }
        try Self.removeDead(path, address)
        (descriptor, group) = try Self.bind(path, address, backlog)
        self.path = path
    }

    func remove() {
        unlink(path)
        close(descriptor)
    }

    private static func removeDead(_ path: String, _ address: SocketAddress) throws(UserFacingError) {
        var information = stat()
        guard lstat(path, &information) == 0 else {
            if errno == ENOENT { return }
            throw failure(path, reason())
        }
        guard information.st_mode & S_IFMT == S_IFSOCK else {
            throw failure(path, "there is something that is not a socket; it was left as it is")
        }
        let probe = SocketAddress.stream(nonblocking: true)
        guard probe >= 0 else { throw failure(path, reason(), errno: errno) }
        defer { close(probe) }
        if address.with({ connect(probe, $0, $1) }) == 0 || errno == EAGAIN || errno == EINPROGRESS {
            throw UserFacingError(.controlSocketTaken, "Another program listens at \(path).")
        }
        guard errno == ECONNREFUSED else { throw failure(path, reason()) }
        guard unlink(path) == 0 || errno == ENOENT else { throw failure(path, reason()) }
    }

    private static func bind(
        _ path: String, _ address: SocketAddress, _ backlog: Int32
    ) throws(UserFacingError) -> (descriptor: Int32, group: gid_t) {
        let descriptor = SocketAddress.stream(nonblocking: true)
        guard descriptor >= 0 else { throw failure(path, reason(), errno: errno) }
        var bound = false
        func fail() -> UserFacingError {
            let error = failure(path, reason())
            if bound { unlink(path) }
            close(descriptor)
            return error
        }
        // On Linux, the mode of the unbound socket, less the umask, becomes the mode of the file: no other user can connect
        // between bind and chmod.
        guard fchmod(descriptor, 0o600) == 0 else { throw fail() }
        guard address.with({ Glibc.bind(descriptor, $0, $1) }) == 0 else { throw fail() }
        bound = true
        var information = stat()
        guard chmod(path, mode) == 0, lstat(path, &information) == 0, listen(descriptor, backlog) == 0 else {
            throw fail()
        }
        return (descriptor, information.st_gid)
    }

    private static func failure(_ path: String, _ reason: String, errno number: Int32 = 0) -> UserFacingError {
        UserFacingError(
            .of(errno: number, otherwise: .controlSocketFailed), "The control socket \(path) cannot be made: \(reason)."
        )
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}

/// A path as unix(7) takes it.
package struct SocketAddress {
    private var address = sockaddr_un()
    private let length: socklen_t

    /// `nil` for a path that does not fit (107 bytes) or cannot be one.
    ///
    /// - Parameter mayBeAbstract: where it begins with `@`, that stands for a NUL, and the address is not in the file system.
    package init?(path: String, mayBeAbstract: Bool = false) {
        var bytes = Array(path.utf8)
        guard !bytes.isEmpty, !bytes.contains(0), bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            return nil
        }
        if mayBeAbstract, bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        // An abstract name is as long as it says; a path ends at its NUL either way.
        length = socklen_t(MemoryLayout.offset(of: \sockaddr_un.sun_path).map { $0 + bytes.count } ?? 0)
    }

    package func with<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        Descriptors.withAddress(address) { pointer, _ in body(pointer, length) }
    }

    /// A new stream socket, closed on exec; -1 and errno where that fails.
    static func stream(nonblocking: Bool) -> Int32 {
        let flags = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | (nonblocking ? SOCK_NONBLOCK.rawValue : 0))
        return socket(AF_UNIX, flags, 0)
    }
}
