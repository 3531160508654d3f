import CLinux
import Console
import Glibc
import PRSNLCore
import Synchronization

/// The way back to one client, for what answers its request. It may be used from anywhere, also after the client has left.
package struct ControlConversation: Sendable {
    let connection: UInt64
    let mailbox: ControlMailbox

    /// Sends one line. Nothing is sent after the answer.
    package func send(_ reply: some ControlReply) {
        mailbox.post(.reply(connection) { try JSONOutput.line(ReplyLine(reply: reply)) })
    }
}

/// What other threads have to say to the socket's thread.
final class ControlMailbox: Sendable {
    enum Message: Sendable {
        /// To a connection, with what writes the line.
        case reply(UInt64, @Sendable () throws -> [UInt8])
        /// The handler has returned.
        case handled(UInt64)
        case stop
    }

    let heartbeat = Heartbeat("the control socket")
    private let messages = Mutex<[Message]>([])
    /// An eventfd(2): readable while there are messages.
    let wake: Int32

    /// - Throws: `limit_reached`.
    init() throws(UserFacingError) {
        wake = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard wake >= 0 else {
            throw UserFacingError(
                .limitReached, "The control socket cannot be made: eventfd: \(String(cString: strerror(errno))).")
        }
    }

    // A class that throws in its initializer is deinitialized, where all of it was set.
    deinit { if wake >= 0 { close(wake) } }

    func post(_ message: Message) {
        let isFirst = messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
        guard isFirst else { return }
        heartbeat.call()
        var one: UInt64 = 1
        while write(wake, &one, 8) < 0 && errno == EINTR {}
    }

    func take() -> [Message] {
        var count: UInt64 = 0
        while read(wake, &count, 8) < 0 && errno == EINTR {}
        return messages.withLock { messages in
            let taken = messages
            messages = []
            return taken
        }
    }
}
