package import PRSNLCore

/// One item as `GET /api/items/{id}` and the answer to an update show it: other names and times than the timeline's, and
/// `content` with it. What the server did not say is `nil`.
package struct ItemDetail: Sendable, Equatable {
    package var id: String
    package var title: String?
    package var url: String?
    package var summary: String?
    /// The main server fills an empty summary from its analysis. Its timeline does not.
    package var isSummaryOfAnalysis = false
    /// Of a note: `nil` until the server has processed it. Of a link: always `nil` on the main server.
    package var content: String?
    /// In the server's order.
    package var tags: [String]?
    package var updatedAt: Timestamp?
}

/// The item that a server already has for a URL.
package struct ExistingItem: Sendable, Equatable {
    package var id: String
    package var title: String?
    package var createdAt: Timestamp?
}

/// What a creation was answered with.
package struct CreatedItem: Sendable, Equatable {
    package var id: String
    /// Dialect E: the whole item. The others answer with the id alone.
    package var item: TimelineItem?
    package var requestID: String
}

// MARK: - Reading them

extension ItemDetail {
    /// - Parameter id: of the item that was asked for. An answer about another one is no answer.
    init(_ value: JSONValue, of id: String) throws(APIError.DecodingCause) {
        guard let found = value.said("id")?.text else { throw .unexpectedShape("the item has no id") }
        guard ItemTextDecoder.isSame(found, id) else { throw .unexpectedShape("it is another item") }
        self.init(
            id: id, title: value.said("title")?.text, url: value.said("url")?.text,
            summary: value.said("summary")?.text,
            content: value.said("content")?.text, tags: value.said("tags")?.texts,
            updatedAt: value.time("updated_at", "updatedAt"))
        isSummaryOfAnalysis = summary != nil && summary == value["metadata"]?["ai_analysis"]?["summary"]?.text
    }
}

extension ExistingItem {
    /// The answer of check-duplicate; `nil` where it says that there is none.
    static func read(_ value: JSONValue) throws(APIError.DecodingCause) -> ExistingItem? {
        guard case .bool(let exists)? = value["is_duplicate"] else {
            throw .unexpectedShape("is_duplicate is not true or false")
        }
        guard exists else { return nil }
        guard let item = value.said("existing_item"), let id = item.said("id")?.text, !id.isEmpty else {
            throw .unexpectedShape("existing_item has no id")
        }
        return ExistingItem(
            id: id, title: item.said("title")?.text, createdAt: item.time("created_at", "createdAt"))
    }
}

extension CreatedItem {
    /// Dialect E answers with the item, the others with its id and status.
    static func read(
        _ body: [UInt8], dialect: Dialect, requestID: String
    ) throws(APIError.DecodingCause) -> CreatedItem {
        guard let id = try PRSNLClient.object(body).said("id")?.text, !id.isEmpty else {
            throw .unexpectedShape("the created item has no id")
        }
        var created = CreatedItem(id: id, requestID: requestID)
        guard dialect == .express else { return created }
        let decoded = try APIError.DecodingCause.catching { try JSONReader.read(body) { try ItemDecoder.decode(&$0) } }
        // An item that the copy would not take: created nevertheless.
        if case .item(let item) = decoded { created.item = item }
        return created
    }
}

extension JSONValue {
    /// A member that is not null: null means not said.
    fileprivate func said(_ name: String) -> JSONValue? {
        let value = self[name]
        return value == .null ? nil : value
    }

    /// A time under either of its names; `nil` for anything else.
    fileprivate func time(_ name: String, _ other: String) -> Timestamp? {
        (said(name) ?? said(other))?.text.flatMap { Timestamp($0) }
    }

    /// `nil` for an array that holds anything but texts.
    fileprivate var texts: [String]? {
        guard let elements else { return nil }
        let texts = elements.compactMap(\.text)
        return texts.count == elements.count ? texts : nil
    }
}

/// Reads the text out of a `GET /api/items/{id}`. A text may have megabytes, so nothing is made of the other members.
enum ItemTextDecoder {
    /// - Parameter id: of the item that was asked for. An answer about another one is no answer.
    static func decode(_ body: [UInt8], of id: String) throws(APIError.DecodingCause) -> ItemText {
        try APIError.DecodingCause.catching {
            try JSONReader.read(whole: body) { try read(&$0, of: id) }
        }
    }

    private static func read(_ reader: inout JSONReader, of id: String) throws -> ItemText {
        guard try reader.kind() == .object else { throw APIError.DecodingCause.unexpectedShape("not an object") }
        var text = ItemText(id: id)
        var found: String?
        var transcript: String?
        var hasContent = false
        try reader.object { name, reader in
            switch name {
            case "id": found = try string(&reader, atMost: 1_024)
            case "content":
                text.content = try string(&reader)
                hasContent = true
            case "transcription": text.transcription = try string(&reader)
            case "transcript":
                // The server says the same text under both names.
                if text.transcription == nil { transcript = try string(&reader) } else { try reader.skip() }
            case "updated_at", "updatedAt": text.updatedAt = try time(&reader)
            case "metadata":
                guard try !reader.null() else { return }
                let range = try reader.skip()
                text.metadata =
                    range.count <= ItemDecoder.largest
                    ? reader.text(range) : "{\"\(ExtraMembers.leftOutName)\":\(range.count)}"
            default: try reader.skip()
            }
        }
        guard let found, !found.isEmpty else { throw APIError.DecodingCause.unexpectedShape("the item has no id") }
        guard isSame(found, id) else { throw APIError.DecodingCause.unexpectedShape("it is another item") }
        // An answer that says nothing of the text is not one that says there is none.
        guard hasContent else { throw APIError.DecodingCause.unexpectedShape("the item has no content") }
        text.transcription = text.transcription ?? transcript
        if let transcription = text.transcription, let content = text.content,
            ByteText(transcription) == ByteText(content)
        {
            text.transcription = nil
            text.transcriptionIsContent = true
        }
        return text
    }

    /// UUIDs may be written in capitals; the server reads both.
    static func isSame(_ id: String, _ other: String) -> Bool {
        ByteText(id.lowercased()) == ByteText(other.lowercased())
    }

    private static func time(_ reader: inout JSONReader) throws -> Timestamp? {
        guard let text = try string(&reader, atMost: 1_024) else { return nil }
        guard let time = Timestamp(text) else { throw APIError.DecodingCause.unexpectedShape("updated_at is no time") }
        return time
    }

    /// `nil` for null.
    private static func string(_ reader: inout JSONReader, atMost limit: Int = .max) throws -> String? {
        if try reader.null() { return nil }
        guard try reader.kind() == .string else {
            throw APIError.DecodingCause.unexpectedShape("a text of the item is none")
        }
        var ahead = reader
        let range = try ahead.skip()
        guard range.count <= limit, range.count <= ItemDecoder.largest || reader.isUTF8(range) else {
            throw APIError.DecodingCause.unexpectedShape("a text of the item is too long, or no UTF-8")
        }
        return try reader.string()
    }
}
