import Glibc
import PRSNLCore
import Store

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
                if let old = file.old {
                    try replace(old, file)
                } else {
                    try make(file)
                }
            }
            CrashPoint.afterExportRename.reach()
        }
    }

    private func make(_ file: WaitingFile) throws(UserFacingError) {
        // A person has removed the file in this moment.
        if let name = file.change.name, try folder.inner.renameNew(file.temporary, to: folder.files, name) {
            tally.written += 1
            return
        }
        var number = 0
        while true {
            let name = file.choice.candidate(number)
            if try take(name), try folder.inner.renameNew(file.temporary, to: folder.files, name) { break }
            number += 1
        }
        tally.written += 1
    }

    private func replace(
        _ old: (name: String, status: stat, isKept: Bool), _ file: WaitingFile
    ) throws(UserFacingError) {
        guard let now = try folder.files.status(old.name), old.status.isSame(as: now) else {
            try folder.inner.remove(file.temporary)
            tally.busy += 1
            return
        }
        let held = try folder.files.open(old.name)
        try folder.inner.rename(file.temporary, to: folder.files, old.name)
        tally.written += 1
        if old.isKept { tally.replaced += 1 }
        // What a person saved between the look at a file and its replacement. A program that has the old file open and
        // writes to it later still writes where no name leads: no rename can prevent that.
        if let held, try !old.status.hasSameContent(as: held.status()) {
            try keep(ItemFile(held), old.name)
            tally.replaced += 1
        }
    }

    // MARK: Putting away

    func remove(_ name: String) throws(UserFacingError) {
        guard let file = try folder.files.open(name).map(ItemFile.init) else { return }
        guard let now = try folder.files.status(name), file.status.isSame(as: now) else { return tally.busy += 1 }
        if file.isUntouched {
            try folder.files.remove(name)
            tally.removed += 1
        } else {
            let target = try folder.files.folder(Self.deletedName)
            try Self.firstFree(name) { new throws(UserFacingError) in
                try folder.files.renameNew(name, to: target, new)
            }
            tally.moved += 1
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
        var number = 1
        while true {
            let choice = number == 1 ? name : "\(stem) \(number)\(ItemFileName.suffix)"
            if try attempt(choice) { return }
            number += 1
        }
    }
}
