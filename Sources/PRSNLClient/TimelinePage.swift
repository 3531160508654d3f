public import PRSNLCore

/// What to ask the timeline for.
public struct TimelineRequest: Sendable, Equatable {
    public enum Position: Sendable, Equatable {
        /// Dialect C: items created strictly before this instant; `nil` for the newest.
        case before(Timestamp?)
        /// Dialects P and E: the page of this number, from 1.
        case page(Int)
    }

    public var position: Position
    /// Items on the page: 1 to 100 on C and P, any positive number on E.
    public var limit: Int
    /// Sent as `If-None-Match`; the answer may then be `notModified`.
    public var etag: String?

    public init(_ position: Position, limit: Int, etag: String? = nil) {
        self.position = position
        self.limit = limit
        self.etag = etag
    }
}

/// One answer of the timeline.
public struct TimelinePage: Sendable, Equatable {
    /// In the server's order; an id that the server repeated stands once.
    public var items: [TimelineItem] = []
    public var rejected: [RejectedItem] = []
    /// How many elements the server's `items` array had, broken and repeated ones included.
    public var count = 0
    /// When the last element of the array was created; `nil` where there is none, or where that one could not be read.
    public var lastCreatedAt: Timestamp?
    /// Dialect C: the server's `next_cursor`.
    public var nextCursor: Timestamp?
    /// Dialects P and E: `total` or `totalResults`.
    public var total: Int?
    public var etag: String?
    /// Of the answer, decompressed.
    public var bytes = 0
    /// 304: nothing has changed since the etag that was sent; `items` is empty.
    public var notModified = false
    /// The dialect whose envelope the answer has.
    public var dialect: Dialect?

    public init() {}
}

/// Who the server takes us for: `GET /api/auth/me`.
public struct Account: Sendable, Equatable {
    public var id: String
    public var email: String?
    public var name: String?

    public init(id: String, email: String? = nil, name: String? = nil) {
        self.id = id
        self.email = email
        self.name = name
    }
}
