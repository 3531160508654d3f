/// Which letters a search takes for the same: those that Unicode calls canonically equivalent (UAX #15), those that differ in
/// case (full case folding, CaseFolding.txt), letters with and without marks, and a few more (`Tools/folding.py`).
///
/// Each code point becomes others by a table. Hangul and Kana are put together again (`composed`), because there a part of a
/// letter is another letter.
package enum Folding {
    /// What each code point becomes, as UTF-8, in pages of 256. An empty page changes nothing.
    private static let pages: [[[UInt8]?]] = {
        var pages = [[[UInt8]?]](repeating: [], count: 0xE02)
        var code = 0
        func add(_ replacement: Substring.UTF8View) {
            if pages[code >> 8].isEmpty { pages[code >> 8] = Array(repeating: nil, count: 256) }
            pages[code >> 8][code & 0xFF] = Array(replacement)
            code += 1
        }
        // Not by characters, one of which may begin with a space.
        for word in table.utf8.split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }) {
            let rest = word.dropFirst()
            switch word.first {
            case UInt8(ascii: "@"): code = Int(Substring(rest), radix: 16) ?? code
            case UInt8(ascii: "=") where rest.isEmpty: code += 1
            case UInt8(ascii: "-"): for _ in 0..<(Int(Substring(rest)) ?? 1) { add(rest.prefix(0)) }
            case UInt8(ascii: "="): add(rest)
            default: add(word)
            }
        }
        return pages
    }()

    package static func folded(_ text: String) -> String {
        String(decoding: text.unicodeScalars.flatMap { replacement($0.value) ?? Array(String($0).utf8) }, as: UTF8.self)
    }

    /// `nil` for a code point that stays as it is.
    static func replacement(_ value: UInt32) -> [UInt8]? {
        guard value >> 8 < pages.count, !pages[Int(value >> 8)].isEmpty else { return nil }
        return pages[Int(value >> 8)][Int(value & 0xFF)]
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
