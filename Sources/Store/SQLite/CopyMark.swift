import CLinux
import Glibc
import PRSNLCore

/// The file `<database>.mark.<count>`, by which a database that was restored from a backup, or copied, is told from the one that
/// was worked on here last. Its writes are `queued` as they were then, and have perhaps been sent since.
///
/// The database has an id and counts what it sends (`copy.mark`, `copy.sends`). The mark has the same id, and the count in its
/// name. It is renamed after the transaction that begins a send, which is on the disk by then, and before the request goes out.
/// So the mark is never ahead of its own database, and it costs no fsync:
///
/// | database | mark | what has happened | it is |
/// | --- | --- | --- | --- |
/// | no id | none | it is new, or an earlier version made it | marked |
/// | no id | at 0 | the process ended while it was marking it | marked |
/// | no id | beyond 0 | a backup from before it was marked | doubted |
/// | id | none, or of another id | it was copied to here without its mark | doubted |
/// | id | a copy itself | both were copied, or restored together | doubted |
/// | id | several | a backup was written over the files, and brought its own mark | doubted |
/// | behind the mark | the original | it was restored from a backup | doubted |
/// | at the mark, or ahead | the original | nothing was sent since; or a kill, or a power cut that the mark did not survive | trusted |
///
/// A mark knows that it is the original by its file's birth time, which no copy keeps and no program can set. What is written
/// over a file keeps the birth time of that file. So the count is in the name: the mark of another count is always another file.
/// A new machine-id, which each start of a container has, and a disk in another machine raise no doubt. Neither does a rename of
/// the folder. Where the file system has no birth times, the row of the copy itself is missing. An image of a whole disk has the
/// birth time as well: it is not noticed.
struct CopyMark {
    /// What a database and the marks beside it say of each other.
    enum Verdict: Equatable {
        case trusted
        /// It gets its first mark.
        case unmarked
        case doubted
    }

    /// `nil` where it cannot be read.
    let id: String?
    private(set) var sends: Int
    private let isOriginal: Bool
    private let database: String
    private(set) var path: String

    static func judge(id: String?, sends: Int, _ marks: [CopyMark]) -> Verdict {
        guard let id else { return marks.contains { $0.sends > 0 } ? .doubted : .unmarked }
        guard marks.count == 1, marks[0].id == id, marks[0].isOriginal, marks[0].sends <= sends else { return .doubted }
        return .trusted
    }

    /// The marks that are there: one, unless files of different times were put together.
    ///
    /// - Throws: what errno says.
    static func all(beside database: String) throws(UserFacingError) -> [CopyMark] {
        let folder = Descriptors.folder(of: database)
        guard let stream = opendir(folder) else { throw .ofDisk("The folder \(folder) cannot be read") }
        defer { closedir(stream) }
        let first = (database.split(separator: "/").last ?? "") + ".mark"
        var marks: [CopyMark] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            guard let name, name.utf8.starts(with: first.utf8) else { continue }
            let count = Substring(name.utf8.dropFirst(first.utf8.count))
            // Version 1 had the count in the file, which had one name.
            if count.isEmpty || count.first == "." && Int(count.dropFirst()) != nil {
                marks.append(CopyMark(database, at: database + ".mark" + count, sends: Int(count.dropFirst())))
            }
        }
        return marks
    }

    private init(_ database: String, at path: String, sends: Int?) {
        var bytes: [UInt8] = []
        var birth = Self.noBirth
        let file = prsnl_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        if file >= 0 {
            bytes = Descriptors.read(file, atMost: 255).bytes
            birth = Self.birth(of: file)
            Glibc.close(file)
        }
        let fields = String(decoding: bytes.prefix(256), as: UTF8.self).split(separator: "\n").map(String.init)
        let isMark = fields.count == 4 && fields[0] == Self.title
        id = isMark ? fields[1] : nil
        self.sends = sends ?? (isMark ? Int(fields[2]) : nil) ?? 0
        isOriginal = isMark && (fields[3] == birth || fields[3] == Self.noBirth || birth == Self.noBirth)
        self.database = database
        self.path = path
    }

    /// Puts a mark of another id, at 0, in the place of those that are there.
    ///
    /// - Throws: what errno says.
    static func make(
        beside database: String, id: String, inPlaceOf others: [CopyMark] = []
    ) throws(UserFacingError) -> CopyMark {
        let new = database + ".mark.new"
        unlink(new)
        // The owner's alone, as the lock: who can write here could make the daemon doubt its copy.
        let file = prsnl_open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw .ofDisk("The mark \(new) cannot be made") }
        defer { Glibc.close(file) }
        let bytes = Array("\(title)\n\(id)\n0\n\(birth(of: file))\n".utf8)
        guard pwrite(file, bytes, bytes.count, 0) == bytes.count, fsync(file) == 0 else {
            throw .ofDisk("The mark \(new) cannot be written")
        }
        for other in others where unlink(other.path) != 0 { throw .ofDisk("The mark \(other.path) cannot be removed") }
        let path = path(beside: database, 0)
        guard rename(new, path) == 0 else { throw .ofDisk("The mark \(path) cannot be made") }
        return CopyMark(database, at: path, sends: 0)
    }

    /// - Returns: whether it was renamed.
    mutating func follow(_ sends: Int) -> Bool {
        let new = Self.path(beside: database, sends)
        self.sends = sends
        guard rename(path, new) == 0 else { return false }
        path = new
        return true
    }

    private static func path(beside database: String, _ sends: Int) -> String { "\(database).mark.\(sends)" }
    private static let title = "prsnld mark 1"
    private static let noBirth = "-"

    private static func birth(of file: Int32) -> String {
        var seconds: Int64 = 0
        var nanoseconds: UInt32 = 0
        return prsnl_birth_time(file, &seconds, &nanoseconds) == 0 ? "\(seconds).\(nanoseconds)" : noBirth
    }
}

extension UserFacingError {
    /// What the disk has not done, and errno says why.
    static func ofDisk(_ problem: String, consequence: String? = nil) -> UserFacingError {
        let code = errno
        return UserFacingError(
            code == ENOSPC || code == EDQUOT ? .diskFull : .diskError,
            "\(problem): \(String(cString: strerror(code))).",
            consequence: consequence)
    }
}
