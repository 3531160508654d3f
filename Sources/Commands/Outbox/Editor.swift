import Glibc
import PRSNLCore
import Store

/// A text that is written in the person's own editor.
enum Editor {
    /// - Parameter read: what becomes of what was saved. Where it throws, the editor shows the text again, with the reason above.
    /// - Throws: `usage` where the editor did not end well, or the same text is saved again that could not be read. The file is
    ///   then kept, and named.
    static func write<Value>(
        _ text: String, _ context: CommandContext, read: (String) throws(UserFacingError) -> Value
    ) throws(UserFacingError) -> Value {
        let variables = context.environment.variables
        let editor = [variables["VISUAL"], variables["EDITOR"]].compactMap(\.self).first { !$0.isEmpty } ?? "vi"
        var path = Array("\(variables["TMPDIR"] ?? "/tmp")/prsnl-XXXXXX.md".utf8CString)
        // Mode 0600 (mkstemps(3)).
        let descriptor = mkstemps(&path, 3)
        guard descriptor >= 0 else {
            throw failure("A file for the text cannot be made: \(String(cString: strerror(errno)))")
        }
        close(descriptor)
        let name = path.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        setenv("PRSNL_EDITED", name, 1)
        var shown = text
        var former: [Substring]?
        while true {
            try put(shown, into: name)
            // The variable may have options, and is a shell's to split, as git and crontab have it.
            let status = system("\(editor) \"$PRSNL_EDITED\"")
            if status >> 8 == 127 {
                unlink(name)
                throw failure(
                    "The editor \(editor) could not be started", "Set EDITOR, or give the text to the command.")
            }
            guard status == 0, let saved = try WholeFile.text(of: name) else {
                throw failure("The editor \(editor) did not end well. What was written is in \(name)")
            }
            do throws(UserFacingError) {
                let value = try read(saved)
                unlink(name)
                return value
            } catch {
                let lines = saved.split(separator: "\n", omittingEmptySubsequences: false).drop { $0.hasPrefix("#") }
                guard saved != shown, Array(lines) != former else {
                    throw failure("\(error.message.withoutFullStop). What was written is in \(name)")
                }
                former = Array(lines)
                context.say("\(error.message) The editor shows it again.")
                shown = "# \(error.message)\n" + lines.joined(separator: "\n")
            }
        }
    }

    /// Another file in its place: where the disk is full, what was written before is still there.
    private static func put(_ text: String, into name: String) throws(UserFacingError) {
        guard let reason = WholeFile.replace(name, by: text) else { return }
        throw failure("\(name) cannot be replaced: \(reason). What was written is in it")
    }

    private static func failure(_ message: String, _ suggestion: Advice? = nil) -> UserFacingError {
        UserFacingError(
            .usage, SafeText.harmless(message) + ".", consequence: WritesRequest.refused, recoverySuggestion: suggestion
        )
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
    /// - Throws: `usage`, with the line that cannot be read.
    init(_ text: String, of original: EditedItem) throws(UserFacingError) {
        self = original
        if text.split(whereSeparator: \.isNewline).allSatisfy({ $0.allSatisfy(\.isWhitespace) || $0.first == "#" }) {
            return
        }
        var isInside = false
        var isInTags = false
        var seen: Set<String> = []
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            if line.allSatisfy(\.isWhitespace) || !isInside && line.first == "#" { continue }
            if line == "---" {
                if isInside { return }
                isInside = true
                continue
            }
            let words = line.drop(while: \.isWhitespace)
            guard isInside else { throw Self.failure(number, "before the first line of three dashes stands \(words)") }
            if isInTags, words.first == "-" {
                tags.append(try Self.value(words.dropFirst(), number))
                continue
            }
            guard let colon = words.firstIndex(of: ":") else { throw Self.failure(number, "the colon is missing") }
            let name = String(words[..<colon])
            let value = words[words.index(after: colon)...]
            guard seen.insert(name).inserted else { throw Self.failure(number, "\(name) is there twice") }
            isInTags = name == "tags"
            switch name {
            case "title": title = try Self.value(value, number)
            case "summary": summary = try Self.value(value, number)
            case "tags": tags = try Self.list(value, number)
            default: throw Self.failure(number, "\(name) cannot be edited; title, summary and tags can")
            }
        }
        throw Self.failure(nil, "the second line of three dashes is missing")
    }

    /// What changes `original` into this.
    func edit(of original: EditedItem) -> ItemEdit {
        let (old, new) = (Tags.set(original.tags), Tags.set(tags))
        return ItemEdit(
            title: title == original.title ? nil : title, summary: summary == original.summary ? nil : summary,
            tagChange: TagChange(
                added: new.subtracting(old).sorted().map(\.text), removed: old.subtracting(new).sorted().map(\.text)))
    }

    /// In quotation marks as JSON has it, or as it stands.
    private static func value(_ text: Substring, _ line: Int) throws(UserFacingError) -> String {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        guard text.first == "\"" else { return String(text) }
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
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        if text.first == "[", text.last == "]" { text = text.dropFirst().dropLast() }
        var tags: [String] = []
        for part in text.split(separator: ",") where !part.allSatisfy(\.isWhitespace) {
            tags.append(try value(part, line))
        }
        return tags
    }

    private static func failure(_ line: Int?, _ reason: String) -> UserFacingError {
        let place = line.map { "line \($0 + 1): " } ?? ""
        return UserFacingError(.usage, "\(place)\(SafeText.harmless(reason)).", consequence: WritesRequest.refused)
    }
}
