import PRSNLCore

@testable import Commands
@testable import Console
@testable import Control
@testable import Requests

/// What the control socket answers, as prsnlctl reads it.
extension FuzzTarget {
    static let reply = FuzzTarget(name: "reply") { bytes in
        read(bytes, as: StatusRequest.self)
        read(bytes, as: HistoryRequest.self)
        read(bytes, as: SyncNowRequest.self)
        read(bytes, as: WritesRequest.self)
        read(bytes, as: TallyRequest.self)
        read(bytes, as: QueueRequest.self)
        read(bytes, as: EntryRequest.self)
        read(bytes, as: RetryRequest.self)
        read(bytes, as: DropRequest.self)
        read(bytes, as: DeliveryRequest.self)
        read(bytes, as: PingRequest.self)
        read(bytes, as: VerifyRequest.self)
        read(bytes, as: NetRequest.self)
        read(bytes, as: NetWatchRequest.self)
        read(bytes, as: WatchRequest.self)
        read(bytes, as: ErrorsRequest.self)
        read(bytes, as: LoginCheckRequest.self)
        read(bytes, as: LoginRequest.self)
        read(bytes, as: LogoutRequest.self)
        read(bytes, as: WhoamiRequest.self)
        read(bytes, as: AccountRequest.self)
    }

    private static func read<Request: ControlRequest>(_ bytes: [UInt8], as type: Request.Type) {
        let line: ReceivedLine<Request>
        do { line = try JSONOutput.decode(ReceivedLine<Request>.self, from: bytes) } catch { return }
        switch line {
        case .answer(let reply): check(reply, as: type)
        case .update(let reply): check(reply, as: type)
        case .error(let reply): check(reply, as: type)
        case .other: break
        }
    }

    /// A reply that was read and is written reads the same.
    private static func check<Reply: ControlReply, Request: ControlRequest>(_ reply: Reply, as type: Request.Type) {
        do {
            let line = try JSONOutput.line(ReplyLine(reply: reply))
            require(!line.contains(UInt8(ascii: "\n")), "more than one line")
            let again: any ControlReply
            switch try JSONOutput.decode(ReceivedLine<Request>.self, from: line) {
            case .answer(let reply): again = reply
            case .update(let reply): again = reply
            case .error(let reply): again = reply
            case .other: fatalError("reads as something else: \(reply)")
            }
            require(again as? Reply == reply, "reads as another: \(reply) \(again)")
        } catch {
            fatalError("cannot be written and read again: \(error)")
        }
    }
}
