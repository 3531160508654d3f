package import PRSNLCore
package import Store

/// `prsnlctl export DIR`: a Markdown file for each item of the timeline.
///
/// First every row is compared with what the manifest remembers of it. Then the items that have changed are read one by one,
/// each in a transaction of its own, and written. At the end, the files of deleted items go.
package final class MarkdownExport {
    static let deletedName = ".deleted"
    static let replacedName = ".replaced"

    let reader: StoreReader
    let folder: OpenFolder
    let manifest: Manifest
    let origin: ManifestText.Origin
    private let copy: ExportOrigin
    var files: [ByteText: OpenFolder.Entry]
    /// Made when the first new name is needed. No `lazy var`, which would be copied for each name that is taken.
    private var names: NameRegister?
    var tally = ExportTally()
    /// Files that could not be read or written, and what the first failed with.
    private var failures = 0
    private var failure: UserFacingError?
    private static let mostFailures = 100
    private var changed: [(createdAt: Timestamp, id: String)] = []

    /// - Parameter path: absolute.
    package static func run(_ reader: StoreReader, path: String) throws(UserFacingError) -> ExportTally {
        try OpenFolder.run(in: path) { folder throws(UserFacingError) in
            let export = try MarkdownExport(reader, folder)
            try export.compare()
            try export.writeChanged()
            try export.removeVanished()
            try export.manifest.finish(export.origin)
            if let failure = export.failure { throw failure }
            return export.tally
        }
    }

    private init(_ reader: StoreReader, _ folder: OpenFolder) throws(UserFacingError) {
        self.folder = folder
        self.reader = reader
        copy = try reader.exportOrigin()
        origin = ManifestText.Origin(serverURL: copy.serverURL, accountID: copy.accountID)
        manifest = try Manifest(of: folder)
        try ExportOwnership.check(manifest.origin, origin, folder.path)
        files = try folder.entries()
    }

    // MARK: Comparing

    private func compare() throws(UserFacingError) {
        try findRenamed()
        let adoptable = manifest.isLost ? try adoptable() : [:]
        let localIDs = Dictionary(
            copy.givenIDs.map { (ByteText($0.given), $0.local) }, uniquingKeysWith: { $1 })
        var given: [(entry: ManifestEntry, id: String)] = []
        let remembered = manifest.entries.count
        try reader.exportRows { row in
            tally.items += 1
            let id = ByteText(row.id)
            var entry = manifest.entry(row.id)
            if entry == nil, let local = localIDs[id], let known = manifest.entry(local), !known.isSeen {
                given.append((known, row.id))
                entry = known
            }
            if entry == nil, let name = adoptable[id] {
                let adopted = ManifestEntry(id: row.id, name: name, fingerprint: nil, parts: [], inode: 0)
                manifest.add(adopted)
                entry = adopted
            }
            entry?.isSeen = true
            if let entry, entry.fingerprint == row.fingerprint, isThere(entry) {
                tally.unchanged += 1
            } else {
                changed.append((row.createdAt, row.id))
            }
        }
        guard tally.items > 0 || remembered == 0 && adoptable.isEmpty else {
            throw ExportOwnership.isEmpty(folder.path)
        }
        for (entry, id) in given { try manifest.rename(entry, to: id, origin) }
    }

    /// - Returns: whether the name was free until now.
    func take(_ name: String) -> Bool {
        if names == nil {
            names = NameRegister(files.keys.lazy.map(\.text), manifest.entries.values.lazy.map(\.name))
        }
        return names?.take(name) ?? false
    }

    func isThere(_ entry: ManifestEntry) -> Bool { files[ByteText(entry.name)]?.isFile ?? false }

    /// Files that a person has renamed in the folder. They are known by their inode and their head.
    private func findRenamed() throws(UserFacingError) {
        let missing = manifest.entries.values.filter { files[ByteText($0.name)] == nil }
        guard !missing.isEmpty else { return }
        let claimed = Set(manifest.entries.values.map { ByteText($0.name) })
        var byInode: [UInt64: String] = [:]
        for (name, file) in files where file.isFile && !claimed.contains(name) && isItemName(name.text) {
            byInode[file.inode] = name.text
        }
        for entry in missing {
            if let name = byInode[entry.inode], try headID(name).map(ByteText.init) == ByteText(entry.id) {
                entry.name = name
                try manifest.record(entry, origin)
            } else if let status = try folder.status(entry.name), status.st_mode & 0o170000 == 0o100000 {
                // A file system that spells names in its own way.
                files[ByteText(entry.name)] = OpenFolder.Entry(isFile: true, inode: UInt64(status.st_ino))
            }
        }
    }

    /// Without a manifest: the files of an earlier export, by the ids in their heads.
    private func adoptable() throws(UserFacingError) -> [ByteText: String] {
        let claimed = Set(manifest.entries.values.map { ByteText($0.name) })
        var found: [ByteText: String] = [:]
        for (name, file) in files where file.isFile && !claimed.contains(name) && isItemName(name.text) {
            guard let id = try headID(name.text) else { continue }
            // A person's copy of a file has a longer name.
            if let other = found[ByteText(id)] {
                let isFirst = (name.text.utf8.count, name) < (other.utf8.count, ByteText(other))
                if !isFirst { continue }
            }
            found[ByteText(id)] = name.text
        }
        return found
    }

    private func isItemName(_ name: String) -> Bool { !name.hasPrefix(".") && name.hasSuffix(ItemFileName.suffix) }

    private func headID(_ name: String) throws(UserFacingError) -> String? {
        // Of a file that may not be read, nothing is known.
        guard let head = try? folder.read(name, atMost: 4_096) else { return nil }
        if let id = FrontMatter.id(in: head.bytes) { return id }
        // A title of many pages.
        guard head.bytes.count == 4_096, head.bytes.starts(with: "---\n".utf8) else { return nil }
        return try folder.read(name, atMost: 1 << 20).flatMap { FrontMatter.id(in: $0.bytes) }
    }

    // MARK: Writing

    /// The oldest first: of two items with one name, the later one's is longer, however often a run was interrupted.
    private func writeChanged() throws(UserFacingError) {
        changed.sort { ($0.createdAt, ByteText($0.id)) < ($1.createdAt, ByteText($1.id)) }
        for (_, id) in changed {
            // One that has gone meanwhile is left to the next run.
            guard let item = try reader.exportItem(id) else { continue }
            do throws(UserFacingError) {
                try write(item)
            } catch {
                // One file that may not be read holds up no other. Where all fail, it is the folder.
                guard error.code == .exportFolder, failures < Self.mostFailures else { throw error }
                failures += 1
                failure = failure ?? error
            }
        }
    }

    // MARK: Deleted items

    private func removeVanished() throws(UserFacingError) {
        let vanished = manifest.entries.values.filter { !$0.isSeen }
        guard !vanished.isEmpty else { return }
        let live = Set(manifest.entries.values.lazy.filter(\.isSeen).map { ByteText($0.name) })
        for entry in vanished.sorted(by: { ByteText($0.name) < ByteText($1.name) }) {
            if !isThere(entry) || live.contains(ByteText(entry.name)) {
                try manifest.forget(entry, origin)
                continue
            }
            // While a copy is being filled, it lacks items that are on the server.
            let isGone = copy.isComplete ? true : try reader.isKnownDeleted(entry.id)
            if isGone { try remove(entry) } else { tally.kept += 1 }
        }
    }
}

/// The names that are taken in a folder, as a file system sees them that does not tell upper from lower case, or two spellings
/// of an accented letter (`String` compares by canonical equivalence).
struct NameRegister {
    private var taken: Set<String> = []

    init(_ names: some Sequence<String>, _ more: some Sequence<String>) {
        for name in names { taken.insert(name.lowercased()) }
        for name in more { taken.insert(name.lowercased()) }
    }

    /// - Returns: false where it was taken before.
    mutating func take(_ name: String) -> Bool { taken.insert(name.lowercased()).inserted }
}
