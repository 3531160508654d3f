package import PRSNLCore

/// What a command prints: a JSON contract, and a text made from the same values.
package protocol Report: Encodable {
    /// Whole lines, each with its end.
    func text(_ style: TextStyle) -> String
    /// With the commands of the daemon that it is about, where it names any.
    mutating func fit(_ unit: ServiceUnit)
}

extension Report {
    package mutating func fit(_ unit: ServiceUnit) {}

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

    /// The only switch over formats: what goes to stdout.
    package func render(_ report: some Report) throws(UserFacingError) -> String {
        switch self {
        case .text(let style): return report.text(style)
        case .json:
            do {
                return try JSONOutput.pretty(report) + "\n"
            } catch {
                throw UserFacingError(.controlProtocol, "The answer could not be written as JSON.", cause: "\(error)")
            }
        }
    }
}
