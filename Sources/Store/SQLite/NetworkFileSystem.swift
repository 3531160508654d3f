import CLinux
import Glibc
import PRSNLCore

/// File systems whose files are on another machine. The write-ahead log needs memory that all who have the database open
/// share, and locks that hold (https://sqlite.org/wal.html, "does not work over a network filesystem").
enum NetworkFileSystem {
    /// - Throws: `database_on_network`.
    static func refuse(path: String) throws(UserFacingError) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        var status = stat()
        // What is wrong with the folder is said by what opens the file.
        guard stat(folder, &status) == 0 else { return }
        let mounts = isFUSE(prsnl_file_system(folder)) ? readMounts() : ""
        guard let name = name(type: prsnl_file_system(folder), device: UInt64(status.st_dev), mounts: mounts) else {
            return
        }
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

    private static func readMounts() -> String {
        let file = prsnl_open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < 4 << 20 {
            let count = read(file, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
