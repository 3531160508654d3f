/// A flat JSON object of texts, lists of texts and flags: the one form of what is written, in the outbox, on the control
/// socket and in the lines of `capture --stdin`.
///
/// Reading is strict. A member that is misspelt, of the wrong type or given twice would change what is written without
/// notice. Without JSONEncoder, which would be half of the cost of accepting a write, and 100,000 lines take seconds.
package struct JSONFields: Sendable, Equatable {
    package enum Value: Sendable, Equatable {
        case text(String)
        case texts([String])
        case flag(Bool)
        /// As good as absent.
        case null
        /// A number, an object, or a list of something else.
        case other
    }

    private struct Member: Equatable {
        var name: String
        var value: Value
    }

    /// Why an object cannot be used, in words for the person who wrote it.
    package struct Failure: Error, Equatable {
        /// The name as it was written, to be shown in front of the problem. It may hold anything.
        package var name: String?
        package var problem: String

        package init(name: String? = nil, _ problem: String) {
            self.name = name
            self.problem = problem
        }
    }

    private var members: [Member] = []

    /// Far more than any write has. Each name is compared with those before it.
    private static let most = 64

    package init() {}

    // MARK: Members

    package subscript(_ name: String) -> Value? { members.first { $0.name == name }?.value }

    package mutating func add(_ name: String, _ value: Value?) {
        guard let value else { return }
        members.append(Member(name: name, value: value))
    }

    package mutating func add(_ name: String, _ text: String?) { add(name, text.map(Value.text)) }
    package mutating func add(_ name: String, _ texts: [String]?) { add(name, texts.map(Value.texts)) }

    package mutating func add(_ other: JSONFields) { members += other.members }

    package func text(_ name: String) throws(Failure) -> String? {
        try value(name, "a string") { if case .text(let text) = $0 { text } else { nil } }
    }

    package func texts(_ name: String) throws(Failure) -> [String]? {
        try value(name, "an array of strings") { if case .texts(let texts) = $0 { texts } else { nil } }
    }

    package func flag(_ name: String) throws(Failure) -> Bool? {
        try value(name, "true or false") { if case .flag(let flag) = $0 { flag } else { nil } }
    }

    private func value<Found>(
        _ name: String, _ form: String, _ read: (Value) -> Found?
    ) throws(Failure) -> Found? {
        guard let value = self[name], value != .null else { return nil }
        guard let found = read(value) else { throw Failure("\(name) must be \(form)") }
        return found
    }

    /// - Parameters:
    ///   - allowed: the members that this object may have.
    ///   - known: the members that any object of its kind may have.
    package func check(allowed: [String], known: [String]) throws(Failure) {
        guard let strange = members.first(where: { !allowed.contains($0.name) })?.name else { return }
        throw Failure(name: strange, known.contains(strange) ? "does not belong here" : "is not a known member")
    }

    // MARK: Writing

    package var json: String { String(decoding: bytes, as: UTF8.self) }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    package func append(to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            JSONText.appendString(member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            switch member.value {
            case .text(let text): JSONText.appendString(text, to: &bytes)
            case .texts(let texts): JSONText.appendArray(texts, to: &bytes)
            case .flag(let flag): bytes.append(contentsOf: (flag ? "true" : "false").utf8)
            case .null, .other: bytes.append(contentsOf: "null".utf8)
            }
        }
        bytes.append(UInt8(ascii: "}"))
    }

    // MARK: Reading

    /// - Returns: `nil` for a text that `json` did not write.
    package init?(json: String) {
        do {
            self = try JSONReader.read(whole: Array(json.utf8)) { try JSONFields(&$0) }
        } catch {
            return nil
        }
    }

    /// - Throws: `Failure`, `JSONReader.Failure`.
    package init(_ reader: inout JSONReader) throws {
        guard try reader.kind() == .object else { throw Failure("not a JSON object") }
        try reader.object { name, reader in
            if self[name] != nil { throw Failure(name: name, "is given twice") }
            guard members.count < Self.most else { throw Failure("more than \(Self.most) members") }
            members.append(Member(name: name, value: try Self.value(name, &reader)))
        }
    }

    private static func value(_ name: String, _ reader: inout JSONReader) throws -> Value {
        switch try reader.kind() {
        case .string: return .text(try string(name, &reader))
        case .array: return try list(name, &reader)
        case .bool: return .flag(try reader.bool())
        default:
            if try reader.null() { return .null }
            try reader.skip()
            return .other
        }
    }

    private static func list(_ name: String, _ reader: inout JSONReader) throws -> Value {
        var texts: [String] = []
        var areTexts = true
        try reader.array { reader in
            if try reader.kind() == .string {
                texts.append(try string(name, &reader))
            } else {
                areTexts = false
                try reader.skip()
            }
        }
        return areTexts ? .texts(texts) : .other
    }

    private static func string(_ name: String, _ reader: inout JSONReader) throws -> String {
        let text = try reader.string()
        if reader.hasLoneSurrogate {
            throw Failure(name: name, "holds half of a surrogate pair, which is not a character")
        }
        return text
    }
}

extension JSONFields.Value: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
            return
        }
        do {
            self = .flag(try container.decode(Bool.self))
        } catch DecodingError.typeMismatch {
            do {
                self = .texts(try container.decode([String].self))
            } catch DecodingError.typeMismatch {
                self = .text(try container.decode(String.self))
            }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .texts(let texts): try container.encode(texts)
        case .flag(let flag): try container.encode(flag)
        case .null, .other: try container.encodeNil()
        }
    }
}
