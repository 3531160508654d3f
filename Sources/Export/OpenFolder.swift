import CLinux
import Glibc
import PRSNLCore

/// A folder that is open. What is in it is named relative to it, and no symbolic link in it is ever followed: another user
/// who may write there cannot lead an export out of it, not even while it runs.
final class OpenFolder {
    let descriptor: Int32
    /// For people.
    let path: String

    private init(_ descriptor: Int32, _ path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// Runs `body` with the folder that a person names, made where it is missing; its parent has to be there. For root, in a
    /// folder of another user, with that user's rights.
    static func run<Result>(
        in path: String, _ body: (OpenFolder) throws(UserFacingError) -> Result
    ) throws(UserFacingError) -> Result {
        let folder = try owner(path).run { () throws(UserFacingError) in try OpenFolder(named: path) }
        return try owner(folder.place(ExportFolder.privateName)).run { () throws(UserFacingError) in try body(folder) }
    }

    private static func owner(_ path: String) throws(UserFacingError) -> FolderOwner {
        do throws(UserFacingError) { return try FolderOwner(path) } catch {
            throw UserFacingError(
                .exportFolder, error.message, consequence: "Nothing was exported.",
                recoverySuggestion: error.recoverySuggestion)
        }
    }

    private convenience init(named path: String) throws(UserFacingError) {
        if mkdir(path, 0o777) != 0, errno != EEXIST { throw FolderFailure.error(errno, "made", path) }
        let descriptor = prsnl_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard descriptor >= 0 else {
            if errno == ENOTDIR {
                throw UserFacingError(
                    .exportFolder, "\(path) is a file.", consequence: "Nothing was exported.",
                    recoverySuggestion: "Name a folder, or a path at which there is nothing yet.")
            }
            throw FolderFailure.error(errno, "opened", path)
        }
        self.init(descriptor, path)
        var here = stat()
        var root = stat()
        guard fstat(descriptor, &here) == 0, stat("/", &root) == 0 else {
            throw FolderFailure.error(errno, "looked at", path)
        }
        if here.st_dev == root.st_dev, here.st_ino == root.st_ino {
            throw UserFacingError(
                .exportFolder, "\(path) is the root of the file system.", consequence: "Nothing was exported.",
                recoverySuggestion: "Name a folder of its own.")
        }
    }

    /// A folder in this one, made where it is missing.
    func folder(_ name: String) throws(UserFacingError) -> OpenFolder {
        if mkdirat(descriptor, name, 0o777) != 0, errno != EEXIST { throw failure("made", name) }
        let inner = prsnl_openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard inner >= 0 else {
            if errno == ELOOP || errno == ENOTDIR { throw FolderFailure.taken(place(name)) }
            throw failure("opened", name)
        }
        return OpenFolder(inner, place(name))
    }

    func place(_ name: String) -> String { "\(path)/\(name)" }

    func failure(_ operation: String, _ name: String) -> UserFacingError {
        FolderFailure.error(errno, operation, place(name))
    }

    // MARK: Reading

    typealias Entry = (name: String, isFile: Bool)

    /// Everything in it. Names that are no UTF-8 are left out: none of them is ours.
    func entries() throws(UserFacingError) -> [Entry] {
        let again = prsnl_openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard again >= 0, let stream = fdopendir(again) else {
            if again >= 0 { close(again) }
            throw failure("read", ".")
        }
        defer { closedir(stream) }
        var entries: [Entry] = []
        errno = 0
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                name.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            if let name, name != ".", name != ".." {
                var type = prsnl_entry_type(entry)
                if type == 0 { type = try status(name).map { $0.st_mode & S_IFMT } ?? 0 }
                entries.append((name, type == S_IFREG))
            }
            errno = 0
        }
        if errno != 0 { throw failure("read", ".") }
        return entries
    }

    /// Of the entry itself, whatever a link leads to; `nil` where there is none.
    func status(_ name: String) throws(UserFacingError) -> stat? {
        var status = stat()
        if fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        if errno == ENOENT { return nil }
        throw failure("looked at", name)
    }

    /// Opens a file for reading; `nil` where there is none of that name, or something that is no file.
    func open(_ name: String) throws(UserFacingError) -> OpenFile? {
        let file = prsnl_openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else {
            if errno == ENOENT || errno == ELOOP || errno == ENXIO { return nil }
            throw failure("opened", name)
        }
        let opened = OpenFile(file, place(name))
        return try opened.status().st_mode & S_IFMT == S_IFREG ? opened : nil
    }

    // MARK: Writing

    /// Makes a file and keeps it open for writing. There is none of that name.
    func create(_ name: String) throws(UserFacingError) -> OpenFile {
        let file = prsnl_createat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o666)
        guard file >= 0 else { throw failure("made", name) }
        return OpenFile(file, place(name))
    }

    func remove(_ name: String) throws(UserFacingError) {
        if unlinkat(descriptor, name, 0) != 0, errno != ENOENT { throw failure("removed", name) }
    }

    /// In place of what has the name there.
    func rename(_ name: String, to folder: OpenFolder, _ new: String) throws(UserFacingError) {
        if renameat(descriptor, name, folder.descriptor, new) != 0 { throw folder.failure("written", new) }
    }

    /// Where the name is free there.
    ///
    /// - Returns: false where it is taken.
    func renameNew(_ name: String, to folder: OpenFolder, _ new: String) throws(UserFacingError) -> Bool {
        if prsnl_renameat_new(descriptor, name, folder.descriptor, new) == 0 { return true }
        if errno == EEXIST { return false }
        // Some file systems cannot do it (renameat2(2)): a look goes ahead there.
        guard errno == EINVAL || errno == ENOSYS else { throw folder.failure("written", new) }
        if try folder.status(new) != nil { return false }
        try rename(name, to: folder, new)
        return true
    }
}

/// A file that is being read or written. It can be read when it has no name any more.
final class OpenFile {
    let descriptor: Int32
    let path: String

    init(_ descriptor: Int32, _ path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// From its beginning.
    func read(atMost limit: Int) throws(UserFacingError) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            while count < limit {
                let read = pread(descriptor, buffer.baseAddress.map { $0 + count }, limit - count, off_t(count))
                if read < 0, errno == EINTR { continue }
                failed = read < 0
                guard read > 0 else { return }
                count += read
            }
        }
        if failed { throw FolderFailure.error(errno, "read", path) }
        return bytes
    }

    func write(_ bytes: borrowing [UInt8]) throws(UserFacingError) {
        let code = bytes.withUnsafeBytes { Descriptors.write($0, to: descriptor) }
        if code != 0 { throw FolderFailure.error(code, "written", path) }
    }

    func synchronize() throws(UserFacingError) {
        if fsync(descriptor) != 0 { throw FolderFailure.error(errno, "written", path) }
    }

    func status() throws(UserFacingError) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FolderFailure.error(errno, "looked at", path) }
        return status
    }
}

/// A system call in the folder of an export that failed.
enum FolderFailure {
    /// - Parameter code: its errno.
    static func error(_ code: Int32, _ operation: String, _ path: String) -> UserFacingError {
        let message = "\(path) could not be \(operation): \(String(cString: strerror(code)))."
        let (kind, cure): (ErrorCode, Advice?) =
            switch code {
            case ENOSPC, EDQUOT:
                (.diskFull, "Free some space, and give the command again. It goes on where it stopped.")
            case EIO: (.diskError, nil)
            case EFBIG: (.exportFolder, "Move it out of the folder, and give the command again.")
            case EROFS, EACCES, EPERM: (.exportFolder, "Check that this user may write there, or name another folder.")
            default: (.of(errno: code, otherwise: .exportFolder), nil)
            }
        return UserFacingError(kind, message, consequence: done, recoverySuggestion: cure)
    }

    static let done = "What was exported before stays, and the next run goes on."

    /// Where a folder of ours should be there is a symbolic link or a file.
    static func taken(_ path: String) -> UserFacingError {
        UserFacingError(
            .exportFolder, "\(path) is no folder, or a symbolic link, which is not followed.", consequence: done,
            recoverySuggestion: "Move it away, and give the command again.")
    }
}
