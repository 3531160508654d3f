import CLinux
import Glibc
package import PRSNLCore

/// The files beside the database that readers without write permission need. SQLite creates them for writers, and removes
/// them with the last connection, unless that one was told otherwise, as ours are.
package enum ReaderFiles {
    /// Creates `-wal` and `-shm` again, as this process's user, who should be the database's owner.
    ///
    /// - Throws: `no_database`, `database_locked` where a daemon works on the file, which has them, else as `Store` does.
    package static func restore(path: String) throws(UserFacingError) {
        let path = RealPath.of(path)
        guard let header = try DatabaseHeader.read(path: path) else {
            throw UserFacingError(.noDatabase, "There is no copy yet at \(path).")
        }
        try header.check(path: path)
        let lock = try DatabaseLock(database: path)
        defer { withExtendedLifetime(lock) {} }
        do {
            let connection = try Connection(path: path, mode: .readWrite)
            connection.keepWriteAheadLog()
            // Reading opens the log, which creates both files.
            _ = try connection.integer("SELECT count(*) FROM sqlite_schema")
        } catch {
            throw error.userFacing(path: path)
        }
    }

    /// The processes that read the database now, as far as their locks tell: each holds one of the read locks, which are
    /// bytes 123 to 127 of `-shm` (https://sqlite.org/walformat.html#wal_locks). Of several with the same lock, one is
    /// told. Empty where `-shm` cannot be opened.
    ///
    /// Only while this process has no connection to the file: closing any descriptor of it drops SQLite's locks
    /// (https://sqlite.org/howtocorrupt.html, 2.2).
    package static func readers(path: String) -> [Int32] {
        let file = prsnl_open(RealPath.of(path) + "-shm", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var processes: Set<Int32> = []
        for byte in 123...127 {
            var lock = flock()
            lock.l_type = Int16(F_WRLCK)
            lock.l_whence = Int16(SEEK_SET)
            lock.l_start = byte
            lock.l_len = 1
            guard prsnl_fcntl_lock(file, F_GETLK, &lock) == 0, lock.l_type != Int16(F_UNLCK), lock.l_pid > 0 else {
                continue
            }
            processes.insert(lock.l_pid)
        }
        return processes.sorted()
    }
}
