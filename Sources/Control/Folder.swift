import Glibc
import PRSNLCore

/// Making folders that are missing.
package enum Folder {
    /// Makes the folder and those above it, for this user only, as the XDG base directory specification asks. Those above
    /// that root makes may be passed through by all users: the folder may be for another user.
    ///
    /// - Returns: why it could not be made; `nil` when it is there.
    package static func make(_ path: String) -> String? {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return nil }
        guard errno == ENOENT, path != "/", path != "." else { return String(cString: strerror(errno)) }
        if let reason = makeAbove(Descriptors.folder(of: path)) { return reason }
        return mkdir(path, 0o700) == 0 || errno == EEXIST ? nil : String(cString: strerror(errno))
    }

    private static func makeAbove(_ path: String) -> String? {
        if access(path, F_OK) == 0 { return nil }
        if let reason = make(path) { return reason }
        // Whatever the umask is.
        guard geteuid() != 0 || chmod(path, 0o755) == 0 else { return String(cString: strerror(errno)) }
        return nil
    }
}
