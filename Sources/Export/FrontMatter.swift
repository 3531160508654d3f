import Glibc
import PRSNLCore

/// The head of an item's file: YAML that every parser reads alike, because each value is a string in double quotation marks
/// with the escapes of JSON, which are those of YAML 1.1 and 1.2 too.
struct FrontMatter {
    private var lines: [UInt8] = []
    /// Where the line `prsnld` is to stand among them: beside the id.
    private(set) var placeOfProvenance = 0

    init() {}

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
            case _ where needsEscape(scalar):
                let digits = String(scalar.value, radix: 16, uppercase: true)
                bytes.append(contentsOf: "\\u".utf8)
                bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count))
                bytes.append(contentsOf: digits.utf8)
            default: bytes.append(contentsOf: UTF8.encode(scalar)?.map(\.self) ?? [])
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0xFFFE && scalar.value <= 0xFFFF || scalar.value <= 0xFFFF && SafeText.isHarmful(scalar)
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
        guard words.count == 3, let row = Fingerprint(hexadecimal: words[1].utf8),
            let hash = Fingerprint(hexadecimal: words[2].utf8)
        else { return nil }
        self.init(copy: String(words[0]), row: row, hash: hash)
    }
}

/// What the front matter of a file that is there says to an export. Obsidian and other programs write it anew, with other
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
