import CLinux
import Glibc
package import PRSNLCore

/// How text may look where it goes.
package struct TextStyle: Sendable, Equatable {
    /// Columns of prose: 80, or fewer on a narrower terminal.
    package var width = 80
    /// Columns of a row that is cut where it is longer: all that the terminal has, and no end where lines go elsewhere.
    package var rowWidth = Int.max
    package var isUTF8 = true
    package var hasColour = false
    /// Whether lines may be rewritten in place.
    package var isTerminal = false

    /// The daemon whose commands the text names.
    package var unit = ServiceUnit()

    package init() {}

    /// For a descriptor of this process.
    ///
    /// Colour needs a terminal that knows it and no `NO_COLOR` (https://no-color.org: set and not empty). UTF-8 is what
    /// the locale says, by the order of locale(7).
    package init(descriptor: Int32, environment: [String: String], _ unit: ServiceUnit) {
        self.unit = unit
        isTerminal = isatty(descriptor) == 1
        isUTF8 = Self.isUTF8(environment)
        hasColour =
            isTerminal && environment["NO_COLOR", default: ""].isEmpty
            && !["", "dumb"].contains(environment["TERM", default: ""])
        var size = winsize()
        if isTerminal, prsnl_ioctl_pointer(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 {
            rowWidth = max(40, Int(size.ws_col))
            width = min(80, rowWidth)
        }
    }

    /// Lines of the terminal that a descriptor is; `nil` where it is none.
    package static func rows(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard isatty(descriptor) == 1, prsnl_ioctl_pointer(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0
        else { return nil }
        return Int(size.ws_row)
    }

    package static func isUTF8(_ environment: [String: String]) -> Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? "C"
        let lowered = locale.lowercased()
        return lowered.contains("utf-8") || lowered.contains("utf8")
    }

    package enum Colour: String {
        case bold = "1"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    package func paint(_ text: String, _ colour: Colour) -> String {
        hasColour ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// A command of the daemon that is meant, between backticks.
    package func command(_ command: NextCommand) -> String { text("\(command)") }

    /// The same; `nil` where that daemon has none that would do the same for it.
    package func next(_ command: NextCommand?) -> String? { command.flatMap(unit.fit).map { "`\(safe($0.line))`" } }

    /// With the commands of the daemon that is meant.
    package func text(_ advice: Advice) -> String { safe(unit.fit(advice).description) }

    /// Text from elsewhere, fit for this place: harmless, and in ASCII where nothing else can be shown.
    package func safe(_ text: String) -> String {
        let harmless = SafeText.harmless(text)
        guard !isUTF8 else { return harmless }
        return String(harmless.map { $0.isASCII ? $0 : "?" })
    }
}
