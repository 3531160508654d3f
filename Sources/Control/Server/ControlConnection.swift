import CLinux
import Console
import Glibc
import PRSNLCore
import Synchronization

/// One client of the control socket: what it has sent and what it is still to get. Lives on the socket's thread.
final class ControlConnection {
    enum Input: Equatable {
        case line([UInt8])
        /// No newline within the limit.
        case tooLong
        case nothing
    }

    let descriptor: Int32
    let peer: Peer
    let standing: PeerPolicy.Standing
    /// A client that may not change anything has no use for a long line, and gets no memory for it.
    var mayChange: Bool
    /// Runs while a request is being answered; further ones wait in the kernel's buffer until then.
    var task: Task<Void, Never>?
    /// Nothing more is read; closes when the output is written.
    var isClosing = false
    /// The other side has said that it sends nothing more.
    private(set) var inputEnded = false
    /// Milliseconds of CLOCK_MONOTONIC. Without a whole request by then, however slowly one is arriving, the client is
    /// disconnected.
    var deadline: Int64

    private var input: [UInt8] = []
    /// Where the next line begins in `input`.
    private var start = 0
    private var output: [UInt8] = []
    /// Where the part of `input` begins that may hold a newline, so that a long line is not searched again with every part
    /// of it.
    private var searched = 0
    private let limits: ControlServer.Limits

    /// A client that reads nothing must not cost memory without end. A status is some kilobytes, a history 30.
    private static let outputLimit = 1 << 20

    init(
        descriptor: Int32, peer: Peer, standing: PeerPolicy.Standing, mayChange: Bool, limits: ControlServer.Limits,
        deadline: Int64
    ) {
        self.descriptor = descriptor
        self.peer = peer
        self.standing = standing
        self.mayChange = mayChange
        self.limits = limits
        self.deadline = deadline
    }

    /// Whether a request may be begun.
    var isReady: Bool { task == nil && !isClosing }
    var wantsToRead: Bool { isReady && !inputEnded }
    var wantsToWrite: Bool { !output.isEmpty }
    var isFinished: Bool {
        task == nil && output.isEmpty && (isClosing || (inputEnded && start == input.count))
    }

    /// Whether the line that stands first begins as a `write`.
    var beginsAsWrite: Bool { input[start...].starts(with: Self.write) }

    /// Such a line may be longer than others.
    private static let write = RequestLine.start(of: "write")

    /// What the line that stands first in `input` may have.
    private var requestLimit: Int {
        mayChange && beginsAsWrite ? max(limits.writeSize, limits.requestSize) : limits.requestSize
    }

    /// Reads what is there. False when the connection is broken.
    ///
    /// Descriptors that come along (SCM_RIGHTS) are closed by the kernel, because read(2) has no place for them.
    func receive() -> Bool {
        input.removeSubrange(..<start)
        searched -= start
        start = 0
        var buffer = [UInt8](repeating: 0, count: 32_768)
        // One byte more than a request may have tells a full one from one that is too long.
        while input.count <= requestLimit {
            let count = read(descriptor, &buffer, buffer.count)
            if count > 0 {
                input.append(contentsOf: buffer[..<count])
            } else if count == 0 {
                inputEnded = true
                return true
            } else if errno != EINTR {
                return errno == EAGAIN
            }
        }
        return true
    }

    /// Takes the next request off what was read. Blank lines are none. The last line of an ended input needs no newline.
    func nextInput() -> Input {
        skipBlanks()
        if let newline = input[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            if newline - start > requestLimit { return .tooLong }
            let line = Array(input[start..<newline])
            start = newline + 1
            searched = start
            return .line(line)
        }
        searched = input.count
        if input.count - start > requestLimit { return .tooLong }
        guard inputEnded, start < input.count else { return .nothing }
        let line = Array(input[start...])
        start = input.count
        return .line(line)
    }

    /// In one go, so that many of them cost no more than their bytes.
    private func skipBlanks() {
        let blanks: [UInt8] = [0x20, 0x09, 0x0D, 0x0A]
        start = input[start...].firstIndex { !blanks.contains($0) } ?? input.count
        searched = max(searched, start)
        guard start == input.count, start > 0 else { return }
        input = []
        start = 0
        searched = 0
    }

    /// Queues one line. False when the client has left too much unread.
    func queue(_ line: [UInt8]) -> Bool {
        guard output.count + line.count < Self.outputLimit else { return false }
        output.append(contentsOf: line)
        output.append(UInt8(ascii: "\n"))
        return true
    }

    /// Writes what can be written. False when the connection is broken.
    func flush() -> Bool {
        while !output.isEmpty {
            // MSG_NOSIGNAL: a client that has left is an error here, not a SIGPIPE for the daemon.
            let count = Glibc.send(descriptor, output, output.count, Int32(MSG_NOSIGNAL))
            if count > 0 {
                output.removeFirst(count)
            } else if errno != EINTR {
                return errno == EAGAIN
            }
        }
        return true
    }
}

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
    /// Readable while there are messages.
    let wakeup: EventDescriptor

    /// - Throws: `limit_reached`.
    init() throws(UserFacingError) {
        guard let wakeup = EventDescriptor() else {
            throw UserFacingError(
                .limitReached, "The control socket cannot be made: eventfd: \(String(cString: strerror(errno))).")
        }
        self.wakeup = wakeup
    }

    func post(_ message: Message) {
        let isFirst = messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
        guard isFirst else { return }
        heartbeat.call()
        wakeup.signal()
    }

    func take() -> [Message] {
        wakeup.take()
        return messages.withLock { exchange(&$0, with: []) }
    }
}
