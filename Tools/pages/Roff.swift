/// Text as troff reads it (groff_char(7), groff_man_style(7)).
enum Roff {
    /// What is to be read, not typed: hyphens may be hyphens.
    static func text(_ text: String) -> String { escape(text, literal: false) }

    /// What is typed as it stands: `-` and `'` must be copied as such.
    static func literal(_ text: String) -> String { escape(text, literal: true) }

    static func bold(_ text: String) -> String { "\\fB\(literal(text))\\fR" }
    static func italic(_ text: String) -> String { "\\fI\(literal(text))\\fR" }

    /// The tables' own markup: what stands between backticks is typed as it stands.
    static func marked(_ text: String) -> String {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { $0.offset % 2 == 1 ? bold(String($0.element)) : Roff.text(String($0.element)) }
            .joined()
    }

    /// A usage like `--wait[=DURATION]` or `[OPTION]... ID`: capitals are what a person puts in.
    static func usage(_ text: String) -> String {
        var result = ""
        var word = ""
        func flush() {
            if word.isEmpty { return }
            result += word.allSatisfy { $0.isUppercase } ? italic(word) : bold(word)
            word = ""
        }
        for character in text {
            if " []=.".contains(character) {
                flush()
                result += literal(String(character))
            } else {
                word.append(character)
            }
        }
        flush()
        // A line that ended in a full stop would end a sentence, and be followed by two spaces.
        return result.replacing("...", with: "...\\&")
    }

    /// A control line begins with `.` or `'`, so that no line of text may.
    static func line(_ line: String) -> String { line.first == "." || line.first == "'" ? "\\&" + line : line }

    /// Lines below 80 bytes, as mandoc's lint wants them; none breaks inside a word.
    static func wrapped(_ text: String) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if line.isEmpty {
                line = String(word)
            } else if line.utf8.count + 1 + word.utf8.count < 78 {
                line += " \(word)"
            } else {
                lines.append(Self.line(line))
                line = String(word)
            }
        }
        lines.append(Self.line(line))
        return lines
    }

    private static func escape(_ text: String, literal: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            case "-" where literal: result += "\\-"
            case "'" where literal: result += "\\(aq"
            case "`": result += "\\(ga"
            case "~": result += "\\(ti"
            case "^": result += "\\(ha"
            case "\"": result += "\\(dq"
            case _ where scalar.value > 126:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\[u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)]"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
