import CLinux
import Glibc
import PRSNLCore

/// Root opens another user's file with that user's rights only.
///
/// SQLite, as root, gives what it finds under the names of its files to the database's owner, and follows links to it: whoever
/// owns the folder could so be given any file of the machine, by waiting for root to look. setfsuid(2) changes the rights of
/// this thread alone, and takes away those to pass over owners and modes.
struct FolderOwner {
    private let group: gid_t
    private let isOther: Bool

    /// - Throws: `database_unreadable` where the rights cannot be given up.
    static func begin(path: String) throws(UserFacingError) -> FolderOwner {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        var status = stat()
        // A folder that is not there has no file either.
        guard geteuid() == 0, stat(folder, &status) == 0, status.st_uid != 0 else {
            return FolderOwner(group: 0, isOther: false)
        }
        let owner = FolderOwner(group: getegid(), isOther: true)
        setfsgid(status.st_gid)
        setfsuid(status.st_uid)
        // It has no other way to say that it failed: a user that there cannot be changes nothing, and tells who it is.
        guard setfsuid(uid_t.max) == Int32(bitPattern: status.st_uid) else {
            owner.end()
            throw UserFacingError(.databaseUnreadable, "\(path) cannot be opened with its owner's rights.")
        }
        return owner
    }

    func end() {
        guard isOther else { return }
        setfsuid(0)
        setfsgid(group)
    }
}
