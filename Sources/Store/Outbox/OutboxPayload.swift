import PRSNLCore

// What an entry is to write, as the column `payload` has it: a JSON object with the members that were given.
extension OutboxEntry.Payload {
    var json: String {
        var object = JSONObject()
        switch self {
        case .create(let item):
            object.add("url", item.url)
            object.add("title", item.title)
            object.add("note", item.note)
            if !item.tags.isEmpty { object.add("tags", item.tags) }
            object.add("type", item.type)
            if item.summarize { object.add("summarize", true) }
        case .edit(let edit): object.add(edit)
        case .delete: break
        }
        return object.text
    }

    /// `nil` for a text that this program did not write.
    init?(kind: OutboxEntry.Kind, json: String) {
        guard let members = JSONObject.members(json) else { return nil }
        switch kind {
        case .capture, .note:
            self = .create(
                NewItem(
                    url: members.text["url"], title: members.text["title"], note: members.text["note"],
                    tags: members.lists["tags"] ?? [], type: members.text["type"], summarize: members.isSummarized))
        case .edit: self = .edit(ItemEdit(members))
        case .delete: self = .delete
        }
    }
}

extension ItemEdit {
    var json: String {
        var object = JSONObject()
        object.add(self)
        return object.text
    }

    init?(json: String?) {
        guard let members = json.flatMap(JSONObject.members) else { return nil }
        self.init(members)
    }

    fileprivate init(_ members: JSONObject.Members) {
        self.init(title: members.text["title"], summary: members.text["summary"], tags: members.lists["tags"])
    }

    /// The fields of `self`, as the other has them.
    func sameFields(of other: ItemEdit) -> ItemEdit {
        ItemEdit(
            title: title == nil ? nil : other.title, summary: summary == nil ? nil : other.summary,
            tags: tags == nil ? nil : other.tags)
    }

    /// A later edit over an earlier one.
    func overlaid(by later: ItemEdit) -> ItemEdit {
        ItemEdit(title: later.title ?? title, summary: later.summary ?? summary, tags: later.tags ?? tags)
    }
}

/// A list of tags as the columns `tags` have it: sorted by bytes and without repeats, as the client makes it of answers.
enum TagList {
    static func json(_ tags: [String]) -> String {
        JSONText.array(Set(tags.map(ByteText.init)).sorted().map(\.text))
    }

    static func parse(_ json: String?) -> [String]? {
        guard let json else { return nil }
        do {
            return try JSONReader.read(Array(json.utf8)) { reader in
                var tags: [String] = []
                try reader.array { reader in tags.append(try reader.string()) }
                return tags
            }
        } catch {
            return nil  // not a list: the server's own form, of which nothing is known
        }
    }
}

extension JSONText {
    static func array(_ texts: [String]) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        for (index, text) in texts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            appendString(text, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A small JSON object, written member by member; by hand, because JSONEncoder would be half of the cost of accepting a
/// write.
struct JSONObject {
    private var bytes: [UInt8] = [UInt8(ascii: "{")]

    struct Members {
        var text: [String: String] = [:]
        var lists: [String: [String]] = [:]
        var isSummarized = false
    }

    var text: String { String(decoding: bytes, as: UTF8.self) + "}" }

    private mutating func name(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        JSONText.appendString(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    mutating func add(_ member: String, _ value: String?) {
        guard let value else { return }
        name(member)
        JSONText.appendString(value, to: &bytes)
    }

    mutating func add(_ member: String, _ value: [String]?) {
        guard let value else { return }
        name(member)
        bytes.append(contentsOf: JSONText.array(value).utf8)
    }

    mutating func add(_ member: String, _ value: Bool) {
        name(member)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    mutating func add(_ edit: ItemEdit) {
        add("title", edit.title)
        add("summary", edit.summary)
        add("tags", edit.tags)
    }

    static func members(_ json: String) -> Members? {
        do {
            return try JSONReader.read(Array(json.utf8)) { reader in
                var members = Members()
                try reader.object { name, reader in
                    switch try reader.kind() {
                    case .string: members.text[name] = try reader.string()
                    case .array:
                        var texts: [String] = []
                        try reader.array { reader in texts.append(try reader.string()) }
                        members.lists[name] = texts
                    case .bool where name == "summarize": members.isSummarized = try reader.bool()
                    default: try reader.skip()
                    }
                }
                return members
            }
        } catch {
            return nil
        }
    }
}
