/// One item of a timeline, as the server said it. What the server did not say is `nil`, never a made-up default.
public struct TimelineItem: Sendable, Equatable {
    /// The server's id: a UUID on every server known, but treated as an opaque text.
    public var id: String
    public var createdAt: Timestamp
    public var updatedAt: Timestamp?
    /// `video`, `article`, `note`, …: `type`, `item_type` or `itemType` on the wire.
    public var type: String?
    public var title: String?
    public var url: String?
    public var summary: String?
    public var content: String?
    public var platform: String?
    public var category: String?
    public var thumbnailURL: String?
    /// Seconds.
    public var duration: Double?
    public var filePath: String?
    /// `completed`, `bookmark`, `pending`, `failed`, `processed`, `active`, …
    public var status: String?
    /// A JSON array of strings, sorted by bytes and without repeats, because servers change the order between requests.
    public var tags: String?
    public var permalink: String?
    /// Fields that have no property here: a JSON object, members sorted by name, values as the server wrote them.
    public var extra: String?

    public init(id: String, createdAt: Timestamp) {
        self.id = id
        self.createdAt = createdAt
    }

    /// The status of an item that the server has not finished working on: it will change within seconds.
    public static let pendingStatus = "pending"
}

/// An item that could not be read: kept as it came, so that nothing is lost and the owner can look at it.
public struct RejectedItem: Sendable, Equatable {
    /// The item's id where at least that could be read.
    public var id: String?
    /// The item's JSON text as the server sent it (invalid UTF-8 repaired).
    public var raw: String
    /// What is wrong, for people: `createdAt: not a time: "yesterday"`.
    public var reason: String

    public init(id: String?, raw: String, reason: String) {
        self.id = id
        self.raw = raw
        self.reason = reason
    }
}
