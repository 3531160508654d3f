import CLinux
import Glibc
package import PRSNLCore

/// The first 100 bytes of an SQLite file (https://sqlite.org/fileformat2.html#the_database_header): whose it is and of
/// what schema, found out before SQLite opens it, because opening may already write (a hot journal is rolled back).
///
/// Read only while this process has no connection to the file: closing any descriptor of it drops SQLite's locks
/// (https://sqlite.org/howtocorrupt.html, 2.2).
struct DatabaseHeader {
    var applicationID: UInt32
    var userVersion: UInt32

    /// - Returns: `nil` where there is no file, or an empty one.
    /// - Throws: `not_a_database`, `database_unreadable`.
    static func read(path: String) throws(UserFacingError) -> DatabaseHeader? {
        guard try FileIdentity.isRegularFile(path: path) else { return nil }
        let file = prsnl_open(path, O_RDONLY | O_CLOEXEC, 0)
        if file < 0 {
            throw UserFacingError(
                .of(errno: errno, otherwise: .databaseUnreadable),
                "\(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        defer { close(file) }
        let (bytes, code) = Descriptors.read(file, atMost: 99)
        guard code == 0 else {
            throw UserFacingError(.databaseUnreadable, "\(path) cannot be read: \(String(cString: strerror(code))).")
        }
        if bytes.isEmpty { return nil }
        guard bytes.count >= 100, bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
            throw UserFacingError(.notADatabase, "\(path) is not an SQLite database.")
        }
        func bigEndian(_ offset: Int) -> UInt32 {
            bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        return DatabaseHeader(applicationID: bigEndian(68), userVersion: bigEndian(60))
    }

    /// - Throws: `other_application`, `newer_schema`.
    func check(path: String) throws(UserFacingError) {
        guard applicationID == Schema.applicationID else {
            throw UserFacingError(.otherApplication, "\(path) is a database of another application.")
        }
        let known = Schema.current.version
        guard userVersion <= UInt32(known) else {
            throw UserFacingError(
                .newerSchema, "\(path) has schema \(userVersion). This prsnld knows schemas up to \(known).")
        }
    }
}

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
    ///   `database_linked` for a file with a second hard link: under the other one its log and its lock would not be found
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
                .databaseLinked, "The database \(path) has a second hard link.",
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
                .databaseLinked, "\(path)\(suffix) is not a regular file.",
                consequence: "The database was not opened.", recoverySuggestion: "Look at it, and move it away.")
        }
    }

    /// What the group may do with the copy and what belongs to it: read.
    private static let mode: mode_t = 0o640

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
        // Also against the umask: the folder decides who reaches it. Where the file system has no modes, the failure changes
        // nothing.
        fchmod(file, mode)
        close(file)
    }

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

/// File systems whose files are on another machine. The write-ahead log needs memory that all who have the database open
/// share, and locks that hold (https://sqlite.org/wal.html, "does not work over a network filesystem").
enum NetworkFileSystem {
    /// - Throws: `database_on_network`.
    static func refuse(path: String) throws(UserFacingError) {
        let folder = Descriptors.folder(of: path)
        var status = stat()
        // What is wrong with the folder is said by what opens the file.
        guard stat(folder, &status) == 0 else { return }
        let type = prsnl_file_system(folder)
        let mounts = isFUSE(type) ? Descriptors.text(of: "/proc/self/mountinfo", atMost: 4 << 20) ?? "" : ""
        guard let name = name(type: type, device: UInt64(status.st_dev), mounts: mounts) else { return }
        throw UserFacingError(
            .databaseOnNetwork, "\(folder) is on a network file system (\(name)), where SQLite's log loses data.",
            consequence: "The database was not opened.")
    }

    /// Its name, for people; `nil` for one of this machine, and for one that is not known.
    ///
    /// - Parameters:
    ///   - type: `f_type` (statfs(2)).
    ///   - device: `st_dev`.
    ///   - mounts: /proc/self/mountinfo (proc_pid_mountinfo(5)), by which FUSE's are told apart.
    static func name(type: Int, device: UInt64, mounts: String) -> String? {
        guard isFUSE(type) else { return types[UInt32(truncatingIfNeeded: type)] }
        let number = "\(prsnl_major(device)):\(prsnl_minor(device))"
        for line in mounts.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count > 2, words[2] == number, let dash = words.firstIndex(of: "-"), dash + 1 < words.count
            else { continue }
            let kind = String(words[dash + 1])
            return fuse.contains(kind) ? kind : nil
        }
        return nil
    }

    private static func isFUSE(_ type: Int) -> Bool { UInt32(truncatingIfNeeded: type) == 0x6573_5546 }

    /// linux/magic.h, and the headers of those that are not in it.
    private static let types: [UInt32: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x0102_1997: "9p",
        0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x00C3_6400: "Ceph", 0x7375_7245: "Coda", 0x564C: "NCP",
        0x0BD0_0BD0: "Lustre", 0x7461_636F: "OCFS2", 0x0116_1970: "GFS2", 0x1983_0326: "BeeGFS",
    ]

    /// By the names that they are mounted with. Those that only show files of this machine in another way are not here.
    private static let fuse: Set<String> = [
        "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse",
        "fuse.goofys", "fuse.juicefs", "fuse.davfs", "fuse.davfs2", "fuse.curlftpfs", "fuse.smbnetfs", "fuse.nfs",
        "fuse.gvfsd-fuse", "fuse.mount-s3", "fuse.lizardfs", "fuse.mfs", "fuse.moosefs", "fuse.seaweedfs",
        "fuse.hdfs", "fuse.fuse_dfs", "fuse.blobfuse", "fuse.blobfuse2",
    ]
}

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

    /// The processes that read the database now: each holds one of the read locks, which are bytes 123 to 127 of `-shm`
    /// (https://sqlite.org/walformat.html#wal_locks).
    package static func readers(path: String) -> [Int32] {
        KernelLocks.holders(of: RealPath.of(path) + "-shm", 123...127).sorted()
    }
}
