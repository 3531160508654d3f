import PRSNLCore

/// Reads the text out of a `GET /api/items/{id}`. A text may have megabytes, so nothing is made of the other members.
enum ItemTextDecoder {
    /// - Parameter id: of the item that was asked for. An answer about another one is no answer.
    static func decode(_ body: [UInt8], of id: String) throws(APIError.DecodingCause) -> ItemText {
        try APIError.DecodingCause.catching {
            try JSONReader.read(body) { reader in
                let text = try read(&reader, of: id)
                try reader.end()
                return text
            }
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
