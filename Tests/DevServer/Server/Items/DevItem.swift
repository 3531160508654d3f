package import PRSNLCore

/// One item as the server keeps it.
package struct DevItem: Sendable, Equatable {
    /// A UUID in lower case.
    package var id: String
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    package var title: String
    /// Never in the timeline of dialects C and P, only in `GET /api/items/{id}`, and there not while the item is pending.
    package var content: String?
    /// Of a video. Where it has no `content`, this is its content too.
    package var transcription: String?
    /// A JSON object's text, only in `GET /api/items/{id}`. `nil`: the server makes up a small one.
    package var metadata: String?
    package var url: String?
    package var summary: String?
    package var platform: String?
    package var type: String
    package var category: String?
    package var thumbnailURL: String?
    /// Seconds.
    package var duration: Int?
    package var filePath: String?
    package var status: String
    package var tags: [String]
    package var permalink: String?
    /// The account's id.
    package var owner: String
    /// Dialect E: how often it was fetched, and when last.
    package var accessCount = 0
    package var accessedAt: Timestamp?
    /// Sent in place of the item, as it is: for items that no client can read. Only `createdAt`, `updatedAt`, `id` and
    /// `owner` are then used, to find its place.
    package var rawJSON: String?

    /// Texts of an item in the dialects C and P, as they name them, what a copy should have of them, and how `generate` draws them
    /// if not together with others. The timeline, the journal and `expected` follow: a new field is a line, the last.
    static let texts:
        [(
            name: StaticString, here: WritableKeyPath<DevItem, String?> & Sendable,
            copied: WritableKeyPath<TimelineItem, String?> & Sendable,
            draw: (@Sendable (inout ItemRandom, DevItem) -> String?)?
        )] = [
            ("platform", \.platform, \.platform, nil), ("category", \.category, \.category, nil),
            ("thumbnail_url", \.thumbnailURL, \.thumbnailURL, nil),
            ("file_path", \.filePath, \.filePath, { $0.below(16) == 0 ? "/srv/prsnl/files/\($1.id).pdf" : nil }),
            ("permalink", \.permalink, \.permalink, { $0.below(20) == 0 ? nil : "/\($1.type)s/\($1.id)" }),
        ]

    /// A note's text while the server has not processed it: `content` is null until then.
    var hiddenContent: String?

    package init(
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
