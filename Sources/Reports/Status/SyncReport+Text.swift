package import Console
import PRSNLCore

extension SyncReport: Report {
    package mutating func fit(_ unit: ServiceUnit) { problem?.fit(unit) }

    package func text(_ style: TextStyle) -> String {
        var lines: [String]
        switch outcome {
        case .started: lines = ["The daemon pulls now. \(style.command("prsnlctl status")) shows how far it is."]
        case .complete: lines = ["\(style.paint("Complete", .green)): \(figures)."]
        case .incomplete:
            lines = [
                "\(style.paint("Incomplete", .yellow)): \(figures). \(style.command("prsnlctl status")) names what is missing."
            ]
        case .failed: lines = ["\(style.paint("Failed", .red)): \(figures)."]
        }
        if let problem {
            lines += [problem.message, problem.consequence, problem.recoverySuggestion].compactMap(\.self)
                .map(style.safe)
            if let command = problem.nextCommand { lines.append("`\(style.safe(command))`") }
        }
        return lines.flatMap { TextLayout.wrap($0, width: style.width) }.map { $0 + "\n" }.joined()
    }

    private var figures: String {
        let parts = [(added, "added"), (changed, "changed"), (deleted, "deleted")].compactMap { number, word in
            number.map { "\(Figures.count($0)) \(word)" }
        }
        return parts.joined(separator: ", ")
    }
}
