import CLinux
import Glibc
package import PRSNLCore

/// Root does with another user's files only what that user may.
///
/// As root, SQLite gives the files that it finds under its names to the database's owner, and follows links. The folder's
/// owner could place a link and would be given any file of the machine. setfsuid(2) changes the rights of
/// this thread alone, and takes away those to pass over owners and modes.
package struct FolderOwner {
    private let group: gid_t
    private let isOther: Bool
    /// The file, without links.
    let path: String

    /// - Throws: `database_linked` where root is led elsewhere, `database_unreadable` where the rights cannot be given up.
    static func begin(path: String) throws(UserFacingError) -> FolderOwner {
        guard geteuid() == 0, let place = try place(path) else {
            return FolderOwner(group: 0, isOther: false, path: RealPath.of(path))
        }
        let owner = FolderOwner(group: getegid(), isOther: place.owner != 0, path: place.path)
        guard owner.isOther else { return owner }
        setfsgid(place.group)
        setfsuid(place.owner)
        // It has no other way to say that it failed: a user that there cannot be changes nothing, and tells who it is.
        guard setfsuid(uid_t.max) == Int32(bitPattern: place.owner) else {
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

    /// - Returns: `nil` where the folder is not there: then there is no file either.
    private static func place(
        _ path: String
    ) throws(UserFacingError) -> (path: String, owner: uid_t, group: gid_t)? {
        do throws(UserFacingError) {
            let place = try GuardedPath(path)
            return (place.path, place.owner, place.group)
        } catch {
            if error.code == .noDatabase { return nil }
            throw error
        }
    }

    /// Runs `body`, which must not change its thread, with the rights of the owner of the file's folder.
    ///
    /// - Throws: `database_linked`, `database_unreadable`, what `body` throws.
    package static func run<Result>(
        beside path: String, _ body: (_ path: String) throws(UserFacingError) -> Result
    ) throws(UserFacingError) -> Result {
        let owner = try begin(path: path)
        defer { owner.end() }
        return try body(owner.path)
    }
}
