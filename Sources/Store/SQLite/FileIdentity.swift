import CLinux
import Glibc
import PRSNLCore

/// Which file it is, to notice one that was replaced or removed under its writer (stat(2)).
struct FileIdentity {
    private var device: UInt
    private var inode: UInt

    init(path: String) throws(UserFacingError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw UserFacingError(
                .databaseUnreadable, "\(path) cannot be examined: \(String(cString: strerror(errno))).")
        }
        device = UInt(status.st_dev)
        inode = UInt(status.st_ino)
    }

    /// - Throws: `database_replaced`.
    func check(path: String) throws(UserFacingError) {
        var status = stat()
        let isThere = stat(path, &status) == 0
        guard isThere, UInt(status.st_dev) == device, UInt(status.st_ino) == inode else {
            throw UserFacingError(
                .databaseReplaced,
                "The database \(path) was \(isThere ? "replaced by another file" : "removed") while it was open.",
                consequence: "Nothing more is written.")
        }
    }

    /// False where there is nothing.
    ///
    /// - Throws: `not_a_database` for a folder, a pipe and so on, which must not be opened: a pipe would block.
    ///   `database_linked` for a file of two names: under the other one its log and its lock would not be found
    ///   (https://sqlite.org/howtocorrupt.html, 2.5).
    ///   `database_unreadable` where this user may not look whether it is there.
    static func isRegularFile(path: String) throws(UserFacingError) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else {
            if errno == EACCES { throw UserFacingError(.databaseUnreadable, "This user may not look at \(path).") }
            return false
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw UserFacingError(.notADatabase, "\(path) is not a file.")
        }
        guard status.st_nlink <= 1 else {
            throw UserFacingError(
                .databaseLinked, "The database \(path) has \(status.st_nlink) names (hard links).",
                consequence: "It was not opened: its log and its lock are found by its name.")
        }
        return true
    }

    /// SQLite opens these files whatever they are. It would block on a pipe.
    ///
    /// - Throws: `database_linked`.
    static func checkBeside(path: String) throws(UserFacingError) {
        for suffix in ["-journal", "-wal", "-shm"] {
            var status = stat()
            guard lstat(path + suffix, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { continue }
            throw UserFacingError(
                .databaseLinked, "\(path)\(suffix) is not a file of its own.",
                consequence: "The database was not opened.", recoverySuggestion: "Look at it, and move it away.")
        }
    }

    /// What the group may do with the copy and what belongs to it: read.
    static let mode: mode_t = 0o640

    /// Makes an empty file that others cannot read. SQLite gives its mode to the files beside it (`findCreateFileMode` in
    /// os_unix.c).
    static func create(path: String) throws(UserFacingError) {
        let file = prsnl_open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode)
        guard file >= 0 else {
            throw UserFacingError(
                errno == EROFS || errno == EACCES
                    ? .databaseReadOnly : .of(errno: errno, otherwise: .databaseUnreadable),
                "\(path) cannot be made: \(String(cString: strerror(errno))).")
        }
        setMode(file)
        close(file)
    }

    /// For a file that was just made, also against the umask: the folder decides who reaches it. Where the file system has
    /// no modes, the failure changes nothing.
    static func setMode(_ file: Int32) { fchmod(file, mode) }

    /// What the file and its log take on the disk. A file with holes may say any size.
    static func diskSize(path: String) -> Int {
        [path, path + "-wal"].reduce(0) { sum, path in
            var status = stat()
            guard stat(path, &status) == 0 else { return sum }
            // Not every file system says it.
            return sum + (status.st_blocks > 0 ? Int(status.st_blocks) * 512 : Int(status.st_size))
        }
    }

    static func size(path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
}
