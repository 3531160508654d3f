import PRSNLCore

/// The head of an item's file: YAML that every parser reads alike, because each value is a string in double quotation marks
/// with the escapes of JSON, which are those of YAML 1.1 and 1.2 too.
package struct FrontMatter {
    private var lines: [UInt8] = []

    package init() {}

    package static let fence = "---\n"

    /// The whole of it, between its fences.
    package var bytes: [UInt8] { Array(Self.fence.utf8) + lines + Array(Self.fence.utf8) }

    /// A value that is missing is left out.
    package mutating func add(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        name.withUTF8Buffer { lines.append(contentsOf: $0) }
        lines.append(contentsOf: ": ".utf8)
        Self.append(value, to: &lines)
        lines.append(0x0A)
    }

    package mutating func add(_ name: StaticString, list: [String]) {
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

    // MARK: Reading

    /// The id in the head of a file that an export has written; `nil` where it is no such file.
    static func id(in bytes: [UInt8]) -> String? {
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).makeIterator()
        guard let first = lines.next(), trimmed(first).elementsEqual("---".utf8) else { return nil }
        while let line = lines.next() {
            let line = trimmed(line)
            if line.elementsEqual("---".utf8) { return nil }
            guard line.starts(with: "id: \"".utf8) else { continue }
            do {
                return try JSONReader.read(Array(line.dropFirst(4))) { reader in
                    let id = try reader.string()
                    try reader.end()
                    return id
                }
            } catch {
                return nil
            }
        }
        return nil
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.last == 0x0D ? line.dropLast() : line
    }
}
