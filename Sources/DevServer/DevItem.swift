public import PRSNLCore

/// One item as the server keeps it.
public struct DevItem: Sendable, Equatable {
    /// A UUID in lower case.
    public var id: String
    public var createdAt: Timestamp
    public var updatedAt: Timestamp
    public var title: String
    /// Never in the timeline of dialects C and P, only in `GET /api/items/{id}`.
    public var content: String?
    public var url: String?
    public var summary: String?
    public var platform: String?
    public var type: String
    public var category: String?
    public var thumbnailURL: String?
    /// Seconds.
    public var duration: Int?
    public var filePath: String?
    public var status: String
    public var tags: [String]
    public var permalink: String?
    /// The account's id.
    public var owner: String
    /// Dialect E: how often it was fetched, and when last.
    public var accessCount = 0
    public var accessedAt: Timestamp?
    /// Sent in place of the item, as it is: for items that no client can read. Only `createdAt`, `updatedAt`, `id` and
    /// `owner` are then used, to find its place.
    public var rawJSON: String?

    /// A note's text while the server has not processed it: `content` is null meanwhile.
    var hiddenContent: String?

    public init(
        id: String, createdAt: Timestamp, updatedAt: Timestamp? = nil, title: String = "Item", type: String = "article",
        status: String = "completed", tags: [String] = [], owner: String = DevAccount.owner.id
    ) {
        self.id = id
        self.createdAt = createdAt
        self.updatedAt = updatedAt ?? createdAt
        self.title = title
        self.type = type
        self.status = status
        self.tags = tags
        self.owner = owner
    }
}
