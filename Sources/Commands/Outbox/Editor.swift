import Console
import Glibc
import PRSNLCore

/// A text that is written in the person's own editor. Its file is the person's, who is told its name before the editor opens: it goes when
/// what was written is queued, or when nothing was.
struct Editor {
    private let path: String
    private let text: String
    private let command: String
    /// By which the file can be given to the same command; `nil` for one that takes no text from stdin.
    private let again: NextCommand?
    private static let remark = "# prsnlctl: "
    /// Whether a remark stands above the text, because it is shown again.
    private var hasRemark = false

    /// - Parameters:
    ///   - typed: What was typed on the terminal already, in the place of an editor's text.
    ///   - read: the write that a text asks for; `nil` where nothing was written, or nothing changed.
    /// - Throws: what `read` and the queueing throw, with the name of the file. `editor_failed`.
    static func write(
        _ text: String, typed: String? = nil, _ context: CommandContext, _ arguments: ParsedArguments, name: String,
        read: (String) throws(UserFacingError) -> WriteDraft?
    ) throws(UserFacingError) -> ExitCode? {
        if let user = context.terminalBorrower {
            throw failure("No editor is started, because \(user) could use it to read this terminal")
        }
        var editor = try Editor(text, context, arguments)
        do throws(UserFacingError) {
            var shown = text
            while true {
                if let typed { try editor.put(typed) }
                let saved = if let typed { typed } else { try editor.run() }
                do throws(UserFacingError) {
                    guard let draft = try read(saved) else {
                        unlink(editor.path)
                        return nil
                    }
                    return try WriteFlow.run(context, arguments, RequestClient.keyed([draft]), names: [name]) {
                        report throws(UserFacingError) in
                        if let error = report.writes.first?.error { throw error }
                        unlink(editor.path)
                    }
                } catch {
                    // Another text helps against these alone, and the same one does not.
                    guard error.code == .writeInvalid, saved != shown, typed == nil else { throw error }
                    context.say("\(error.message) The editor shows it again.")
                    shown = saved
                    try editor.put("\(remark)\(error.message.replacing("\n", with: " "))\n\(saved)")
                    editor.hasRemark = true
                }
            }
        } catch { throw editor.kept(error) }
    }

    /// - Throws: where the file cannot be made. Then nothing was written yet.
    private init(_ text: String, _ context: CommandContext, _ arguments: ParsedArguments) throws(UserFacingError) {
        let variables = context.environment.variables
        command = [variables["VISUAL"], variables["EDITOR"]].compactMap(\.self).first { !$0.isEmpty } ?? "vi"
        var name = Array("\(variables["TMPDIR"] ?? "/tmp")/prsnl-XXXXXX.md".utf8CString)
        // Mode 0600 (mkstemps(3)).
        let descriptor = mkstemps(&name, 3)
        guard descriptor >= 0 else {
            throw Self.failure("A file for the text cannot be made: \(String(cString: strerror(errno)))")
        }
        close(descriptor)
        path = name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        self.text = text
        let options = ["--title", "--tag"].flatMap { name in arguments.values(name).flatMap { [name, $0] } }
        let line = ShellText.words(["prsnlctl", "note"] + options + ["-"]) + " < \(ShellText.word(path))"
        again = arguments.command == NoteCommand.command.entry ? NextCommand(line: line) : nil
        do throws(UserFacingError) { try put(text) } catch { throw kept(error) }
        context.say("until it is queued, the text is in \(path)")
    }

    private func run() throws(UserFacingError) -> String {
        setenv("PRSNL_EDITED", path, 1)
        // The variable may have options, and is a shell's to split, as git and crontab have it.
        let status = system("\(command) \"$PRSNL_EDITED\"")
        guard status == 0 else {
            throw Self.failure("The editor \(command) \(status >> 8 == 127 ? "could not be started" : "failed")")
        }
        return try saved()
    }

    private func saved() throws(UserFacingError) -> String {
        let saved = try WholeFile.text(of: path) ?? ""
        guard hasRemark, saved.hasPrefix(Self.remark) else { return saved }
        return String(saved.drop { $0 != "\n" }.dropFirst())
    }

    /// Another file in its place: where the disk is full, what was written before is still there.
    private func put(_ text: String) throws(UserFacingError) {
        guard let reason = WholeFile.replace(path, by: text) else { return }
        throw Self.failure("\(path) cannot be replaced: \(reason)")
    }

    /// What went wrong, and where the text is, unless nothing was written.
    private func kept(_ error: UserFacingError) -> UserFacingError {
        // Bytes that are no text are kept too.
        let isUntouched = (try? saved()).map { $0.isEmpty || $0 == text } ?? false
        if isUntouched { unlink(path) }
        guard !isUntouched, access(path, F_OK) == 0 else { return error }
        // The file can be given to the command as it is. Where the disk is full, the remark stays in it.
        if hasRemark, let saved = try? saved() { _ = WholeFile.replace(path, by: saved) }
        return UserFacingError(
            error.code, error.message,
            consequence: "\(error.consequence ?? WritesRequest.refused) What was written is in \(path).",
            recoverySuggestion: error.recoverySuggestion,
            // What may be on disk is looked for first.
            nextCommand: error.consequence?.description.contains(WriteFlow.unknown) == true
                ? error.nextCommand : error.code == .writeInvalid ? nil : again,
            cause: error.cause)
    }

    private static func failure(_ message: String) -> UserFacingError {
        UserFacingError(.editorFailed, SafeText.harmless(message) + ".", consequence: WritesRequest.refused)
    }
}

/// An item's title, summary and tags as a person edits them: front matter, as an export writes it.
struct EditedItem: Equatable {
    var title = ""
    var summary = ""
    var tags: [String] = []

    init(_ item: TimelineItem) {
        title = item.title ?? ""
        summary = item.summary ?? ""
        tags = Tags.parse(item.tags) ?? []
    }

    var text: String {
        var matter = FrontMatter()
        matter.add("title", title)
        matter.add("summary", summary)
        matter.add("tags", list: tags)
        return String(decoding: matter.bytes, as: UTF8.self)
    }

    /// - Parameter original: has what the text leaves out. An empty text changes nothing.
    /// - Throws: `write_invalid`, with the line that cannot be read. No line is read past: a person has written it.
    init(_ text: String, of original: EditedItem) throws(UserFacingError) {
        self = original
        if text.allSatisfy(\.isWhitespace) { return }
        var (fences, isInTags) = (0, false)
        var seen: Set<String> = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            if line.allSatisfy(\.isWhitespace) { continue }
            let words = line.drop(while: \.isWhitespace)
            if line == "---", fences < 2 {
                fences += 1
                continue
            }
            guard fences == 1 else {
                let place = fences == 0 ? "before the first" : "after the second"
                throw Self.failure(number, "\(place) line of three dashes stands \(words)")
            }
            if isInTags, words.first == "-" {
                tags.append(try Self.value(words.dropFirst(), number))
                continue
            }
            guard let colon = words.firstIndex(of: ":") else { throw Self.failure(number, "the colon is missing") }
            let (name, value) = (String(words[..<colon]), words[words.index(after: colon)...])
            guard seen.insert(name).inserted else { throw Self.failure(number, "\(name) is there twice") }
            isInTags = name == "tags"
            switch name {
            case "title": title = try Self.value(value, number)
            case "summary": summary = try Self.value(value, number)
            case "tags": tags = try Self.list(value, number)
            default: throw Self.failure(number, "\(name) cannot be edited; title, summary and tags can")
            }
        }
        guard fences == 2 else { throw Self.failure(nil, "the second line of three dashes is missing") }
    }

    func edit(of original: EditedItem) -> ItemEdit {
        let (old, new) = (Tags.set(original.tags), Tags.set(tags))
        return ItemEdit(
            title: title == original.title ? nil : title, summary: summary == original.summary ? nil : summary,
            tagChange: TagChange(
                added: new.subtracting(old).sorted().map(\.text), removed: old.subtracting(new).sorted().map(\.text)))
    }

    /// In quotation marks as JSON has it, or as it stands.
    private static func value(_ text: Substring, _ line: Int) throws(UserFacingError) -> String {
        let text = String(text).trimmingWhiteSpace()
        guard text.first == "\"" else { return text }
        do {
            return try JSONReader.read(Array(text.utf8)) { reader in
                let value = try reader.string()
                try reader.end()
                return value
            }
        } catch {
            throw failure(line, "the quotation marks do not fit; write \\\" for one inside, and \\n for a new line")
        }
    }

    /// `[a, "b"]`, or nothing, where lines with a dash follow.
    private static func list(_ text: Substring, _ line: Int) throws(UserFacingError) -> [String] {
        var text = String(text).trimmingWhiteSpace()
        if text.first == "[", text.last == "]" { text = String(text.dropFirst().dropLast()) }
        var tags: [String] = []
        for part in text.split(separator: ",") where !part.allSatisfy(\.isWhitespace) {
            tags.append(try value(part, line))
        }
        return tags
    }

    private static func failure(_ line: Int?, _ reason: String) -> UserFacingError {
        let place = line.map { "line \($0 + 1): " } ?? ""
        let reason = reason.count > 200 ? reason.prefix(200) + "…" : reason
        return UserFacingError(
            .writeInvalid, "\(place)\(SafeText.harmless(reason)).", consequence: WritesRequest.refused)
    }
}
