package import Console
import PRSNLCore

extension DoctorReport: Report {
    /// Where the text begins: behind the level and the check's name.
    private static let indent = 25

    package func text(_ style: TextStyle) -> String {
        var lines: [String] = []
        for group in Group.allCases {
            let members = findings.filter { $0.group == group }
            guard !members.isEmpty else { continue }
            lines.append(style.paint(group.title, .bold))
            lines += members.flatMap { Self.lines($0, style) }
        }
        lines.append(tally(style))
        return lines.map { $0 + "\n" }.joined()
    }

    private static func lines(_ finding: Finding, _ style: TextStyle) -> [String] {
        let name = finding.check.split(separator: "_").joined(separator: " ")
        let level = TextLayout.padRight(finding.level.word, to: 9)
        let front = "  " + finding.level.painted(level, style) + TextLayout.padRight(name, to: indent - 12) + " "
        let width = max(24, style.width - indent)
        let found = (finding.level == .notChecked ? "not checked: " : "") + finding.found
        var texts = found.split(separator: "\n").flatMap { TextLayout.wrap(style.safe(String($0)), width: width) }
        if let advice = finding.advice { texts += TextLayout.wrap(style.text(advice), width: width) }
        // Whole, so that it can be copied.
        if let next = style.next(finding.nextCommand) { texts.append(next) }
        let margin = String(repeating: " ", count: indent)
        return texts.enumerated().map { ($0.offset == 0 ? front : margin) + $0.element }
    }

    /// `1 failed, 2 warnings, 20 ok, 3 not checked`
    private func tally(_ style: TextStyle) -> String {
        func part(_ level: Level, _ word: String, _ plural: String) -> String? {
            let count = findings.filter { $0.level == level }.count
            guard count > 0 else { return nil }
            return level.painted("\(count) \(count == 1 ? word : plural)", style)
        }
        return [
            part(.failed, "failed", "failed"), part(.warning, "warning", "warnings"), part(.ok, "ok", "ok"),
            part(.notChecked, "not checked", "not checked"),
        ].compactMap(\.self).joined(separator: ", ")
    }
}

extension DoctorReport.Group {
    fileprivate var title: String {
        switch self {
        case .configuration: "Configuration"
        case .credentials: "Credentials"
        case .server: "Server"
        case .copy: "Copy"
        case .file: "File"
        case .machine: "Machine"
        case .service: "Service"
        }
    }
}

extension DoctorReport.Level {
    fileprivate var word: String {
        switch self {
        case .ok: "ok"
        case .notChecked: "-"
        case .warning: "warning"
        case .failed: "failed"
        }
    }

    fileprivate func painted(_ text: String, _ style: TextStyle) -> String {
        switch self {
        case .ok: style.paint(text, .green)
        case .notChecked: text
        case .warning: style.paint(text, .yellow)
        case .failed: style.paint(text, .red)
        }
    }
}
