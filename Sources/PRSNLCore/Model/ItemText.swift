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

    /// Of the longest text.
    package var longest: Int { max(content?.utf8.count ?? 0, transcription?.utf8.count ?? 0) }
}
