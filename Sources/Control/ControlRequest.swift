import Console
package import PRSNLCore

/// One line to the control socket: a JSON object with a `command` (docs/cli.md, "The control socket").
///
/// A request is one type. It knows its name, what answers it, whether it changes something, and how it is written and
/// read. It stands in the file of the report that answers it.
package protocol ControlRequest: Sendable, Equatable {
    /// The last line for it, unless the daemon refuses.
    associatedtype Answer: ControlReply
    /// The lines that may come before the answer.
    associatedtype Update: ControlReply = NoUpdate

    static var command: String { get }
    /// The member that, where it is true, tells this request from another one of the same command.
    static var variant: String? { get }
    /// Whether the daemon asks the server for it, though nothing is changed.
    static var asksServer: Bool { get }
    /// Whether it changes anything, here or on the server. All who may connect may look; fewer may change things.
    ///
    /// Without a default, so that no request is added without a decision.
    var isChange: Bool { get }

    /// Members that it does not know are ignored.
    init(_ members: RequestMembers) throws(RequestRefusal)
    func write(to line: inout RequestLine)
}

extension ControlRequest {
    package static var variant: String? { nil }
    package static var asksServer: Bool { false }

    package func write(to line: inout RequestLine) {}

    /// The line, without its end.
    package var line: [UInt8] {
        var line = RequestLine(Self.command)
        if let variant = Self.variant { line.add(variant, true) }
        write(to: &line)
        return line.bytes + [UInt8(ascii: "}")]
    }
}

/// A request without members of its own.
package protocol BareRequest: ControlRequest {
    init()
}

extension BareRequest {
    package init(_ members: RequestMembers) { self.init() }
}

/// Why a line is no request.
package struct RequestRefusal: Error, Equatable {
    package let reason: String

    package init(reason: String) { self.reason = reason }
}

/// A request while it is written. Its command comes first: by that the server tells a `write`, which may be longer than
/// other requests.
package struct RequestLine {
    /// Without the brace that ends the object.
    private(set) var bytes: [UInt8]

    init(_ command: String) { bytes = Self.start(of: command) }

    /// `{"command":"write"`
    static func start(of command: String) -> [UInt8] { Array("{\"command\":\"\(command)\"".utf8) }

    package mutating func add(_ name: String, _ value: Bool) { add(name) { $0 += "\(value)".utf8 } }

    package mutating func add(_ name: String, _ value: Int64) { add(name) { $0 += "\(value)".utf8 } }

    package mutating func add(_ name: String, _ value: String) { add(name) { JSONText.appendString(value, to: &$0) } }

    package mutating func add(_ name: String, _ values: [Int64]) {
        add(name) { $0 += "[\(values.map(String.init).joined(separator: ","))]".utf8 }
    }

    /// - Parameter append: appends the value's JSON.
    package mutating func add(_ name: String, _ append: (inout [UInt8]) -> Void) {
        bytes += ",\"\(name)\":".utf8
        append(&bytes)
    }
}

/// The members of a request's line, for the request to read. One that is `null` counts as left out.
package struct RequestMembers {
    /// The JSON of each value.
    private var values: [String: [UInt8]] = [:]

    init(_ line: [UInt8]) throws(RequestRefusal) {
        // The reader repairs what is not UTF-8. A write must not change on its way.
        guard String(validating: line, as: UTF8.self) != nil else { throw RequestRefusal(reason: "it is not UTF-8") }
        values = try Self.read(line) { reader in
            var values: [String: [UInt8]] = [:]
            guard try reader.enterObject() else { return values }
            repeat {
                let name = try reader.string()
                try reader.colon()
                guard try reader.null() == false else { continue }
                values[name] = Array(line[try reader.skip()])
            } while try reader.nextMember()
            return values
        }
    }

    package func hasValue(_ name: String) -> Bool { values[name] != nil }

    /// False where it is left out.
    package func bool(_ name: String) throws(RequestRefusal) -> Bool {
        try value(name) { reader in try reader.bool() } ?? false
    }

    package func text(_ name: String) throws(RequestRefusal) -> String? {
        try value(name) { reader in try reader.string() }
    }

    /// A whole number, and none below zero.
    package func number(_ name: String) throws(RequestRefusal) -> Int64? {
        try value(name) { reader in try Self.number(name, &reader) }
    }

    package func numbers(_ name: String) throws(RequestRefusal) -> [Int64]? {
        try value(name) { reader in
            var found: [Int64] = []
            try reader.array { reader in found.append(try Self.number(name, &reader)) }
            return found
        }
    }

    /// `nil` where it is left out.
    package func value<Value>(
        _ name: String, _ read: (inout JSONReader) throws -> Value
    ) throws(RequestRefusal) -> Value? {
        guard let value = values[name] else { return nil }
        return try Self.read(value, of: name, read)
    }

    private static func number(_ name: String, _ reader: inout JSONReader) throws -> Int64 {
        guard let number = Int64(try reader.numberText()), number >= 0 else {
            throw RequestRefusal(reason: "\(name) must be a whole number")
        }
        return number
    }

    /// - Parameter name: the member that the JSON is the value of; `nil` for the whole line. Offsets count within it.
    private static func read<Value>(
        _ json: [UInt8], of name: String? = nil, _ body: (inout JSONReader) throws -> Value
    ) throws(RequestRefusal) -> Value {
        do {
            return try JSONReader.read(whole: json, body)
        } catch let refusal as RequestRefusal {
            throw refusal
        } catch let failure as JSONReader.Failure {
            throw RequestRefusal(reason: name.map { "\($0): \(failure) of its value" } ?? failure.description)
        } catch {
            throw RequestRefusal(reason: "it cannot be understood")
        }
    }
}

package struct RequestTable: Sendable {
    struct Read: Sendable {
        let request: any ControlRequest
        let answer: @Sendable (ControlConversation) async -> Void
    }

    private struct Entry: Sendable {
        let variant: String?
        let read: @Sendable (RequestMembers) throws(RequestRefusal) -> Read
    }

    private var entries: [String: [Entry]] = [:]

    package init() {}

    /// - Parameter answer: sends any number of updates, then the answer or an error. Cancelled when the client leaves and
    ///   when the server stops.
    package mutating func on<Request: ControlRequest>(
        _ type: Request.Type, _ answer: @escaping @Sendable (Request, ControlConversation) async -> Void
    ) {
        let entry = Entry(variant: Request.variant) { members throws(RequestRefusal) in
            let request = try Request(members)
            return Read(request: request) { await answer(request, $0) }
        }
        entries[Request.command, default: []].append(entry)
    }

    func read(_ line: [UInt8]) throws(RequestRefusal) -> Read {
        let members = try RequestMembers(line)
        guard let command = try members.text("command") else { throw RequestRefusal(reason: "command is missing") }
        var usual: Entry?
        for entry in entries[command] ?? [] {
            guard let variant = entry.variant else {
                usual = entry
                continue
            }
            if try members.bool(variant) { return try entry.read(members) }
        }
        guard let usual else {
            throw RequestRefusal(reason: "\"\(SafeText.harmless(String(command.prefix(40))))\" is not a command")
        }
        return try usual.read(members)
    }
}

/// One line from the control socket: a JSON object with a `type` and a member of that name.
package protocol ControlReply: Codable, Sendable, Equatable {
    static var type: String { get }
}

extension UserFacingError: ControlReply {
    package static let type = "error"
}

/// For requests that are answered by one line.
package enum NoUpdate: ControlReply {
    package static let type = "none"

    package init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "there is no such line"))
    }

    package func encode(to encoder: any Encoder) throws {}
}

struct ReplyLine<Reply: ControlReply>: Encodable {
    let reply: Reply

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: NamedKey.self)
        try container.encode(Reply.type, forKey: .type)
        try container.encode(reply, forKey: NamedKey(of: Reply.type))
    }
}

enum ReceivedLine<Request: ControlRequest>: Decodable {
    case update(Request.Update)
    case answer(Request.Answer)
    case error(UserFacingError)
    /// Of a type that does not answer this request.
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: NamedKey.self)
        func read<Reply: ControlReply>(_ type: Reply.Type) throws -> Reply {
            try container.decode(type, forKey: NamedKey(of: type.type))
        }
        switch try container.decode(String.self, forKey: .type) {
        case Request.Answer.type: self = .answer(try read(Request.Answer.self))
        case Request.Update.type: self = .update(try read(Request.Update.self))
        case UserFacingError.type: self = .error(try read(UserFacingError.self))
        default: self = .other
        }
    }
}

extension NamedKey {
    fileprivate static let type = NamedKey("type")

    /// - Parameter type: of a reply, as the line has it, while keys are in the form that they have in Swift.
    fileprivate init(of type: String) { self.init(JSONKeys.camel(type)) }
}
