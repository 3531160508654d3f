import Glibc
import PRSNLCore

/// A user's file that is read as a whole and replaced atomically.
enum WholeFile {
    /// - Parameter isKept: it is on the disk before another one is gone.
    /// - Returns: why it could not be done. Then it is what it was.
    static func replace(_ path: String, by text: String, mode: mode_t = 0o600, isKept: Bool = false) -> String? {
        let next = path + ".new"
        // Whatever has that name, a link among it, is not written into.
        unlink(next)
        let file = open(next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else { return String(cString: strerror(errno)) }
        defer { close(file) }
        let code = Array(text.utf8).withUnsafeBytes { Descriptors.write($0, to: file) }
        guard code == 0, fchmod(file, mode) == 0, !isKept || fsync(file) == 0, rename(next, path) == 0 else {
            let reason = String(cString: strerror(code == 0 ? errno : code))
            unlink(next)
            return reason
        }
        return nil
    }

    /// - Returns: `nil` where there is none.
    /// - Throws: `disk_error`; `write_invalid` if it is not UTF-8, or too long.
    static func text(of path: String, atMost limit: Int = CaptureLine.longest) throws(UserFacingError) -> String? {
        // A FIFO without a writer would block indefinitely.
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw failure(path, String(cString: strerror(errno))) }
        defer { close(file) }
        var information = stat()
        guard fstat(file, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            throw failure(path, "it is not a regular file")
        }
        return try TextInput.all(of: file, path, atMost: limit)
    }

    private static func failure(_ path: String, _ reason: String) -> UserFacingError {
        UserFacingError(
            .diskError, "\(path) cannot be read: \(reason).",
            recoverySuggestion: "Look at what is there, and who may read it.")
    }
}
