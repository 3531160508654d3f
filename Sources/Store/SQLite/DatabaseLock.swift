import CLinux
import Glibc
package import PRSNLCore

/// One writer per database: a POSIX lock on `<database>.lock`, held as long as the object lives. The kernel drops it with
/// the process, however that ends.
///
/// On a file of its own, because a lock on the database would be lost with any descriptor of it that is closed.
package final class DatabaseLock {
    private let file: Int32

    /// How long another process is waited for, where it is waited for: `prsnlctl` holds the lock for as long
    /// as a batch of writes takes.
    private static let patience: Duration = .seconds(10)
    private static let pause: Duration = .milliseconds(20)

    /// Takes the lock, and waits for the process that has it.
    ///
    /// - Parameters:
    ///   - onWait: Called once with the pid that holds the lock, before it is waited for. `nil` does not wait.
    ///   - isCancelled: Asked again and again while it waits.
    /// - Throws: `database_locked`, naming the pid that holds it, `database_unreadable`, `cancelled`.
    static func take(
        database: String, onWait: ((Int32) -> Void)?, isCancelled: () -> Bool = { false }
    ) throws(UserFacingError) -> DatabaseLock {
        let end = ContinuousClock.now + patience
        var hasTold = false
        while true {
            do throws(UserFacingError) {
                return try DatabaseLock(database: database)
            } catch {
                // Asking first and taking it then would leave a moment for another process.
                guard error.code == .databaseLocked, onWait != nil, ContinuousClock.now < end else { throw error }
            }
            if !hasTold, let onWait, let holder = try otherHolder(database: database) {
                onWait(holder)
                hasTold = true
            }
            if isCancelled() {
                throw UserFacingError(
                    .cancelled, "Stopped while another process was waited for, which works on \(database).")
            }
            usleep(UInt32(pause.wholeMicroseconds))
        }
    }

    /// The process that holds the lock now. `nil` where none does.
    private static func otherHolder(database: String) throws(UserFacingError) -> Int32? {
        let file = prsnl_open(path(of: database), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return holder(file)
    }

    /// - Throws: `database_locked`, naming the pid that holds it, `database_read_only`, `disk_full`,
    ///   `database_unreadable`.
    package init(database: String) throws(UserFacingError) {
        let path = Self.path(of: database)
        // It must be neither a link nor a pipe.
        file = prsnl_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, Self.mode)
        guard file >= 0 else {
            let code: ErrorCode =
                switch errno {
                case EROFS, EACCES: .databaseReadOnly
                case ENOSPC, EDQUOT: .diskFull
                default: .of(errno: errno, otherwise: .databaseUnreadable)
                }
            throw UserFacingError(code, "The lock \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink <= 1 else {
            close(file)
            throw UserFacingError(
                .databaseLinked, "The lock \(path) is not a file of its own.",
                recoverySuggestion: "Look at it, and move it away.")
        }
        // The umask may have taken bits away. Where the mode cannot be changed, the lock still holds.
        fchmod(file, Self.mode)
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
                    ?? "Another process already works on \(database).")
        }
    }

    /// Beside the database itself: a link to it must lead to the same lock.
    private static func path(of database: String) -> String { RealPath.of(database) + ".lock" }

    /// The owner's alone, unlike the copy: a user who may read a file may lock it for reading (fcntl(2)), and so keep
    /// the daemon from starting.
    private static let mode: mode_t = 0o600

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
