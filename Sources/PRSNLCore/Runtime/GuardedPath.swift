package import CLinux
import Glibc

/// A file's path as root may follow it: its folder is open, so that no one can replace it, and only root made the links
/// on the way.
///
/// The owner of a folder may put a link where root expects a file or a folder, even between two looks of root's. So
/// each part of the path is opened in the one before it (openat(2), O_NOFOLLOW), and only links of root's are followed.
package struct GuardedPath: ~Copyable {
    /// The folder: to be used with openat(2), not to be read.
    package let folder: Int32
    /// The file's name in it. The file need not be there.
    package let name: String
    /// Without links.
    package let path: String
    package let owner: uid_t
    package let group: gid_t
    /// Whose rights root takes there: those of the last other user whose folder is on the way. Root's own folders and links
    /// below it could be given other names by that user.
    let rights: (user: uid_t, group: gid_t)

    /// As many links as the kernel follows (path_resolution(7)).
    private static let mostLinks = 40

    /// - Throws: `database_linked`, which names the link that root does not follow, `no_database` where there is no such
    ///   folder.
    package init(_ given: String) throws(UserFacingError) {
        var pending = Self.parts(given.hasPrefix("/") ? given : "\(Self.workingDirectory)/\(given)")
        var done: [String] = []
        var last: String?
        var links = 0
        var rights: (user: uid_t, group: gid_t) = (0, 0)
        var here = prsnl_openat(AT_FDCWD, "/", Self.look)
        func failure(_ code: Int32) -> UserFacingError {
            close(here)
            return Self.unreachable(given, code)
        }
        guard here >= 0 else { throw failure(errno) }
        while last == nil, let part = pending.popLast() {
            let entry = prsnl_openat(here, part, Self.look)
            guard entry >= 0 else {
                // The file itself need not be there.
                guard errno == ENOENT, pending.isEmpty, part != ".." else { throw failure(errno) }
                last = part
                continue
            }
            var status = stat()
            guard fstat(entry, &status) == 0 else {
                let code = errno
                close(entry)
                throw failure(code)
            }
            switch status.st_mode & S_IFMT {
            case S_IFLNK:
                let target = Self.target(entry)
                close(entry)
                links += 1
                guard status.st_uid == 0, links <= Self.mostLinks, let target else {
                    close(here)
                    throw Self.refused("/" + (done + [part]).joined(separator: "/"), status.st_uid)
                }
                pending += Self.parts(target)
                guard target.hasPrefix("/") else { continue }
                close(here)
                here = prsnl_openat(AT_FDCWD, "/", Self.look)
                done = []
            case S_IFDIR where !pending.isEmpty:
                close(here)
                here = entry
                if status.st_uid != 0 { rights = (status.st_uid, status.st_gid) }
                if part == ".." { _ = done.popLast() } else { done.append(part) }
            default:
                close(entry)
                guard pending.isEmpty else { throw failure(ENOTDIR) }
                last = part
            }
        }
        var status = stat()
        guard fstat(here, &status) == 0 else { throw failure(errno) }
        // Nothing is left of "/", or of a link to it.
        name = last ?? "."
        path = "/" + (done + [name]).joined(separator: "/")
        folder = here
        owner = status.st_uid
        group = status.st_gid
        self.rights = rights
    }

    deinit { close(folder) }

    /// The path without root's links. `nil` where there is no such folder, or where another user's link is on the way.
    static func resolved(_ path: String) -> String? {
        do throws(UserFacingError) { return try GuardedPath(path).path } catch { return nil }
    }

    private static let look = O_NOFOLLOW | O_CLOEXEC | prsnl_o_path

    private static var workingDirectory: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }

    /// Last part first.
    private static func parts(_ path: String) -> [String] {
        path.split(separator: "/").lazy.map(String.init).filter { $0 != "." }.reversed()
    }

    private static func target(_ link: Int32) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlinkat(link, "", &target, target.count)
        return count > 0 ? String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) : nil
    }

    private static func unreachable(_ path: String, _ code: Int32) -> UserFacingError {
        UserFacingError(
            code == ENOENT ? .noDatabase : .of(errno: code, otherwise: .databaseUnreadable),
            "\(path) cannot be reached: \(String(cString: strerror(code))).")
    }

    private static func refused(_ link: String, _ owner: uid_t) -> UserFacingError {
        let name = UserDatabase.user(owner)
        return UserFacingError(
            .databaseLinked, "\(link) is a symbolic link that \(name) has made, and root does not follow it.",
            recoverySuggestion: "Name what it leads to, or give the command as \(name).")
    }

    /// Whether no such file is in the folder. One that is there must be a file of its own: a link of either kind could lead to
    /// any file.
    package func isMissing(_ name: String) throws(UserFacingError) -> Bool {
        let file = prsnl_openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        let path = "\(path.dropLast(self.name.count))\(name)"
        guard file >= 0 else {
            if errno == ENOENT { return true }
            throw Self.notOfItsOwn(path, errno == ELOOP ? nil : errno)
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else {
            throw Self.notOfItsOwn(path, nil)
        }
        return false
    }

    private static func notOfItsOwn(_ path: String, _ code: Int32?) -> UserFacingError {
        UserFacingError(
            code.map { .of(errno: $0, otherwise: .databaseUnreadable) } ?? .databaseLinked,
            code.map { "\(path) cannot be opened: \(String(cString: strerror($0)))." }
                ?? "\(path) is not a file of its own. It was left as it is.",
            recoverySuggestion: "Look at it, and move it away.")
    }
}
