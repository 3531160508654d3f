import Glibc

/// A user's file that is read as a whole and replaced atomically.
package enum WholeFile {
    /// - Parameter isKept: it is on the disk before another one is gone.
    /// - Returns: why it could not be done. Then it is what it was.
    package static func replace(
        _ path: String, by text: String, mode: UInt32 = 0o600, isKept: Bool = false
    ) -> String? {
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
}
