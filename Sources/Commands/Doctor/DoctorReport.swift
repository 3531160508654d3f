package import Console
package import PRSNLCore

/// What `prsnlctl doctor` has found: the JSON of `--json` and the lines of its text, from the same values.
///
/// A public contract, member by member in docs/cli.md.
package struct DoctorReport: Sendable, Equatable, Codable {
    /// How a check ended. What could not be looked at is never taken for good.
    package enum Level: String, Sendable, Codable, CaseIterable {
        case ok
        case notChecked = "not_checked"
        case warning, failed
    }

    /// What a check is about; in the order of the text.
    package enum Group: String, Sendable, Codable, CaseIterable {
        case configuration, credentials, server, copy, file, machine, service
    }

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
        let levels = Set(findings.map(\.level))
        result = levels.contains(.failed) ? .failed : levels.contains(.warning) ? .warning : .ok
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

extension DoctorReport.Finding {
    static func ok(_ group: DoctorReport.Group, _ check: String, _ found: String) -> Self {
        Self(group: group, check: check, level: .ok, found: found)
    }

    static func warning(
        _ group: DoctorReport.Group, _ check: String, _ found: String, _ advice: Advice? = nil, next: NextCommand? = nil
    ) -> Self {
        Self(group: group, check: check, level: .warning, found: found, advice: advice, nextCommand: next)
    }

    static func failed(
        _ group: DoctorReport.Group, _ check: String, _ found: String, _ advice: Advice? = nil, next: NextCommand? = nil
    ) -> Self {
        Self(group: group, check: check, level: .failed, found: found, advice: advice, nextCommand: next)
    }

    /// Public for checks that did not come to their end.
    package static func notChecked(
        _ group: DoctorReport.Group, _ check: String, _ reason: String, _ advice: Advice? = nil,
        next: NextCommand? = nil
    ) -> Self {
        Self(group: group, check: check, level: .notChecked, found: reason, advice: advice, nextCommand: next)
    }

    /// An error as it would be told anywhere else.
    package static func failed(_ group: DoctorReport.Group, _ check: String, _ error: UserFacingError) -> Self {
        failed(group, check, error.message, error.recoverySuggestion, next: error.nextCommand)
    }
}

extension DoctorReport: Report {
    /// Where the text begins: behind the level and the check's name.
    private static let indent = 25

    package func text(_ style: TextStyle) -> String {
        var lines: [String] = []
        for group in Group.allCases {
            let members = findings.filter { $0.group == group }
            guard !members.isEmpty else { continue }
            lines.append(style.paint(group.rawValue.prefix(1).uppercased() + group.rawValue.dropFirst(), .bold))
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
        if let command = finding.nextCommand, finding.advice?.commands.contains(command) != true {
            texts += [style.next(command)].compactMap(\.self)
        }
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

extension DoctorReport.Level {
    fileprivate var word: String { self == .notChecked ? "-" : rawValue }

    fileprivate func painted(_ text: String, _ style: TextStyle) -> String {
        switch self {
        case .ok: style.paint(text, .green)
        case .notChecked: text
        case .warning: style.paint(text, .yellow)
        case .failed: style.paint(text, .red)
        }
    }
}
