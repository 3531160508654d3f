import CLinux
import Glibc
package import PRSNLCore

/// How text may look where it goes.
package struct TextStyle: Sendable, Equatable {
    /// Columns of prose: 80, or fewer on a narrower terminal.
    package var width = 80
    /// Columns of a row that is cut where it is longer: all that the terminal has, and no end where lines go elsewhere.
    package var rowWidth = Int.max
    package var hasColour = false
    /// Whether the terminal follows links (OSC 8).
    package var hasLinks = false
    /// Whether lines may be rewritten in place.
    package var isTerminal = false

    /// The daemon whose commands the text names.
    package var unit = ServiceUnit()

    package init() {}

    /// For a descriptor of this process.
    ///
    /// Colour needs a terminal that knows it, or `CLICOLOR_FORCE` (https://bixense.com/clicolors), and no `NO_COLOR`
    /// (https://no-color.org: set and not empty).
    package init(descriptor: Int32, environment: [String: String], _ unit: ServiceUnit) {
        self.unit = unit
        isTerminal = isatty(descriptor) == 1
        hasColour =
            environment["NO_COLOR", default: ""].isEmpty
            && (!["", "0"].contains(environment["CLICOLOR_FORCE", default: ""])
                || isTerminal && !["", "dumb"].contains(environment["TERM", default: ""]))
        hasLinks = isTerminal && Self.followsLinks(environment)
        if let size = Self.size(of: descriptor), size.ws_col > 0 {
            rowWidth = max(40, Int(size.ws_col))
            width = min(80, rowWidth)
        }
    }

    /// Lines of the terminal that a descriptor is; `nil` where it is none.
    package static func rows(of descriptor: Int32) -> Int? {
        size(of: descriptor).flatMap { $0.ws_row > 0 ? Int($0.ws_row) : nil }
    }

    private static func size(of descriptor: Int32) -> winsize? {
        var size = winsize()
        return isatty(descriptor) == 1 && prsnl_ioctl_pointer(descriptor, UInt(TIOCGWINSZ), &size) == 0 ? size : nil
    }

    /// No terminal can be asked. These say by the environment who they are, and are known to follow links
    /// (https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda). `FORCE_HYPERLINK` overrules that, in either way.
    private static func followsLinks(_ environment: [String: String]) -> Bool {
        if let forced = environment["FORCE_HYPERLINK"] { return !["", "0"].contains(forced) }
        if environment["TERM", default: ""] == "dumb" { return false }
        if let version = environment["VTE_VERSION"].flatMap({ Int($0) }) { return version >= 5_000 }
        let ofTheirs = ["KITTY_WINDOW_ID", "WT_SESSION", "KONSOLE_VERSION", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR"]
        return ofTheirs.contains { environment[$0]?.isEmpty == false }
            || ["iTerm.app", "WezTerm", "vscode", "ghostty"].contains(environment["TERM_PROGRAM", default: ""])
            || ["xterm-kitty", "foot", "alacritty", "xterm-ghostty"].contains(environment["TERM", default: ""])
    }

    /// A text that leads to an address of the web, where the terminal follows links.
    package func link(_ text: String, to url: String?) -> String {
        // OSC 8 takes ASCII alone.
        guard hasLinks, let url, Self.isWebAddress(url), url.utf8.allSatisfy({ $0 < 0x80 }) else { return text }
        return "\u{1B}]8;;\(url)\u{1B}\\\(text)\u{1B}]8;;\u{1B}\\"
    }

    /// Whether a browser may be sent there: http or https and a host, without spaces and controls.
    package static func isWebAddress(_ url: String) -> Bool {
        let scheme = ["http://", "https://"].first { url.lowercased().hasPrefix($0) }
        guard let scheme, url.utf8.count > scheme.utf8.count, url.utf8.count <= 2_048 else { return false }
        return url.unicodeScalars.allSatisfy {
            $0.value > 0x20 && !$0.properties.isWhitespace && !SafeText.isHarmful($0)
        }
    }

    package enum Colour: String {
        case bold = "1"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case cyan = "36"
    }

    package func paint(_ text: String, _ colour: Colour?) -> String {
        guard hasColour, let colour else { return text }
        return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }

    /// A command of the daemon that is meant, between backticks.
    package func command(_ command: NextCommand) -> String { text("\(command)") }

    /// The same; `nil` where that daemon has none that would do the same for it.
    package func next(_ command: NextCommand?) -> String? { command.flatMap(unit.fit).map { "`\(safe($0.line))`" } }

    /// With the commands of the daemon that is meant.
    package func text(_ advice: Advice) -> String { safe(unit.fit(advice).description) }

    /// Text from elsewhere, without what a terminal obeys.
    package func safe(_ text: String) -> String { SafeText.harmless(text) }
}

/// Lines of text no wider than a terminal.
package enum TextLayout {
    /// Columns that a text takes: 2 for East Asian wide characters and emoji, 0 for marks that join the one before
    /// (Unicode Annex 11, in large strokes).
    package static func width(_ text: some StringProtocol) -> Int {
        text.utf8.allSatisfy { 0x20..<0x7F ~= $0 } ? text.utf8.count : text.reduce(0) { $0 + width($1) }
    }

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

    /// Breaks at spaces, but not between backticks: text wraps, commands do not. What is wider than a line (a command, a path, an
    /// address) stays whole, so that it can be copied.
    package static func wrap(_ text: String, width limit: Int) -> [String] {
        var lines: [String] = []
        let pieces = text.split(separator: "`", omittingEmptySubsequences: false)
        let bound = pieces.enumerated().map { place, piece in
            // An unclosed backtick is plain text.
            place % 2 == 1 && place < pieces.count - 1 ? String(piece.map { $0 == " " ? noBreak : $0 }) : String(piece)
        }
        wrapProse(bound.joined(separator: "`"), width: limit) { line in
            lines.append(String(line.map { $0 == noBreak ? " " : $0 }))
        }
        return lines
    }

    /// The same for a text without commands of ours, line by line: it may have megabytes.
    package static func wrapProse(_ text: String, width limit: Int, _ each: (String) -> Void) {
        var (line, used) = ("", 0)
        parts(of: text, between: UInt8(ascii: " ")) { word in
            if word.isEmpty { return }
            let size = width(word)
            if line.isEmpty {
                (line, used) = (String(word), size)
            } else if used + 1 + size <= limit {
                line += " "
                line += word
                used += 1 + size
            } else {
                each(line)
                (line, used) = (String(word), size)
            }
        }
        each(line)
    }

    /// Parts of a text, one after the other: a list of those of a long text would be larger than it.
    package static func parts(of text: String, between separator: UInt8, _ each: (Substring) -> Void) {
        var rest = text[...]
        while let end = rest.utf8.firstIndex(of: separator) {
            each(rest[..<end])
            rest = rest[rest.utf8.index(after: end)...]
        }
        each(rest)
    }

    /// Stands for a space, and in no text that is fit for a terminal.
    private static let noBreak: Character = "\0"

    package typealias Field = (label: String, paragraphs: [String])

    /// Each paragraph wrapped, the first line behind its label, all others below its text.
    package static func fields(_ rows: [Field], _ style: TextStyle) -> [String] {
        let labelWidth = 13
        return rows.flatMap { label, paragraphs in
            let padding = String(repeating: " ", count: max(1, labelWidth - width(label)))
            let lines = paragraphs.flatMap { wrap($0, width: style.width - labelWidth) }
            return hang(lines, behind: style.paint(label, .bold) + padding, width: labelWidth)
        }
    }

    /// The first line behind its front, which has so many columns, all others below its text.
    package static func hang(_ lines: [String], behind front: String, width: Int) -> [String] {
        let margin = String(repeating: " ", count: width)
        return lines.enumerated().map { ($0.offset == 0 ? front : margin) + $0.element }
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
