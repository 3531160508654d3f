import Console
import PRSNLCore

/// Why a JSON object is not a draft, in words for whoever wrote it.
struct DraftFailure: Error, Equatable {
    let reason: String
}

/// A draft as JSON has it: on the control socket, and on the lines of `capture --stdin`.
///
/// Strict: a member that is misspelt, of the wrong type or there twice would otherwise change in silence what is written.
/// By hand, and not with JSONDecoder, because 100,000 lines are to be taken in seconds.
struct DraftMembers {
    enum Action: String {
        case create, edit, delete

        var members: [String] {
            switch self {
            case .create: ["url", "title", "note", "tags", "type", "summarize"]
            case .edit: ["item", "title", "summary", "tags"]
            case .delete: ["item"]
            }
        }
    }

    private var action: String?
    private var key: String?
    private var item: String?
    private var url: String?
    private var title: String?
    private var note: String?
    private var summary: String?
    private var type: String?
    private var tags: [String]?
    private var summarize: Bool?
    private var seen: [String] = []

    /// Reads one object, which names its `action`.
    static func write(_ reader: inout JSONReader) throws -> WriteRequest {
        let members = try DraftMembers(&reader)
        guard let name = members.action else { throw DraftFailure(reason: "action is missing") }
        guard let action = Action(rawValue: name) else {
            throw DraftFailure(reason: "action must be create, edit or delete")
        }
        try members.check(against: ["action", "key"] + action.members)
        return WriteRequest(try members.draft(action), key: try members.requestKey())
    }

    /// Reads one object that is a new item.
    static func newItem(_ reader: inout JSONReader) throws -> NewItem {
        let members = try DraftMembers(&reader)
        try members.check(against: Action.create.members)
        return members.newItem
    }

    private init(_ reader: inout JSONReader) throws {
        guard try reader.kind() == .object else { throw DraftFailure(reason: "not a JSON object") }
        guard try reader.enterObject() else { return }
        repeat {
            let name = try reader.string()
            try reader.colon()
            if seen.contains(name) { throw DraftFailure(reason: "\(Self.quoted(name)) is given twice") }
            seen.append(name)
            switch name {
            case "action": action = try Self.text(name, &reader)
            case "key": key = try Self.text(name, &reader)
            case "item": item = try Self.text(name, &reader)
            case "url": url = try Self.text(name, &reader)
            case "title": title = try Self.text(name, &reader)
            case "note": note = try Self.text(name, &reader)
            case "summary": summary = try Self.text(name, &reader)
            case "type": type = try Self.text(name, &reader)
            case "tags": tags = try Self.texts(name, &reader)
            case "summarize":
                guard try reader.null() == false else { break }
                guard try reader.kind() == .bool else { throw DraftFailure(reason: "summarize must be true or false") }
                summarize = try reader.bool()
            default: throw DraftFailure(reason: "\(Self.quoted(name)) is not a known member")
            }
        } while try reader.nextMember()
    }

    private func check(against allowed: [String]) throws {
        if let strange = seen.first(where: { !allowed.contains($0) }) {
            throw DraftFailure(reason: "\(Self.quoted(strange)) does not belong here")
        }
    }

    private func draft(_ action: Action) throws -> WriteDraft {
        if action == .create { return .create(newItem) }
        guard let item else { throw DraftFailure(reason: "item is missing") }
        return action == .delete
            ? .delete(item: item) : .edit(item: item, ItemEdit(title: title, summary: summary, tags: tags))
    }

    private func requestKey() throws -> RequestKey? {
        guard let key else { return nil }
        guard let key = RequestKey(key) else {
            let length = RequestKey.length
            throw DraftFailure(
                reason: "key must be \(length.lowerBound) to \(length.upperBound) ASCII letters, digits, - and _")
        }
        return key
    }

    private var newItem: NewItem {
        NewItem(url: url, title: title, note: note, tags: tags ?? [], type: type, summarize: summarize ?? false)
    }

    // MARK: Values

    /// `null` is as good as absent.
    private static func text(_ name: String, _ reader: inout JSONReader) throws -> String? {
        guard try reader.null() == false else { return nil }
        return try string(name, &reader, else: "\(name) must be a string")
    }

    private static func texts(_ name: String, _ reader: inout JSONReader) throws -> [String]? {
        guard try reader.null() == false else { return nil }
        let reason = "\(name) must be an array of strings"
        guard try reader.kind() == .array else { throw DraftFailure(reason: reason) }
        var texts: [String] = []
        guard try reader.enterArray() else { return texts }
        repeat { texts.append(try string(name, &reader, else: reason)) } while try reader.nextElement()
        return texts
    }

    private static func string(_ name: String, _ reader: inout JSONReader, else reason: String) throws -> String {
        guard try reader.kind() == .string else { throw DraftFailure(reason: reason) }
        let start = reader.offset
        let text = try reader.string()
        // The reader puts U+FFFD (EF BF BD) in the place of a half surrogate pair; here that is to be noticed.
        if text.utf8.contains(0xEF), hasLoneSurrogate(Array(reader.text(start..<reader.offset).utf8)) {
            throw DraftFailure(reason: "\(name) holds half of a surrogate pair, which is no character")
        }
        return text
    }

    /// Whether a JSON string, as it is written, escapes a surrogate without its other half (RFC 8259, section 8.2).
    static func hasLoneSurrogate(_ raw: [UInt8]) -> Bool {
        var awaitsLow = false
        var at = 0
        while at < raw.count {
            guard raw[at] == UInt8(ascii: "\\"), at + 1 < raw.count else {
                if awaitsLow { return true }
                at += 1
                continue
            }
            guard raw[at + 1] == UInt8(ascii: "u"), at + 5 < raw.count,
                let unit = UInt16(String(decoding: raw[(at + 2)...(at + 5)], as: UTF8.self), radix: 16)
            else {
                if awaitsLow { return true }
                at += 2
                continue
            }
            let isLow = (0xDC00..<0xE000).contains(unit)
            if isLow != awaitsLow { return true }
            awaitsLow = (0xD800..<0xDC00).contains(unit)
            at += 6
        }
        return awaitsLow
    }

    /// A member's name as it may stand in a message: short, and harmless on a terminal.
    private static func quoted(_ name: String) -> String {
        let text = SafeText.harmless(String(name.prefix(40)))
        return "\"\(text)\"" + (text.count < name.count ? "..." : "")
    }
}

extension WriteRequest {
    /// Appends the object that `DraftMembers.write` reads.
    func appendJSON(to bytes: inout [UInt8]) {
        switch draft {
        case .create(let item):
            append("{\"action\":\"create\"", to: &bytes)
            append("url", item.url, to: &bytes)
            append("title", item.title, to: &bytes)
            append("note", item.note, to: &bytes)
            if !item.tags.isEmpty { append("tags", item.tags, to: &bytes) }
            append("type", item.type, to: &bytes)
            if item.summarize { append(",\"summarize\":true", to: &bytes) }
        case .edit(let item, let edit):
            append("{\"action\":\"edit\"", to: &bytes)
            append("item", item, to: &bytes)
            append("title", edit.title, to: &bytes)
            append("summary", edit.summary, to: &bytes)
            append("tags", edit.tags, to: &bytes)
        case .delete(let item):
            append("{\"action\":\"delete\"", to: &bytes)
            append("item", item, to: &bytes)
        }
        append("key", key?.text, to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    private func append(_ text: StaticString, to bytes: inout [UInt8]) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    private func append(_ name: String, _ value: String?, to bytes: inout [UInt8]) {
        guard let value else { return }
        bytes.append(contentsOf: ",\"\(name)\":".utf8)
        JSONText.appendString(value, to: &bytes)
    }

    private func append(_ name: String, _ values: [String]?, to bytes: inout [UInt8]) {
        guard let values else { return }
        bytes.append(contentsOf: ",\"\(name)\":[".utf8)
        for (index, value) in values.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONText.appendString(value, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }
}
