import PRSNLCore

/// A JSON text in memory: the body of a write.
indirect enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// - Throws: `JSONReader.Failure` when it is not one JSON text.
    init(_ bytes: [UInt8]) throws {
        self = try JSONReader.read(bytes) { reader in
            let value = try Self.read(&reader, depth: 0)
            try reader.end()
            return value
        }
    }

    private static func read(_ reader: inout JSONReader, depth: Int) throws -> JSONValue {
        guard depth < 64 else { throw JSONReader.Failure(offset: reader.offset, reason: "nested too deeply") }
        switch try reader.kind() {
        case .null:
            _ = try reader.null()
            return .null
        case .bool: return .bool(try reader.bool())
        case .number: return .number(try reader.numberText())
        case .string: return .string(try reader.string())
        case .array:
            var elements: [JSONValue] = []
            try reader.array { reader in elements.append(try read(&reader, depth: depth + 1)) }
            return .array(elements)
        case .object:
            var members: [String: JSONValue] = [:]
            try reader.object { name, reader in members[name] = try read(&reader, depth: depth + 1) }
            return .object(members)
        }
    }

    var string: String? {
        if case .string(let text) = self { return text }
        return nil
    }

    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .string(let text): JSONText.string(text)
        case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }.map { "\(JSONText.string($0.key)):\($0.value.text)" }
                .joined(separator: ",") + "}"
        }
    }

    /// All strings in it, keys included.
    var strings: [String] {
        switch self {
        case .null, .bool, .number: []
        case .string(let text): [text]
        case .array(let elements): elements.flatMap(\.strings)
        case .object(let members): members.keys + members.values.flatMap(\.strings)
        }
    }
}
