import Glibc
package import PRSNLCore
package import Store

/// `prsnlctl export DIR`: a Markdown file for each item of the timeline.
///
/// The head of each file in the folder says which item it is of, and from which row it was made. Every row is compared with
/// that. Then the items that have changed are read one by one, each in a transaction of its own, and written. At the end, the
/// files of deleted items go.
package final class MarkdownExport {
    /// A file of the folder that an item has.
    private typealias FoundFile = (name: String, provenance: Provenance?)

    /// An item whose file has to be written.
    struct Change {
        var createdAt: Timestamp
        var id: String
        var name: String?
    }

    let reader: StoreReader
    let folder: ExportFolder
    private let entries: [OpenFolder.Entry]
    /// By the ids of their items. After the comparison, the files that no item has.
    private var found: [ByteText: [FoundFile]] = [:]
    private let choice: ExportChoice?
    /// The files of items that the search finds no more.
    private var left: [FoundFile] = []
    private var changed: [Change] = []
    /// Written, and not in their places yet.
    var waiting: [WaitingFile] = []
    /// The names that are taken, as a file system sees them that does not tell upper from lower case, or two spellings of an
    /// accented letter (`String` compares by canonical equivalence). Made when the first new name is needed.
    private var names: Set<String>?
    /// Files that may not be read. Whose they are is not known.
    private var unreadable: [ByteText: UserFacingError] = [:]
    private var report: ExportReport
    /// What the first file that could not be read or written failed with.
    private var failure: UserFacingError?

    /// - Parameters:
    ///   - path: absolute.
    ///   - onFile: called with how many of how many files are written.
    package static func run(
        _ reader: StoreReader, _ choice: ExportChoice? = nil, path: String, onFile: (Int, Int) -> Void = { _, _ in }
    ) throws(UserFacingError) -> ExportReport {
        try ExportFolder.run(in: path, of: try reader.exportOrigin(), choice) { folder throws(UserFacingError) in
            let export = try MarkdownExport(reader, choice, folder, path)
            try export.findFiles()
            try export.compare()
            try folder.saveOrigin()
            try export.writeChanged(onFile)
            try export.removeVanished()
            if let failure = export.failure { throw failure }
            return export.report
        }
    }

    private init(
        _ reader: StoreReader, _ choice: ExportChoice?, _ folder: ExportFolder, _ path: String
    ) throws(UserFacingError) {
        self.choice = choice
        report = ExportReport(format: .markdown, folder: path)
        self.folder = folder
        self.reader = reader
        entries = try folder.files.entries()
    }

    // MARK: Comparing

    private func findFiles() throws(UserFacingError) {
        // One that was made before the daemon had reached its server names none.
        var unreached = ExportOrigin()
        unreached.query = folder.copy.query
        let marks = [folder.copy.mark, unreached.mark]
        for entry in entries where entry.isFile && !entry.name.hasPrefix(".") {
            guard entry.name.hasSuffix(ItemFileName.suffix) else { continue }
            guard let head = try head(entry.name), let id = head.id else { continue }
            // One of another copy, which a person has put here, is left alone.
            if let provenance = head.provenance, !marks.contains(provenance.copy) { continue }
            found[ByteText(id), default: []].append((entry.name, head.provenance))
        }
    }

    private func head(_ name: String) throws(UserFacingError) -> FileHead? {
        do throws(UserFacingError) {
            guard let file = try folder.files.open(name) else { return nil }
            let head = FileHead(try file.read(atMost: 4_096))
            // Where a title has many pages, the rest comes behind them.
            return head.isComplete ? head : FileHead(try file.read(atMost: 4 << 20))
        } catch {
            guard error.code == .exportFolder else { throw error }
            unreadable[ByteText(name)] = error
            return nil
        }
    }

    private func compare() throws(UserFacingError) {
        let hasFiles = found.values.contains { $0.contains { $0.provenance != nil } }
        let localIDs = Dictionary(folder.copy.givenIDs.map { (ByteText($0.given), $0.local) }, uniquingKeysWith: { $1 })
        try reader.exportRows { row in
            let id = ByteText(row.id)
            let files =
                found.removeValue(forKey: id) ?? localIDs[id].flatMap { found.removeValue(forKey: ByteText($0)) }
            guard choice?.ids.contains(id) ?? true else { return left += files ?? [] }
            report.items += 1
            let file = files.flatMap { Self.choose($0, row) }
            if let file, file.provenance?.row == row.fingerprint {
                report.unchanged += 1
            } else {
                changed.append(Change(createdAt: row.createdAt, id: row.id, name: file?.name))
            }
        }
        guard report.items > 0 || choice != nil || !hasFiles else { throw folder.isOfEmptyCopy }
    }

    /// Where a person has copied a file, the copy is left alone. It has a longer name, or one without the date.
    private static func choose(_ files: [FoundFile], _ row: ExportRow) -> FoundFile? {
        if files.count == 1 { return files.first }
        let date = LocalTime(row.createdAt).day
        func rank(_ file: FoundFile) -> (Int, Int, ByteText) {
            (file.name.hasPrefix(date) ? 0 : 1, file.name.utf8.count, ByteText(file.name))
        }
        return files.min { rank($0) < rank($1) }
    }

    // MARK: Writing

    /// The oldest first: of two items with one name, the later one's is longer, however often a run was interrupted.
    private func writeChanged(_ onFile: (Int, Int) -> Void) throws(UserFacingError) {
        changed.sort { ($0.createdAt, ByteText($0.id)) < ($1.createdAt, ByteText($1.id)) }
        do throws(UserFacingError) {
            for (index, change) in changed.enumerated() {
                onFile(index, changed.count)
                try attempt { () throws(UserFacingError) in try write(change) }
                if waiting.count == Self.mostWaiting { try placeWaiting() }
            }
        } catch {
            // A disk that is full: what is whole takes its place, so that the next run goes on from there.
            try placeWaiting()
            throw error
        }
        try placeWaiting()
    }

    /// One file that may not be read or written holds up no other.
    func attempt(_ body: () throws(UserFacingError) -> Void) throws(UserFacingError) {
        do throws(UserFacingError) { try body() } catch {
            guard error.code == .exportFolder else { throw error }
            failure = failure ?? error
        }
    }

    /// - Returns: whether the name was free until now.
    func take(_ name: String) throws(UserFacingError) -> Bool {
        // It may be the item's own.
        if let error = unreadable[ByteText(name)] { throw error }
        if names == nil { names = Set(entries.lazy.map { $0.name.lowercased() }) }
        return names?.insert(name.lowercased()).inserted ?? false
    }

    // MARK: Deleted items

    private func removeVanished() throws(UserFacingError) {
        for file in left where file.provenance != nil {
            guard choice?.isWhole ?? true else {
                report.kept += 1
                continue
            }
            try attempt { () throws(UserFacingError) in try remove(file.name) }
        }
        for (id, files) in found.sorted(by: { $0.key < $1.key }) {
            let isDeleted = try reader.isKnownDeleted(id.text)
            for file in files {
                if isDeleted || folder.copy.isComplete && file.provenance != nil {
                    try attempt { () throws(UserFacingError) in try remove(file.name) }
                } else if file.provenance != nil {
                    // While a copy is being filled, it lacks items that are on the server.
                    report.kept += 1
                }
            }
        }
    }
}

/// One item's file: written, put into its place, put away.
extension MarkdownExport {
    /// A file that is whole, and not in its place yet.
    struct WaitingFile {
        let change: Change
        let temporary: String
        let choice: ItemFileName
        /// The file in whose place it goes.
        let old: (name: String, status: stat, isKept: Bool)?
    }

    /// So many files go onto the disk at once.
    static let mostWaiting = 1_000
    private static let deletedName = ".deleted"
    private static let replacedName = ".replaced"

    func write(_ change: Change) throws(UserFacingError) {
        // One that has gone meanwhile is left to the next run.
        guard let item = try reader.exportItem(change.id) else { return }
        let document = ItemDocument(item.shown)
        let provenance = Provenance(copy: folder.copy.mark, row: item.fingerprint, hash: document.hash)
        let shown = item.shown.item
        let choice = ItemFileName(createdAt: shown.createdAt, title: shown.title, type: shown.type, id: shown.id)
        var old: (name: String, status: stat, isKept: Bool)?
        var bytes = document.file(provenance, below: ItemFile.nothingBelow)
        if let name = change.name, let file = try folder.files.open(name).map(ItemFile.init) {
            let renewed = file.renewed(document, provenance)
            if renewed.isLossy { try keep(file, name) }
            old = (name, file.status, renewed.isLossy)
            bytes = renewed.bytes
        }
        let temporary = try folder.write(bytes, mode: old?.status.st_mode)
        waiting.append(WaitingFile(change: change, temporary: temporary, choice: choice, old: old))
    }

    /// Puts what waits into its place. It goes onto the disk first, so that a power cut leaves a file as it was or as it is to
    /// be, and never half of one. An fsync for each would take minutes for the first run.
    func placeWaiting() throws(UserFacingError) {
        let files = waiting
        waiting = []
        guard !files.isEmpty else { return }
        CrashPoint.beforeExportSync.reach()
        try folder.synchronize()
        for file in files {
            CrashPoint.beforeExportRename.reach()
            try attempt { () throws(UserFacingError) in
                if let old = file.old { try replace(old, file) } else { try make(file) }
            }
            CrashPoint.afterExportRename.reach()
        }
    }

    private func make(_ file: WaitingFile) throws(UserFacingError) {
        func place(_ name: String) throws(UserFacingError) -> Bool {
            guard try folder.inner.renameNew(file.temporary, to: folder.files, name) else { return false }
            report.written += 1
            return true
        }
        // A person has removed the file in this moment.
        if let name = file.change.name, try place(name) { return }
        for number in 0... {
            let name = file.choice.candidate(number)
            if try take(name), try place(name) { return }
        }
    }

    private func replace(
        _ old: (name: String, status: stat, isKept: Bool), _ file: WaitingFile
    ) throws(UserFacingError) {
        guard let now = try folder.files.status(old.name), old.status.isSame(as: now) else {
            try folder.inner.remove(file.temporary)
            report.busy += 1
            return
        }
        let held = try folder.files.open(old.name)
        try folder.inner.rename(file.temporary, to: folder.files, old.name)
        report.written += 1
        if old.isKept { report.replaced += 1 }
        // What a person saved between the look at a file and its replacement. A program that has the old file open and
        // writes to it later still writes where no name leads: no rename can prevent that.
        if let held, try !old.status.hasSameContent(as: held.status()) {
            try keep(ItemFile(held), old.name)
            report.replaced += 1
        }
    }

    // MARK: Putting away

    func remove(_ name: String) throws(UserFacingError) {
        guard let file = try folder.files.open(name).map(ItemFile.init) else { return }
        guard let now = try folder.files.status(name), file.status.isSame(as: now) else { return report.busy += 1 }
        if file.isUntouched {
            try folder.files.remove(name)
            report.removed += 1
        } else {
            let target = try folder.files.folder(Self.deletedName)
            try Self.firstFree(name) { new throws(UserFacingError) in
                try folder.files.renameNew(name, to: target, new)
            }
            report.moved += 1
        }
        CrashPoint.afterExportRemoval.reach()
    }

    /// Puts what a file holds into `.replaced`, unless it is there already from a run that was killed.
    private func keep(_ file: ItemFile, _ name: String) throws(UserFacingError) {
        let target = try folder.files.folder(Self.replacedName)
        let temporary = try folder.write(file.bytes, mode: file.status.st_mode, isSynchronized: true)
        try Self.firstFree(name) { new throws(UserFacingError) in
            if let there = try target.open(new), try ItemFile(there).bytes == file.bytes {
                try folder.inner.remove(temporary)
                return true
            }
            return try folder.inner.renameNew(temporary, to: target, new)
        }
    }

    /// `NAME.md`, else `NAME 2.md` and so on.
    private static func firstFree(
        _ name: String, _ attempt: (String) throws(UserFacingError) -> Bool
    ) throws(UserFacingError) {
        let stem = name.dropLast(ItemFileName.suffix.count)
        for number in 1... {
            if try attempt(number == 1 ? name : "\(stem) \(number)\(ItemFileName.suffix)") { return }
        }
    }
}
