import Glibc
import PRSNLCore

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
