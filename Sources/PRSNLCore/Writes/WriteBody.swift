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
        return bytes(object)
    }

    /// `PATCH` (C and P) or `PUT` (E) of `/api/items/{id}`.
    package static func update(_ edit: ItemEdit) -> [UInt8] {
        var object = JSONFields()
        object.add("title", edit.title)
        object.add("summary", edit.summary)
        if let tags = edit.tags { object.add("tags", tags) }
        return bytes(object)
    }

    /// `POST /api/capture/check-duplicate`.
    package static func question(url: String) -> [UInt8] {
        var object = JSONFields()
        object.add("url", url)
        return bytes(object)
    }

    /// The small server refuses an item without a title.
    package static func expressTitle(_ item: NewItem) -> String {
        item.title ?? item.note.map(NoteTitle.derived) ?? item.url ?? ""
    }

    private static func bytes(_ object: JSONFields) -> [UInt8] {
        var bytes: [UInt8] = []
        object.append(to: &bytes)
        return bytes
    }
}
