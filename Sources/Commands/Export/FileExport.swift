import CLinux
import Glibc
import PRSNLCore

/// A file that an export writes: whole, or it is what it was.
enum FileExport {
    static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

    /// - Parameters:
    ///   - isOwn: whether a file that is there was written by such an export. No other is replaced.
    ///   - body: writes all of it, and says how many items that are.
    static func run(
        _ path: String, _ format: ExportReport.Format, isOwn: (OpenFile) throws(UserFacingError) -> Bool,
        _ body: (OpenFile) throws -> Int
    ) throws(UserFacingError) -> ExportReport {
        try FolderOwner(path).run { () throws(UserFacingError) in
            let folder = try OpenFolder(named: Descriptors.folder(of: path))
            let name = name(path)
            func refusal(_ what: String) -> UserFacingError {
                UserFacingError(
                    .exportFolder, "\(path) \(what).", consequence: "Nothing was exported.",
                    recoverySuggestion: "Name another file.")
            }
            if let there = try folder.status(name) {
                let kind = there.st_mode & S_IFMT
                guard kind == S_IFREG else { throw refusal(kind == S_IFDIR ? "is a folder" : "is no regular file") }
                if there.st_size > 0, let former = try folder.open(name), !(try isOwn(former)) {
                    throw refusal("was not written by an export to \(format.rawValue)")
                }
            }
            let temporary = ".\(name).new"
            let file = try folder.createLocked(temporary)
            var report = ExportReport(format: format, folder: path)
            do { report.items = try body(file) } catch {
                try folder.remove(temporary)
                throw error as? UserFacingError ?? UserFacingError(.exportFolder, "\(error)")
            }
            if let former = try folder.open(name), try former.hasSameBytes(as: file) {
                try folder.remove(temporary)
                report.unchanged = 1
                return report
            }
            CrashPoint.beforeExportSync.reach()
            try file.synchronize()
            CrashPoint.beforeExportRename.reach()
            try folder.rename(temporary, to: folder, name)
            report.written = 1
            return report
        }
    }
}

extension OpenFolder {
    /// For writing, and empty: what another run left is used again. A second run at the same time is refused.
    fileprivate func createLocked(_ name: String) throws(UserFacingError) -> OpenFile {
        let descriptor = prsnl_createat(self.descriptor, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw failure("made", name) }
        let file = OpenFile(descriptor, place(name))
        // Another run may have put it into its place between the two calls.
        guard prsnl_lock_file(descriptor) == 0, try status(name)?.st_ino == file.status().st_ino else {
            throw UserFacingError(
                .exportFolder, "Another export into this file is under way.", consequence: "This one did nothing.",
                recoverySuggestion: "Wait until it has ended.")
        }
        guard ftruncate(descriptor, 0) == 0 else { throw failure("written", name) }
        return file
    }
}

extension OpenFile {
    func readEnd(atMost limit: Int) throws(UserFacingError) -> [UInt8] {
        try read(atMost: limit, from: max(0, Int(status().st_size) - limit))
    }

    fileprivate func hasSameBytes(as other: OpenFile) throws(UserFacingError) -> Bool {
        let size = Int(try status().st_size)
        guard try other.status().st_size == size else { return false }
        for start in stride(from: 0, to: size, by: 1 << 20) {
            if try read(atMost: 1 << 20, from: start) != other.read(atMost: 1 << 20, from: start) { return false }
        }
        return true
    }
}
