package import PRSNLCore

/// The names that an item's file may have, the best one first: `2026-11-02 Sourdough for beginners.md`.
///
/// They are good on every file system that people keep notes on, and in Obsidian's links. Those that Windows reserves (`CON`,
/// `NUL`) cannot arise, because a date goes ahead.
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
        stem = Self.shortened("\(createdAt.description.prefix(10)) \(words ?? "item")")
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
        let safe = id.utf8.prefix(8).filter { byte in
            (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "-")
        }
        return safe.count < 4
            ? String(Fingerprint(id).hexadecimal.prefix(8)) : String(decoding: safe, as: UTF8.self)
    }

    /// Characters that a file system, a shell or a link of Obsidian's takes for something else.
    private static let reserved: Set<Unicode.Scalar> = [
        "/", "\\", ":", "*", "?", "\"", "<", ">", "|", "#", "^", "[", "]",
    ]

    private static func clean(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        // A title may be megabytes long.
        for scalar in text.unicodeScalars.prefix(4_000) {
            if reserved.contains(scalar) || scalar.properties.isWhitespace || SafeText.isHarmful(scalar) {
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
        while let last = text.unicodeScalars.last, last == " " || last == "." { text.unicodeScalars.removeLast() }
        return String(text)
    }
}
