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
        switch self[name] {
        case nil, .null: nil
        case .text(let text): text
        default: throw Failure("\(name) must be a string")
        }
    }

    package func texts(_ name: String) throws(Failure) -> [String]? {
        switch self[name] {
        case nil, .null: nil
        case .texts(let texts): texts
        default: throw Failure("\(name) must be an array of strings")
        }
    }

    package func flag(_ name: String) throws(Failure) -> Bool? {
        switch self[name] {
        case nil, .null: nil
        case .flag(let flag): flag
        default: throw Failure("\(name) must be true or false")
        }
    }

    /// - Parameters:
    ///   - allowed: the members that this object may have.
    ///   - known: the members that any object of its kind may have.
    package func check(allowed: [String], known: [String]) throws(Failure) {
        guard let strange = members.first(where: { !allowed.contains($0.name) })?.name else { return }
        throw Failure(name: strange, known.contains(strange) ? "does not belong here" : "is not a known member")
    }

    // MARK: Writing

    package var json: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
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
        guard try reader.enterObject() else { return }
        repeat {
            let name = try reader.string()
            try reader.colon()
            if self[name] != nil { throw Failure(name: name, "is given twice") }
            guard members.count < Self.most else { throw Failure("more than \(Self.most) members") }
            members.append(Member(name: name, value: try Self.value(name, &reader)))
        } while try reader.nextMember()
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
        guard try reader.enterArray() else { return .texts([]) }
        repeat {
            if try reader.kind() == .string {
                texts.append(try string(name, &reader))
            } else {
                areTexts = false
                try reader.skip()
            }
        } while try reader.nextElement()
        return areTexts ? .texts(texts) : .other
    }

    private static func string(_ name: String, _ reader: inout JSONReader) throws -> String {
        let start = reader.offset
        let text = try reader.string()
        // The reader replaces a half surrogate pair by U+FFFD (EF BF BD). Here that must be noticed.
        if text.utf8.contains(0xEF), hasLoneSurrogate(Array(reader.text(start..<reader.offset).utf8)) {
            throw Failure(name: name, "holds half of a surrogate pair, which is not a character")
        }
        return text
    }

    /// Whether a JSON string, as it is written, escapes a surrogate without its other half (RFC 8259, section 8.2).
    static func hasLoneSurrogate(_ raw: [UInt8]) -> Bool {
        var awaitsLow = false
        var at = 0
        while at < raw.count {
            guard raw[at] == UInt8(ascii: "\\"), at + 1 < raw.count else {
                if awaitsLow { return true }
                at += 1
                continue
            }
            guard raw[at + 1] == UInt8(ascii: "u"), at + 5 < raw.count,
                let unit = UInt16(String(decoding: raw[(at + 2)...(at + 5)], as: UTF8.self), radix: 16)
            else {
                if awaitsLow { return true }
                at += 2
                continue
            }
            let isLow = (0xDC00..<0xE000).contains(unit)
            if isLow != awaitsLow { return true }
            awaitsLow = (0xD800..<0xDC00).contains(unit)
            at += 6
        }
        return awaitsLow
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
