import Glibc
package import PRSNLCore
package import Store

/// `prsnlctl export --format jsonl`: everything that the copy knows, an object a line.
package enum LineExport {
    static let fileName = "prsnl.jsonl"

    /// Into `DIR/prsnl.jsonl`, which is replaced when all of it is on the disk.
    ///
    /// - Parameter path: absolute.
    package static func run(_ reader: StoreReader, path: String) throws(UserFacingError) -> ExportTally {
        try OpenFolder.run(in: path) { folder throws(UserFacingError) in try run(reader, folder) }
    }

    private static func run(_ reader: StoreReader, _ folder: OpenFolder) throws(UserFacingError) -> ExportTally {
        let manifest = try Manifest(of: folder)
        let copy = try reader.exportOrigin()
        try ExportOwnership.check(
            manifest.origin, ManifestText.Origin(serverURL: copy.serverURL, accountID: copy.accountID), folder.path)
        let file = try manifest.folder.create(Manifest.temporaryName)
        let lines = try write(reader, to: file)
        // A copy that was begun again must not replace a whole backup.
        if lines == 0, let former = try folder.status(fileName), former.st_size > 0 {
            try manifest.folder.remove(Manifest.temporaryName)
            throw ExportOwnership.isEmpty(folder.path)
        }
        try file.synchronize()
        try manifest.folder.rename(Manifest.temporaryName, to: folder, fileName)
        var tally = ExportTally()
        tally.items = lines
        tally.written = 1
        return tally
    }

    /// To stdout.
    package static func print(_ reader: StoreReader) throws(UserFacingError) {
        let copy = dup(STDOUT_FILENO)
        guard copy >= 0 else { throw FolderFailure.error(errno, "written", "stdout") }
        _ = try write(reader, to: OpenFile(copy, "stdout"))
    }

    private static func write(_ reader: StoreReader, to file: OpenFile) throws(UserFacingError) -> Int {
        var position: StoreReader.LinePosition? = .init()
        var bytes: [UInt8] = []
        var lines = 0
        while let here = position {
            bytes.removeAll(keepingCapacity: true)
            let (count, next) = try reader.appendLines(after: here, to: &bytes)
            // It may be a terminal, or come to one.
            bytes = Array(JSONText.escapingControls(String(decoding: bytes, as: UTF8.self)).utf8)
            try file.write(bytes)
            lines += count
            position = next
        }
        return lines
    }
}
