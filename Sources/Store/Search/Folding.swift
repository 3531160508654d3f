/// Which letters a search takes for the same: those that Unicode calls canonically equivalent (UAX #15), those that differ in
/// case (full case folding, CaseFolding.txt), letters with and without marks, and a few more (`Tools/folding.py`).
///
/// Each code point becomes others by a table. Hangul and Kana are put together again (`composed`), because there a part of a
/// letter is another letter.
enum Folding {
    private struct Lookup {
        /// Of 256 code points each: the number of their entries, from 1.
        var pages = [UInt8](repeating: 0, count: 0xE02)
        /// The number of a replacement, from 1.
        var entries: [UInt16] = []
        /// Where each replacement begins, and the last ends.
        var starts = [0]
        var bytes: [UInt8] = []

        init(_ table: String) {
            var code = 0
            // Not by characters, one of which may begin with a space.
            for word in table.utf8.split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }) {
                let rest = word.dropFirst()
                switch word.first {
                case UInt8(ascii: "@"): code = Int(Substring(rest), radix: 16) ?? code
                case UInt8(ascii: "=") where rest.isEmpty: code += 1
                case UInt8(ascii: "-"): for _ in 0..<(Int(Substring(rest)) ?? 1) { add(rest.prefix(0), at: &code) }
                case UInt8(ascii: "="): add(rest, at: &code)
                default: add(word, at: &code)
                }
            }
        }

        private mutating func add(_ replacement: Substring.UTF8View, at code: inout Int) {
            if pages[code >> 8] == 0 {
                entries += [UInt16](repeating: 0, count: 256)
                pages[code >> 8] = UInt8(entries.count >> 8)
            }
            entries[Int(pages[code >> 8] - 1) << 8 | code & 0xFF] = UInt16(starts.count)
            bytes += replacement
            starts.append(bytes.count)
            code += 1
        }
    }

    private static let lookup = Lookup(table)

    /// What a code point becomes, as UTF-8; `nil` where it stays as it is.
    static func replacement(_ value: UInt32) -> ArraySlice<UInt8>? {
        guard value >> 8 < lookup.pages.count, lookup.pages[Int(value >> 8)] > 0 else { return nil }
        let entry = Int(lookup.entries[Int(lookup.pages[Int(value >> 8)] - 1) << 8 | Int(value & 0xFF)])
        return entry == 0 ? nil : lookup.bytes[lookup.starts[entry - 1]..<lookup.starts[entry]]
    }

    /// The one letter that two are written as. Both, and it, have three bytes.
    ///
    /// Hangul: The Unicode Standard, 3.12, Conjoining Jamo Behavior.
    static func composed(_ first: UInt32, _ second: UInt32) -> UInt32? {
        switch second {
        case 0x1161...0x1175 where (0x1100...0x1112).contains(first):
            0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28
        case 0x11A8...0x11C2 where (0xAC00...0xD7A3).contains(first) && (first - 0xAC00) % 28 == 0:
            first + second - 0x11A7
        case 0x3099: pairs.voiced[first]
        case 0x309A: pairs.halfVoiced[first]
        default: nil
        }
    }

    private static let pairs = (voiced: pairs(voiced), halfVoiced: pairs(halfVoiced))

    private static func pairs(_ text: String) -> [UInt32: UInt32] {
        let values = text.unicodeScalars.map(\.value)
        return Dictionary(
            uniqueKeysWithValues: stride(from: 0, to: values.count, by: 2).map { (values[$0], values[$0 + 1]) })
    }
}
