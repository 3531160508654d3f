import Console
import Export
import PRSNLCore
import Reports
import Store

/// `prsnlctl export`: the timeline as files, from the file of the copy alone, whether the daemon runs or not.
enum ExportCommand {
    static let command = Command(
        "export", "Write every item into a folder, as Markdown or as lines of JSON.", operands: .one("DIR"),
        options: [
            CommandOption("--format", "FORMAT", "`markdown` (a file for each item) or `jsonl` (one file)."),
            CommandOption("--quiet", nil, "Print nothing but errors."),
        ]
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
