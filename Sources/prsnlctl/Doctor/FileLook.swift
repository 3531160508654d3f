import Control
import Glibc

/// What stat(2) says of a path.
enum FileLook {
    static func status(_ path: String) -> (status: stat?, errno: Int32) {
        var status = stat()
        if stat(path, &status) == 0 { return (status, 0) }
        return (nil, errno)
    }

    static func entry(_ path: String) -> DoctorFiles.Entry {
        let (status, code) = status(path)
        guard let status else { return code == ENOENT || code == ENOTDIR ? .missing : .hidden }
        return .there(
            mode: status.st_mode & 0o7777, owner: UserDatabase.user(status.st_uid),
            group: UserDatabase.group(status.st_gid), isFile: status.st_mode & S_IFMT == S_IFREG)
    }
}
