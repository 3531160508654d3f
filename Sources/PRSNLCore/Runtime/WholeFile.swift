import Glibc

/// A user's file that is read as a whole and replaced atomically.
package enum WholeFile {
    /// Where it is written first.
    package static func next(_ path: String) -> String { path + ".new" }

    /// - Parameters:
    ///   - isKept: it is on the disk before another one is gone.
    ///   - renaming: called before the other one is gone.
    /// - Returns: the errno of why it could not be done; 0 where it was. Else the file is what it was.
    package static func write(
        _ path: String, _ text: String, mode: UInt32 = 0o600, isKept: Bool, renaming: () -> Void = {}
    ) -> Int32 {
        let next = next(path)
        // Whatever has that name, a link among it, is not written into.
        unlink(next)
        let file = open(next, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard file >= 0 else { return errno }
        defer { close(file) }
        var code = Array(text.utf8).withUnsafeBytes { Descriptors.write($0, to: file) }
        // The mode also against the umask.
        if code == 0, fchmod(file, mode) != 0 || isKept && fsync(file) != 0 { code = errno }
        if code == 0 {
            renaming()
            if rename(next, path) == 0 { return 0 }
            code = errno
        }
        unlink(next)
        return code
    }

    /// - Returns: why it could not be done, in words. Then it is what it was.
    package static func replace(
        _ path: String, by text: String, mode: UInt32 = 0o600, isKept: Bool = false
    ) -> String? {
        let code = write(path, text, mode: mode, isKept: isKept)
        return code == 0 ? nil : String(cString: strerror(code))
    }
}
