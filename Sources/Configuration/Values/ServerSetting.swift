import CLinux
import Glibc
package import PRSNLCore

/// Writes `server_url` into a configuration file that has none: what `prsnlctl login --server` does after the login.
package enum ServerSetting {
    /// Writes the line. The file's other bytes, its mode and its owner stay.
    ///
    /// The new content goes into a file of its own, which takes the old one's place in one step (rename(2)): who reads the
    /// configuration meanwhile reads the old one or the new one. A symbolic link stays, and what it leads to is replaced.
    ///
    /// - Parameter path: created, with its folder, where there is none. The file of a unit of the machine is readable by every user, as
    ///   the installed one is, because the daemon's user must read it. A person's own file follows their umask.
    /// - Returns: whether it was made.
    /// - Throws: `config_unreadable`, `config_invalid` where the file names a server by now, `disk_full`, `disk_error`.
    ///   The file is as it was then.
    @discardableResult
    package static func write(_ server: String, to path: String) throws(UserFacingError) -> Bool {
        try FolderOwner.run(beside: path) { _ throws(UserFacingError) in
            try write(server, to: path, target: RealPath.of(path))
        }
    }

    private static func write(_ server: String, to path: String, target: String) throws(UserFacingError) -> Bool {
        let old = try content(target)
        let file = ConfigurationFile(path: path, bytes: old?.bytes ?? [])
        if let entry = file.entries.first(where: { $0.key == "server_url" }) {
            throw UserFacingError(
                .configInvalid, "\(path):\(entry.line) names a server already.", consequence: "It was left as it is.")
        }
        let isMachines = DefaultPaths.unit(ofConfigurationFile: target) != nil
        try makeFolder(of: target, forEveryone: isMachines)
        try replace(target, with: added(server, to: old?.bytes ?? []), like: old?.information, forEveryone: isMachines)
        return old == nil
    }

    /// Behind a line that shows how it is written (`#server_url = …`), where a person would put it, else at the end.
    static func added(_ server: String, to bytes: [UInt8]) -> [UInt8] {
        let line = Array("server_url = \(server)\n".utf8)
        var result: [UInt8] = []
        var isDone = false
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            let text = rest[..<end]
            result += text
            result.append(UInt8(ascii: "\n"))
            rest = end < rest.endIndex ? rest[(end + 1)...] : []
            let shown = text.drop { [UInt8(ascii: "#"), 0x20, 0x09].contains($0) }
            if !isDone, text.first == UInt8(ascii: "#"), shown.starts(with: "server_url".utf8),
                shown.dropFirst("server_url".utf8.count).first(where: { $0 != 0x20 && $0 != 0x09 }) == UInt8(ascii: "=")
            {
                result += line
                isDone = true
            }
        }
        return isDone ? result : result + line
    }

    private static func content(_ path: String) throws(UserFacingError) -> (bytes: [UInt8], information: stat)? {
        do throws(SmallFile.Failure) {
            let descriptor = try SmallFile.open(path)
            defer { close(descriptor) }
            var information = stat()
            guard fstat(descriptor, &information) == 0 else { throw .last }
            guard information.st_mode & S_IFMT == S_IFREG else {
                throw SmallFile.Failure(errno: EINVAL, reason: "it is not a regular file")
            }
            return (try SmallFile.read(descriptor, limit: ConfigurationFile.maximumSize), information)
        } catch {
            if error.errno == ENOENT { return nil }
            throw UserFacingError(.configUnreadable, "\(path) cannot be read: \(error.reason).")
        }
    }

    private static func makeFolder(of path: String, forEveryone: Bool) throws(UserFacingError) {
        let parts = path.split(separator: "/").dropLast()
        for count in 1..<max(1, parts.count + 1) {
            let folder = "/" + parts.prefix(count).joined(separator: "/")
            if mkdir(folder, 0o755) == 0 {
                if forEveryone { chmod(folder, 0o755) }
            } else if errno != EEXIST, access(folder, F_OK) != 0 {
                throw failure("The folder \(folder) cannot be made")
            }
        }
    }

    private static func replace(
        _ path: String, with bytes: [UInt8], like old: stat?, forEveryone: Bool
    ) throws(UserFacingError) {
        let new = "\(path).new-\(getpid())"
        let descriptor = prsnl_open(
            new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, old == nil ? 0o644 : 0o600)
        guard descriptor >= 0 else { throw failure("\(new) cannot be made") }
        do throws(UserFacingError) {
            defer { close(descriptor) }
            if let old {
                guard fchown(descriptor, old.st_uid, old.st_gid) == 0, fchmod(descriptor, old.st_mode & 0o7777) == 0
                else { throw failure("\(new) cannot be given the owner and mode of \(path)") }
            } else if forEveryone, fchmod(descriptor, 0o644) != 0 {
                throw failure("\(new) cannot be given its mode")
            }
            guard bytes.withUnsafeBytes({ Descriptors.write($0, to: descriptor) }) == 0, fsync(descriptor) == 0 else {
                throw failure("\(new) cannot be written")
            }
            guard rename(new, path) == 0 else { throw failure("\(path) cannot be replaced") }
        } catch {
            unlink(new)
            throw error
        }
        // Where this fails, a power cut may still bring the old file back, which a second login would find out.
        _ = Descriptors.synchronizeFolder(of: path)
    }

    private static func failure(_ what: String) -> UserFacingError {
        let code = errno
        return UserFacingError(
            code == ENOSPC || code == EDQUOT ? .diskFull : code == EIO ? .diskError : .configUnreadable,
            "\(what): \(String(cString: strerror(code))).", consequence: "The configuration is as it was.",
            recoverySuggestion: "Write server_url into the configuration file yourself, or give the command as root.")
    }
}
