import PRSNLCore

extension FailureReport {
    /// For stderr: what happened, what it means, what to do.
    package func text(program: String, _ style: TextStyle) -> String {
        let error = fitted(to: style.unit).error
        // The message of a configuration error has a line for each problem.
        let messages = error.message.split(separator: "\n").map { style.safe(String($0)) }
        var lines: [String] = []
        for (index, message) in messages.enumerated() {
            lines += TextLayout.wrap(index == 0 ? "\(program): \(message)" : "  \(message)", width: style.width)
        }
        if let consequence = error.consequence { lines += indented(style.safe(consequence), style) }
        lines += indented(style.safe(error.recoverySuggestion), style)
        if let command = error.nextCommand { lines += ["  next: " + style.safe(command)] }
        if let first = lines.first { lines[0] = style.paint(first, .red) }
        return lines.map { $0 + "\n" }.joined()
    }

    private func indented(_ text: String, _ style: TextStyle) -> [String] {
        TextLayout.wrap(text, width: style.width - 2).map { "  " + $0 }
    }
}
