import Console
import PRSNLCore

/// The requests that a server answers, and how.
package struct RequestTable: Sendable {
    /// A request that was read, with what answers it.
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
