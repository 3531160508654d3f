package import PRSNLCore

/// What a command prints: a JSON contract, and a text made from the same values.
package protocol Report: Encodable {
    /// Whole lines, each with its end.
    func text(_ style: TextStyle) -> String
}

extension Report {
    /// Paragraphs behind a label.
    package func field(_ label: String, _ paragraphs: [String], _ style: TextStyle) -> [String] {
        TextLayout.field(label, paragraphs, style: style)
    }

    /// Sentences, each from the beginning of a line.
    package func paragraphs(_ texts: [String], _ style: TextStyle) -> String {
        texts.flatMap { TextLayout.wrap($0, width: style.width) }.map { $0 + "\n" }.joined()
    }
}

/// The form of a command's output.
package enum OutputFormat: Sendable, Equatable {
    case text(TextStyle)
    case json

    /// The only switch over formats: what goes to stdout, with the commands of a daemon.
    package func render(_ report: some Report, _ unit: ServiceUnit) throws(UserFacingError) -> String {
        switch self {
        case .text(var style):
            style.unit = unit
            return report.text(style)
        case .json:
            do {
                return try JSONOutput.pretty(report, unit) + "\n"
            } catch {
                throw UserFacingError(.controlProtocol, "The answer could not be written as JSON.", cause: "\(error)")
            }
        }
    }
}
