import Glibc

/// One client of the control socket: what it has sent and what it is still to get. Lives on the socket's thread.
final class ControlConnection {
    enum Input: Equatable {
        case line([UInt8])
        /// No newline within the limit.
        case tooLong
        case nothing
    }

    let descriptor: Int32
    /// Runs while a request is being answered; further ones wait in the kernel's buffer until then.
    var task: Task<Void, Never>?
    /// Nothing more is read; closes when the output is written.
    var isClosing = false
    /// The other side has said that it sends nothing more.
    private(set) var inputEnded = false
    /// Milliseconds of CLOCK_MONOTONIC; an idle client is closed then.
    var deadline: Int64

    private var input: [UInt8] = []
    private var output: [UInt8] = []
    /// Bytes of `input` that hold no newline for certain, so that a long line is not searched again with every part of it.
    private var searched = 0
    private let limits: ControlServer.Limits

    /// A client that reads nothing must not cost memory without end. A status is some kilobytes, a history 30.
    private static let outputLimit = 1 << 20

    init(descriptor: Int32, limits: ControlServer.Limits, deadline: Int64) {
        self.descriptor = descriptor
        self.limits = limits
        self.deadline = deadline
    }

    var wantsToRead: Bool { task == nil && !isClosing && !inputEnded }
    var wantsToWrite: Bool { !output.isEmpty }
    var isFinished: Bool { task == nil && output.isEmpty && (isClosing || (inputEnded && input.isEmpty)) }

    /// What the line that stands first in `input` may have.
    private var requestLimit: Int {
        input.starts(with: ControlRequest.writePrefix) ? max(limits.writeSize, limits.requestSize) : limits.requestSize
    }

    /// Reads what is there. False when the connection is broken.
    func receive() -> Bool {
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

    /// Takes the next request off what was read. The last line of an ended input needs no newline.
    func nextInput() -> Input {
        if let newline = input[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            if newline > requestLimit { return .tooLong }
            let line = Array(input[..<newline])
            input.removeSubrange(...newline)
            searched = 0
            return .line(line)
        }
        searched = input.count
        if input.count > requestLimit { return .tooLong }
        guard inputEnded, !input.isEmpty else { return .nothing }
        defer {
            input = []
            searched = 0
        }
        return .line(input)
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
