import CLinux
import Glibc
package import PRSNLCore

/// One writer per database: a POSIX lock on `<database>.lock`, held as long as the object lives. The kernel drops it with
/// the process, however that ends.
///
/// On a file of its own, because a lock on the database would be lost with any descriptor of it that is closed.
package final class DatabaseLock {
    /// Closed by `deinit`, which runs also where `init` throws.
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
            if !hasTold, let onWait, let holder = holder(database: database) {
                onWait(holder.process)
                hasTold = true
            }
            if isCancelled() {
                throw UserFacingError(
                    .cancelled, "Stopped while another process was waited for, which works on \(database).")
            }
            usleep(UInt32(pause.wholeMicroseconds))
        }
    }

    /// The process that holds the lock now, and where it says that it listens: a claim of the copy's owner, who can write the file. `nil`
    /// where no other process does.
    package static func holder(database: String) -> (process: Int32, socket: String?)? {
        let path = path(of: database)
        let holder = { () -> (process: Int32, socket: String?)? in
            // Where it is this process, its file must not be opened a second time (above).
            guard let process = KernelLocks.holders(of: path, 0...0).first else { return nil }
            let file = prsnl_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
            // Users who may not open it see who has it.
            guard file >= 0 else { return (process, nil) }
            defer { close(file) }
            // More than a socket's path can have (unix(7)).
            let bytes = Descriptors.read(file, atMost: 107).bytes.prefix(108)
            return (process, bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self))
        }
        // Root does not follow links of others.
        do throws(UserFacingError) { return try FolderOwner(path).run(holder) } catch { return nil }
    }

    /// The process that holds SQLite's own write lock (byte 120 of `-shm`: https://sqlite.org/walformat.html#wal_locks), and is
    /// not the daemon.
    package static func otherWriter(database: String) -> Int32? {
        KernelLocks.holders(of: RealPath.of(database) + "-shm", 120...120).first {
            $0 != holder(database: database)?.process
        }
    }

    /// Says where the process that holds the lock can be asked. On a full disk it is not said.
    func announce(socket: String) { _ = pwrite(file, socket, socket.utf8.count, 0) }

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
            guard code == EACCES || code == EAGAIN else {
                throw UserFacingError(
                    .databaseUnreadable, "The lock \(path) cannot be taken: \(String(cString: strerror(code))).")
            }
            throw UserFacingError(
                .databaseLocked,
                (KernelLocks.holders(of: path, 0...0).first.map { "Process \($0)" } ?? "Another process")
                    + " already uses \(database).")
        }
        // What the last holder has said.
        ftruncate(file, 0)
    }

    /// Beside the database itself: a link to it must lead to the same lock.
    private static func path(of database: String) -> String { RealPath.of(database) + ".lock" }

    /// The owner's alone, unlike the copy: a user who may read a file may lock it for reading (fcntl(2)), and so keep
    /// the daemon from starting.
    private static let mode: mode_t = 0o600

    deinit { close(file) }
}

/// Who holds which lock, by /proc/locks (proc_locks(5)). No file is opened for it, whose closing would drop SQLite's locks
/// (https://sqlite.org/howtocorrupt.html, 2.2).
enum KernelLocks {
    /// - Returns: the other processes that have locked some of these bytes of the file. By its inode alone: btrfs has other numbers of devices there.
    static func holders(of path: String, _ range: ClosedRange<Int64>) -> [Int32] {
        var status = stat()
        guard stat(path, &status) == 0, let locks = Descriptors.text(of: "/proc/locks", atMost: 4 << 20) else {
            return []
        }
        var found: [Int32] = []
        for line in locks.split(separator: "\n") {
            // `1: POSIX  ADVISORY  WRITE 2446 08:01:131 120 120`; one that waits has an arrow behind the number.
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count == 8, words[1] == "POSIX", words[5].hasSuffix(":\(status.st_ino)"),
                let process = Int32(words[4]), process > 0, process != getpid(), let first = Int64(words[6]),
                first <= range.upperBound,
                words[7] == "EOF" || Int64(words[7]) ?? -1 >= range.lowerBound, !found.contains(process)
            else { continue }
            found.append(process)
        }
        return found
    }
}
