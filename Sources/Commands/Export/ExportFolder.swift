import CLinux
import Glibc
import PRSNLCore
import Store

/// The folder of an export, locked, and `.prsnld-export` in it, which is the export's alone.
///
/// - `manifest` says whose items the files are.
/// - `writing-N` are files that are not in their places yet. They stand here rather than beside the others, where people and
///   programs that watch the folder would see them. Those of a run that was killed are removed.
/// - `lock` keeps a second export away.
final class ExportFolder {
    static let privateName = ".prsnld-export"
    private static let manifestName = "manifest"
    private static let temporaryPrefix = "writing"
    private static let version = "prsnld-export\t2"

    /// DIR itself.
    let files: OpenFolder
    /// `.prsnld-export`.
    let inner: OpenFolder
    let copy: ExportOrigin
    private let lock: OpenFile
    private var temporaries = 0

    /// Runs `body` with the folder that a person names, made where it is missing, with those above it. For root, in a folder of
    /// another user, with that user's rights.
    ///
    /// - Throws: `export_mismatch` where it holds the export of another copy or search. All its files would be those of deleted
    ///   items.
    static func run<Result>(
        in path: String, of copy: ExportOrigin, _ choice: ExportChoice?,
        _ body: (ExportFolder) throws(UserFacingError) -> Result
    ) throws(UserFacingError) -> Result {
        var copy = copy
        copy.query = choice?.query
        return try FolderOwner("\(path)/\(privateName)").run { () throws(UserFacingError) in
            let folder = try ExportFolder(try OpenFolder(named: path), copy)
            try folder.checkOrigin()
            return try body(folder)
        }
    }

    private init(_ files: OpenFolder, _ copy: ExportOrigin) throws(UserFacingError) {
        self.files = files
        self.copy = copy
        inner = try files.folder(Self.privateName)
        lock = try Self.lock(inner)
        for name in try inner.entries().map(\.name) where name.hasPrefix(Self.temporaryPrefix) {
            try inner.remove(name)
        }
    }

    private static func lock(_ folder: OpenFolder) throws(UserFacingError) -> OpenFile {
        let descriptor = prsnl_createat(
            folder.descriptor, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw folder.failure("opened", "lock") }
        let file = OpenFile(descriptor, folder.place("lock"))
        guard prsnl_lock_file(descriptor) == 0 else {
            guard errno == EWOULDBLOCK else { throw folder.failure("locked", "lock") }
            throw UserFacingError(
                .exportFolder, "Another export into this folder is under way.", consequence: "This one did nothing.",
                recoverySuggestion: "Wait until it has ended.")
        }
        return file
    }

    // MARK: Whose items they are

    private var manifest: [UInt8] { Array("\(Self.version)\n\(copy.line)\n".utf8) }

    /// Longer than the first two lines of any manifest.
    private func readManifest() throws(UserFacingError) -> [UInt8]? {
        try inner.open(Self.manifestName)?.read(atMost: 65_536)
    }

    private func checkOrigin() throws(UserFacingError) {
        let lines = String(decoding: try readManifest() ?? [], as: UTF8.self).split(separator: "\n", maxSplits: 2)
        guard lines.count > 1, lines[0].hasPrefix("prsnld-export\t") else { return }
        guard lines[0] == Self.version else {
            throw UserFacingError(
                .exportFolder, "\(inner.place(Self.manifestName)) was written by another version of prsnlctl.",
                consequence: "Nothing was exported.", recoverySuggestion: "Use that one, or name another folder.")
        }
        let former = lines[1].split(separator: "\t", omittingEmptySubsequences: false)
        guard former.count >= 3, lines[1] != copy.line else { return }
        let query = former.dropFirst(3).first.map(String.init)
        guard query == copy.query.map(ExportOrigin.field) else {
            func what(_ query: String?) -> String { query.map { "what the search \($0) finds" } ?? "all items" }
            throw UserFacingError(
                .exportMismatch,
                SafeText.harmless("\(files.path) holds \(what(query)), and you ask for \(what(copy.query))."),
                consequence: Self.unchanged, recoverySuggestion: "Name another folder for this.")
        }
        guard former[1] != ExportOrigin.none else { return }
        let isOfServer = former[1] == ExportOrigin.field(copy.serverURL)
        let (what, now) = isOfServer ? ("another account", copy.accountID) : (String(former[1]), copy.serverURL)
        throw UserFacingError(
            .exportMismatch,
            SafeText.harmless(
                "\(files.path) holds the items of \(what), and this copy is of \(now ?? "no server yet")."),
            consequence: Self.unchanged)
    }

    /// Does nothing where the manifest says so already.
    func saveOrigin() throws(UserFacingError) {
        guard try readManifest() != manifest else { return }
        let temporary = try write(manifest, isSynchronized: true)
        try inner.rename(temporary, to: inner, Self.manifestName)
    }

    var isOfEmptyCopy: UserFacingError {
        UserFacingError(
            .exportMismatch, "The copy has no items, and \(files.path) has files of some.",
            consequence: Self.unchanged,
            recoverySuggestion: """
                Look at `prsnlctl status`: the copy may be a new one. If all items were deleted on purpose, move the \
                folder away; it has your notes.
                """)
    }

    private static let unchanged = "No file was touched."

    // MARK: Files that wait for their places

    func create(mode: mode_t? = nil) throws(UserFacingError) -> (name: String, file: OpenFile) {
        temporaries += 1
        let name = "\(Self.temporaryPrefix)-\(temporaries)"
        let file = try inner.create(name)
        // As the person has set it. Where the owner is another one, it cannot be kept.
        if let mode { fchmod(file.descriptor, mode & 0o777) }
        return (name, file)
    }

    /// - Parameter isSynchronized: it is on the disk when this returns.
    /// - Returns: its name.
    func write(
        _ bytes: borrowing [UInt8], mode: mode_t? = nil, isSynchronized: Bool = false
    ) throws(UserFacingError) -> String {
        let (name, file) = try create(mode: mode)
        try file.write(bytes)
        if isSynchronized { try file.synchronize() }
        return name
    }

    /// Everything that was written, onto the disk.
    func synchronize() throws(UserFacingError) {
        if prsnl_syncfs(inner.descriptor) != 0 { throw inner.failure("written", ".") }
    }
}

extension ExportOrigin {
    fileprivate static let none = "\\-"

    fileprivate static func field(_ text: String?) -> String {
        guard let text else { return none }
        return text.replacing("\\", with: "\\\\").replacing("\t", with: "\\t").replacing("\n", with: "\\n")
    }

    /// Server and account, and the query if there is one, between tabs.
    fileprivate var line: String {
        "origin\t\(Self.field(serverURL))\t\(Self.field(accountID))" + (query.map { "\t\(Self.field($0))" } ?? "")
    }

    /// Eight digits, by which a file says of which copy it is.
    var mark: String { String(Fingerprint(line).hexadecimal.prefix(8)) }
}

/// What is open as long as this lives.
class OpenEntry {
    let descriptor: Int32
    /// For people.
    let path: String

    init(_ descriptor: Int32, _ path: String) { (self.descriptor, self.path) = (descriptor, path) }

    deinit { close(descriptor) }
}

/// A folder that is open. What is in it is named relative to it, and no symbolic link in it is ever followed: another user
/// who may write there cannot lead an export out of it, not even while it runs.
final class OpenFolder: OpenEntry {
    private static func make(_ path: String) throws(UserFacingError) {
        if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        let above = Descriptors.folder(of: path)
        if errno == ENOENT, above != path {
            try make(above)
            if mkdir(path, 0o777) == 0 || errno == EEXIST { return }
        }
        throw FolderFailure.error(errno, "made", path, "Nothing was exported.")
    }

    /// The folder that a person names, made where it is missing, with those above it.
    convenience init(named path: String) throws(UserFacingError) {
        try Self.make(path)
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
final class OpenFile: OpenEntry {
    func read(atMost limit: Int, from start: Int = 0) throws(UserFacingError) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            while count < limit {
                let read = pread(descriptor, buffer.baseAddress.map { $0 + count }, limit - count, off_t(start + count))
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
    static func error(_ code: Int32, _ operation: String, _ path: String, _ done: String = done) -> UserFacingError {
        let message = "\(path) could not be \(operation): \(String(cString: strerror(code)))."
        let (kind, cure): (ErrorCode, Advice?) =
            switch code {
            case ENOSPC, EDQUOT:
                (.diskFull, "Free some space, and give the command again.")
            case EIO: (.diskError, nil)
            case EFBIG: (.exportFolder, "Move it out of the folder, and give the command again.")
            case EROFS, EACCES, EPERM: (.exportFolder, "Check that this user may write there, or name another folder.")
            default: (.of(errno: code, otherwise: .exportFolder), nil)
            }
        return UserFacingError(kind, message, consequence: done, recoverySuggestion: cure)
    }

    static let done = "What was exported before stays."

    /// Where a folder of ours should be there is a symbolic link or a file.
    static func taken(_ path: String) -> UserFacingError {
        UserFacingError(
            .exportFolder, "\(path) is not a folder, or a symbolic link, which is not followed.", consequence: done,
            recoverySuggestion: "Move it away, and give the command again.")
    }
}
