import CLinux
import Glibc
import PRSNLCore

/// One writer per database: a POSIX lock on `<database>.lock`, held as long as the object lives. The kernel drops it with
/// the process, however that ends.
///
/// On a file of its own, because a lock on the database would be lost with any descriptor of it that is closed.
final class DatabaseLock {
    private let file: Int32

    /// - Throws: `database_locked`, naming the pid that holds it; `database_unreadable`.
    init(database: String) throws(UserFacingError) {
        let path = database + ".lock"
        file = prsnl_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o640)
        guard file >= 0 else {
            throw UserFacingError(
                .databaseUnreadable, "The lock \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        while prsnl_fcntl_lock(file, F_SETLK, &lock) != 0 {
            let code = errno
            if code == EINTR { continue }
            let holder = Self.holder(file)
            close(file)
            guard code == EACCES || code == EAGAIN else {
                throw UserFacingError(
                    .databaseUnreadable, "The lock \(path) cannot be taken: \(String(cString: strerror(code))).")
            }
            throw UserFacingError(
                .databaseLocked,
                holder.map { "Process \($0) already works on \(database)." }
                    ?? "Another process already works on \(database).",
                nextCommand: holder.map { "kill \($0)" })
        }
    }

    deinit {
        close(file)
    }

    private static func holder(_ file: Int32) -> Int32? {
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        guard prsnl_fcntl_lock(file, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK) else { return nil }
        return lock.l_pid
    }
}
