import CLinux
import Glibc
import PRSNLCore

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
        var bytes = [UInt8](repeating: 0, count: 100)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { pread(file, $0.baseAddress! + count, $0.count - count, count) }
            if got < 0, errno == EINTR { continue }
            if got < 0 {
                throw UserFacingError(
                    .databaseUnreadable, "\(path) cannot be read: \(String(cString: strerror(errno))).")
            }
            if got == 0 { break }
            count += got
        }
        if count == 0 { return nil }
        guard count == bytes.count, bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
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
