import Configuration
import Console
import Glibc
import PRSNLCore
import Store

/// `prsnlctl capture`: a URL, or many from stdin.
enum CaptureCommand {
    static let command = Command(
        "capture", "Save a URL on the server.", operands: .atMostOne("URL"),
        options: [
            CommandOption("--stdin", nil, "Read many: a URL or a JSON object per line of stdin."),
            .text("--title", "TITLE", "The item's title."),
            .tag,
            .text("--note", "TEXT", "A remark; `-` reads it from stdin."),
            .text("--type", "TYPE", "The server's content type (`link`, unless said otherwise)."),
            CommandOption("--summarize", nil, "Ask the server to write a summary."),
            .wait,
        ], asks: WriteFlow.requests + [TallyRequest.self], run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        if arguments.has("--stdin") {
            try checkForStdin(arguments)
            return try CaptureStdin.run(context, try WaitOption(arguments))
        }
        guard let url = arguments.operands.first else {
            throw arguments.failure("a URL, or --stdin, is missing")
        }
        var note = arguments.value("--note")
        if let text = note { note = try TextInput.read(text, field: "note") }
        let item = NewItem(
            url: url, title: arguments.value("--title"), note: note, tags: arguments.values("--tag"),
            type: arguments.value("--type"), summarize: arguments.has("--summarize"))
        return try WriteFlow.run(context, arguments, [.create(item)], names: [url])
    }

    /// What belongs to one item cannot be meant for many.
    private static func checkForStdin(_ arguments: ParsedArguments) throws(UserFacingError) {
        if let url = arguments.operands.first {
            throw arguments.failure("\(url) and --stdin exclude each other")
        }
        let ofMany = ["--stdin"] + [CommandOption.wait, .json, .help].map(\.name)
        for option in command.entry.options.map(\.name) where !ofMany.contains(option) && arguments.has(option) {
            throw arguments.failure("\(option) belongs to one URL; with --stdin, say it in the line")
        }
    }
}

/// `prsnlctl note`: a text.
enum NoteCommand {
    static let command = Command(
        "note", "Save a note on the server; `-` reads the text from stdin.", operands: .one("TEXT"),
        options: [.text("--title", "TITLE", "The note's title."), .tag, .wait], asks: WriteFlow.requests
    ) { context, arguments throws(UserFacingError) in
        let text = try TextInput.read(arguments.operands.first ?? "", field: "note")
        let item = NewItem(title: arguments.value("--title"), note: text, tags: arguments.values("--tag"))
        return try WriteFlow.run(context, arguments, [.create(item)], names: ["note"])
    }
}

/// `prsnlctl edit`: new values for some of an item's fields.
enum EditCommand {
    static let command = Command(
        "edit", "Change an item's title, summary or tags.", operands: .one("ID"),
        options: [
            .text("--title", "TITLE", "The new title."),
            .text("--summary", "TEXT", "The new summary; `-` reads it from stdin."),
            .text(
                "--tag", "TAG", "A tag; may be given again. Together they replace all that the item has.",
                isRepeatable: true),
            CommandOption("--no-tags", nil, "Remove all tags."),
            .wait,
        ], asks: WriteFlow.requests, run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let item = arguments.operands.first ?? ""
        var edit = ItemEdit(title: arguments.value("--title"))
        if let summary = arguments.value("--summary") {
            edit.summary = try TextInput.read(summary, field: "summary")
        }
        if arguments.has("--tag") { edit.tags = arguments.values("--tag") }
        if arguments.has("--no-tags") {
            if edit.tags != nil { throw arguments.failure("--tag and --no-tags exclude each other") }
            edit.tags = []
        }
        if edit.isEmpty {
            throw arguments.failure("--title, --summary, --tag or --no-tags is missing")
        }
        let code = try WriteFlow.run(context, arguments, [.edit(item: item, edit)], names: [item])
        if let tags = edit.tags, code != .error, context.isText {
            context.say(tags.isEmpty ? "all tags are removed" : "tags replaced: \(tags.joined(separator: ", "))")
        }
        return code
    }
}

/// `prsnlctl delete`: items, each by an entry of its own. Says which they are, and on a terminal asks.
enum DeleteCommand {
    static let command = Command(
        "delete", "Delete items on the server; asks first, on a terminal.", operands: .some("ID"),
        options: [
            CommandOption("--yes", nil, "Do not ask. Without a terminal nothing is asked anyway."), .wait,
        ], asks: WriteFlow.requests, run: run)

    private static func run(_ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) -> ExitCode
    {
        let asks = !arguments.has("--yes") && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1
        var items: [String] = []
        for item in arguments.operands where !items.contains(item) { items.append(item) }
        if let found = try titles(of: items, context, isStrict: asks) {
            if context.isText || asks {
                for item in found {
                    let title = item.title.isEmpty ? "(no title)" : item.title
                    StandardStream.error.write("  \(context.errorStyle.safe("\(item.id)  \(title)"))\n")
                }
            }
            // What was shown is what is deleted.
            items = found.map(\.id)
        }
        if asks, !Confirmation.ask("Delete \(items.count == 1 ? "this item" : "these items") on the server?") {
            context.say("nothing was deleted")
            return .error
        }
        return try WriteFlow.run(context, arguments, items.map { .delete(item: $0) }, names: items)
    }

    /// `nil` where the copy cannot be read here, or one of the ids names no item: then it is for the daemon to
    /// say so, of each.
    ///
    /// - Throws: `item_unknown` and `item_ambiguous` where `isStrict`.
    private static func titles(
        of items: [String], _ context: CommandContext, isStrict: Bool
    ) throws(UserFacingError) -> [(id: String, title: String)]? {
        do throws(UserFacingError) {
            let reader = try StoreReader(path: context.paths.database)
            var found: [(id: String, title: String)] = []
            for item in items { found.append(try reader.itemToDelete(item)) }
            return found
        } catch {
            // A person who is asked has to see what for.
            if isStrict, error.code == .itemUnknown || error.code == .itemAmbiguous { throw error }
            return nil
        }
    }
}

/// A question on the terminal that is answered with yes or with anything else.
enum Confirmation {
    static func ask(_ question: String) -> Bool {
        StandardStream.error.write("\(question) [y/N] ")
        let answer = readLine(strippingNewline: true)?.lowercased() ?? ""
        return answer == "y" || answer == "yes"
    }
}

/// What `capture`, `note`, `edit` and `delete` have in common: journal, wait if asked to, report.
enum WriteFlow {
    static let requests: [any Request.Type] = [WritesRequest.self, DeliveryRequest.self]

    /// - Parameter names: what the person calls each draft; for the messages about those that are refused.
    static func run(
        _ context: CommandContext, _ arguments: ParsedArguments, _ drafts: [WriteDraft], names: [String]
    ) throws(UserFacingError) -> ExitCode {
        let wait = try WaitOption(arguments)
        var outbox = RequestClient(context)
        // The same request finds what was written of it, however often it is made.
        let request = WritesRequest(RequestClient.keyed(drafts))
        var report = try journal(request, &outbox)
        if let wait {
            try deliver(request, &report, wait, &outbox)
            report.waited = true
        }
        if context.isText {
            StandardStream.error.write(report.refusals(context.errorStyle, names: names))
            for (write, name) in zip(report.writes, names) where write.error?.code == .itemUnknown {
                guard let item = context.itemFound(by: name) else { continue }
                context.say("\(CommandContext.offer(item)) Its id is \(item.id).")
            }
        }
        try context.write(report)
        return report.exitCode
    }

    private static func journal(
        _ request: WritesRequest, _ outbox: inout RequestClient
    ) throws(UserFacingError) -> WriteReport {
        switch try written(request, &outbox) {
        case .answered(let report): return report
        case .unknown(let error):
            throw UserFacingError(
                error.code, error.message, consequence: "It is not known whether it is on disk.",
                recoverySuggestion: "Look with `prsnlctl queue --all` before you give the command again.",
                nextCommand: "prsnlctl queue --all")
        }
    }

    /// - Throws: Where nothing is on disk, with that.
    private static func written(
        _ request: WritesRequest, _ outbox: inout RequestClient
    ) throws(UserFacingError) -> RequestClient.Outcome<WriteReport> {
        do throws(UserFacingError) {
            return try outbox.write(request)
        } catch {
            let isFull = error.code == .diskFull
            throw UserFacingError(
                error.code, error.message, consequence: WritesRequest.refused,
                recoverySuggestion: isFull ? "Free some space, then give the command again." : error.recoverySuggestion,
                nextCommand: error.nextCommand, cause: error.cause)
        }
    }

    private static func deliver(
        _ request: WritesRequest, _ report: inout WriteReport, _ wait: WaitOption, _ outbox: inout RequestClient
    ) throws(UserFacingError) {
        guard !report.waiting.isEmpty else { return }
        let context = outbox.context
        if context.isText {
            let numbers = report.waiting.map { "#\($0)" }.joined(separator: ", ")
            context.say("\(numbers) on disk; waiting for the delivery. Ctrl-C ends the waiting, not the write.")
        }
        do throws(UserFacingError) {
            guard let deliveries = try outbox.wait(for: report.waiting, atMost: wait.limit) else { return }
            report.update(deliveries)
        } catch {
            // The writes are on disk, whatever became of the daemon.
            guard error.code == .daemonNotRunning else { throw error }
            context.say("the daemon stopped before it said what became of it")
            report.sending = .whenDaemonRuns
            // It may have delivered it. What was refused is not asked for again. Where that cannot be asked, what is known stands.
            guard report.writes.allSatisfy({ $0.outcome == .accepted }), let now = try? journal(request, &outbox) else {
                return
            }
            report = now
        }
    }
}

/// `--wait[=DURATION]`
struct WaitOption {
    /// `nil`: without a limit.
    var limit: Duration?

    /// `nil` without the option.
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
    static func read(_ text: String, field: String) throws(UserFacingError) -> String {
        guard text == "-" else { return text }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= CaptureLine.longest {
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count == 0 { break }
            if count > 0 {
                bytes += buffer[..<count]
            } else if errno != EINTR {
                throw UserFacingError(
                    .writeInvalid, "\(field): stdin cannot be read: \(String(cString: strerror(errno))).",
                    consequence: WritesRequest.refused)
            }
        }
        guard bytes.count <= CaptureLine.longest else {
            throw refusal("\(field): more than \(CaptureLine.longest >> 10) KiB, which is too long.")
        }
        // The end of a line is the pipe's, as in the shell's $(…).
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw refusal("\(field): the text from stdin is not UTF-8.")
        }
        return text
    }

    private static func refusal(_ message: String) -> UserFacingError {
        UserFacingError(.writeInvalid, message, consequence: WritesRequest.refused)
    }
}
