import Glibc
import PRSNLCore
import Store

/// One item's file: written, replaced, put away.
extension MarkdownExport {
    /// How often a file is read again that another program changes meanwhile.
    private static let attempts = 5

    func write(_ item: ExportItem) throws(UserFacingError) {
        let document = ItemDocument(item.shown).bytes
        let part = ManifestEntry.Part(hash: Fingerprint(document[...]), length: document.count)
        let entry = manifest.entry(item.shown.item.id)
        if let entry, isThere(entry) {
            try update(entry, item, document, part)
        } else {
            try make(entry, item, document, part)
        }
    }

    // MARK: A new file

    private func make(
        _ old: ManifestEntry?, _ item: ExportItem, _ document: [UInt8], _ part: ManifestEntry.Part
    ) throws(UserFacingError) {
        let status = try writeTemporary(document + ItemFile.nothingBelow)
        let shown = item.shown.item
        let choice = ItemFileName(createdAt: shown.createdAt, title: shown.title, type: shown.type, id: shown.id)
        // The name that it had, where a person removed the file.
        var former = old.flatMap { files[ByteText($0.name)] == nil ? $0.name : nil }
        var number = 0
        while true {
            let name = former ?? choice.candidate(number)
            if former == nil {
                number += 1
                guard take(name) else { continue }
            }
            former = nil
            let entry = ManifestEntry(
                id: shown.id, name: name, fingerprint: item.fingerprint, parts: [part], inode: UInt64(status.st_ino))
            entry.isSeen = true
            CrashPoint.beforeExportJournal.reach()
            try manifest.record(entry, origin)
            CrashPoint.beforeExportRename.reach()
            if try manifest.folder.renameNew(Manifest.temporaryName, to: folder, name) {
                files[ByteText(name)] = OpenFolder.Entry(isFile: true, inode: entry.inode)
                CrashPoint.afterExportRename.reach()
                tally.written += 1
                return
            }
        }
    }

    private func writeTemporary(_ bytes: [UInt8], mode: mode_t? = nil) throws(UserFacingError) -> stat {
        try manifest.folder.remove(Manifest.temporaryName)
        let file = try manifest.folder.create(Manifest.temporaryName)
        try file.write(bytes)
        // As the person has set it. Where the owner is another one, it cannot be kept.
        if let mode { fchmod(file.descriptor, mode & 0o777) }
        return try file.status()
    }

    // MARK: A file that is there

    private func update(
        _ entry: ManifestEntry, _ item: ExportItem, _ document: [UInt8], _ part: ManifestEntry.Part
    ) throws(UserFacingError) {
        // Of a row that has changed without anything that its file says.
        if entry.parts == [part], entry.fingerprint != nil {
            entry.fingerprint = item.fingerprint
            try manifest.record(entry, origin)
            tally.unchanged += 1
            return
        }
        for _ in 0..<Self.attempts {
            guard let found = try folder.read(entry.name, atMost: ItemFile.longest) else {
                files[ByteText(entry.name)] = try folder.status(entry.name).map {
                    OpenFolder.Entry(isFile: false, inode: UInt64($0.st_ino))
                }
                return try make(entry, item, document, part)
            }
            let file = ItemFile(found.bytes, found.status, parts: entry.parts + [part])
            if try replace(entry, file, item, document, part) { return }
        }
        tally.busy += 1
    }

    /// - Returns: false where the file was changed meanwhile.
    private func replace(
        _ entry: ManifestEntry, _ file: ItemFile, _ item: ExportItem, _ document: [UInt8], _ part: ManifestEntry.Part
    ) throws(UserFacingError) -> Bool {
        let content = document + file.below
        let isSame = !file.isTooLong && content == file.bytes
        if !isSame, !file.isAsWritten { try keep(file, entry.name, in: try folder.folder(Self.replacedName)) }
        let written = isSame ? file.status : try writeTemporary(content, mode: file.status.st_mode)
        guard let now = try folder.status(entry.name), file.isSame(as: now) else { return false }
        entry.parts = [part] + (isSame ? [] : entry.parts.filter { $0 != part })
        entry.fingerprint = item.fingerprint
        entry.inode = UInt64(written.st_ino)
        CrashPoint.beforeExportJournal.reach()
        try manifest.record(entry, origin)
        entry.parts = [part]
        CrashPoint.beforeExportRename.reach()
        if isSame {
            tally.unchanged += 1
            return true
        }
        let old = folder.held(entry.name)
        try manifest.folder.rename(Manifest.temporaryName, to: folder, entry.name)
        CrashPoint.afterExportRename.reach()
        tally.written += 1
        if !file.isAsWritten { tally.replaced += 1 }
        if let old { try keepLateChange(of: old, file, entry.name) }
        return true
    }

    /// What a person saved between the look at a file and its replacement. A program that has the old file open and writes
    /// to it later still writes where no name leads: no rename can prevent that.
    private func keepLateChange(of old: OpenFile, _ file: ItemFile, _ name: String) throws(UserFacingError) {
        let now = try old.status()
        guard
            now.st_size != file.status.st_size || now.st_mtim.tv_sec != file.status.st_mtim.tv_sec
                || now.st_mtim.tv_nsec != file.status.st_mtim.tv_nsec, let late = try folder.read(old)
        else { return }
        try keep(ItemFile(late.bytes, late.status, parts: []), name, in: try folder.folder(Self.replacedName))
        tally.replaced += 1
    }

    // MARK: Putting away

    func remove(_ entry: ManifestEntry) throws(UserFacingError) {
        for _ in 0..<Self.attempts {
            guard let found = try folder.read(entry.name, atMost: ItemFile.longest) else { break }
            let file = ItemFile(found.bytes, found.status, parts: entry.parts)
            guard let now = try folder.status(entry.name), file.isSame(as: now) else { continue }
            if file.isUntouched, !file.isTooLong {
                try folder.remove(entry.name)
                tally.removed += 1
            } else {
                let target = try folder.folder(Self.deletedName)
                try Self.firstFree(entry.name) { name throws(UserFacingError) in
                    try folder.renameNew(entry.name, to: target, name)
                }
                tally.moved += 1
            }
            CrashPoint.afterExportRemoval.reach()
            return try manifest.forget(entry, origin)
        }
        tally.busy += 1
    }

    /// Puts what a file holds into another folder, unless it is there already from a run that was killed.
    private func keep(_ file: ItemFile, _ name: String, in target: OpenFolder) throws(UserFacingError) {
        if file.isTooLong {
            // Not read, so not copied: the file itself goes there.
            try Self.firstFree(name) { new throws(UserFacingError) in try folder.renameNew(name, to: target, new) }
            tally.replaced += 1
            return
        }
        _ = try writeTemporary(file.bytes, mode: file.status.st_mode)
        try Self.firstFree(name) { new throws(UserFacingError) in
            if let there = try target.read(new, atMost: ItemFile.longest), there.bytes == file.bytes { return true }
            return try manifest.folder.renameNew(Manifest.temporaryName, to: target, new)
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

/// An item's file as it is found: what an export wrote, and what a person did with it.
struct ItemFile {
    /// More than the longest item has. A person who puts something larger there keeps it, unread.
    static let longest = 96 << 20

    let bytes: [UInt8]
    let status: stat
    /// Nothing above the marker was changed.
    let isAsWritten: Bool
    /// Nothing at all was changed.
    let isUntouched: Bool
    /// What stands behind the marker, to be kept byte for byte.
    let below: ArraySlice<UInt8>

    /// What stands below the marker of a new file.
    static let nothingBelow: ArraySlice<UInt8> = [0x0A]

    /// - Parameter parts: what it may begin with.
    init(_ bytes: [UInt8], _ status: stat, parts: [ManifestEntry.Part]) {
        self.bytes = bytes
        self.status = status
        let written = parts.first { part in
            part.length <= bytes.count && Fingerprint(bytes.prefix(part.length)) == part.hash
        }
        isAsWritten = written != nil
        if let written {
            below = bytes[written.length...]
            isUntouched = below == Self.nothingBelow
        } else {
            below = ItemDocument.endOfMarker(in: bytes).map { bytes[$0...] } ?? Self.nothingBelow
            isUntouched = false
        }
    }

    var isTooLong: Bool { status.st_size > Self.longest }

    /// Whether a file is still what was read.
    func isSame(as other: stat) -> Bool {
        status.st_ino == other.st_ino && status.st_dev == other.st_dev && status.st_size == other.st_size
            && status.st_mtim.tv_sec == other.st_mtim.tv_sec && status.st_mtim.tv_nsec == other.st_mtim.tv_nsec
            && status.st_ctim.tv_sec == other.st_ctim.tv_sec && status.st_ctim.tv_nsec == other.st_ctim.tv_nsec
    }
}
