package import Console
import PRSNLCore

extension ErrorsReport: Report {
    package mutating func fit(_ unit: ServiceUnit) {
        for index in errors.indices {
            errors[index].recoverySuggestion = errors[index].recoverySuggestion.map(unit.fit(sentence:))
            errors[index].nextCommand = errors[index].nextCommand.flatMap(unit.fit)
        }
    }

    package func text(_ style: TextStyle) -> String {
        if let cleared { return "forgot \(Figures.count(cleared, "error"))\n" }
        guard !errors.isEmpty else { return "No errors.\n" }
        return errors.map { lines(of: $0, style).map { $0 + "\n" }.joined() }.joined(separator: "\n")
    }

    private func lines(of error: RecurringErrorReport, _ style: TextStyle) -> [String] {
        let times = error.count == 1 ? "once" : "\(Figures.count(error.count)) times"
        let title = "\(style.safe(error.code)) at \(style.safe(error.endpoint)), \(times)"
        var lines = [error.isOver ? title + "; over since" : style.paint(title, .red)]
        if error.count > 1 { lines.append("  first  \(Figures.timeWithAge(error.first, now: generatedAt))") }
        lines.append("  last   \(Figures.timeWithAge(error.last, now: generatedAt))")
        var words = [error.message]
        // What to do about what is over is noise.
        if !error.isOver {
            words += [error.recoverySuggestion, error.nextCommand.map { "`\($0)`" }].compactMap(\.self)
        }
        for text in words where !text.isEmpty {
            lines += TextLayout.wrap(style.safe(text), width: style.width - 2).map { "  " + $0 }
        }
        return lines
    }
}
