import CLinux
import Glibc
import PRSNLCore
import Store

/// What stat(2) says of a path.
enum FileStatus {
    static func status(_ path: String) -> (status: stat?, errno: Int32) {
        var status = stat()
        if stat(path, &status) == 0 { return (status, 0) }
        return (nil, errno)
    }

    /// Who made the link that root finds there. `nil` where there is none, or where root made it.
    static func foreignLink(_ path: String) -> uid_t? {
        var status = stat()
        guard geteuid() == 0, lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, status.st_uid != 0 else {
            return nil
        }
        return status.st_uid
    }

    /// Whether it is this user who may not look, rather than the file that is broken.
    static func isHidden(_ path: String) -> Bool {
        geteuid() != 0 && access(path, R_OK) != 0 && errno == EACCES
    }

    static func entry(_ path: String) -> FilesCheck.Entry {
        if let owner = foreignLink(path) { return .linked(owner: UserDatabase.user(owner)) }
        let (status, code) = status(path)
        guard let status else { return code == ENOENT || code == ENOTDIR ? .missing : .hidden }
        return .there(
            mode: status.st_mode & 0o7777, owner: UserDatabase.user(status.st_uid),
            group: UserDatabase.group(status.st_gid), isFile: status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1
        )
    }
}

enum ProcessName {
    /// By proc_pid_comm(5). `nil` where there is no such process.
    static func of(_ process: Int32) -> String? {
        SmallText.read("/proc/\(process)/comm").map { SafeText.harmless($0.filter { !$0.isNewline }) }
    }

    static func text(_ process: Int32) -> String {
        "process \(process)" + (of(process).map { " (\($0))" } ?? "")
    }
}

/// The small files of proc(5).
enum SmallText {
    /// The first 64 KiB; `nil` where it cannot be read.
    static func read(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = fread(&bytes, 1, bytes.count, file)
        guard ferror(file) == 0 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
