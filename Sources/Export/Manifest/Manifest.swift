import CLinux
import Glibc
import PRSNLCore

/// Which item has which file: `DIR/.prsnld-export`.
///
/// - `manifest` is whole, and replaced as a whole.
/// - `journal` is what a run has done since. A line is written before its file, so that after a kill only the last line may
///   be about a file that was not written.
/// - `writing` and `manifest.new` are removed where a killed run has left them. `writing` is a file that is not in its place yet. It stands here rather than beside the others, where people and
///   programs that watch the folder would see it.
/// - `lock` keeps a second export away.
final class Manifest {
    static let folderName = ".prsnld-export"
    static let temporaryName = "writing"
    /// Not `writing`: the manifest may be written while a file waits for its line in the journal.
    private static let newName = "manifest.new"
    private static let fileName = "manifest"
    private static let journalName = "journal"

    let folder: OpenFolder
    private(set) var entries: [ByteText: ManifestEntry] = [:]
    /// Whose items they are; `nil` for a new folder.
    private(set) var origin: ManifestText.Origin?
    /// Files of an earlier export may be there that it does not name.
    private(set) var isLost = false
    private let lock: OpenFile
    private var journal: OpenFile?
    private var hasOldJournal = false

    /// Locks the folder of an export and reads what is there.
    init(of target: OpenFolder) throws(UserFacingError) {
        folder = try target.folder(Self.folderName)
        lock = try Self.lock(folder)
        for name in [Self.temporaryName, Self.newName] { try folder.remove(name) }
        try readManifest()
        try readJournal()
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

    // MARK: Entries

    func entry(_ id: String) -> ManifestEntry? { entries[ByteText(id)] }

    /// Only in memory, until `record` writes it down.
    func add(_ entry: ManifestEntry) { entries[ByteText(entry.id)] = entry }

    /// The item has another id from now on.
    func rename(_ entry: ManifestEntry, to id: String, _ origin: ManifestText.Origin) throws(UserFacingError) {
        let old = entry.id
        entries[ByteText(old)] = nil
        entry.id = id
        add(entry)
        try writeLine(origin) { bytes in
            // If the second were lost, both ids would have the file, which is then the live item's.
            ManifestText.append(entry, to: &bytes)
            ManifestText.appendRemoval(of: old, to: &bytes)
        }
    }

    /// Writes down what an item's file is, or is about to be.
    func record(_ entry: ManifestEntry, _ origin: ManifestText.Origin) throws(UserFacingError) {
        add(entry)
        try writeLine(origin) { ManifestText.append(entry, to: &$0) }
    }

    func forget(_ entry: ManifestEntry, _ origin: ManifestText.Origin) throws(UserFacingError) {
        entries[ByteText(entry.id)] = nil
        try writeLine(origin) { ManifestText.appendRemoval(of: entry.id, to: &$0) }
    }

    // MARK: Reading

    private func readManifest() throws(UserFacingError) {
        guard let bytes = try folder.read(Self.fileName)?.bytes else { return isLost = true }
        try bytes.withUnsafeBufferPointer { bytes throws(UserFacingError) in try readManifest(LineIterator(bytes)) }
    }

    private func readManifest(_ lines: consuming LineIterator) throws(UserFacingError) {
        guard let first = lines.next() else { return isLost = true }
        guard first.elementsEqual(ManifestText.version.utf8) else {
            guard first.starts(with: "prsnld-export\t".utf8) else { return isLost = true }
            throw UserFacingError(
                .exportFolder, "\(folder.place(Self.fileName)) was written by a newer prsnlctl.",
                consequence: "Nothing was exported.", recoverySuggestion: "Use that one, or name another folder.")
        }
        origin = lines.next().flatMap { ManifestText.Origin(line: $0) }
        isLost = origin == nil
        var isWhole = false
        while let line = lines.next() {
            if line.starts(with: "end\t".utf8) {
                let count = ManifestText.number(UnsafeBufferPointer(rebasing: line[4...]))
                isWhole = count.map { $0 == entries.count } ?? false
            } else if case .file(let entry)? = ManifestText.line(line) {
                add(entry)
            } else {
                isLost = true
            }
        }
        if !isWhole { isLost = true }
    }

    private func readJournal() throws(UserFacingError) {
        guard let bytes = try folder.read(Self.journalName)?.bytes else { return }
        hasOldJournal = true
        bytes.withUnsafeBufferPointer { readJournal(LineIterator($0)) }
    }

    private func readJournal(_ lines: consuming LineIterator) {
        guard let first = lines.next(), first.elementsEqual(ManifestText.version.utf8),
            let origin = lines.next().flatMap({ ManifestText.Origin(line: $0) }), let boot = lines.next()
        else { return }
        self.origin = origin
        // After a power cut, lines may be on the disk whose files are not.
        let isSameBoot = boot.elementsEqual("boot\t\(Self.boot)".utf8)
        var last: ManifestEntry?
        while let line = lines.next() {
            last = nil
            switch ManifestText.line(line) {
            case .file(let entry):
                if let known = self.entry(entry.id) {
                    // Both, until it is known that the file was written.
                    entry.parts += known.parts.prefix(1).filter { !entry.parts.contains($0) }
                }
                if !isSameBoot { entry.fingerprint = nil }
                add(entry)
                last = entry
            case .removal(let id): entries[ByteText(id)] = nil
            case nil: isLost = true
            }
        }
        last?.fingerprint = nil
    }

    /// Lines that have an end: a torn one was never written.
    private struct LineIterator {
        private var rest: UnsafeBufferPointer<UInt8>

        init(_ bytes: UnsafeBufferPointer<UInt8>) { rest = bytes }

        mutating func next() -> UnsafeBufferPointer<UInt8>? {
            guard let end = rest.offset(of: 0x0A) else { return nil }
            defer { rest = UnsafeBufferPointer(rebasing: rest[(end + 1)...]) }
            return UnsafeBufferPointer(rebasing: rest[..<end])
        }
    }

    // MARK: Writing

    private static let boot: String = {
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return "unknown" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
    }()

    private func writeLine(
        _ origin: ManifestText.Origin, _ append: (inout [UInt8]) -> Void
    ) throws(UserFacingError) {
        var bytes: [UInt8] = []
        append(&bytes)
        if journal == nil { try openJournal(origin) }
        try journal?.write(bytes)
    }

    /// After what was left of a run that was killed, the whole is written first, so that a journal is of one run.
    private func openJournal(_ origin: ManifestText.Origin) throws(UserFacingError) {
        if hasOldJournal { try save(origin) }
        let file = try folder.create(Self.journalName)
        try file.write(Array("\(ManifestText.version)\n\(origin.line)\nboot\t\(Self.boot)\n".utf8))
        journal = file
    }

    /// At the end of a run: everything on the disk, then the manifest in its place. Does nothing where nothing has changed.
    func finish(_ origin: ManifestText.Origin) throws(UserFacingError) {
        guard journal != nil || hasOldJournal || isLost || self.origin != origin else { return }
        try save(origin)
    }

    private func save(_ origin: ManifestText.Origin) throws(UserFacingError) {
        // The manifest believes that the files are there.
        if prsnl_syncfs(folder.descriptor) != 0 { throw folder.failure("written", ".") }
        try folder.remove(Self.newName)
        let file = try folder.create(Self.newName)
        var bytes = Array("\(ManifestText.version)\n\(origin.line)\n".utf8)
        for entry in entries.values.sorted(by: { ByteText($0.name) < ByteText($1.name) }) {
            ManifestText.append(entry, to: &bytes)
            guard bytes.count > 1 << 20 else { continue }
            try file.write(bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        bytes.append(contentsOf: "end\t\(entries.count)\n".utf8)
        try file.write(bytes)
        try file.synchronize()
        try folder.rename(Self.newName, to: folder, Self.fileName)
        CrashPoint.afterExportManifest.reach()
        try folder.remove(Self.journalName)
        journal = nil
        hasOldJournal = false
        self.origin = origin
    }
}
