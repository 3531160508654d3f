import CLinux
import Control
import Glibc
import PRSNLCore
import Store

/// `prsnlctl doctor --repair`: gives the files beside the database back to its owner, and makes those that are gone anew,
/// so that members of the group can read the copy while the daemon is stopped.
enum ReaderFilesRepair {
    /// What was done, in words.
    ///
    /// - Throws: `no_database`; `not_owner`; `database_locked` where files are gone and somebody works on the database.
    static func run(_ database: String) throws(UserFacingError) -> [String] {
        guard let status = FileLook.status(database).status else {
            throw UserFacingError(.noDatabase, "There is no copy yet at \(database).")
        }
        var done: [String] = []
        for suffix in DoctorFiles.suffixes {
            if let change = try giveBack(database, suffix, status) { done.append(change) }
        }
        let missing = ["-wal", "-shm"].filter { FileLook.status(database + $0).errno == ENOENT }
        guard !missing.isEmpty else { return done }
        try asOwner(of: database) { () throws(UserFacingError) in try ReaderFiles.restore(path: database) }
        return done + ["made \(missing.joined(separator: " and ")) anew"]
    }

    /// - Returns: what was changed; `nil` where all is well, or there is no such file.
    private static func giveBack(
        _ database: String, _ suffix: String, _ model: stat
    ) throws(UserFacingError) -> String? {
        let path = database + suffix
        // The folder is another user's, who must not lead root to a file elsewhere: no links of either kind.
        let file = prsnl_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw refused(path, errno)
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw refused(path, errno) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else {
            throw UserFacingError(
                .databaseUnreadable, "\(path) is not a file of its own; it was left as it is.",
                recoverySuggestion: "Look at it, and move it away.")
        }
        let isOwn = status.st_uid == model.st_uid && status.st_gid == model.st_gid
        // Nobody but the daemon needs the lock.
        let isReadable = suffix == ".lock" || status.st_mode & 0o777 == model.st_mode & 0o777
        if isOwn, isReadable { return nil }
        guard isOwn || fchown(file, model.st_uid, model.st_gid) == 0 else { throw refused(path, errno) }
        guard suffix == ".lock" || fchmod(file, model.st_mode & 0o777) == 0 else { throw refused(path, errno) }
        return "gave \(suffix) back to \(UserDatabase.user(model.st_uid)):\(UserDatabase.group(model.st_gid))"
    }

    private static func refused(_ path: String, _ code: Int32) -> UserFacingError {
        UserFacingError(
            .notOwner, "\(path) cannot be given back: \(String(cString: strerror(code))).",
            recoverySuggestion: "Repair as root.", nextCommand: CommandContext.sudo())
    }

    /// What root makes would be root's: it works as the owner, and is itself again afterwards.
    private static func asOwner(
        of database: String, _ body: () throws(UserFacingError) -> Void
    ) throws(UserFacingError) {
        let user = geteuid()
        let group = getegid()
        var groups = [gid_t](repeating: 0, count: 65_536)
        let count = Int(max(0, getgroups(Int32(groups.count), &groups)))
        try FileOwner.become(ownerOf: database, consequence: "Nothing was repaired.")
        defer {
            if geteuid() != user {
                // The real user is root still: seteuid(2) may go back.
                _ = seteuid(user)
                _ = setegid(group)
                _ = setgroups(count, groups)
            }
        }
        try body()
    }
}
