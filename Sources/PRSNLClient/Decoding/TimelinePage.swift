package import PRSNLCore

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

extension TimelinePage {
    /// Reads a timeline's envelope, of any dialect, straight from the answer's bytes.
    struct Decoder {
        private var page = TimelinePage()
        private var seen: Set<ByteText> = []
        private var hasItems = false
        /// Those whose envelopes have one of the members.
        private var dialects: Set<Dialect> = []

        /// Elements that are read at most: servers of dialect E may be asked for any number, and those of dialect C give fewer.
        private let most: Int

        private init(limit: Int) { most = max(limit * 4, 1_000) }

        /// - Parameter limit: How many items were asked for.
        static func decode(_ bytes: [UInt8], limit: Int = 100) throws(APIError.DecodingCause) -> TimelinePage {
            try APIError.DecodingCause.catching {
                try JSONReader.read(bytes) { reader in
                    var decoder = Decoder(limit: limit)
                    try decoder.read(&reader)
                    return try decoder.finished()
                }
            }
        }

        private mutating func read(_ reader: inout JSONReader) throws {
            guard try reader.kind() == .object else {
                throw APIError.DecodingCause.unexpectedShape("the timeline is not an object")
            }
            if try reader.enterObject() {
                repeat {
                    // Ours are plain and short.
                    let name = try reader.plainString().map { String(decoding: $0.prefix(32), as: UTF8.self) }
                    if name == nil { try reader.skip() }
                    try reader.colon()
                    try member(name ?? "", &reader)
                } while try reader.nextMember()
            }
            try reader.end()
        }

        private mutating func member(_ name: String, _ reader: inout JSONReader) throws {
            switch name {
            case "items":
                guard try reader.kind() == .array else {
                    throw APIError.DecodingCause.unexpectedShape("items is not an array")
                }
                hasItems = true
                try items(&reader)
            case "next_cursor":
                dialects.insert(.cursor)
                try cursor(&reader)
            case "total", "totalResults":
                dialects.insert(name == "total" ? .page : .express)
                page.total = try total(&reader) ?? page.total
            case "page", "pageSize":
                dialects.insert(.page)
                try reader.skip()
            default: try reader.skip()
            }
        }

        private mutating func items(_ reader: inout JSONReader) throws {
            guard try reader.enterArray() else { return }
            page.items.reserveCapacity(100)
            seen.reserveCapacity(100)
            repeat {
                page.count += 1
                guard page.count <= most else {
                    throw APIError.DecodingCause.unexpectedShape("more than \(most) items on a page")
                }
                switch try ItemDecoder.decode(&reader) {
                case .item(let item):
                    page.lastCreatedAt = item.createdAt
                    if seen.insert(ByteText(item.id)).inserted { page.items.append(item) }
                case .rejected(let rejected):
                    page.lastCreatedAt = nil
                    page.rejected.append(rejected)
                }
            } while try reader.nextElement()
        }

        /// A cursor that cannot be read would end the paging without a word, so it is an error.
        private mutating func cursor(_ reader: inout JSONReader) throws {
            if try reader.null() { return }
            guard try reader.kind() == .string, let text = try reader.plainString(), let cursor = Timestamp(bytes: text)
            else {
                throw APIError.DecodingCause.unexpectedShape("next_cursor is not a time")
            }
            page.nextCursor = cursor
        }

        private func total(_ reader: inout JSONReader) throws -> Int? {
            guard try reader.kind() == .number else {
                try reader.skip()
                return nil
            }
            return Int64(try reader.numberText()).flatMap { $0 >= 0 ? ForeignNumber.clamp($0) : nil }
        }

        private func finished() throws -> TimelinePage {
            guard hasItems else { throw APIError.DecodingCause.unexpectedShape("no items in the timeline") }
            var page = page
            page.dialect = Dialect.allCases.first(where: dialects.contains)
            return page
        }
    }
}
