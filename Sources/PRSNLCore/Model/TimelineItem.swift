/// One item of a timeline, as the server said it. What the server did not say is `nil`, never a made-up default.
package struct TimelineItem: Sendable, Equatable {
    /// The server's id: a UUID on every server known, but treated as an opaque text.
    package var id: String
    package var createdAt: Timestamp
    package var updatedAt: Timestamp?
    /// `video`, `article`, `note`, …: `type`, `item_type` or `itemType` on the wire.
    package var type: String?
    package var title: String?
    package var url: String?
    package var summary: String?
    package var content: String?
    package var platform: String?
    package var category: String?
    package var thumbnailURL: String?
    /// Seconds.
    package var duration: Double?
    package var filePath: String?
    /// `completed`, `bookmark`, `pending`, `failed`, `processed`, `active`, …
    package var status: String?
    /// A JSON array of strings, sorted by bytes and without repeats, because servers change the order between requests.
    package var tags: String?
    package var permalink: String?
    /// Fields that have no property here: a JSON object, members sorted by name, values as the server wrote them.
    package var extra: String?

    package init(id: String, createdAt: Timestamp) {
        self.id = id
        self.createdAt = createdAt
    }

    /// The status of an item that the server has not finished working on: it will change within seconds.
    package static let pendingStatus = "pending"
}

/// An item that could not be read: kept as it came, so that nothing is lost and the owner can look at it.
package struct RejectedItem: Sendable, Equatable {
    /// The item's id where at least that could be read.
    package var id: String?
    /// The item's JSON text as the server sent it (invalid UTF-8 repaired).
    package var raw: String
    /// What is wrong, for people: `createdAt: not a time: "yesterday"`.
    package var reason: String

    package init(id: String?, raw: String, reason: String) {
        self.id = id
        self.raw = raw
        self.reason = reason
    }
}
