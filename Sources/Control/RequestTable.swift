import Console
package import PRSNLCore

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
        var container = encoder.container(keyedBy: ReplyKey.self)
        try container.encode(Reply.type, forKey: .type)
        try container.encode(reply, forKey: ReplyKey(Reply.type))
    }
}

enum ReceivedLine<Request: ControlRequest>: Decodable {
    case update(Request.Update)
    case answer(Request.Answer)
    case error(UserFacingError)
    /// Of a type that does not answer this request.
    case other

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: ReplyKey.self)
        func read<Reply: ControlReply>(_ type: Reply.Type) throws -> Reply {
            try container.decode(type, forKey: ReplyKey(type.type))
        }
        switch try container.decode(String.self, forKey: .type) {
        case Request.Answer.type: self = .answer(try read(Request.Answer.self))
        case Request.Update.type: self = .update(try read(Request.Update.self))
        case UserFacingError.type: self = .error(try read(UserFacingError.self))
        default: self = .other
        }
    }
}

/// `type`, or the name of a reply.
private struct ReplyKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    static let type = ReplyKey("type")

    /// - Parameter type: as the line has it, while keys are in the form that they have in Swift.
    init(_ type: String) { stringValue = JSONKeys.camel(type) }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}
