import Glibc
import PRSNLCore

/// The lines of manifest and journal: fields between tabs, in which a tab, a line feed and a backslash are escaped. The last one
/// is a checksum, so that a line in which a byte is damaged is known for that: its file is found again by its head.
enum ManifestText {
    enum Line {
        case file(ManifestEntry)
        case removal(id: String)
    }

    static let version = "prsnld-export\t1"

    /// Whose copy it is, in the second line.
    struct Origin: Equatable {
        var serverURL: String?
        var accountID: String?

        var line: String { "origin\t\(field(serverURL))\t\(field(accountID))" }

        init(serverURL: String?, accountID: String?) {
            self.serverURL = serverURL
            self.accountID = accountID
        }

        init?(line: UnsafeBufferPointer<UInt8>) {
            let fields = ManifestText.fields(line)
            guard fields.count == 3, fields[0].elementsEqual("origin".utf8) else { return nil }
            serverURL = optional(fields[1])
            accountID = optional(fields[2])
        }
    }

    // MARK: Writing

    static func append(_ entry: ManifestEntry, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: "+\t".utf8)
        appendEscaped(entry.id, to: &bytes)
        bytes.append(0x09)
        appendEscaped(entry.name, to: &bytes)
        let parts = entry.parts.map { "\($0.hash.hexadecimal):\($0.length)" }.joined(separator: ",")
        bytes.append(contentsOf: "\t\(entry.fingerprint?.hexadecimal ?? "-")\t\(parts)\t\(entry.inode)".utf8)
        appendChecksum(from: start, to: &bytes)
    }

    static func appendRemoval(of id: String, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: "-\t".utf8)
        appendEscaped(id, to: &bytes)
        appendChecksum(from: start, to: &bytes)
    }

    private static func appendChecksum(from start: Int, to bytes: inout [UInt8]) {
        let sum = bytes[start...].withUnsafeBufferPointer { checksum($0) }
        bytes.append(contentsOf: "\t\(sum)\n".utf8)
    }

    /// FNV-1a (draft-eastlake-fnv): each byte changes it.
    private static func checksum(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    private static func appendEscaped(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case 0x09: bytes.append(contentsOf: "\\t".utf8)
            case 0x0A: bytes.append(contentsOf: "\\n".utf8)
            case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
            default: bytes.append(byte)
            }
        }
    }

    private static func field(_ text: String?) -> String {
        guard let text else { return "\\-" }
        var bytes: [UInt8] = []
        appendEscaped(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    // MARK: Reading

    /// `nil` for a line that no export has written.
    static func line(_ line: UnsafeBufferPointer<UInt8>) -> Line? {
        var fields = fields(line)
        guard let kind = fields.first, kind.count == 1 else { return nil }
        // Older exports wrote none.
        let hasChecksum = fields.count == (kind[0] == UInt8(ascii: "+") ? 7 : 3)
        if hasChecksum, let sum = fields.popLast() {
            let rest = UnsafeBufferPointer(rebasing: line[..<(line.count - sum.count - 1)])
            guard number(sum) == checksum(rest) else { return nil }
        }
        switch (kind[0], fields.count) {
        case (UInt8(ascii: "+"), 6):
            let name = text(fields[2])
            guard isName(name), let parts = parts(fields[4]), let inode = number(fields[5]) else { return nil }
            return .file(
                ManifestEntry(
                    id: text(fields[1]), name: name, fingerprint: Fingerprint(hexadecimal: fields[3]), parts: parts,
                    inode: inode))
        case (UInt8(ascii: "-"), 2): return .removal(id: text(fields[1]))
        default: return nil
        }
    }

    /// Another program may have changed the manifest: what it names lies in the folder, and is no hidden file.
    private static func isName(_ name: String) -> Bool {
        !name.hasPrefix(".") && name.hasSuffix(ItemFileName.suffix) && name.utf8.count <= 255
            && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }

    private static func parts(_ field: UnsafeBufferPointer<UInt8>) -> [ManifestEntry.Part]? {
        var parts: [ManifestEntry.Part] = []
        var rest = field
        while !rest.isEmpty {
            let end = rest.offset(of: UInt8(ascii: ",")) ?? rest.count
            let digits = Fingerprint.textLength
            guard end > digits + 1, rest[digits] == UInt8(ascii: ":"),
                let hash = Fingerprint(hexadecimal: UnsafeBufferPointer(rebasing: rest[..<digits])),
                let length = number(UnsafeBufferPointer(rebasing: rest[(digits + 1)..<end]))
            else { return nil }
            parts.append(.init(hash: hash, length: Int(clamping: length)))
            rest = UnsafeBufferPointer(rebasing: rest[min(end + 1, rest.count)...])
        }
        return parts
    }

    private static func fields(_ line: UnsafeBufferPointer<UInt8>) -> [UnsafeBufferPointer<UInt8>] {
        var fields: [UnsafeBufferPointer<UInt8>] = []
        fields.reserveCapacity(6)
        var rest = line
        while let end = rest.offset(of: 0x09) {
            fields.append(UnsafeBufferPointer(rebasing: rest[..<end]))
            rest = UnsafeBufferPointer(rebasing: rest[(end + 1)...])
        }
        return fields + [rest]
    }

    private static func optional(_ field: UnsafeBufferPointer<UInt8>) -> String? {
        field.elementsEqual("\\-".utf8) ? nil : text(field)
    }

    private static func text(_ field: UnsafeBufferPointer<UInt8>) -> String {
        guard field.offset(of: UInt8(ascii: "\\")) != nil else { return String(decoding: field, as: UTF8.self) }
        var bytes: [UInt8] = []
        var isEscape = false
        for byte in field {
            if isEscape {
                bytes.append(byte == UInt8(ascii: "t") ? 0x09 : byte == UInt8(ascii: "n") ? 0x0A : byte)
                isEscape = false
            } else if byte == UInt8(ascii: "\\") {
                isEscape = true
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func number(_ field: UnsafeBufferPointer<UInt8>) -> UInt64? {
        guard !field.isEmpty, field.count <= 20 else { return nil }
        var value: UInt64 = 0
        for byte in field {
            guard (0x30...0x39).contains(byte) else { return nil }
            let (tens, isLong) = value.multipliedReportingOverflow(by: 10)
            let (sum, isLonger) = tens.addingReportingOverflow(UInt64(byte - 0x30))
            if isLong || isLonger { return nil }
            value = sum
        }
        return value
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Where a byte first stands.
    func offset(of byte: UInt8) -> Int? {
        guard let base = baseAddress, let found = memchr(base, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(base).distance(to: found)
    }
}
