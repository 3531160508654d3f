/// A write as a person asked for it, before it is accepted.
package enum WriteDraft: Sendable, Equatable {
    case create(NewItem)
    /// `item`: the server's id or a local one (`local-…`), or a prefix that only one item of the copy has.
    case edit(item: String, ItemEdit)
    case delete(item: String)
}

/// An item that is to be created on the server: a captured URL, or a note (no URL).
package struct NewItem: Sendable, Equatable, Codable {
    package var url: String?
    package var title: String?
    /// A note's text; with a URL, a remark of 1,000 characters at most.
    package var note: String?
    package var tags: [String]
    /// The server's `content_type`; never `auto`, with which the current release fails.
    package var type: String
    /// Whether the server is asked to write a summary.
    package var summarize: Bool

    package init(
        url: String? = nil, title: String? = nil, note: String? = nil, tags: [String] = [], type: String? = nil,
        summarize: Bool = false
    ) {
        self.url = url
        self.title = title
        self.note = note
        self.tags = tags
        self.type = type ?? (url == nil ? "note" : "link")
        self.summarize = summarize
    }
}

/// New values of an item's fields; `nil` leaves a field as it is.
package struct ItemEdit: Sendable, Equatable, Codable {
    package var title: String?
    package var summary: String?
    /// All of the item's tags, not only new ones.
    package var tags: [String]?

    package init(title: String? = nil, summary: String? = nil, tags: [String]? = nil) {
        self.title = title
        self.summary = summary
        self.tags = tags
    }

    package var isEmpty: Bool { self == ItemEdit() }
}
