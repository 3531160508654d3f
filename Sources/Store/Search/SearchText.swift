/// Texts as the full-text index gets them, and what is looked for in it.
///
/// SQLite's tokenizer splits a text at spaces and punctuation (https://sqlite.org/fts5.html#unicode61_tokenizer). Three
/// things need help:
///
/// - Scripts without spaces (Chinese, Japanese, Thai, …), and Korean, whose particles stand with the word: each character
///   becomes a word of its own, so that a text is found by any part of it.
/// - Symbols such as emoji, which the tokenizer drops: each gets a hidden word, `u1f600`.
/// - `C++`, `C#`: the signs after a letter get hidden words, so that they are not the same as `C`.
///
/// Separators are control characters, so that the text itself is seen again without them (`plain`).
enum SearchText {
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
        let result: String? = text.withUTF8 { bytes in needsMarks(bytes) ? marked(bytes) : nil }
        return result ?? text
    }

    /// Most texts need none, and are not copied.
    private static func needsMarks(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        // Scripts without spaces, and symbols, begin at U+0E00.
        bytes.contains { $0 >= 0xE0 || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }
    }

    private static func marked(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + bytes.count / 4)
        var at = 0
        while at < bytes.count {
            let byte = bytes[at]
            if byte < 0x80 {
                result.append(byte)
                at += 1
                if isLetter(byte) { appendSigns(bytes, &at, to: &result) }
                continue
            }
            let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2
            let next = min(at + length, bytes.count)
            let value = length < 3 ? 0 : scalar(bytes, at, next)
            switch kind(value) {
            case .ordinary: result.append(contentsOf: bytes[at..<next])
            case .single:
                if let last = result.last, last != end { result.append(end) }
                result.append(contentsOf: bytes[at..<next])
                result.append(end)
            case .symbol:
                result.append(contentsOf: bytes[at..<next])
                appendHidden(value, to: &result)
            }
            at = next
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    /// Punctuation, or a script without spaces. Two bytes have the letters of most other scripts.
    private static func isBoundary(_ byte: UInt8) -> Bool { byte >= 0xE0 || isSeparator(byte) }

    /// ASCII that is no part of a word.
    static func isSeparator(_ byte: UInt8) -> Bool { byte < 0x80 && !isWord(byte) }

    private static func isWord(_ byte: UInt8) -> Bool { isLetter(byte) || (0x30...0x39).contains(byte) }

    /// `++` of `C++`, where no letter follows.
    private static func appendSigns(
        _ bytes: UnsafeBufferPointer<UInt8>, _ at: inout Int, to result: inout [UInt8]
    ) {
        let isSign = { (byte: UInt8) in byte == UInt8(ascii: "+") || byte == UInt8(ascii: "#") }
        var next = at
        while next < bytes.count, next - at < 3, isSign(bytes[next]) { next += 1 }
        guard next > at, next == bytes.count || isBoundary(bytes[next]) && !isSign(bytes[next])
        else {
            return
        }
        result.append(contentsOf: bytes[at..<next])
        for sign in bytes[at..<next] { appendHidden(UInt32(sign), to: &result) }
        at = next
    }

    private static func appendHidden(_ value: UInt32, to result: inout [UInt8]) {
        result.append(hidden)
        result.append(contentsOf: "u\(String(value, radix: 16))".utf8)
        result.append(end)
    }

    private static func scalar(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> UInt32 {
        var value = UInt32(bytes[start]) & (end - start == 4 ? 0x07 : 0x0F)
        for index in start + 1..<end { value = value << 6 | UInt32(bytes[index]) & 0x3F }
        return value
    }

    /// By blocks (https://www.unicode.org/Public/UNIDATA/Blocks.txt), because the text is long and this is asked for each
    /// character.
    private static func kind(_ value: UInt32) -> Kind {
        switch value {
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
        guard let scalar = Unicode.Scalar(value) else { return false }
        switch scalar.properties.generalCategory {
        case .otherSymbol, .mathSymbol: return true
        default: return false
        }
    }

    // MARK: Back

    /// What SQLite's `snippet` and `highlight` put around what was found. No text that people read has these.
    static let beginMark = "\u{0E}"
    static let endMark = "\u{0F}"
    private static let marks: ClosedRange<UInt8> = 0x0E...0x0F

    /// A text with such marks, without what was put into it. Where a hidden word was found, what it stands for is marked.
    static func plain(_ marked: String) -> String {
        guard marked.utf8.contains(where: { $0 == end }) else { return marked }
        var result: [UInt8] = []
        let bytes = Array(marked.utf8)
        var at = 0
        while at < bytes.count {
            if bytes[at] == hidden, let next = bytes[at...].firstIndex(of: end), isHiddenWord(bytes[at + 1..<next]) {
                let inside = bytes[at + 1..<next].filter(marks.contains)
                if inside.count == 2 {
                    let symbol = result.lastIndex { $0 & 0xC0 != 0x80 } ?? 0
                    result.insert(inside[0], at: symbol)
                    result.append(inside[1])
                } else {
                    result += inside
                }
                at = next + 1
            } else {
                if bytes[at] != end { result.append(bytes[at]) }
                at += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isHiddenWord(_ bytes: ArraySlice<UInt8>) -> Bool {
        let word = bytes.filter { !marks.contains($0) }
        return word.first == UInt8(ascii: "u") && (3...7).contains(word.count)
    }

    // MARK: What is looked for

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
