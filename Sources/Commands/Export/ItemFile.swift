import Glibc
package import PRSNLCore

/// The head of an item's file: YAML that every parser reads alike, because each value is a string in double quotation marks
/// with the escapes of JSON, which are those of YAML 1.1 and 1.2 too.
struct FrontMatter {
    private var lines: [UInt8] = []
    /// Where the line `prsnld` is to stand among them: beside the id.
    private(set) var placeOfProvenance = 0

    static let fence = "---\n"

    /// The whole of it, between its fences.
    var bytes: [UInt8] { Array(Self.fence.utf8) + lines + Array(Self.fence.utf8) }

    /// A value that is missing is left out.
    mutating func add(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        name.withUTF8Buffer { lines.append(contentsOf: $0) }
        lines.append(contentsOf: ": ".utf8)
        Self.append(value, to: &lines)
        lines.append(0x0A)
    }

    mutating func add(_ name: StaticString, list: [String]) {
        guard !list.isEmpty else { return }
        name.withUTF8Buffer { lines.append(contentsOf: $0) }
        lines.append(contentsOf: ":\n".utf8)
        for value in list {
            lines.append(contentsOf: "  - ".utf8)
            Self.append(value, to: &lines)
            lines.append(0x0A)
        }
    }

    /// Beyond what JSON escapes: what YAML does not take for printable (its section 5.1), what it takes for a line break
    /// (U+0085, U+2028), and what makes a text read as something else. All of it has four digits: what lies above U+FFFF
    /// needs no escape in YAML, and JSON's pairs of them would be two characters there.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(UInt8(scalar.value))
            case "\n": bytes.append(contentsOf: "\\n".utf8)
            case "\t": bytes.append(contentsOf: "\\t".utf8)
            case "\u{FFFE}", "\u{FFFF}",
                _ where scalar.value <= 0xFFFF && SafeText.isHarmful(scalar):
                let digits = String(scalar.value, radix: 16, uppercase: true)
                bytes.append(contentsOf: "\\u".utf8)
                bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count))
                bytes.append(contentsOf: digits.utf8)
            default: bytes.append(contentsOf: UTF8.encode(scalar)?.map(\.self) ?? [])
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Where the line `prsnld` is to stand: behind the lines so far.
    mutating func reserveProvenance() { placeOfProvenance = Self.fence.utf8.count + lines.count }
}

/// The line `prsnld` of a file's front matter: by it, a file itself says whether it is an export's, whether its item has changed
/// since, and whether a person has changed the file.
struct Provenance: Equatable {
    static let name = "prsnld"

    /// Of which copy it is: `ExportOrigin.mark`.
    var copy: String
    /// Of the row that the file was made from.
    var row: Fingerprint
    /// Of what was written into the file up to the marker, this line left out.
    var hash: Fingerprint

    var line: [UInt8] { Array("\(Self.name): \"\(copy) \(row.hexadecimal) \(hash.hexadecimal)\"\n".utf8) }
}

extension Provenance {
    /// - Parameter text: the line's value.
    init?(_ text: String) {
        let words = text.split(separator: " ")
        guard words.count == 3, let row = Fingerprint(hexadecimal: words[1]),
            let hash = Fingerprint(hexadecimal: words[2])
        else { return nil }
        self.init(copy: String(words[0]), row: row, hash: hash)
    }
}

/// What the front matter of a file that is there says to an export. Obsidian and other programs write it again, with other
/// quotation marks or none, and in another order.
struct FileHead {
    private(set) var id: String?
    private(set) var provenance: Provenance?
    /// Where its line is in the file, with the line's end.
    private(set) var line: Range<Int>?
    /// More bytes of the file would say nothing else.
    private(set) var isComplete = false

    /// - Parameter bytes: what the file begins with.
    init(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { read($0) } }

    private mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) {
        var start = 0
        while let length = UnsafeBufferPointer(rebasing: bytes[start...]).offset(of: 0x0A) {
            let end = start + length
            var line = bytes[start..<end]
            if line.last == 0x0D { line = line.dropLast() }
            let isFence = line.elementsEqual("---".utf8)
            // The end of the front matter, or none of it.
            if isFence == (start > 0) { return isComplete = true }
            if id == nil, let value = Self.value(of: "id", line) {
                id = value
            } else if self.line == nil, let value = Self.value(of: Provenance.name, line) {
                provenance = Provenance(value)
                self.line = start..<(end + 1)
            }
            if id != nil, self.line != nil { return isComplete = true }
            start = end + 1
        }
    }

    /// A scalar of YAML on one line: in double quotation marks, in single ones, or in none.
    private static func value(of name: String, _ line: Slice<UnsafeBufferPointer<UInt8>>) -> String? {
        guard line.starts(with: name.utf8), line.dropFirst(name.utf8.count).first == UInt8(ascii: ":") else {
            return nil
        }
        let bytes = Array(line.dropFirst(name.utf8.count + 1).drop { $0 == 0x20 })
        if bytes.first == UInt8(ascii: "\"") {
            return try? JSONReader.read(bytes) { reader in
                let text = try reader.string()
                try reader.end()
                return text
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasPrefix("'"), text.hasSuffix("'"), text.count > 1 else { return text }
        return String(text.dropFirst().dropLast()).replacing("''", with: "'")
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Where a byte first stands.
    func offset(of byte: UInt8) -> Int? {
        guard let base = baseAddress, let found = memchr(base, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(base).distance(to: found)
    }
}

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
    /// Where what is a person's begins.
    private let end: Int?
    /// What stands behind the marker, to be kept byte for byte.
    private let below: ArraySlice<UInt8>

    /// - Throws: `export_folder` for one that is larger than any export writes.
    init(_ file: OpenFile) throws(UserFacingError) {
        let status = try file.status()
        guard status.st_size < Self.longest else { throw FolderFailure.error(EFBIG, "read", file.path) }
        self.init(try file.read(atMost: Int(status.st_size)), status)
    }

    init(_ bytes: [UInt8], _ status: stat) {
        self.bytes = bytes
        self.status = status
        head = FileHead(bytes)
        end = ItemDocument.endOfMarker(in: bytes)
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
        if let line = head.line, line.upperBound <= end ?? bytes.count, head.provenance?.hash == document.hash {
            return (Array(bytes[..<line.lowerBound]) + provenance.line + Array(bytes[line.upperBound...]), false)
        }
        return (document.file(provenance, below: below), !isAsWritten)
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

/// The names that an item's file may have, the best one first: `2026-11-02 Sourdough for beginners.md`.
///
/// They are good on every file system that people keep notes on, and in Obsidian's links: what is not `portable` becomes a space.
/// Those that Windows reserves (`CON`, `NUL`) cannot arise, because a date goes ahead.
package struct ItemFileName {
    package static let suffix = ".md"

    /// Without what tells it from an equal one. NAME_MAX is 255 bytes: the rest is for that, and for what other programs add.
    private static let mostCharacters = 120
    private static let mostBytes = 200

    private let stem: String
    private let id: String

    package init(createdAt: Timestamp, title: String?, type: String?, id: String) {
        self.id = id
        let words = [title, type].lazy.compactMap(\.self).map(Self.clean).first { !$0.isEmpty }
        stem = Self.shortened("\(LocalTime(createdAt).day) \(words ?? "item")")
    }

    /// The n-th choice, from 0.
    package func candidate(_ number: Int) -> String {
        switch number {
        case 0: stem + Self.suffix
        case 1: "\(stem) \(beginningOfID)\(Self.suffix)"
        case 2: "\(stem) \(Fingerprint(id).hexadecimal.prefix(16))\(Self.suffix)"
        default: "\(stem) \(Fingerprint(id).hexadecimal.prefix(16)) \(number)\(Self.suffix)"
        }
    }

    /// An id is opaque, and may hold anything.
    private var beginningOfID: String {
        let safe = id.utf8.prefix(8).filter { ListOptions.isLetterOrDigit($0) || $0 == UInt8(ascii: "-") }
        return safe.count < 4
            ? String(Fingerprint(id).hexadecimal.prefix(8)) : String(decoding: safe, as: UTF8.self)
    }

    /// Characters that a file system, a shell or a link of Obsidian's takes for something else.
    private static let reserved: Set<Unicode.Scalar> = [
        "/", "\\", ":", "*", "?", "\"", "<", ">", "|", "#", "^", "[", "]",
    ]

    /// Whether all take it in a name. APFS refuses what its version of Unicode does not assign, and promises 9.0 (Apple File System
    /// Guide, "FAQ"). Noncharacters are not for interchange (The Unicode Standard, 23.7). Those for private use are what SMB writes for
    /// the characters that exFAT and NTFS do not take (mount.cifs(8), "mapposix"; exFAT specification, 7.7.3).
    private static func isPortable(_ scalar: Unicode.Scalar) -> Bool {
        guard let age = scalar.properties.age, age.major <= 9, !reserved.contains(scalar) else { return false }
        return switch scalar.properties.generalCategory {
        case .unassigned, .privateUse, .control: false
        default: !scalar.properties.isWhitespace && !SafeText.isHarmful(scalar)
        }
    }

    private static func clean(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        // A title may be megabytes long.
        for scalar in text.unicodeScalars.prefix(4_000) {
            if !isPortable(scalar) {
                if result.last != " ", !result.isEmpty { result.append(" ") }
            } else if scalar.value != 0xFFFD, !(result.isEmpty && scalar == ".") {
                result.append(scalar)
            }
        }
        return trimmed(String(result))
    }

    private static func shortened(_ text: String) -> String {
        var result = ""
        var bytes = 0
        for character in text.prefix(mostCharacters) {
            bytes += character.utf8.count
            if bytes > mostBytes { break }
            result.append(character)
        }
        return trimmed(result)
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while let last = text.unicodeScalars.last, last == " " || last == "." || joinsSuffix(last) {
            text.unicodeScalars.removeLast()
        }
        return String(text)
    }

    /// With some signs, such as U+0600, what follows is one Character (Unicode UAX #29, "Prepend"): the name would not end in the
    /// suffix for Swift, and its file would be no export's.
    private static func joinsSuffix(_ scalar: Unicode.Scalar) -> Bool { "\(scalar)\(suffix)".count == suffix.count }
}
