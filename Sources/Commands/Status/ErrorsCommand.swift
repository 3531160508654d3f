package import Console
package import PRSNLCore
package import Requests
import Store

enum ErrorsCommand {
    static let command = Command(
        "errors", "List the errors that the daemon has met, or explain a code.",
        examples: [("", "What went wrong, and what to do."), ("rate_limited", "What a code means.")],
        operands: .atMostOne("CODE"),
        options: [CommandOption("--clear", nil, "Forget them; those that go on come back.")], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        if let name = arguments.operands.first {
            if arguments.has("--clear") { throw arguments.failure("--clear takes no CODE") }
            guard let code = ErrorCode(rawValue: name.lowercased()) else {
                let near = EditDistance.nearest(to: name, among: ErrorCode.allCases.map(\.rawValue))
                let word = SafeText.harmless(String(name.prefix(40)))
                throw UserFacingError(
                    .usage, "\(word) is not a code" + (near.map { "; did you mean \($0)?" } ?? "."),
                    recoverySuggestion: "`prsnlctl errors` shows the codes of what went wrong; docs/errors.md has all.")
            }
            return try context.write(CodeReport(code))
        }
        return try context.write(
            arguments.has("--clear")
                ? try context.answer(ClearErrorsRequest()) : try context.answer(ErrorsRequest()))
    }
}

/// What a code means: the JSON of `prsnlctl errors CODE --json`.
package struct CodeReport: Report {
    package var schemaVersion = 1
    package var error: UserFacingError

    package init(_ code: ErrorCode) {
        error = UserFacingError(code, Self.entry(of: code) ?? "docs/errors.md describes it.")
    }

    package func text(_ style: TextStyle) -> String {
        // The entry has the advice as well.
        let lines = error.message.split(separator: "\n").map { style.safe(String($0)) }
        let advice = lines.count > 1 ? [] : [style.text(error.recoverySuggestion)]
        return style.paint(error.codeName, .bold) + "\n" + paragraphs(lines + advice, style)
    }

    /// Of docs/errors.md, as it is installed with this very program: `/usr/bin/prsnlctl` and `/usr/share/doc/prsnld`.
    private static func entry(of code: ErrorCode) -> String? {
        let program = RealPath.of("/proc/self/exe")
        let page = Descriptors.folder(of: Descriptors.folder(of: program)) + "/share/doc/prsnld/docs/errors.md"
        // Without it there is less to say.
        guard let text = try? WholeFile.text(of: page),
            let start = text.firstRange(of: "\n- **`\(code.rawValue)`**: ")
        else { return nil }
        let rest = text[start.upperBound...]
        let ends = ["\n- **`", "\n#"].compactMap { rest.firstRange(of: $0)?.lowerBound }
        return rest[..<(ends.min() ?? rest.endIndex)].split(separator: "\n").map { $0.drop { $0 == " " } }
            .joined(separator: "\n")
    }
}

extension ErrorsReport: Report {
    package func text(_ style: TextStyle) -> String {
        if let cleared { return "forgot \(Formatting.count(cleared, "error"))\n" }
        guard !errors.isEmpty else { return "No errors.\n" }
        return errors.enumerated().map { lines(of: $1, isFirst: $0 == 0, style).map { $0 + "\n" }.joined() }
            .joined(separator: "\n")
    }

    @Listing<String> private func lines(of error: RecurringError, isFirst: Bool, _ style: TextStyle) -> [String] {
        let times = error.count == 1 ? "once" : "\(Formatting.count(error.count)) times"
        let title = "\(style.safe(error.code)) at \(style.safe(error.endpoint)), \(times)"
        error.isOver ? title + "; it is over" : style.paint(title, .red)
        if error.count > 1 { "  first  \(Formatting.timeWithAge(error.first, now: generatedAt))" }
        "  last   \(Formatting.timeWithAge(error.last, now: generatedAt, named: isFirst))"
        // What to do about what is over is noise.
        let advice = error.isOver ? [] : [error.recoverySuggestion.map(style.text), style.next(error.nextCommand)]
        for text in [style.safe(error.message)] + advice.compactMap(\.self) where !text.isEmpty {
            TextLayout.wrap(text, width: style.width - 2).map { "  " + $0 }
        }
    }
}
