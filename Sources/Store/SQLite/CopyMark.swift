import CLinux
import Glibc
import PRSNLCore

/// The file `<database>.mark`, by which a database that was restored from a backup, or copied, is told from the one that was
/// worked on here last. Its writes are `queued` as they were then, and have perhaps been sent since.
///
/// The database has an id and counts what it sends (`copy.mark`, `copy.sends`). The mark has the same id, and a count that
/// follows: it is written after the transaction that begins a send, which is on the disk by then, and before the request
/// goes out. So the mark is never ahead of its own database, and it costs no fsync:
///
/// | database | mark | what has happened | it is |
/// | --- | --- | --- | --- |
/// | no id | none | it is new, or an earlier version made it | marked |
/// | no id | at 0 | the process ended while it was marking it | marked |
/// | no id | beyond 0 | a backup from before it was marked | doubted |
/// | id | none, or of another id | it was copied to here without its mark | doubted |
/// | id | a copy itself | both were copied, or restored together | doubted |
/// | behind the mark | the original | it was restored from a backup | doubted |
/// | at the mark, or ahead | the original | nothing was sent since; or a kill, or a power cut that the mark did not survive | trusted |
///
/// A mark knows that it is the original by its file's birth time, which no copy keeps and no program can set. So a new
/// machine-id, which each start of a container has, and a disk in another machine raise no doubt. Neither does a rename of
/// the folder. Where the file system has no birth times, that one row is missing. An image of a whole disk has the birth
/// time as well: it is not noticed.
final class CopyMark {
    /// What a database and the mark beside it say of each other.
    enum Verdict: Equatable {
        case trusted
        /// It gets its first mark.
        case unmarked
        case doubted
    }

    let id: String
    private(set) var sends: Int
    private let birth: String
    private let file: Int32

    private init(id: String, sends: Int, birth: String, file: Int32) {
        self.id = id
        self.sends = sends
        self.birth = birth
        self.file = file
    }

    deinit { Glibc.close(file) }

    static func judge(id: String?, sends: Int, _ mark: CopyMark?) -> Verdict {
        guard let id else { return mark.map { $0.sends > 0 } == true ? .doubted : .unmarked }
        guard let mark, mark.id == id, mark.isOriginal, mark.sends <= sends else { return .doubted }
        return .trusted
    }

    private static func path(beside database: String) -> String { database + ".mark" }

    /// The mark that is there; `nil` where there is none that can be read.
    static func read(beside database: String) -> CopyMark? {
        let file = prsnl_open(path(beside: database), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)
        guard file >= 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = pread(file, &bytes, bytes.count, 0)
        let fields = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
        guard fields.count == 4, fields[0] == title, let sends = Int(fields[2])
        else {
            Glibc.close(file)
            return nil
        }
        return CopyMark(id: String(fields[1]), sends: sends, birth: String(fields[3]), file: file)
    }

    /// Replaces the mark by one of another id, at 0.
    ///
    /// - Throws: what errno says.
    static func make(beside database: String, id: String) throws(UserFacingError) -> CopyMark {
        let path = path(beside: database)
        let new = path + ".new"
        unlink(new)
        // The owner's alone, as the lock: who can write here could make the daemon doubt its copy.
        let file = prsnl_open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw failure(new) }
        let mark = CopyMark(id: id, sends: 0, birth: birth(of: file), file: file)
        guard mark.write(), fsync(file) == 0, rename(new, path) == 0 else { throw failure(new) }
        return mark
    }

    /// In place, and all within one sector: it is as it was, or as it should be.
    ///
    /// - Returns: whether it was written.
    func follow(_ sends: Int) -> Bool {
        self.sends = sends
        return write()
    }

    private func write() -> Bool {
        let digits = String(sends)
        let number = String(repeating: "0", count: max(0, 20 - digits.count)) + digits
        let bytes = Array("\(Self.title)\n\(id)\n\(number)\n\(birth)\n".utf8)
        return pwrite(file, bytes, bytes.count, 0) == bytes.count
    }

    private var isOriginal: Bool {
        let now = Self.birth(of: file)
        return birth == now || birth == Self.noBirth || now == Self.noBirth
    }

    private static let title = "prsnld mark 1"
    private static let noBirth = "-"

    private static func birth(of file: Int32) -> String {
        var seconds: Int64 = 0
        var nanoseconds: UInt32 = 0
        return prsnl_birth_time(file, &seconds, &nanoseconds) == 0 ? "\(seconds).\(nanoseconds)" : noBirth
    }

    private static func failure(_ path: String) -> UserFacingError {
        let code = errno
        return UserFacingError(
            code == ENOSPC || code == EDQUOT ? .diskFull : .diskError,
            "The mark \(path) cannot be made: \(String(cString: strerror(code))).")
    }
}
