/// Texts as the full-text index gets them, and what is looked for in it.
///
/// SQLite's tokenizer splits a text at spaces and punctuation (https://sqlite.org/fts5.html#unicode61_tokenizer). Four
/// things need help:
///
/// - Letters that people take for the same become the same (`Folding`).
/// - Scripts without spaces (Chinese, Japanese, Thai, …), and Korean, whose particles stand with the word: each character
///   becomes a word of its own, so that a text is found by any part of it.
/// - Symbols such as emoji, which the tokenizer drops: each gets a hidden word, `u1f600`, of five digits at least.
/// - `C++`, `C#`: the signs after a letter get hidden words, so that they are not the same as `C`.
struct SearchText {
    /// The words, apart from each other by control characters.
    private(set) var bytes: [UInt8] = []
    /// Where in the text each of the bytes comes from; `nil` where no one asks.
    private(set) var origins: [Int32]?
    /// The last character, where it is a word of its own.
    private var last: UInt32 = 0

    /// Ends a word.
    private static let end: UInt8 = 0x1F
    /// Begins a hidden word, up to `end`.
    private static let hidden: UInt8 = 0x1E

    private enum Kind {
        case ordinary
        /// A word of its own.
        case single
        /// A hidden word stands for it.
        case symbol
    }

    static func indexed(_ text: String?) -> String? {
        guard var text else { return nil }
        let result: String? = text.withUTF8 { bytes in
            needsHelp(bytes) ? String(decoding: SearchText(bytes).bytes, as: UTF8.self) : nil
        }
        return result ?? text
    }

    /// Most texts need none, and are not copied.
    static func needsHelp(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.contains { $0 >= 0x80 || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }
    }

    init(_ text: UnsafeBufferPointer<UInt8>, withOrigins: Bool = false) {
        bytes.reserveCapacity(text.count + text.count / 4)
        if withOrigins { origins = [] }
        var at = 0
        while at < text.count {
            let start = at
            if text[at] < 0x80 {
                append(text[at], from: at)
                last = 0
                at += 1
                if Self.isLetter(text[start]) { appendSigns(text, &at) }
                continue
            }
            let value = Self.scalar(text, &at)
            guard let folded = Folding.replacement(value) else {
                append(value, text[start..<at], from: start, to: at)
                continue
            }
            // What is not seen belongs to what stands before it.
            if folded.isEmpty, bytes.last == Self.end { origins?[bytes.count - 1] = Int32(at) }
            folded.withUnsafeBufferPointer { folded in
                var part = 0
                while part < folded.count {
                    let first = part
                    let value = Self.scalar(folded, &part)
                    append(value, folded[first..<part], from: start, to: at)
                }
            }
        }
        origins?.append(Int32(text.count))
    }

    private mutating func append(_ byte: UInt8, from origin: Int) {
        bytes.append(byte)
        origins?.append(Int32(origin))
    }

    private mutating func append(
        _ value: UInt32, _ utf8: Slice<UnsafeBufferPointer<UInt8>>, from start: Int, to end: Int
    ) {
        if last > 0, let whole = Folding.composed(last, value) {
            // In place of it, before its end.
            let place = bytes.count - 4
            for (index, byte) in String(Unicode.Scalar(whole) ?? " ").utf8.enumerated() { bytes[place + index] = byte }
            origins?[bytes.count - 1] = Int32(end)
            last = whole
            return
        }
        last = 0
        let kind = Self.kind(value)
        if kind == .single, let last = bytes.last, last != Self.end { append(Self.end, from: start) }
        for byte in utf8 { append(byte, from: start) }
        switch kind {
        case .ordinary: break
        case .single:
            append(Self.end, from: end)
            if utf8.count == 3 { last = value }
        case .symbol: appendHidden(value, from: start, to: end)
        }
    }

    private mutating func appendHidden(_ value: UInt32, from start: Int, to end: Int) {
        append(Self.hidden, from: start)
        let digits = String(value, radix: 16)
        // So that none is the beginning of another.
        let number = String(repeating: "0", count: max(0, 5 - digits.count)) + digits
        for byte in "u\(number)".utf8 { append(byte, from: start) }
        append(Self.end, from: end)
    }

    /// `++` of `C++`, where no letter follows.
    private mutating func appendSigns(_ text: UnsafeBufferPointer<UInt8>, _ at: inout Int) {
        let isSign = { (byte: UInt8) in byte == UInt8(ascii: "+") || byte == UInt8(ascii: "#") }
        var next = at
        while next < text.count, next - at < 3, isSign(text[next]) { next += 1 }
        guard next > at, next == text.count || Self.isBoundary(text, next) && !isSign(text[next]) else { return }
        for place in at..<next { append(text[place], from: place) }
        for place in at..<next { appendHidden(UInt32(text[place]), from: place, to: place + 1) }
        at = next
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    /// Punctuation, or a script without spaces. Two bytes have the letters of most other scripts, and the signs of Latin-1.
    private static func isBoundary(_ text: UnsafeBufferPointer<UInt8>, _ place: Int) -> Bool {
        let byte = text[place]
        guard byte >= 0x80, byte < 0xE0 else { return byte >= 0xE0 || isSeparator(byte) }
        var next = place
        let value = scalar(text, &next)
        return value < 0xC0 && ![0xAA, 0xB5, 0xBA].contains(value) || value == 0xD7 || value == 0xF7
    }

    /// ASCII that is no part of a word.
    static func isSeparator(_ byte: UInt8) -> Bool { byte < 0x80 && !isWord(byte) }

    private static func isWord(_ byte: UInt8) -> Bool { isLetter(byte) || (0x30...0x39).contains(byte) }

    /// The code point at a place, which moves behind it.
    private static func scalar(_ text: UnsafeBufferPointer<UInt8>, _ at: inout Int) -> UInt32 {
        let start = at
        let first = text[start]
        at = min(start + (first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0x80 ? 2 : 1), text.count)
        var value = UInt32(first) & (first >= 0xF0 ? 0x07 : first >= 0xE0 ? 0x0F : first >= 0x80 ? 0x1F : 0x7F)
        for index in start + 1..<at { value = value << 6 | UInt32(text[index]) & 0x3F }
        return value
    }

    /// By blocks (https://www.unicode.org/Public/UNIDATA/Blocks.txt), because the text is long and this is asked for each
    /// character.
    private static func kind(_ value: UInt32) -> Kind {
        switch value {
        // Emoji of other blocks.
        case 0xA9, 0xAE, 0x203C, 0x2049, 0x3030, 0x303D, 0x3297, 0x3299: .symbol
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF,  // Thai, Lao, Myanmar, Khmer
            0x1100...0x11FF, 0x3130...0x318F, 0xA960...0xA97F, 0xAC00...0xD7FF,  // Hangul
            0x2E80...0x2FDF, 0x3005...0x3007, 0x3021...0x3029, 0x3040...0x312F, 0x31A0...0x31FF, 0x3400...0x4DBF,
            0x4E00...0xA4CF, 0xF900...0xFAFF, 0xFF66...0xFFDC, 0x1AFF0...0x1B16F, 0x20000...0x3FFFF:
            .single
        case 0x2100...0x2BFF, 0x1F000...0x1FBFF: isSymbol(value) ? .symbol : .ordinary
        default: .ordinary
        }
    }

    /// Letters and digits in a circle and the like are words already.
    private static func isSymbol(_ value: UInt32) -> Bool {
        let category = Unicode.Scalar(value)?.properties.generalCategory
        return category == .otherSymbol || category == .mathSymbol
    }

    /// Whether the index can have a word of it: the tokenizer keeps letters, digits and what is in private use.
    static func hasWord(_ text: String) -> Bool {
        (indexed(text) ?? "").unicodeScalars.contains { scalar in
            switch scalar.properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
                .letterNumber, .otherNumber, .privateUse:
                true
            default: false
            }
        }
    }
}
