import CLinux
import Glibc

/// Whose rights root takes for what it opens below the folder of another user. That user may put a link or another file there
/// at any moment, and must not be given what they could not open themselves.
///
/// setfsuid(2) changes the rights of this thread alone, and takes away those to pass over owners and modes. The groups of root's
/// are put away too, because its own files are often readable for them.
package struct FolderOwner: Sendable {
    private struct User {
        var id: uid_t
        var group: gid_t
        var groups: [gid_t]
    }

    /// The path without links. For any other user than root, those are followed.
    package let path: String
    private let user: User?

    /// - Parameter path: Of a file, which need not be there, nor its folder.
    /// - Throws: `database_linked` where a link that is not root's is on the way.
    package init(_ path: String) throws(UserFacingError) {
        guard geteuid() == 0, let place = try Self.place(path) else {
            self.path = RealPath.of(path)
            user = nil
            return
        }
        self.path = place.path
        guard place.user != 0 else {
            user = nil
            return
        }
        // The user's own, because the folder's may be root's.
        let group = UserDatabase.group(of: place.user) ?? place.group
        user = User(id: place.user, group: group, groups: [group])
    }

    /// The nearest folder that is there says who may make the others.
    private static func place(
        _ path: String
    ) throws(UserFacingError) -> (path: String, user: uid_t, group: gid_t)? {
        var above = path
        while true {
            do throws(UserFacingError) {
                let place = try GuardedPath(above)
                return (above == path ? place.path : path, place.rights.user, place.rights.group)
            } catch {
                guard error.code == .noDatabase, let slash = above.lastIndex(of: "/"), slash > above.startIndex else {
                    if error.code == .noDatabase { return nil }
                    throw error
                }
                above = String(above[..<slash])
            }
        }
    }

    /// Runs `body`, which must not change its thread, with these rights.
    ///
    /// - Throws: `database_unreadable` where root's cannot be given up; what `body` throws.
    package func run<Result>(_ body: () throws(UserFacingError) -> Result) throws(UserFacingError) -> Result {
        guard let user else { return try body() }
        let former = Self.take(user)
        defer { _ = Self.take(former) }
        // setfsuid has no other way to say that it failed: a user that there cannot be changes nothing, and tells who it is.
        guard setfsuid(uid_t.max) == Int32(bitPattern: user.id), Self.groups == user.groups else {
            throw UserFacingError(.databaseUnreadable, "\(path) cannot be opened with its owner's rights.")
        }
        return try body()
    }

    package func isUser(_ id: UInt32) -> Bool { user?.id == id }

    /// Takes these rights for the whole process, which cannot go back. Before it has other threads.
    ///
    /// - Throws: `database_unreadable` where the kernel refuses.
    package func become() throws(UserFacingError) {
        guard let user else { return }
        // For root, these set the saved ids too (setuid(2)).
        guard setgroups(user.groups.count, user.groups) == 0, setgid(user.group) == 0, setuid(user.id) == 0 else {
            throw UserFacingError(
                .databaseUnreadable,
                "Root could not take the rights of the owner of \(path): \(String(cString: strerror(errno))).")
        }
    }

    /// The same for the file at a path.
    package static func run<Result>(
        beside path: String, _ body: (_ path: String) throws(UserFacingError) -> Result
    ) throws(UserFacingError) -> Result {
        let owner = try FolderOwner(path)
        return try owner.run { () throws(UserFacingError) in try body(owner.path) }
    }

    /// - Returns: the rights that the thread had.
    private static func take(_ user: User) -> User {
        let groups = Self.groups
        prsnl_set_thread_groups(user.groups, user.groups.count)
        let group = setfsgid(user.group)
        return User(id: uid_t(bitPattern: setfsuid(user.id)), group: gid_t(bitPattern: group), groups: groups)
    }

    private static var groups: [gid_t] {
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return Array(groups.prefix(Int(max(0, count))))
    }
}
