import Console
import Reports

@testable import Control

extension RequestTable {
    /// Requests of every kind, all answered by one closure.
    init(_ answer: @escaping @Sendable (any ControlRequest, ControlConversation) async -> Void) {
        self.init()
        for type in Self.kinds { add(type, answer) }
    }

    private mutating func add<Request: ControlRequest>(
        _ type: Request.Type, _ answer: @escaping @Sendable (any ControlRequest, ControlConversation) async -> Void
    ) {
        on(type) { request, conversation in await answer(request, conversation) }
    }

    static let kinds: [any ControlRequest.Type] = [
        StatusRequest.self, SyncNowRequest.self, HistoryRequest.self, WritesRequest.self, TallyRequest.self,
        QueueRequest.self, EntryRequest.self, RetryRequest.self, DropRequest.self, DeliveryRequest.self,
        PingRequest.self, NetRequest.self, NetWatchRequest.self, ErrorsRequest.self, ClearErrorsRequest.self,
        RebuildIndexRequest.self,
        LoginCheckRequest.self, LoginRequest.self, LogoutRequest.self, WhoamiRequest.self, AccountRequest.self,
    ]
}

/// A reply as it stands on the socket.
func wire(_ reply: some ControlReply) throws -> String {
    String(decoding: try JSONOutput.line(ReplyLine(reply: reply)), as: UTF8.self)
}
