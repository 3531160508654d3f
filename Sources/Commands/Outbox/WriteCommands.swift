import Configuration
import Console
import Control
import Formats
import Glibc
import PRSNLCore
import Requests
import Store

enum CaptureCommand {
    static let command = Command(
        "capture", or: ["add"], "Save URLs on the server.",
        examples: [
            ("https://example.org/ https://example.net/ --tag later", "Save two pages."),
            ("--stdin <urls.txt", "Save many."),
        ], operands: .any("URL", most: .max),
        options: [
            CommandOption("--stdin", nil, "Read many: a URL or a JSON object per line of stdin."),
            .text("--title", "TITLE", "The item's title."),
            .tag,
            .text("--note", "TEXT", "A remark; `-` reads it from stdin."),
            .text("--type", "TYPE", "The server's content type (`link`, unless said otherwise)."),
            CommandOption("--summarize", nil, "Ask the server to write a summary."),
            .wait,
        ]
    ) { context, arguments throws(UserFacingError) in
        if arguments.has("--stdin") {
            try checkForStdin(arguments)
            return try CaptureStdin.run(context, try WaitOption(arguments))
        }
        let urls = arguments.operands
        if urls.isEmpty { throw arguments.failure("a URL, or --stdin, is missing") }
        for option in ["--title", "--note"] where urls.count > 1 && arguments.has(option) {
            throw arguments.failure("\(option) belongs to one URL")
        }
        let tags = TagWords.lowered(arguments.values("--tag"), context)
        func draft(_ url: String, _ note: String?) -> WriteDraft {
            .create(
                NewItem(
                    url: url, title: arguments.value("--title"), note: note, tags: tags,
                    type: arguments.value("--type"), summarize: arguments.has("--summarize")))
        }
        let note = try arguments.value("--note").map { text throws(UserFacingError) in try TextInput.read(text, "note")
        }
        return try WriteFlow.run(context, arguments, RequestClient.keyed(urls.map { draft($0, note) }), names: urls)
    }

    /// What belongs to one item cannot be meant for many.
    private static func checkForStdin(_ arguments: ParsedArguments) throws(UserFacingError) {
        if let url = arguments.operands.first { throw arguments.failure("\(url) and --stdin exclude each other") }
        let ofMany = ["--stdin"] + [CommandOption.wait, .json, .help].map(\.name)
        for option in command.entry.options.map(\.name) where !ofMany.contains(option) && arguments.has(option) {
            throw arguments.failure("\(option) and --stdin exclude each other; say it in the line")
        }
    }
}

enum NoteCommand {
    static let command = Command(
        "note",
        "Save a note on the server. Without a text, or with `-`, it is read from stdin, or written in `$EDITOR`.",
        examples: [("'Call Ada' --tag todo", "Save a short note.")],
        operands: .any("WORD"), options: [.text("--title", "TITLE", "The note's title."), .tag, .wait]
    ) { context, arguments throws(UserFacingError) in
        let words = arguments.operands
        let tags = TagWords.lowered(arguments.values("--tag"), context)
        func draft(_ text: String) -> WriteDraft {
            .create(NewItem(title: arguments.value("--title"), note: text, tags: tags))
        }
        guard words.isEmpty, isatty(STDIN_FILENO) == 1 else {
            let given = words.isEmpty ? "-" : words.joined(separator: " ")
            let text = try TextInput.read(given, "note")
            return try WriteFlow.run(context, arguments, RequestClient.keyed([draft(text)]), names: ["note"])
        }
        // What no text can cure, before a person writes one.
        _ = try (WaitOption(arguments), draft("x").checked(dialect: TagWords.dialect(context)))
        let code = try Editor.write("", context, arguments, name: "note") { text in
            text.allSatisfy(\.isWhitespace) ? nil : draft(text)
        }
        if code == nil { context.say("the note is empty; nothing was queued") }
        return code ?? .error
    }
}

enum EditCommand {
    static let command = Command(
        "edit",
        "Change an item's title, summary or tags; `-` reads ids from stdin, an ID alone opens `$EDITOR`.",
        examples: [("59ec6da4 --title 'Rye bread'", "Change the title.")],
        operands: .some("ID", most: .max),
        options: [
            .text("--title", "TITLE", "The new title."),
            .text("--summary", "TEXT", "The new summary; `-` reads it from stdin."),
            .text(
                "--tag", "TAG", "A tag; may be given again. Together they replace all that the item has.",
                isRepeatable: true),
            CommandOption("--no-tags", nil, "Remove all tags."),
            .text(
                "--add-tag", "TAG", "A tag that it gets beside those that it has; may be given again.",
                isRepeatable: true),
            .text("--remove-tag", "TAG", "A tag that it loses; may be given again.", isRepeatable: true),
            .wait,
        ]
    ) { context, arguments throws(UserFacingError) in
        func tags(_ option: String) -> [String] { TagWords.lowered(arguments.values(option), context) }
        var edit = ItemEdit(
            title: arguments.value("--title"), summary: arguments.value("--summary"),
            tags: arguments.has("--tag") ? tags("--tag") : nil,
            tagChange: TagChange(added: tags("--add-tag"), removed: tags("--remove-tag")))
        if arguments.has("--no-tags") {
            if edit.tags != nil { throw arguments.failure("--tag and --no-tags exclude each other") }
            edit.tags = []
        }
        if edit.tags != nil, !edit.tagChange.isEmpty {
            throw arguments.failure(
                "--tag and --no-tags say which tags the item has: --add-tag and --remove-tag exclude them")
        }
        if edit.isEmpty, arguments.operands.count == 1, isatty(STDIN_FILENO) == 1 {
            _ = try WaitOption(arguments)
            let item = try context.reader().item(arguments.operands[0]).item
            let original = EditedItem(item)
            let code = try Editor.write(original.text, context, arguments, name: item.id) {
                text throws(UserFacingError) in
                let edit = try EditedItem(text, of: original).edit(of: original)
                let now = EditedItem(try context.reader().item(item.id).item)
                // The person has not seen what would be overwritten.
                if edit.title != nil && now.title != original.title
                    || edit.summary != nil && now.summary != original.summary
                {
                    throw UserFacingError(
                        .conflict, "The item was changed while you wrote: \(item.id).",
                        consequence: WritesRequest.refused,
                        recoverySuggestion: "Look at it with `prsnlctl show \(item.id)`, and edit it again.")
                }
                return edit.isEmpty ? nil : .edit(item: item.id, edit)
            }
            if code == nil { context.say("nothing was changed") }
            return code ?? .fine
        }
        if edit.isEmpty {
            throw arguments.failure("--title, --summary, --tag, --add-tag, --remove-tag or --no-tags is missing")
        }
        let items = try NamedItems.ids(arguments)
        if items.count > 1, edit.title != nil || edit.summary != nil {
            throw arguments.failure("--title and --summary belong to one item")
        }
        edit.summary = try edit.summary.map { text throws(UserFacingError) in try TextInput.read(text, "summary") }
        let writes = RequestClient.keyed(items.map { .edit(item: $0, edit) })
        let code = try WriteFlow.run(context, arguments, writes, names: items)
        if let tags = edit.tags, code != .error, context.isText {
            context.say(tags.isEmpty ? "all tags are removed" : "tags replaced: \(tags.joined(separator: ", "))")
        }
        return code
    }
}

enum DeleteCommand {
    static let command = Command(
        "delete", or: ["rm"], "Delete items on the server; asks first, on a terminal. `-` reads ids from stdin.",
        examples: [("59ec6da4", "Delete it, after a question.")],
        operands: .some("ID", most: .max),
        options: [
            CommandOption("--yes", nil, "Do not ask for confirmation. Only a terminal is asked at all."), .wait,
        ]
    ) { context, arguments throws(UserFacingError) in
        let confirmation = Confirmation(arguments)
        var items = try NamedItems.ids(arguments)
        do throws(UserFacingError) {
            let reader = try context.reader()
            let found = try items.map { id throws(UserFacingError) in try reader.itemToChange(id, isForDeletion: true) }
            if context.isText || confirmation != nil { NamedItems.show(found, of: found.count, context) }
            // What was shown is what is deleted.
            items = found.map(\.id)
        } catch {
            // A person who is asked has to see what for. Else it is for the daemon to say which there are.
            if confirmation != nil, error.code == .itemUnknown || error.code == .itemAmbiguous { throw error }
        }
        let those = items.count == 1 ? "this item" : "these \(Formatting.count(items.count)) items"
        if confirmation?.ask("Delete \(those) on the server?") == false {
            context.say("nothing was deleted")
            return .error
        }
        let writes = RequestClient.keyed(items.map { .delete(item: $0) })
        return try WriteFlow.run(context, arguments, writes, names: items)
    }
}

/// Tags as a person types them.
enum TagWords {
    /// As the main server and older releases write them; the small server keeps capitals.
    static func lowered(_ tags: [String], _ context: CommandContext) -> [String] {
        // What is refused for another letter is not lowered first.
        let strange = tags.filter { tag in tag.lowercased() != tag && tag.utf8.allSatisfy { $0 < 0x80 } }
        guard !strange.isEmpty, dialect(context) != .express else { return tags }
        context.say("the server writes tags in lower case: \(strange.map { $0.lowercased() }.joined(separator: ", "))")
        return tags.map { tag in strange.contains(tag) ? tag.lowercased() : tag }
    }

    /// `nil` where the copy cannot be read, or knows no server yet.
    static func dialect(_ context: CommandContext) -> Dialect? {
        try? context.reader().summary().server.dialect
    }
}

/// Items that a person names by their ids, or pipes in.
enum NamedItems {
    /// The ids, each once; `-` reads them from stdin.
    static func ids(_ arguments: ParsedArguments, _ words: [String]? = nil) throws(UserFacingError) -> [String] {
        var ids: [String] = []
        var seen: Set<ByteText> = []
        for word in words ?? arguments.operands {
            for id in word == "-" ? try piped(arguments) : [word] where seen.insert(ByteText(id)).inserted {
                ids.append(id)
            }
        }
        if ids.isEmpty { throw arguments.failure("there is no id on stdin") }
        return ids
    }

    /// Bytes: the ids of 400,000 items.
    private static let longestList = 16 << 20

    /// One id a line: a title beside it has words that may be the beginnings of other ids.
    private static func piped(_ arguments: ParsedArguments) throws(UserFacingError) -> [String] {
        var ids: [String] = []
        let given = try TextInput.all(of: STDIN_FILENO, "ids: the text from stdin", atMost: longestList)
        for (number, line) in given.split(whereSeparator: \.isNewline).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count < 2 else {
                throw arguments.failure(
                    "line \(number + 1) of stdin has more than an id; with --ids, list and search print ids alone")
            }
            ids += words.map(String.init)
        }
        return ids
    }

    static func show(_ items: some Collection<ListedItem>, of count: Int, _ context: CommandContext) {
        let lines = items.map { "\($0.id)  \($0.title.flatMap { $0.isEmpty ? nil : $0 } ?? "(no title)")" }
        show(lines, of: count, context)
    }

    /// On stderr, for a person who is asked.
    static func show(_ lines: [String], of count: Int, _ context: CommandContext) {
        for line in lines { StandardStream.error.write("  \(context.errorStyle.safe(line))\n") }
        if count > lines.count { StandardStream.error.write("  and \(Formatting.count(count - lines.count)) more\n") }
    }
}

/// A question on the terminal that is answered with yes or with anything else.
struct Confirmation {
    private let readsTerminal: Bool

    /// `nil` with `--yes`, and where there is no terminal to ask on. What is piped into the command is no answer.
    init?(_ arguments: ParsedArguments) {
        readsTerminal = arguments.operands.contains("-")
        guard !arguments.has("--yes"), isatty(STDERR_FILENO) == 1, readsTerminal || isatty(STDIN_FILENO) == 1 else {
            return nil
        }
    }

    func ask(_ question: String) -> Bool {
        StandardStream.error.write("\(question) [y/N] ")
        let terminal = readsTerminal ? open("/dev/tty", O_RDONLY | O_CLOEXEC) : STDIN_FILENO
        defer { if readsTerminal { close(terminal) } }
        var reader = LineReader(descriptor: terminal, limit: 100)
        guard case .line(let line)? = try? reader.next(pauseAfter: nil) else { return false }
        return ["y", "yes"].contains(String(decoding: line, as: UTF8.self).lowercased())
    }
}

struct WaitOption {
    /// `nil`: without a limit.
    var limit: Duration?

    init?(_ arguments: ParsedArguments) throws(UserFacingError) {
        guard arguments.has("--wait") else { return nil }
        guard let text = arguments.value("--wait") else { return }
        guard let limit = DurationText.parse(text) else {
            throw arguments.failure("--wait=\(text) is not a duration such as 30s or 5m")
        }
        self.limit = limit
    }
}

/// Text that a person pipes in where a command takes `-`.
enum TextInput {
    /// - Throws: `write_invalid` for what is too long to be looked at or not UTF-8.
    static func read(_ text: String, _ field: String) throws(UserFacingError) -> String {
        text == "-" ? try all(of: STDIN_FILENO, "\(field): the text from stdin") : text
    }

    /// - Parameter code: an `errno` of read(2).
    static func failure(_ code: Int32) -> UserFacingError {
        UserFacingError(
            .usage, "stdin cannot be read: \(String(cString: strerror(code))).",
            recoverySuggestion: "Check where stdin comes from.")
    }

    static func all(
        of descriptor: Int32, _ name: String, atMost limit: Int = CaptureLine.longest
    ) throws(UserFacingError) -> String {
        var (bytes, code) = Descriptors.read(descriptor, atMost: limit)
        guard code == 0 else { throw refusal("\(name) cannot be read: \(String(cString: strerror(code))).") }
        guard bytes.count <= limit else {
            throw refusal("\(name) has more than \(limit >> 10) KiB, which is too long.")
        }
        // The end of a line is the pipe's, as in the shell's $(…).
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw refusal("\(name) is not UTF-8.")
        }
        return text
    }

    private static func refusal(_ message: String) -> UserFacingError {
        UserFacingError(.writeInvalid, message, consequence: WritesRequest.refused)
    }
}

extension WholeFile {
    /// - Returns: `nil` where there is none.
    /// - Throws: `disk_error`; `write_invalid` if it is not UTF-8, or too long.
    static func text(of path: String, atMost limit: Int = CaptureLine.longest) throws(UserFacingError) -> String? {
        // A FIFO without a writer would block indefinitely.
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw failure(path, String(cString: strerror(errno))) }
        defer { close(file) }
        var information = stat()
        guard fstat(file, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            throw failure(path, "it is not a regular file")
        }
        return try TextInput.all(of: file, path, atMost: limit)
    }

    private static func failure(_ path: String, _ reason: String) -> UserFacingError {
        UserFacingError(
            .diskError, "\(path) cannot be read: \(reason).",
            recoverySuggestion: "Look at what is there, and who may read it.")
    }
}
