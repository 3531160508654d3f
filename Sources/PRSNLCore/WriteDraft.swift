/// A write as a person asked for it, before it is accepted.
public enum WriteDraft: Sendable, Equatable {
    case create(NewItem)
    /// `item`: the server's id or a local one (`local-…`), or a prefix that only one item of the copy has.
    case edit(item: String, ItemEdit)
    case delete(item: String)
}

/// An item that is to be created on the server: a captured URL, or a note (no URL).
public struct NewItem: Sendable, Equatable, Codable {
    public var url: String?
    public var title: String?
    /// A note's text; with a URL, a remark of 1,000 characters at most.
    public var note: String?
    public var tags: [String]
    /// The server's `content_type`; never `auto`, with which the current release fails.
    public var type: String
    /// Whether the server is asked to write a summary.
    public var summarize: Bool

    public init(
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
public struct ItemEdit: Sendable, Equatable, Codable {
    public var title: String?
    public var summary: String?
    /// All of the item's tags, not only new ones.
    public var tags: [String]?

    public init(title: String? = nil, summary: String? = nil, tags: [String]? = nil) {
        self.title = title
        self.summary = summary
        self.tags = tags
    }

    public var isEmpty: Bool { self == ItemEdit() }
}
