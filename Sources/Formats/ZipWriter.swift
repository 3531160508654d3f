internal import CFormats
package import PRSNLCore

/// A ZIP file, entry by entry (APPNOTE.TXT 6.3, 4.3). Of what is written, only the directory is kept in memory.
///
/// Without ZIP64: 65,535 entries, and 4 GiB.
package struct ZipWriter {
    /// The most entries that a file may have.
    package static let most = 65_535

    private struct Entry {
        let name: String
        let head: [UInt8]
        let offset: UInt32
    }

    private let write: ([UInt8]) throws -> Void
    private var entries: [Entry] = []
    private var size = 0

    /// - Parameter write: appends to the file.
    /// - Throws: `library_missing`.
    package init(_ write: @escaping ([UInt8]) throws -> Void) throws(UserFacingError) {
        try Library.zlib.check()
        self.write = write
    }

    /// - Parameter isStored: as it is, for what has to be found at a place in the file.
    /// - Throws: `limit_reached`; what `write` throws.
    package mutating func add(_ name: String, _ bytes: [UInt8], isStored: Bool = false) throws {
        let data = isStored ? bytes : Self.deflated(bytes) ?? bytes
        guard entries.count < Self.most, size + data.count < Int(UInt32.max) - (100 << 20) else {
            throw UserFacingError(
                .exportFolder, "The book is too large: a ZIP file of this kind has 4 GB at most.",
                recoverySuggestion: "Choose some of the items, with --query.")
        }
        // The parts that stand before the entry, and again in the directory.
        var head: [UInt8] = []
        head.append(20, as: UInt16.self)  // the version that can read it: 2.0, deflate
        head.append(1 << 11, as: UInt16.self)  // names are UTF-8
        head.append(data.count < bytes.count ? 8 : 0, as: UInt16.self)
        // 1980-01-01: two books of the same items are equal.
        head.append(0, as: UInt16.self)
        head.append(1 << 5 | 1, as: UInt16.self)
        head.append(bytes.withUnsafeBytes { Int(prsnl_crc32($0.baseAddress, $0.count)) }, as: UInt32.self)
        head.append(data.count, as: UInt32.self)
        head.append(bytes.count, as: UInt32.self)
        head.append(name.utf8.count, as: UInt16.self)
        head.append(0, as: UInt16.self)
        entries.append(Entry(name: name, head: head, offset: UInt32(size)))
        let start = Array("PK\u{3}\u{4}".utf8) + head + Array(name.utf8)
        try write(start)
        try write(data)
        size += start.count + data.count
    }

    /// - Parameter comment: at the very end of the file.
    package mutating func end(comment: String) throws {
        let start = size
        for entry in entries {
            var bytes = Array("PK\u{1}\u{2}".utf8)
            bytes.append(20, as: UInt16.self)
            bytes += entry.head
            // No comment, the first disk, no attributes.
            bytes += [UInt8](repeating: 0, count: 10)
            bytes.append(Int(entry.offset), as: UInt32.self)
            bytes += Array(entry.name.utf8)
            try write(bytes)
            size += bytes.count
        }
        var bytes = Array("PK\u{5}\u{6}".utf8) + [0, 0, 0, 0]
        bytes.append(entries.count, as: UInt16.self)
        bytes.append(entries.count, as: UInt16.self)
        bytes.append(size - start, as: UInt32.self)
        bytes.append(start, as: UInt32.self)
        bytes.append(comment.utf8.count, as: UInt16.self)
        try write(bytes + Array(comment.utf8))
    }

    /// `nil` where that is not smaller.
    private static func deflated(_ bytes: [UInt8]) -> [UInt8]? {
        let room = prsnl_deflate_bound(bytes.count)
        let deflated = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            count = bytes.withUnsafeBytes { prsnl_deflate($0.baseAddress, $0.count, buffer.baseAddress, room) }
        }
        return deflated.isEmpty || deflated.count >= bytes.count ? nil : deflated
    }
}

extension [UInt8] {
    /// In the byte order of ZIP, the lowest first.
    fileprivate mutating func append<Number: FixedWidthInteger>(_ number: Int, as: Number.Type) {
        Swift.withUnsafeBytes(of: Number(truncatingIfNeeded: number).littleEndian) { append(contentsOf: $0) }
    }
}
