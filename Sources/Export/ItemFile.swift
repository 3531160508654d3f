import Glibc
import PRSNLCore

/// An item's file as it is found: what an export wrote, and what a person did with it.
struct ItemFile {
    /// More than the longest item has. What is larger, a person has put there.
    private static let longest = 96 << 20
    /// What stands below the marker of a new file.
    static let nothingBelow: ArraySlice<UInt8> = [0x0A]

    let bytes: [UInt8]
    let status: stat
    private let head: FileHead
    /// Nothing above the marker was changed.
    private let isAsWritten: Bool
    /// What stands behind the marker, to be kept byte for byte.
    private let below: ArraySlice<UInt8>

    /// - Throws: `export_folder` for one that is larger than any export writes.
    init(_ file: OpenFile) throws(UserFacingError) {
        let status = try file.status()
        guard status.st_size < Self.longest else { throw FolderFailure.error(EFBIG, "read", file.path) }
        let bytes = try file.read(atMost: Int(status.st_size))
        self.bytes = bytes
        self.status = status
        head = FileHead(bytes)
        let end = ItemDocument.endOfMarker(in: bytes)
        below = end.map { bytes[$0...] } ?? Self.nothingBelow
        guard let end, let line = head.line, line.upperBound <= end, let provenance = head.provenance else {
            isAsWritten = false
            return
        }
        var hash = Fingerprint(bytes[..<line.lowerBound])
        bytes[line.upperBound..<end].withUnsafeBufferPointer { hash.add($0) }
        isAsWritten = hash == provenance.hash
    }

    /// Byte for byte what was written.
    var isUntouched: Bool { isAsWritten && below == Self.nothingBelow }

    /// What is to stand in its place, and whether something of a person's is lost by that.
    func renewed(_ document: ItemDocument, _ provenance: Provenance) -> (bytes: [UInt8], isLossy: Bool) {
        // The item has changed in nothing that a file says: what a person has changed can stay.
        if let line = head.line, head.provenance?.hash == document.hash {
            return (bytes[..<line.lowerBound] + provenance.line + bytes[line.upperBound...], false)
        }
        // The exports before this one wrote no line.
        let isKnown = isAsWritten || head.line == nil && bytes.starts(with: document.bytes)
        return (document.file(provenance, below: below), !isKnown)
    }
}

extension stat {
    /// Whether a file is still what was read.
    func isSame(as other: stat) -> Bool {
        st_ino == other.st_ino && st_dev == other.st_dev && st_ctim.tv_sec == other.st_ctim.tv_sec
            && st_ctim.tv_nsec == other.st_ctim.tv_nsec && hasSameContent(as: other)
    }

    func hasSameContent(as other: stat) -> Bool {
        st_size == other.st_size && st_mtim.tv_sec == other.st_mtim.tv_sec && st_mtim.tv_nsec == other.st_mtim.tv_nsec
    }
}
