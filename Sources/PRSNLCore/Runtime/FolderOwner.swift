import CLinux
import Glibc

/// Whose rights root takes for what is below the folder of another user. That user may put a link or another file there at any
/// moment, and must not be given what they could not open themselves. With their own rights, their links lead nowhere else.
///
/// setfsuid(2) changes the rights of this thread alone, and takes away those to pass over owners and modes. The groups of root's
/// are put away too, because its own files are often readable for them.
package struct FolderOwner: Sendable {
    private struct User: Equatable {
        var id: uid_t
        var group: gid_t
        var groups: [gid_t]
    }

    /// As it was given, without root's own links.
    package let path: String
    private let user: User?

    /// - Parameter path: Of a file, which need not be there, nor its folder.
    package init(_ path: String) {
        guard geteuid() == 0 else {
            self.path = path
            user = nil
            return
        }
        let (reached, owner) = Self.walk(path)
        self.path = reached
        user = owner.map { owner in
            // The user's own, because the folder's may be root's.
            let group = UserDatabase.group(of: owner.user) ?? owner.group
            return User(id: owner.user, group: group, groups: [group])
        }
    }

    /// Goes as far as only root can give the parts of the path another meaning, and names the last other user whose folder
    /// or link is on the way. Root's own folders and links below it could be given other names by that user.
    ///
    /// Each part is looked at in the open folder before it. By its whole name, a user could lead the walk into a third user's
    /// folder meanwhile, and root would take that one's rights.
    private static func walk(_ given: String) -> (path: String, owner: (user: uid_t, group: gid_t)?) {
        var pending = parts(given.hasPrefix("/") ? given : "\(RealPath.resolved(".") ?? "")/\(given)")
        var path = ""
        var owner: (user: uid_t, group: gid_t)?
        var links = 0
        var here = prsnl_openat(AT_FDCWD, "/", look)
        defer { close(here) }
        while let part = pending.popLast() {
            let entry = prsnl_openat(here, part, look)
            var status = stat()
            guard entry >= 0, fstat(entry, &status) == 0 else {
                pending.append(part)
                break
            }
            close(here)
            here = entry
            let next = "\(path)/\(part)"
            let isLink = status.st_mode & S_IFMT == S_IFLNK
            if isLink, status.st_uid == 0, owner == nil, links < RealPath.mostLinks, let target = RealPath.link(next) {
                if target.hasPrefix("/") { path = "" }
                pending += parts(target)
                links += 1
                close(here)
                here = prsnl_openat(AT_FDCWD, path.isEmpty ? "/" : path, look)
                continue
            }
            path = next
            if status.st_uid != 0, isLink || !pending.isEmpty { owner = (status.st_uid, status.st_gid) }
            if isLink { break }
        }
        let whole = ([path] + pending.reversed()).joined(separator: "/")
        return (whole.isEmpty ? "/" : whole, owner)
    }

    private static let look = O_NOFOLLOW | O_CLOEXEC | prsnl_o_path

    /// Last part first.
    private static func parts(_ path: String) -> [String] {
        path.split(separator: "/").lazy.map(String.init).filter { $0 != "." }.reversed()
    }

    package func isUser(_ id: UInt32) -> Bool { user?.id == id }
    func isSame(as other: FolderOwner) -> Bool { user == other.user }

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

    /// Takes these rights for the whole process, which cannot go back.
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
        // The new user could read this process otherwise (prctl(2), PR_SET_DUMPABLE), and use root's terminal.
        _ = prsnl_set_not_dumpable()
    }

    /// The same as `run` for the file at a path.
    package static func run<Result>(
        beside path: String, _ body: (_ path: String) throws(UserFacingError) -> Result
    ) throws(UserFacingError) -> Result {
        let owner = FolderOwner(path)
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
