package import PRSNLCore

/// What to ask the timeline for.
package struct TimelineRequest: Sendable, Equatable {
    package enum Position: Sendable, Equatable {
        /// Dialect C: items created strictly before this instant; `nil` for the newest.
        case before(Timestamp?)
        /// Dialects P and E: the page of this number, from 1.
        case page(Int)
    }

    package var position: Position
    /// Items on the page: 1 to 100 on C and P, any positive number on E.
    package var limit: Int
    /// Sent as `If-None-Match`; the answer may then be `notModified`.
    package var etag: String?

    package init(_ position: Position, limit: Int, etag: String? = nil) {
        self.position = position
        self.limit = limit
        self.etag = etag
    }
}

/// One answer of the timeline.
package struct TimelinePage: Sendable, Equatable {
    /// In the server's order; an id that the server repeated stands once.
    package var items: [TimelineItem] = []
    package var rejected: [RejectedItem] = []
    /// How many elements the server's `items` array had, broken and repeated ones included.
    package var count = 0
    /// When the last element of the array was created; `nil` where there is none, or where that one could not be read.
    package var lastCreatedAt: Timestamp?
    /// Dialect C: the server's `next_cursor`.
    package var nextCursor: Timestamp?
    /// Dialects P and E: `total` or `totalResults`.
    package var total: Int?
    package var etag: String?
    /// Of the answer, decompressed.
    package var bytes = 0
    /// 304: nothing has changed since the etag that was sent; `items` is empty.
    package var notModified = false
    /// The dialect whose envelope the answer has.
    package var dialect: Dialect?

    package init() {}
}
