import Glibc
package import PRSNLCore
package import Store

/// `prsnlctl export --format jsonl`: everything that the copy knows, an object a line.
package enum LineExport {
    static let fileName = "prsnl.jsonl"

    /// Into `DIR/prsnl.jsonl`, which is replaced when all of it is on the disk.
    ///
    /// - Parameters:
    ///   - path: absolute.
    ///   - onLines: called with how many lines are written.
    package static func run(
        _ reader: StoreReader, _ choice: ExportChoice? = nil, path: String, onLines: (Int) -> Void = { _ in }
    ) throws(UserFacingError) -> ExportReport {
        try ExportFolder.run(in: path, of: try reader.exportOrigin(), choice) { folder throws(UserFacingError) in
            let (temporary, file) = try folder.create()
            let lines = try write(reader, choice, to: file, onLines)
            // A copy that was begun again must not replace a whole backup.
            if lines == 0, choice == nil, let former = try folder.files.status(fileName), former.st_size > 0 {
                try folder.inner.remove(temporary)
                throw folder.isOfEmptyCopy
            }
            try file.synchronize()
            try folder.saveOrigin()
            try folder.inner.rename(temporary, to: folder.files, fileName)
            return ExportReport(format: .jsonl, folder: path, items: lines, written: 1)
        }
    }

    /// To stdout.
    package static func print(_ reader: StoreReader, _ choice: ExportChoice? = nil) throws(UserFacingError) {
        let copy = dup(STDOUT_FILENO)
        guard copy >= 0 else { throw FolderFailure.error(errno, "written", "stdout") }
        _ = try write(reader, choice, to: OpenFile(copy, "stdout"))
    }

    private static func write(
        _ reader: StoreReader, _ choice: ExportChoice?, to file: OpenFile, _ onLines: (Int) -> Void = { _ in }
    ) throws(UserFacingError) -> Int {
        var position: StoreReader.LinePosition? = .init()
        var bytes: [UInt8] = []
        var lines = 0
        while let here = position {
            bytes.removeAll(keepingCapacity: true)
            let (count, next) = try reader.appendLines(after: here, of: choice?.ids, to: &bytes)
            // It may be a terminal, or come to one.
            bytes = Array(JSONText.escapingControls(String(decoding: bytes, as: UTF8.self)).utf8)
            try file.write(bytes)
            lines += count
            onLines(lines)
            position = next
        }
        return lines
    }
}
