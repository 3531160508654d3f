import PRSNLCore
import Store

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

    /// - Parameter original: has what the text leaves out.
    /// - Throws: `usage`, with the line that cannot be read.
    init(_ text: String, of original: EditedItem) throws(UserFacingError) {
        self = original
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
