import Console
import Requests

@testable package import Control

extension RequestTable {
    /// Requests of every kind, all answered by one closure.
    package init(_ answer: @escaping @Sendable (any ControlRequest, ControlConversation) async -> Void) {
        self.init()
        for type in Self.all { add(type, answer) }
    }

    private mutating func add<Request: ControlRequest>(
        _ type: Request.Type, _ answer: @escaping @Sendable (any ControlRequest, ControlConversation) async -> Void
    ) {
        on(type) { request, conversation in await answer(request, conversation) }
    }
}

/// A reply as it stands on the socket.
package func wire(_ reply: some ControlReply) throws -> String {
    String(decoding: try JSONOutput.line(ReplyLine(reply: reply)), as: UTF8.self)
}
