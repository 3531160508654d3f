/// One item of a timeline, as the server said it. What the server did not say is `nil`, never a made-up default.
package struct TimelineItem: Sendable, Equatable {
    /// The server's id: a UUID on every server known, but treated as an opaque text.
    package var id: String
    package var createdAt: Timestamp
    package var updatedAt: Timestamp?
    /// `video`, `article`, `note`, …
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

    /// Its texts, each under every name that a dialect gives it. A text that a server says by another name is kept in `extra`.
    package static let texts: [(names: [StaticString], set: @Sendable (inout TimelineItem, String) -> Void)] = [
        (["type", "item_type", "itemType"], { $0.type = $1 }),
        (["title"], { $0.title = $1 }),
        (["url"], { $0.url = $1 }),
        (["summary"], { $0.summary = $1 }),
        (["content"], { $0.content = $1 }),
        (["platform"], { $0.platform = $1 }),
        (["category"], { $0.category = $1 }),
        (["thumbnail_url", "thumbnailUrl"], { $0.thumbnailURL = $1 }),
        (["file_path", "filePath"], { $0.filePath = $1 }),
        (["status"], { $0.status = $1 }),
        (["permalink"], { $0.permalink = $1 }),
    ]

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

/// What `GET /api/items/{id}` says of an item's text. What the server did not say is `nil`.
package struct ItemText: Sendable, Equatable {
    package var id: String
    /// When the server last changed the item: the version of the text.
    package var updatedAt: Timestamp?
    /// The text of an article, the words of a note. `nil` until the server has processed the item.
    package var content: String?
    /// Of a video or a recording. `nil` also where it is the same text as `content`.
    package var transcription: String?
    /// The transcription is there, and is the same text as `content`.
    package var transcriptionIsContent = false
    /// A JSON object, as the server wrote it.
    package var metadata: String?

    package init(id: String, updatedAt: Timestamp? = nil) {
        self.id = id
        self.updatedAt = updatedAt
    }

    /// Bytes of UTF-8, of all texts together.
    package var size: Int {
        (content?.utf8.count ?? 0) + (transcription?.utf8.count ?? 0) + (metadata?.utf8.count ?? 0)
    }

    package var longest: Int { max(content?.utf8.count ?? 0, transcription?.utf8.count ?? 0) }
}

/// The three forms of the PRSNL HTTP API that servers speak. See docs/architecture.md, "Dialects".
package enum Dialect: String, Sendable, Codable, CaseIterable {
    /// Pages by a strict `created_at` cursor. The main server.
    case cursor = "C"
    /// Pages by number, newest created first.
    case page = "P"
    /// Pages by number, most recently updated first. The small server.
    case express = "E"
}
