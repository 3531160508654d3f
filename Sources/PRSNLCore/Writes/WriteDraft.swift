/// A write as a person asked for it, before it is accepted.
package enum WriteDraft: Sendable, Equatable {
    case create(NewItem)
    /// `item`: the server's id or a local one (`local-…`), or a prefix that only one item of the copy has.
    case edit(item: String, ItemEdit)
    case delete(item: String)

    package static let fieldNames = NewItem.fieldNames + ItemEdit.fieldNames.filter { !NewItem.fieldNames.contains($0) }

    /// Checks a write before it is accepted.
    ///
    /// - Parameter dialect: `nil` while the server was never seen. Its own limits are then not checked.
    /// - Returns: the draft without repeated tags.
    /// - Throws: `write_invalid`, naming the field, the limit and the value's length.
    package func checked(dialect: Dialect?) throws(UserFacingError) -> WriteDraft {
        switch self {
        case .create(let item): return .create(try item.checked(dialect: dialect))
        case .edit(let id, let edit):
            try Refusal.check(item: id)
            return .edit(item: id, try edit.checked(dialect: dialect))
        case .delete(let id):
            try Refusal.check(item: id)
            return self
        }
    }
}

/// A draft, and the key by which its sender can ask again without writing twice.
package struct WriteRequest: Sendable, Equatable {
    package var draft: WriteDraft
    /// `nil` where an answer that is lost stays lost.
    package var key: RequestKey?

    package init(_ draft: WriteDraft, key: RequestKey? = nil) {
        self.draft = draft
        self.key = key
    }
}

/// On the control socket: an object that names its `action`.
extension WriteRequest {
    private enum Action: String {
        case create, edit, delete

        var members: [String] {
            switch self {
            case .create: NewItem.fieldNames
            case .edit: ["item"] + ItemEdit.fieldNames
            case .delete: ["item"]
            }
        }
    }

    private static let ownMembers = ["action", "key"]
    /// Every member that such an object may have.
    package static let memberNames = ownMembers + ["item"] + WriteDraft.fieldNames

    package var fields: JSONFields {
        var fields = JSONFields()
        switch draft {
        case .create(let item):
            fields.add("action", Action.create.rawValue)
            fields.add(item.fields)
        case .edit(let item, let edit):
            fields.add("action", Action.edit.rawValue)
            fields.add("item", item)
            fields.add(edit.fields)
        case .delete(let item):
            fields.add("action", Action.delete.rawValue)
            fields.add("item", item)
        }
        fields.add("key", key?.text)
        return fields
    }

    package init(_ fields: JSONFields) throws(JSONFields.Failure) {
        guard let name = try fields.text("action") else {
            try fields.check(allowed: Self.memberNames, known: Self.memberNames)
            throw JSONFields.Failure("action is missing")
        }
        guard let action = Action(rawValue: name) else {
            throw JSONFields.Failure("action must be create, edit or delete")
        }
        try fields.check(allowed: Self.ownMembers + action.members, known: Self.memberNames)
        self.init(try Self.draft(action, fields), key: try Self.key(fields))
    }

    private static func draft(_ action: Action, _ fields: JSONFields) throws(JSONFields.Failure) -> WriteDraft {
        if action == .create { return .create(try NewItem(fields)) }
        guard let item = try fields.text("item") else { throw JSONFields.Failure("item is missing") }
        return action == .delete ? .delete(item: item) : .edit(item: item, try ItemEdit(fields))
    }

    private static func key(_ fields: JSONFields) throws(JSONFields.Failure) -> RequestKey? {
        guard let text = try fields.text("key") else { return nil }
        guard let key = RequestKey(text) else {
            let length = RequestKey.length
            throw JSONFields.Failure(
                "key must be \(length.lowerBound) to \(length.upperBound) ASCII letters, digits, - and _")
        }
        return key
    }
}

/// The name of one write, chosen by its sender. The outbox keeps it with the entry, and answers a request with a key that
/// it knows with that entry.
package struct RequestKey: Sendable, Hashable {
    /// Long enough for 96 random bits, short enough to be indexed.
    package static let length = 16...64

    package let text: String

    /// - Returns: `nil` for anything but 16 to 64 ASCII letters, digits, `-` and `_`.
    package init?(_ text: String) {
        let isAllowed: (UInt8) -> Bool = { $0.isASCIILetterOrDigit || "-_".utf8.contains($0) }
        guard Self.length.contains(text.utf8.count), text.utf8.allSatisfy(isAllowed) else { return nil }
        self.text = text
    }

    /// A key that nothing else has.
    package static func make(at now: Timestamp) -> RequestKey { RequestKey(made: TimedUUID.make(at: now)) }

    private init(made text: String) { self.text = text }
}

/// The JSON that a write sends. Here and not in the client, because the small server limits the whole body, so that the
/// check before a write is accepted must see the very bytes that will be sent.
package enum WriteBody {
    /// `POST /api/capture` (C and P) or `POST /api/items` (E).
    package static func create(_ item: NewItem, dialect: Dialect) -> [UInt8] {
        var object = JSONFields()
        object.add("url", item.url)
        switch dialect {
        case .cursor, .page:
            object.add("title", item.title)
            // The server drops a link's `content`. What is highlighted stays.
            object.add(item.url == nil ? "content" : "highlight", item.note)
            if !item.tags.isEmpty { object.add("tags", item.tags) }
            // Never left out: without it, or with "auto", the current release fails for a URL.
            object.add("content_type", item.type)
            if item.summarize { object.add("enable_summarization", .flag(true)) }
        case .express:
            object.add("title", expressTitle(item))
            object.add("content", item.note)
            if !item.tags.isEmpty { object.add("tags", item.tags) }
            object.add("itemType", item.type)
        }
        return object.bytes
    }

    /// `PATCH` (C and P) or `PUT` (E) of `/api/items/{id}`.
    package static func update(_ edit: ItemEdit) -> [UInt8] {
        var object = JSONFields()
        object.add("title", edit.title)
        object.add("summary", edit.summary)
        object.add("tags", edit.tags)
        return object.bytes
    }

    /// `POST /api/capture/check-duplicate`.
    package static func question(url: String) -> [UInt8] {
        var object = JSONFields()
        object.add("url", url)
        return object.bytes
    }

    /// The small server refuses an item without a title.
    package static func expressTitle(_ item: NewItem) -> String {
        item.title ?? item.note.map(NoteTitle.derived) ?? item.url ?? ""
    }
}
