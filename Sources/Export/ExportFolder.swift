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
    /// The manifest of the first version named each file too, and had a journal.
    private static let version = "prsnld-export\t2"
    private static let olderVersion = "prsnld-export\t1"
    private static let olderNames: Set<String> = ["journal", "manifest.new"]

    /// DIR itself.
    let files: OpenFolder
    /// `.prsnld-export`.
    let inner: OpenFolder
    let copy: ExportOrigin
    private let lock: OpenFile
    private var temporaries = 0

    /// Runs `body` with the folder that a person names. For root, in a folder of another user, with that user's rights.
    ///
    /// - Throws: `export_mismatch` where it holds the export of another copy. All its files would be those of deleted items.
    static func run<Result>(
        in path: String, of copy: ExportOrigin, _ body: (ExportFolder) throws(UserFacingError) -> Result
    ) throws(UserFacingError) -> Result {
        try OpenFolder.run(in: path) { files throws(UserFacingError) in
            let folder = try ExportFolder(files, copy)
            try folder.checkOrigin()
            return try body(folder)
        }
    }

    private init(_ files: OpenFolder, _ copy: ExportOrigin) throws(UserFacingError) {
        self.files = files
        self.copy = copy
        inner = try files.folder(Self.privateName)
        lock = try Self.lock(inner)
        for name in try inner.entries().map(\.name)
        where name.hasPrefix(Self.temporaryPrefix) || Self.olderNames.contains(name) {
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
        guard lines[0] == Self.version || lines[0] == Self.olderVersion else {
            throw UserFacingError(
                .exportFolder, "\(inner.place(Self.manifestName)) was written by a newer prsnlctl.",
                consequence: "Nothing was exported.", recoverySuggestion: "Use that one, or name another folder.")
        }
        let former = lines[1].split(separator: "\t", omittingEmptySubsequences: false)
        guard former.count == 3, former[1] != ExportOrigin.none, lines[1] != copy.line else { return }
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

    /// Server and account, between tabs.
    fileprivate var line: String { "origin\t\(Self.field(serverURL))\t\(Self.field(accountID))" }

    /// Eight digits, by which a file says of which copy it is.
    var mark: String { String(Fingerprint(line).hexadecimal.prefix(8)) }
}
