package import Console
package import PRSNLCore
package import Requests

/// What `prsnlctl doctor` has found: the JSON of `--json` and the lines of its text, from the same values.
///
/// A public contract, member by member in docs/cli.md.
package struct DoctorReport: Sendable, Equatable, Codable {
    package typealias Level = Statement.Level
    package typealias Group = Statement.Group

    /// One line: what was looked at, what was found, and what to do.
    package struct Finding: Sendable, Equatable, Codable {
        package var group: Group
        /// A stable name; several findings may have the same.
        package var check: String
        package var level: Level
        /// What was found; with `not_checked`, why nothing was.
        package var found: String
        @Nullable package var advice: Advice? = nil
        /// A command that can be typed as it is.
        @Nullable package var nextCommand: NextCommand? = nil
    }

    package var schemaVersion = 1
    package var generatedAt: Timestamp
    /// The worst of all: `ok`, `warning` or `failed`.
    package var result: Level
    /// Grouped, in the order of the text.
    package var findings: [Finding]

    package init(_ findings: [Finding], now: Timestamp) {
        generatedAt = now
        self.findings = Group.allCases.flatMap { group in findings.filter { $0.group == group } }
        result = [Level.failed, .warning].first { level in findings.contains { $0.level == level } } ?? .ok
    }

    /// 0, or 1 where something failed, or 4 where something is to be looked at.
    package var exitCode: ExitCode {
        switch result {
        case .ok, .notChecked: .fine
        case .warning: .needsAttention
        case .failed: .error
        }
    }
}

extension DoctorReport: Report {
    /// Where the text begins: behind the level and the check's name.
    private static let indent = 25
    private static let colours: [Level: TextStyle.Colour] = [.ok: .green, .warning: .yellow, .failed: .red]

    package func text(_ style: TextStyle) -> String {
        let groups = Group.allCases.flatMap { group in
            let members = findings.filter { $0.group == group }
            let name = group.rawValue.prefix(1).uppercased() + group.rawValue.dropFirst()
            return members.isEmpty ? [] : [style.paint(name, .bold)] + members.flatMap { Self.lines($0, style) }
        }
        return (groups + [tally(style)]).map { $0 + "\n" }.joined()
    }

    private static func lines(_ finding: Finding, _ style: TextStyle) -> [String] {
        let name = finding.check.split(separator: "_").joined(separator: " ")
        let level = TextLayout.padRight(finding.level == .notChecked ? "-" : finding.level.rawValue, to: 9)
        let front = "  " + style.paint(level, colours[finding.level]) + TextLayout.padRight(name, to: indent - 12) + " "
        let width = max(24, style.width - indent)
        let found = (finding.level == .notChecked ? "not checked: " : "") + finding.found
        var texts = found.split(separator: "\n").flatMap { TextLayout.wrap(style.safe(String($0)), width: width) }
        if let advice = finding.advice { texts += TextLayout.wrap(style.text(advice), width: width) }
        // Whole, so that it can be copied.
        if let command = finding.nextCommand, finding.advice?.commands.contains(command) != true {
            texts += [style.next(command)].compactMap(\.self)
        }
        return TextLayout.hang(texts, behind: front, width: indent)
    }

    /// `1 failed, 2 warnings, 20 ok, 3 not checked`
    private func tally(_ style: TextStyle) -> String {
        [Level.failed, .warning, .ok, .notChecked].compactMap { level in
            let count = findings.filter { $0.level == level }.count
            let word = level.rawValue.split(separator: "_").joined(separator: " ")
            guard count > 0 else { return nil }
            let plural = level == .warning && count > 1 ? "s" : ""
            return style.paint("\(count) \(word)\(plural)", Self.colours[level])
        }.joined(separator: ", ")
    }
}
