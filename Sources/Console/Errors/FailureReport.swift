package import PRSNLCore

/// What a command prints with `--json` when it fails.
package struct FailureReport: Sendable, Equatable, Codable {
    package var schemaVersion = 1
    package var error: UserFacingError

    package init(_ error: UserFacingError) {
        self.error = error
    }
}

extension UserFacingError {
    /// As a part of a report: what happened, what it means, what to do.
    package func lines(_ style: TextStyle) -> [String] {
        [style.safe(message), consequence.map(style.safe), style.text(recoverySuggestion), style.next(nextCommand)]
            .compactMap(\.self)
    }
}

extension FailureReport {
    /// For stderr: what happened, what it means, what to do.
    package func text(program: String, _ style: TextStyle) -> String {
        // The message of a configuration error has a line for each problem.
        let messages = error.message.split(separator: "\n").map { style.safe(String($0)) }
        var lines: [String] = []
        for (index, message) in messages.enumerated() {
            lines += TextLayout.wrap(index == 0 ? "\(program): \(message)" : "  \(message)", width: style.width)
        }
        if let consequence = error.consequence { lines += indented(style.safe(consequence), style) }
        lines += indented(style.text(error.recoverySuggestion), style)
        if let command = error.nextCommand.flatMap(style.unit.fit) { lines += ["  next: " + style.safe(command.line)] }
        if let first = lines.first { lines[0] = style.paint(first, .red) }
        return lines.map { $0 + "\n" }.joined()
    }

    private func indented(_ text: String, _ style: TextStyle) -> [String] {
        TextLayout.wrap(text, width: style.width - 2).map { "  " + $0 }
    }
}
