import Glibc
import PRSNLCore

/// Files that only their owner may read.
enum SecretFile {
    enum Problem: Error {
        case unreadable(String)
        case exposed(mode: mode_t)
    }

    /// Checks the open file, not the path, so that what is checked is what is read.
    ///
    /// - Parameter forbidden: mode bits. By default all of group and others.
    static func check(
        _ descriptor: Int32, forbidden: (stat) -> mode_t = { _ in 0o077 }
    ) throws(Problem) {
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { throw .unreadable(String(cString: strerror(errno))) }
        guard information.st_mode & S_IFMT == S_IFREG else { throw .unreadable("it is not a regular file") }
        let mode = information.st_mode & 0o777
        guard mode & forbidden(information) == 0 else { throw .exposed(mode: mode) }
    }

    /// - Parameter name: "The key file /etc/key".
    static func exposed(_ name: String, _ path: String, _ mode: mode_t) -> UserFacingError {
        UserFacingError(
            .keyFileExposed, "\(name) can be read or changed by others (mode 0\(String(mode, radix: 8))).",
            nextCommand: "chmod 600 \(path)")
    }
}
