import CLinux
import Glibc
import PRSNLCore

/// One client's connection: what was read and not yet served, what is not yet written, and what it waits for.
struct Connection {
    /// Why no request is served at the moment.
    enum Waiting {
        case nothing
        /// Until `release`.
        case held(HTTPRequest, Admission)
        /// The answer was made, and is written after `release`.
        case answerHeld(Admission)
        case until(ContinuousClock.Instant, HTTPRequest, Admission)
        /// An answer is written and kept back until then.
        case answerLate(ContinuousClock.Instant)
        /// An answer is written in pieces. See `drip`.
        case dripping(next: ContinuousClock.Instant)
        /// An answer was begun and will never be finished.
        case stalled
    }

    struct Drip {
        var bytes: Int
        var interval: Duration
    }

    let socket: Int32
    let number: Int
    var input: [UInt8] = []
    var output: [UInt8] = []
    /// So much of `output` is written.
    var written = 0
    var waiting = Waiting.nothing
    var drip: Drip?
    /// After the output is written.
    var closesAfterwards = false
    /// The next request is applied and then answered with nothing but the end of the connection.
    var diesWithNextRequest = false
    var toldToContinue = false
    var lastActive: ContinuousClock.Instant
    /// Whether EPOLLOUT is asked for.
    var watchesOutput = false

    var hasOutput: Bool { written < output.count }

    var isWaiting: Bool {
        if case .nothing = waiting { return false }
        return true
    }

    enum ReadResult { case some, nothing, ended }

    /// Reads all that is there.
    mutating func read(using buffer: inout [UInt8]) -> ReadResult {
        var result = ReadResult.nothing
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count > 0 {
                input.append(contentsOf: buffer[..<count])
                result = .some
                if count < buffer.count { return result }
            } else if count < 0, errno == EINTR {
                continue
            } else if count < 0, errno == EAGAIN {
                return result
            } else {
                return .ended
            }
        }
    }

    /// Writes what the socket takes.
    ///
    /// - Parameter limit: so many bytes at most.
    /// - Returns: false when the client is gone.
    mutating func write(limit: Int = .max) -> Bool {
        let end = limit < output.count - written ? written + limit : output.count
        while written < end {
            let count = output.withUnsafeBytes { bytes in
                send(socket, bytes.baseAddress! + written, end - written, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                written += count
            } else if errno == EINTR {
                continue
            } else {
                return errno == EAGAIN
            }
        }
        if written == output.count {
            output.removeAll(keepingCapacity: true)
            written = 0
        }
        return true
    }

    /// Ends the connection with a reset rather than an end: what was sent and not yet read is lost with it.
    func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    }
}

/// What was decided about a request when it came in.
struct Admission {
    /// Its number in the log.
    var number: Int
    var fault: Fault?
    /// The script's number of the fault.
    var faultNumber = 0
    /// The number of a slow INSERT.
    var lateInsert = 0
    /// How long the timeline takes for this page.
    var cost: Duration = .zero
    /// For the configuration's `log`, where there is one.
    var logged: LoggedRequest?
}
