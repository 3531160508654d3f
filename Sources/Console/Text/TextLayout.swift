/// Lines of text no wider than a terminal.
package enum TextLayout {
    /// Columns that a text takes: 2 for East Asian wide characters and emoji, 0 for marks that join the one before
    /// (Unicode Annex 11, in large strokes).
    package static func width(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

    private static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        switch scalar.value {
        case 0..<0x300: return 1
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
            0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return 2
        default:
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark: return 0
            default: return 1
            }
        }
    }

    /// Breaks at spaces. A word that is wider than a line (a path, an address) stays whole, so that it can be copied.
    package static func wrap(_ text: String, width limit: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if line.isEmpty {
                line = String(word)
            } else if width(line) + 1 + width(String(word)) <= limit {
                line += " " + word
            } else {
                lines.append(line)
                line = String(word)
            }
        }
        lines.append(line)
        return lines
    }

    /// Each paragraph wrapped, the first line behind `label`, all others below its text.
    package static func field(_ label: String, _ paragraphs: [String], style: TextStyle, labelWidth: Int = 13)
        -> [String]
    {
        var lines: [String] = []
        for paragraph in paragraphs {
            for line in wrap(paragraph, width: style.width - labelWidth) {
                let front = lines.isEmpty ? label : ""
                let padding = String(repeating: " ", count: max(1, labelWidth - width(front)))
                lines.append((front.isEmpty ? "" : style.paint(front, .bold)) + padding + line)
            }
        }
        return lines
    }

    /// No wider than a limit; what is cut ends in three dots.
    package static func cut(_ text: String, to limit: Int) -> String {
        guard width(text) > limit else { return text }
        var result = ""
        var used = 0
        for character in text {
            used += width(String(character))
            if used > limit - 3 { break }
            result.append(character)
        }
        return result + "..."
    }

    package static func padLeft(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - Self.width(text))) + text
    }

    package static func padRight(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - Self.width(text)))
    }
}
