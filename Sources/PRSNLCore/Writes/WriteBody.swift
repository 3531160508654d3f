/// The JSON that a write sends. Here and not in the client, because the small server limits the whole body, so that the
/// check before a write is accepted must see the very bytes that will be sent.
package enum WriteBody {
    /// `POST /api/capture` (C and P) or `POST /api/items` (E).
    package static func create(_ item: NewItem, dialect: Dialect) -> [UInt8] {
        var object = Members()
        object.add("url", item.url)
        switch dialect {
        case .cursor, .page:
            object.add("title", item.title)
            // The server drops a link's `content`; what is highlighted stays.
            object.add(item.url == nil ? "content" : "highlight", item.note)
            if !item.tags.isEmpty { object.add("tags", item.tags) }
            // Never left out: without it, or with "auto", the current release fails for a URL.
            object.add("content_type", item.type)
            if item.summarize { object.add("enable_summarization", true) }
        case .express:
            object.add("title", expressTitle(item))
            object.add("content", item.note)
            if !item.tags.isEmpty { object.add("tags", item.tags) }
            object.add("itemType", item.type)
        }
        return object.finished()
    }

    /// `PATCH` (C and P) or `PUT` (E) of `/api/items/{id}`.
    package static func update(_ edit: ItemEdit) -> [UInt8] {
        var object = Members()
        object.add("title", edit.title)
        object.add("summary", edit.summary)
        if let tags = edit.tags { object.add("tags", tags) }
        return object.finished()
    }

    /// `POST /api/capture/check-duplicate`.
    package static func question(url: String) -> [UInt8] {
        var object = Members()
        object.add("url", url)
        return object.finished()
    }

    /// The small server refuses an item without a title.
    package static func expressTitle(_ item: NewItem) -> String {
        item.title ?? item.note.map(NoteTitle.derived) ?? item.url ?? ""
    }

    /// An object under construction.
    private struct Members {
        private var bytes: [UInt8] = [UInt8(ascii: "{")]

        mutating func add(_ name: String, _ text: String?) {
            guard let text else { return }
            key(name)
            JSONText.appendString(text, to: &bytes)
        }

        mutating func add(_ name: String, _ texts: [String]) {
            key(name)
            bytes.append(UInt8(ascii: "["))
            for (index, text) in texts.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONText.appendString(text, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        }

        mutating func add(_ name: String, _ value: Bool) {
            key(name)
            bytes.append(contentsOf: (value ? "true" : "false").utf8)
        }

        consuming func finished() -> [UInt8] { bytes + [UInt8(ascii: "}")] }

        private mutating func key(_ name: String) {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            JSONText.appendString(name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
        }
    }
}
