package import Console
import PRSNLCore
import Store

/// `prsnlctl export`: the timeline as files, from the file of the copy alone, whether the daemon runs or not.
enum ExportCommand {
    static let command = Command(
        "export", "Write every item into a folder, as Markdown or as lines of JSON.", operands: .one("DIR"),
        options: [
            CommandOption("--format", "FORMAT", "`markdown` (a file for each item) or `jsonl` (one file)."),
            CommandOption("--quiet", nil, "Print nothing but errors."),
        ], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        let format = try format(arguments)
        let target = arguments.operands[0]
        if target.isEmpty { throw arguments.failure("DIR is empty") }
        if target == "-" { return try printLines(context, arguments, format) }
        let path = context.environment.absolute(target)
        let reader = try StoreReader(path: context.paths.database)
        let tally =
            switch format {
            case .markdown: try MarkdownExport.run(reader, path: path)
            case .jsonl: try LineExport.run(reader, path: path)
            }
        if !arguments.has("--quiet") { try context.write(report(tally, format, path)) }
        return .fine
    }

    private static func format(_ arguments: ParsedArguments) throws(UserFacingError) -> ExportReport.Format {
        guard let word = arguments.value("--format") else { return .markdown }
        guard let format = ExportReport.Format(rawValue: word) else {
            throw arguments.failure("\(SafeText.harmless(word)) is not a format: markdown or jsonl")
        }
        return format
    }

    private static func printLines(
        _ context: CommandContext, _ arguments: ParsedArguments, _ format: ExportReport.Format
    ) throws(UserFacingError) -> ExitCode {
        guard format == .jsonl else { throw arguments.failure("stdout takes --format jsonl alone") }
        guard context.isText else { throw arguments.failure("stdout takes the lines themselves, without --json") }
        try LineExport.print(try StoreReader(path: context.paths.database))
        return .fine
    }

    private static func report(_ tally: ExportTally, _ format: ExportReport.Format, _ path: String) -> ExportReport {
        ExportReport(
            format: format, folder: path, items: tally.items, written: tally.written, unchanged: tally.unchanged,
            removed: tally.removed, moved: tally.moved, replaced: tally.replaced, kept: tally.kept, busy: tally.busy)
    }
}

/// What an export did: the JSON of `prsnlctl export --json`.
package struct ExportReport: Sendable, Equatable, Codable {
    package enum Format: String, Sendable, Codable {
        case markdown, jsonl
    }

    package var schemaVersion = 1
    package var format: Format
    package var folder: String
    /// Live items; with `jsonl`, lines.
    package var items: Int
    package var written: Int
    package var unchanged: Int
    package var removed: Int
    /// Into `.deleted`.
    package var moved: Int
    /// Of those written: the old file is in `.replaced`.
    package var replaced: Int
    package var kept: Int
    package var busy: Int

    package init(
        format: Format, folder: String, items: Int, written: Int, unchanged: Int = 0, removed: Int = 0, moved: Int = 0,
        replaced: Int = 0, kept: Int = 0, busy: Int = 0
    ) {
        self.format = format
        self.folder = folder
        self.items = items
        self.written = written
        self.unchanged = unchanged
        self.removed = removed
        self.moved = moved
        self.replaced = replaced
        self.kept = kept
        self.busy = busy
    }
}

extension ExportReport: Report {
    package func text(_ style: TextStyle) -> String {
        let place = style.safe(folder)
        if format == .jsonl { return "Exported \(Formatting.count(items, "item")) to \(place)/prsnl.jsonl.\n" }
        var counts = ["\(Formatting.count(written)) written", "\(Formatting.count(unchanged)) unchanged"]
        if removed > 0 { counts.append("\(Formatting.count(removed)) removed") }
        if moved > 0 { counts.append("\(Formatting.count(moved)) moved to .deleted") }
        var sentences = ["Exported \(Formatting.count(items, "item")) to \(place): \(counts.joined(separator: ", "))."]
        if replaced > 0 {
            sentences.append(
                "\(Formatting.count(replaced, "file")) had been changed above the line of prsnld: the old ones are in .replaced."
            )
        }
        if kept > 0 {
            sentences.append(
                "\(Formatting.count(kept, "file")) stay of items that the copy lacks: it is not complete, so they may come back."
            )
        }
        if busy > 0 {
            sentences.append(
                "\(Formatting.count(busy, "file")) could not be changed, because another program was writing; the next run tries again."
            )
        }
        return sentences.map { $0 + "\n" }.joined()
    }
}
