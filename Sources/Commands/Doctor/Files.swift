import Glibc
import PRSNLCore

/// What stat(2) says of a path.
enum FileStatus {
    static func owner(_ path: String) -> uid_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_uid : nil
    }

    /// Why root looks at no link that it finds there. `nil` where there is none, or where root made it.
    static func foreignLink(_ path: String) -> UserFacingError? {
        var status = stat()
        guard geteuid() == 0, lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, status.st_uid != 0 else {
            return nil
        }
        let owner = UserDatabase.user(status.st_uid)
        return UserFacingError(
            .databaseLinked, "\(path) is a symbolic link that \(owner) has made. It was not followed.",
            recoverySuggestion: "Find out why it is there, and what it leads to.")
    }

    /// Whether it is this user who may not look, rather than the file that is broken.
    static func isHidden(_ path: String) -> Bool {
        geteuid() != 0 && access(path, R_OK) != 0 && errno == EACCES
    }

    static func entry(_ path: String) -> FilesCheck.Entry {
        if let error = foreignLink(path) { return .linked(error) }
        var status = stat()
        guard stat(path, &status) == 0 else { return errno == ENOENT || errno == ENOTDIR ? .missing : .hidden }
        return .there(
            mode: status.st_mode & 0o7777, owner: UserDatabase.user(status.st_uid),
            group: UserDatabase.group(status.st_gid), isFile: status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1
        )
    }
}

enum ProcessName {
    /// By proc_pid_comm(5). `nil` where there is no such process.
    static func of(_ process: Int32) -> String? {
        Descriptors.text(of: "/proc/\(process)/comm").map { SafeText.harmless($0.filter { !$0.isNewline }) }
    }

    static func text(_ process: Int32) -> String {
        "process \(process)" + (of(process).map { " (\($0))" } ?? "")
    }
}
