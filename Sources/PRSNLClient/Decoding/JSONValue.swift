import PRSNLCore

/// A small JSON text as a value: error bodies and accounts, not timelines.
enum JSONValue: Equatable {
    case object([String: JSONValue])
    case array([JSONValue])
    case string(String)
    /// The number's text.
    case number(String)
    case bool(Bool)
    case null

    /// Deeper values are skipped and read as null: nothing that we look for is that deep.
    private static let maximumDepth = 8

    /// Each value costs memory, however short it is in the text.
    private static let mostValues = 50_000

    /// - Throws: `APIError.DecodingCause` for more than 50,000 values; `JSONReader.Failure`.
    static func parse(_ bytes: [UInt8]) throws -> JSONValue {
        var left = mostValues
        return try JSONReader.read(whole: bytes) { try read(&$0, depth: 0, &left) }
    }

    private static func read(_ reader: inout JSONReader, depth: Int, _ left: inout Int) throws -> JSONValue {
        left -= 1
        guard left >= 0 else { throw APIError.DecodingCause.unexpectedShape("more than \(mostValues) values") }
        let kind = try reader.kind()
        if depth >= maximumDepth, kind == .object || kind == .array {
            try reader.skip()
            return .null
        }
        switch kind {
        case .object:
            var members: [String: JSONValue] = [:]
            try reader.object { name, reader in members[name] = try read(&reader, depth: depth + 1, &left) }
            return .object(members)
        case .array:
            var elements: [JSONValue] = []
            try reader.array { reader in elements.append(try read(&reader, depth: depth + 1, &left)) }
            return .array(elements)
        case .string: return .string(try reader.string())
        case .number: return .number(try reader.numberText())
        case .bool: return .bool(try reader.bool())
        case .null:
            _ = try reader.null()
            return .null
        }
    }

    subscript(_ name: String) -> JSONValue? {
        if case .object(let members) = self { return members[name] }
        return nil
    }

    var text: String? {
        if case .string(let text) = self { return text }
        return nil
    }

    var elements: [JSONValue]? {
        if case .array(let elements) = self { return elements }
        return nil
    }
}
