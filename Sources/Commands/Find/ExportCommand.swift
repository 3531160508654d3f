package import Console
import Formats
import Glibc
import PRSNLCore
import Store

/// `prsnlctl export`: the timeline as files, from the file of the copy alone, whether the daemon runs or not.
enum ExportCommand {
    static let command = Command(
        "export", "Write every item: as Markdown, a book, pages for a browser, or a file that others import.",
        examples: [
            ("~/prsnl", "A Markdown file for each item."),
            ("--format epub --since last week.epub", "A book of what is new since the last one."),
        ], operands: .one("DIR|FILE"),
        options: [
            CommandOption(
                "--format", "FORMAT",
                "Into DIR: `markdown` (a file for each item), `html` or `jsonl`. Into FILE: `epub`, `netscape` (bookmarks), `csv` or `atom`."
            ),
            .text("--query", "WORDS", "Only the items that a search finds, in a folder of their own."),
            CommandOption("--since", "last", "Of `epub`: only what has come since the book that is there."),
            CommandOption("--quiet", nil, "Print nothing but errors."),
        ], onlyReads: true, needsRoot: true
    ) { context, arguments throws(UserFacingError) in
        let format = try format(arguments)
        let target = arguments.operands[0]
        if target.isEmpty { throw arguments.failure("DIR is empty") }
        if target == "-" { return try printLines(context, arguments, format) }
        let path = context.environment.absolute(target)
        let reader = try context.reader()
        let choice = try choice(reader, context, arguments)
        var display = ProgressDisplay(
            style: context.errorStyle, isQuiet: !context.isText || arguments.has("--quiet"))
        defer { display.end() }
        let since = try since(path, arguments, format, context)
        func show(_ done: Int, of whole: Int) { display.show(.export, done, of: whole) }
        let report: ExportReport
        switch format {
        case .epub: report = try ReadExport(reader, choice, since: since).book(path, show)
        case .html: report = try ReadExport(reader, choice).pages(path, choice, show)
        case .netscape, .csv, .atom:
            let form = LinkForm(rawValue: format.rawValue) ?? .csv
            report = try ReadExport(reader, choice).links(path, form, format, show)
        case .markdown:
            report = try MarkdownExport.run(reader, choice, path: path) { display.show(.export, $0, of: $1) }
        case .jsonl:
            let live = try reader.summary().copy.live
            report = try LineExport.run(reader, choice, path: path) {
                display.show(.export, $0, of: choice?.ids.count ?? live)
            }
        }
        display.end()
        if !arguments.has("--quiet") { try context.write(report) }
        return .fine
    }

    private static func format(_ arguments: ParsedArguments) throws(UserFacingError) -> ExportReport.Format {
        guard let word = arguments.value("--format") else { return .markdown }
        guard let format = ExportReport.Format(rawValue: word) else {
            let formats = ExportReport.Format.allCases.map(\.rawValue).joined(separator: ", ")
            throw arguments.failure("\(SafeText.harmless(word)) is not a format: \(formats)")
        }
        return format
    }

    private static func since(
        _ path: String, _ arguments: ParsedArguments, _ format: ExportReport.Format, _ context: CommandContext
    ) throws(UserFacingError) -> LastBook? {
        guard let word = arguments.value("--since") else { return nil }
        guard word == "last", format == .epub else {
            throw arguments.failure("--since takes `last`, with --format epub")
        }
        let last = try LastBook(path)
        if last == nil, access(path, F_OK) != 0 {
            context.say("there is no book at \(path) yet: this is the first")
        }
        return last
    }

    private static func printLines(
        _ context: CommandContext, _ arguments: ParsedArguments, _ format: ExportReport.Format
    ) throws(UserFacingError) -> ExitCode {
        guard format == .jsonl else { throw arguments.failure("`export -` writes --format jsonl only") }
        guard context.isText else { throw arguments.failure("`export -` already writes JSON lines; omit --json") }
        let reader = try context.reader()
        try LineExport.print(reader, try choice(reader, context, arguments))
        return .fine
    }

    private static func choice(
        _ reader: StoreReader, _ context: CommandContext, _ arguments: ParsedArguments
    ) throws(UserFacingError) -> ExportChoice? {
        guard let words = arguments.value("--query") else { return nil }
        if words.allSatisfy(\.isWhitespace) { throw arguments.failure("--query has no words") }
        let query = try SavedSearches.query(words, context)
        // A search for what does not exist would empty the folder.
        if let field = query.unknownFields.first { throw arguments.failure("there is no \(field) in a search") }
        if query.isEmpty {
            throw arguments.failure("there is nothing to search for in --query \(SafeText.harmless(words))")
        }
        let found = try reader.search(query, limit: ListOptions.most, newestFirst: true)
        let remarks = ItemListReport(found, shortIDs: [], words: words).remarks
        if !arguments.has("--quiet") { for remark in remarks { context.say(remark) } }
        return ExportChoice(
            query: words, ids: Set(found.items.map { ByteText($0.id) }), isWhole: found.unindexed == 0)
    }
}

/// The items that `--query` asks for.
package struct ExportChoice: Sendable {
    let query: String
    let ids: Set<ByteText>
    /// Whether the index had all items when it was asked.
    let isWhole: Bool
}

/// What an export did: the JSON of `prsnlctl export --json`.
package struct ExportReport: Sendable, Equatable, Codable {
    package enum Format: String, Sendable, Codable, CaseIterable {
        case markdown, html, jsonl
        case epub, netscape, csv, atom

        /// Whether it is one file, which the person names.
        var isFile: Bool { self == .epub || self == .netscape || self == .csv || self == .atom }
    }

    package var schemaVersion = 1
    package var format: Format
    /// Of one file: its path.
    package var folder: String
    /// Live items; with `jsonl`, lines.
    package var items = 0
    /// Files, new ones and changed ones.
    package var written = 0
    package var unchanged = 0
    /// Files of deleted items, and of those that the search finds no more.
    package var removed = 0
    /// Files of deleted items that a person had changed: they are in `.deleted` now.
    package var moved = 0
    /// Of those written, the ones that a person had changed above the marker: the old files are in `.replaced`.
    package var replaced = 0
    /// Files of items that the copy lacks, and of which it does not know yet whether they were deleted. With `--query` also of
    /// those that the search did not find, while items wait for its index.
    package var kept = 0
    /// Of `csv` and `netscape`: items without an address, which have no place there.
    package var leftOut = 0
    /// Files that another program changed at the same moment: the next run sees to them.
    package var busy = 0
}

extension ExportReport: Report {
    package func text(_ style: TextStyle) -> String {
        let place = style.safe(folder)
        if format == .jsonl { return "Exported \(Formatting.count(items, "item")) to \(place)/prsnl.jsonl.\n" }
        if format.isFile {
            if written + unchanged == 0 { return "There is nothing to export: no file was written.\n" }
            let more = leftOut > 0 ? " Left out, without an address: \(Formatting.count(leftOut, "item"))." : ""
            let count = Formatting.count(items, "item")
            let what = unchanged > 0 ? "\(place) has these \(count) already." : "Exported \(count) to \(place)."
            return "\(what)\(more)\n"
        }
        let optional = [(removed, "removed"), (moved, "moved to .deleted")].filter { $0.0 > 0 }
        let counts = ([(written, "written"), (unchanged, "unchanged")] + optional)
            .map { "\(Formatting.count($0)) \($1)" }.joined(separator: ", ")
        return lines {
            "Exported \(Formatting.count(items, "item")) to \(place): \(counts)."
            if replaced > 0 {
                "\(Formatting.count(replaced, "file")) had been changed above the line of prsnld: the old ones are in .replaced."
            }
            if kept > 0 {
                "\(Formatting.count(kept, "file")) of items that were not found \(Count.verb("stays", kept)): the copy or its search index is not complete, so they may come back."
            }
            if busy > 0 {
                "\(Formatting.count(busy, "file")) could not be changed, because another program was writing; the next run tries again."
            }
        }
    }
}
