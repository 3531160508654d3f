import Console
import Glibc
import PRSNLCore
import Requests

/// A text that is written in the person's own editor. Its file is the person's, who is told its name before the editor opens: it goes when
/// what was written is queued, or when nothing was.
struct Editor {
    private let path: String
    private let text: String
    private let command: String
    /// By which the file can be given to the same command; `nil` for one that takes no text from stdin.
    private let again: NextCommand?
    private static let remark = "# prsnlctl: "

    /// - Parameter read: the write that a text asks for; `nil` where nothing was written, or nothing changed.
    /// - Throws: what `read` and the queueing throw, with the name of the file. `editor_failed`.
    static func write(
        _ text: String, _ context: CommandContext, _ arguments: ParsedArguments, name: String,
        read: (String) throws(UserFacingError) -> WriteDraft?
    ) throws(UserFacingError) -> ExitCode? {
        if let user = context.terminalBorrower {
            throw failure("No editor is started, because \(user) could use it to read this terminal")
        }
        let editor = try Editor(text, context, arguments)
        // Whether the text may be on disk: that is looked up before it is given again.
        var isUnknown = false
        do throws(UserFacingError) {
            var (saved, reason) = (text, String?.none)
            while true {
                let shown = saved
                saved = try editor.run(reason)
                do throws(UserFacingError) {
                    guard let draft = try read(saved) else {
                        unlink(editor.path)
                        return nil
                    }
                    return try WriteFlow.run(context, arguments, RequestClient.keyed([draft]), names: [name]) {
                        written throws(UserFacingError) in
                        if case .failure(let failure) = written { isUnknown = failure.isUnknown }
                        guard case .success(let report) = written else { return }
                        if let error = report.writes.first?.error { throw error }
                        unlink(editor.path)
                    }
                } catch {
                    // Another text helps against these alone, and the same one does not.
                    guard error.code == .writeInvalid, saved != shown else { throw error }
                    context.say("\(error.message) The editor shows it again.")
                    reason = error.message
                }
            }
        } catch { throw editor.kept(error, isUnknown: isUnknown) }
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
        do throws(UserFacingError) { try put(text) } catch { throw kept(error, isUnknown: false) }
        context.say("until it is queued, the text is in \(path)")
    }

    /// - Parameter reason: stands above the text while it is shown again, and is in the file no longer than that.
    private func run(_ reason: String?) throws(UserFacingError) -> String {
        if let reason {
            try put("\(Self.remark)\(reason.replacing("\n", with: " "))\n\(try WholeFile.text(of: path) ?? "")")
        }
        setenv("PRSNL_EDITED", path, 1)
        // The variable may have options, and is a shell's to split, as git and crontab have it.
        let status = system("\(command) \"$PRSNL_EDITED\"")
        let saved = try WholeFile.text(of: path) ?? ""
        let own = String(saved.unicodeScalars.drop { $0 != "\n" }.dropFirst())
        let hasRemark = reason != nil && saved.hasPrefix(Self.remark)
        if hasRemark { try put(own) }
        guard status == 0 else {
            throw Self.failure("The editor \(command) \(status >> 8 == 127 ? "could not be started" : "failed")")
        }
        return hasRemark ? own : saved
    }

    /// Another file in its place: where the disk is full, what was written before is still there.
    private func put(_ text: String) throws(UserFacingError) {
        guard let reason = WholeFile.replace(path, by: text) else { return }
        throw Self.failure("\(path) cannot be replaced: \(reason)")
    }

    /// What went wrong, and where the text is, unless nothing was written.
    private func kept(_ error: UserFacingError, isUnknown: Bool) -> UserFacingError {
        // Bytes that are no text are kept too.
        let isUntouched = (try? WholeFile.text(of: path) ?? "").map { $0.isEmpty || $0 == text } ?? false
        if isUntouched { unlink(path) }
        guard !isUntouched, access(path, F_OK) == 0 else { return error }
        return error.with(
            consequence: "\(error.consequence ?? WritesRequest.refused) What was written is in \(path).",
            next: isUnknown || error.code == .writeInvalid ? nil : again)
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
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated()
            .filter { !$0.element.allSatisfy(\.isWhitespace) }
        guard let first = lines.first, let last = lines.last else { return }
        for fence in [first, last] where fence.element != "---" || lines.count < 2 {
            throw Self.failure(fence.offset, "the text stands between two lines of three dashes")
        }
        var (name, seen) = ("", Set<String>())
        for (number, line) in lines.dropFirst().dropLast() {
            let words = line.drop(while: \.isWhitespace)
            if name == "tags", words.first == "-" {
                tags.append(try Self.value(words.dropFirst(), number))
                continue
            }
            guard let colon = words.firstIndex(of: ":") else { throw Self.failure(number, "the colon is missing") }
            name = String(words[..<colon])
            guard seen.insert(name).inserted else { throw Self.failure(number, "\(name) is there twice") }
            let value = words[words.index(after: colon)...]
            switch name {
            case "title": title = try Self.value(value, number)
            case "summary": summary = try Self.value(value, number)
            case "tags": tags = try Self.list(value, number)
            default: throw Self.failure(number, "\(name) cannot be edited; title, summary and tags can")
            }
        }
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
        // By bytes: with an accent behind it, it is another Character.
        guard text.utf8.first == UInt8(ascii: "\"") else { return text }
        do { return try JSONReader.read(whole: Array(text.utf8)) { try $0.string() } } catch {
            throw failure(line, "the quotation marks do not fit; write \\\" for one inside, and \\n for a new line")
        }
    }

    /// `[a, "b"]`, or nothing, where lines with a dash follow.
    private static func list(_ text: Substring, _ line: Int) throws(UserFacingError) -> [String] {
        var text = String(text).trimmingWhiteSpace()
        if text.first == "[", text.last == "]" { text = String(text.dropFirst().dropLast()) }
        let parts = text.split(separator: ",").filter { !$0.allSatisfy(\.isWhitespace) }
        return try parts.map { part throws(UserFacingError) in try value(part, line) }
    }

    private static func failure(_ line: Int, _ reason: String) -> UserFacingError {
        UserFacingError(
            .writeInvalid, "line \(line + 1): \(SafeText.harmless(String(reason.prefix(200)))).",
            consequence: WritesRequest.refused)
    }
}
