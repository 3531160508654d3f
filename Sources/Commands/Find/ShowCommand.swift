package import Console
import Glibc
package import PRSNLCore
package import Store

/// `prsnlctl show`: items with their texts, from the file, whether the daemon runs or not.
enum ShowCommand {
    static let command = Command(
        "show", or: ["cat"], "Show items with their texts.",
        examples: [("59ec6da4", "The item whose id begins so, with its text.")], operands: .some("ID", most: 100),
        options: [
            CommandOption("--earlier", "N", "An earlier text that the server has replaced; 1 is the last of them."),
            CommandOption("--raw", nil, "Print the text alone, as the server has it."),
            CommandOption("--no-pager", nil, "Print a long text at once, also on a terminal."),
        ], onlyReads: true
    ) { context, arguments throws(UserFacingError) in
        let reader = try context.reader()
        if arguments.has("--raw"), !context.isText { throw arguments.failure("--raw and --json exclude each other") }
        if arguments.has("--earlier"), arguments.operands.count > 1 {
            throw arguments.failure("--earlier takes one ID")
        }
        let reports = try arguments.operands.map { id throws(UserFacingError) in try report(id, reader, arguments) }
        guard arguments.has("--raw") else {
            return try Pager.print(context, reports, isWanted: !arguments.has("--no-pager"))
        }
        // On a terminal, what the terminal would obey is made visible.
        let isShown = isatty(STDOUT_FILENO) == 1
        let texts = reports.map { isShown ? ItemReport.harmless($0.rawText) + "\n" : $0.rawText }
        return try context.print(texts.joined(separator: texts.count > 1 ? "\n" : ""))
    }

    private static func report(
        _ id: String, _ reader: StoreReader, _ arguments: ParsedArguments
    ) throws(UserFacingError) -> ItemReport {
        var shown = try item(id, reader)
        let former = try reader.formerTexts(of: shown.item.id)
        var replacedAt: Timestamp?
        if let text = arguments.value("--earlier") {
            guard let number = Int(text), number > 0, number <= former.count,
                let earlier = try reader.formerText(number, of: shown.item.id)
            else {
                throw arguments.failure(
                    "--earlier \(SafeText.harmless(String(text.prefix(20)))): the copy has \(Formatting.count(former.count, "earlier text")) of this item"
                )
            }
            shown.text = earlier
            shown.fetchedAt = nil
            replacedAt = former[number - 1].replacedAt
        }
        var report = ItemReport(shown)
        report.formerTexts = former
        if shown.deletion?.at != nil { report.restoredAs = try RestoreCommand.key(of: shown, reader).known?.itemID }
        if let replacedAt {
            report.textState = .earlier
            report.replacedAt = replacedAt
        }
        return report
    }

    /// Also one that was deleted.
    private static func item(_ id: String, _ reader: StoreReader) throws(UserFacingError) -> ShownItem {
        do throws(UserFacingError) { return try reader.item(id) } catch {
            guard error.code == .itemUnknown else { throw error }
            do throws(UserFacingError) { return try reader.deletedItem(id) } catch let deleted {
                throw deleted.code == .itemUnknown ? error : deleted
            }
        }
    }
}

/// Shows a text that does not fit on the terminal page by page, as git and man do.
private enum Pager {
    static func print(
        _ context: CommandContext, _ reports: [ItemReport], isWanted: Bool
    ) throws(UserFacingError) -> ExitCode {
        let texts = try reports.map { report throws(UserFacingError) in try context.render(report) }
        let text = texts.joined(separator: context.isText ? "\n\n" : "")
        guard isWanted, context.isText, isatty(STDIN_FILENO) == 1, let rows = TextStyle.rows(of: STDOUT_FILENO),
            text.utf8.count(where: { $0 == 0x0A }) >= rows
        else { return try context.print(text) }
        if let user = context.terminalBorrower {
            context.say("shown without a pager, which \(user) could use to read this terminal")
            return try context.print(text)
        }
        let environment = context.environment.variables
        // A person who may only run prsnlctl as root must not get a shell of root's: less(1), "SECURITY".
        let isLent = ["SUDO_UID", "DOAS_USER", "PKEXEC_UID"].contains { environment[$0] != nil }
        if isLent || geteuid() == 0 { setenv("LESSSECURE", "1", 1) }
        let chosen = isLent ? nil : environment["PAGER"].flatMap { $0.isEmpty ? nil : $0 }
        let program = chosen ?? "less -R"
        // A person who leaves the pager early closes the pipe.
        signal(SIGPIPE, SIG_IGN)
        guard program != "cat", let pipe = popen(program, "w") else { return try context.print(text) }
        fputs(text, pipe)
        // 127: the shell has not found it.
        return pclose(pipe) >> 8 == 127 ? try context.print(text) : .fine
    }
}

/// One item with its text: the JSON of `prsnlctl show --json`.
package struct ItemReport: Sendable, Equatable, Codable {
    package enum TextState: String, Sendable, Codable {
        /// It is here, as of the item's last change that is known.
        case current
        /// One that the server has replaced since.
        case earlier
        /// An older one is here.
        case outdated
        /// It was not fetched yet.
        case missing
        /// The server's is not: this is what was written here.
        case written
        /// The server still works on the item.
        case pending
        case tooLarge = "too_large"
        case failing
    }

    package var schemaVersion = 1
    package var id: String
    package var createdAt: Timestamp
    @Nullable package var updatedAt: Timestamp? = nil
    @Nullable package var type: String? = nil
    @Nullable package var title: String? = nil
    @Nullable package var url: String? = nil
    @Nullable package var summary: String? = nil
    package var tags: [String]
    @Nullable package var platform: String? = nil
    @Nullable package var status: String? = nil
    /// `creation` or `edit`, where something of it is not on the server yet.
    @Nullable package var pending: String? = nil
    package var textState: TextState
    /// Why it is missing or an older one.
    @Nullable package var textProblem: String? = nil
    @Nullable package var textVersion: Timestamp? = nil
    @Nullable package var fetchedAt: Timestamp? = nil
    @Nullable package var author: String? = nil
    @Nullable package var publishedAt: String? = nil
    @Nullable package var wordCount: Int? = nil
    @Nullable package var content: String? = nil
    @Nullable package var transcription: String? = nil
    /// As in `ItemListReport`.
    @Nullable package var deletion: Deletion? = nil
    /// Of one that was deleted: the item as which `restore` has captured it again.
    @Nullable package var restoredAs: String? = nil
    /// A write of it that waits for a decision.
    @Nullable package var parked: Int64? = nil
    /// The latest first: `--earlier N` shows them.
    package var formerTexts: [FormerText] = []
    /// With `--earlier`: when it was replaced.
    @Nullable package var replacedAt: Timestamp? = nil

    package init(_ shown: ShownItem) {
        let (item, text) = (shown.item, shown.text)
        (id, createdAt, updatedAt, type) = (item.id, item.createdAt, item.updatedAt, item.type)
        (title, url, summary, tags) = (item.title, item.url, item.summary, Tags.parse(item.tags) ?? [])
        (platform, status, pending, parked) = (item.platform, item.status, shown.pending, shown.parked)
        (textState, textProblem) = (Self.state(of: shown), shown.problem?.message)
        (textVersion, fetchedAt, deletion) = (text.updatedAt, shown.fetchedAt, shown.deletion)
        (author, publishedAt, wordCount) = (shown.author, shown.publishedAt, shown.wordCount)
        (content, transcription) = (text.content, text.transcription)
    }

    private static func state(of shown: ShownItem) -> TextState {
        if shown.isAsWritten || LocalID.isLocal(shown.item.id) { return .written }
        let hasText = shown.text.content != nil || shown.text.transcription != nil
        if shown.item.status == TimelineItem.pendingStatus, !hasText { return .pending }
        if shown.isOutdated { return .outdated }
        if shown.fetchedAt != nil || hasText { return .current }
        switch shown.problem?.kind {
        case .tooLarge: return .tooLarge
        case .failing, .stale: return .failing
        case nil: return .missing
        }
    }

    /// The text alone, as the server has it. Of two that differ, both.
    package var rawText: String {
        [content, transcription == content ? nil : transcription].compactMap(\.self).filter { !$0.isEmpty }
            .joined(separator: "\n\n")
    }

    /// A text with its lines, and nothing that a terminal would obey.
    package static func harmless(_ text: String) -> String {
        var result = ""
        TextLayout.parts(of: text, between: 0x0A) { result += SafeText.harmless(String($0)) + "\n" }
        return String(result.unicodeScalars.dropLast())
    }
}

extension ItemReport: Report {
    package func text(_ style: TextStyle) -> String {
        var lines = TextLayout.wrap(style.safe(title ?? "(no title)"), width: style.width).map {
            style.paint($0, .bold)
        }
        // An address stays whole, so that it can be copied.
        if let url { lines.append(style.safe(url)) }
        lines += origin(style).filter { !$0.isEmpty }.flatMap { TextLayout.wrap($0, width: style.width) } + [""]
        if let note = note(style) { lines += TextLayout.wrap(note, width: style.width) + [""] }
        var text = lines.map { $0 + "\n" }.joined()
        appendTexts(to: &text, style)
        while text.utf8.suffix(2).elementsEqual("\n\n".utf8) { text.unicodeScalars.removeLast() }
        return text
    }

    @Listing<String> private func origin(_ style: TextStyle) -> [String] {
        let changedAt = updatedAt == createdAt ? nil : updatedAt
        let change = changedAt.map { ", changed \(Formatting.clock($0))" }
        let made = [author.map { "by \($0)" }, publishedAt.map { "published \($0)" }].compactMap(\.self)
        let state = status == "failed" ? "the server could not process it" : status == "completed" ? nil : status
        let kind = [type, platform, state].compactMap(\.self)
        let words = wordCount.map { [Formatting.count($0, "word")] } ?? []
        style.safe((kind + words + made).joined(separator: ", "))
        "created \(Formatting.time(createdAt))\(change ?? "")"
        if !tags.isEmpty { "tags: " + style.paint(style.safe(tags.joined(separator: ", ")), .green) }
        "id: " + style.paint(style.safe(id), .yellow)
        if pending == "creation" {
            LocalID.isLocal(id)
                ? "made here, and not confirmed by the server yet"
                : "made here and delivered; the next pull brings the server's item"
        }
        if pending == "edit" { "edited here; the server has not confirmed the edit yet" }
        if let parked {
            "the write #\(parked) waits for your decision: \(style.command("prsnlctl queue show \(parked)"))"
        }
        if let latest = formerTexts.first {
            let count = Formatting.count(formerTexts.count, "earlier text")
            "\(count), the last replaced \(Formatting.clock(latest.replacedAt)): "
                + style.command("prsnlctl show \(id) --earlier 1")
        }
        if let deletion {
            let verb = deletion.at == nil ? "keeps it" : "captures it again"
            let restoration = restoredAs.map { "restored as \(style.safe($0))" }
            "\(deletion.words); " + (restoration ?? "\(style.command("prsnlctl restore \(id)")) \(verb)")
        }
    }

    private func appendTexts(to text: inout String, _ style: TextStyle) {
        func append(_ paragraphs: String) {
            TextLayout.parts(of: paragraphs, between: 0x0A) { line in
                TextLayout.wrapProse(style.safe(String(line)), width: style.width) { text += $0 + "\n" }
            }
        }
        if content == nil, transcription == nil, let summary { append("Summary:\n" + summary) }
        if let content { append(content) }
        if let transcription, !transcription.isEmpty, transcription != content {
            if content != nil { text += "\n\(style.paint("Transcription", .bold))\n\n" }
            append(transcription)
        }
    }

    /// Why there is no text, or an older one.
    private func note(_ style: TextStyle) -> String? {
        let reason = textProblem.map { ": " + style.safe($0) } ?? "."
        switch textState {
        case .earlier:
            return "An earlier text, which was replaced \(replacedAt.map(Formatting.clock) ?? "since")."
        case .current: return content == nil && transcription == nil ? "The server has no text of this item." : nil
        case .outdated:
            return
                "The server may have another text now. This is its text of \(textVersion.map(Formatting.clock) ?? "before")"
                + reason
        case .missing where deletion != nil, .tooLarge where deletion != nil:
            return "Its text was not fetched before it was deleted."
        case .missing: return "Its text is not here yet. \(style.command("prsnlctl sync --text \(id)")) fetches it now."
        case .written:
            return rawText.isEmpty ? nil : "This is what was written here. The server has no text of it yet."
        case .pending: return "The server still works on this item, so that there is no text yet."
        case .tooLarge:
            return "Its text was not fetched\(reason) \(style.command("prsnlctl sync --text \(id)")) fetches it."
        case .failing: return "Its text could not be fetched" + reason
        }
    }
}
