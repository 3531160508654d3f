import Console
import Glibc
package import PRSNLCore

/// prsnlctl's end of the control socket; blocks.
package struct ControlClient: ~Copyable {
    private let descriptor: Int32
    package let path: String
    private var input: [UInt8] = []

    /// A status is some kilobytes, a history 30; more is not from our daemon.
    private static let replyLimit = 8 << 20
    /// After so long without an answer, the person who waits is told.
    private static let silence: Duration = .seconds(5)
    /// Called once for each answer that takes so long, where there is an end to the waiting.
    package var whenSilent: ((_ asksServer: Bool) -> Void)?

    /// - Parameter announced: Where the path is what a process has said that holds the lock of a database. It is followed with
    ///   the rights of the database's owner alone, and to that process.
    /// - Throws: `daemon_not_running` when no daemon listens, `control_refused` when this user may not, `daemon_busy` when the
    ///   daemon does not take connections.
    package init(
        path: String, timeout: Duration = .seconds(5), announced: (database: String, process: Int32)? = nil
    ) throws(UserFacingError) {
        self.init(descriptor: try Self.connected(path, timeout, announced), path: path)
    }

    private init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    private static func connected(
        _ path: String, _ timeout: Duration, _ announced: (database: String, process: Int32)?
    ) throws(UserFacingError) -> Int32 {
        guard let address = SocketAddress(path: path) else {
            throw UserFacingError(
                .usage, "The socket path \(path) is empty or longer than 107 bytes.",
                recoverySuggestion: "Give another with --socket.")
        }
        let descriptor = SocketAddress.stream(nonblocking: false)
        guard descriptor >= 0 else {
            throw UserFacingError(.controlRefused, "socket: \(String(cString: strerror(errno))).")
        }
        // connect(2) on a full backlog waits as long as a send may (unix(7)).
        var limit = timeval(
            tv_sec: Int(timeout.wholeMilliseconds / 1_000), tv_usec: Int(timeout.wholeMicroseconds % 1_000_000))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        do throws(UserFacingError) {
            try FolderOwner.run(beside: announced?.database ?? path) { _ throws(UserFacingError) in
                guard address.with({ connect(descriptor, $0, $1) }) == 0 else { throw Self.connectError(errno, path) }
            }
            if let announced, Peer(descriptor: descriptor)?.process != announced.process {
                throw Self.connectError(ECONNREFUSED, path)
            }
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    deinit { close(descriptor) }

    package func send(_ request: some ControlRequest) throws(UserFacingError) {
        let line = request.line + [UInt8(ascii: "\n")]
        var rest = line[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE || errno == ECONNRESET {
                return  // a daemon that refuses says why before it closes: that is there to be received
            } else if errno != EINTR {
                throw gone()
            }
        }
    }

    /// Sends a request and waits for its answer.
    ///
    /// - Returns: the answer, or the error that the daemon answered with.
    /// - Throws: as `receive`.
    package mutating func ask<Request: ControlRequest>(
        _ request: Request, timeout: Duration? = .seconds(10), interruption: Interruption? = nil,
        update: (Request.Update) throws(UserFacingError) -> Void = { _ in }
    ) throws(UserFacingError) -> Result<Request.Answer, UserFacingError> {
        try send(request)
        return try receive(Request.self, timeout: timeout, interruption: interruption, update: update)
    }

    /// Waits for the answer to a request that was sent.
    ///
    /// - Parameters:
    ///   - timeout: for each line; `nil` waits as long as the daemon lives.
    ///   - interruption: what ends the waiting.
    ///   - update: is called with each line that comes before the answer.
    /// - Throws: `daemon_busy` after the timeout, `daemon_not_running` when the daemon ends, `control_protocol` for an
    ///   invalid answer, `cancelled` after an interruption.
    package mutating func receive<Request: ControlRequest>(
        _ type: Request.Type, timeout: Duration? = .seconds(10), interruption: Interruption? = nil,
        update: (Request.Update) throws(UserFacingError) -> Void = { _ in }
    ) throws(UserFacingError) -> Result<Request.Answer, UserFacingError> {
        while true {
            let line = try nextLine(timeout: timeout, interruption: interruption, asksServer: Request.asksServer)
            switch try decode(type, line) {
            case .update(let report): try update(report)
            case .answer(let answer): return .success(answer)
            case .error(let report): return .failure(report)
            case .other:
                throw UserFacingError(.controlProtocol, "The daemon answered something else than it was asked.")
            }
        }
    }

    private mutating func nextLine(
        timeout: Duration?, interruption: Interruption?, asksServer: Bool
    ) throws(UserFacingError) -> [UInt8] {
        let clock = ContinuousClock()
        let end = timeout.map { clock.now + $0 }
        var told = timeout == nil ? nil : whenSilent
        let quiet = clock.now + Self.silence
        while true {
            if let newline = input.firstIndex(of: UInt8(ascii: "\n")) {
                let line = Array(input[..<newline])
                input.removeSubrange(...newline)
                return line
            }
            guard input.count < Self.replyLimit else { throw notOurs("it is too long") }
            if let tell = told, clock.now >= quiet {
                tell(asksServer)
                told = nil
            }
            let next = told == nil ? end : end.map { min($0, quiet) }
            let left = next.map { Int32(clamping: max(0, ($0 - clock.now).wholeMilliseconds + 1)) } ?? -1
            switch Interruption.wait(for: descriptor, or: interruption?.descriptor, atMost: left) {
            case nil: throw UserFacingError(.cancelled, "Interrupted.")
            case false? where told != nil && clock.now < (end ?? quiet): continue
            case false?: throw UserFacingError(.daemonBusy, "The daemon at \(path) did not answer in time.")
            case true?: try fill()
            }
        }
    }

    private mutating func fill() throws(UserFacingError) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = read(descriptor, &buffer, buffer.count)
        if count > 0 {
            input.append(contentsOf: buffer[..<count])
        } else if count == 0 || errno != EINTR {
            throw gone()
        }
    }

    private func decode<Request>(
        _ type: Request.Type, _ line: [UInt8]
    ) throws(UserFacingError) -> ReceivedLine<Request> {
        do {
            return try JSONOutput.decode(ReceivedLine<Request>.self, from: line)
        } catch {
            throw notOurs("it cannot be understood")
        }
    }

    private func notOurs(_ reason: String) -> UserFacingError {
        UserFacingError(.controlProtocol, "The answer from \(path) is not prsnld's: \(reason).")
    }

    private func gone() -> UserFacingError {
        UserFacingError(
            .daemonNotRunning, "The daemon closed the connection before it answered.",
            recoverySuggestion: "Look at `journalctl -u prsnld`, or the terminal that it runs in.")
    }

    private static func connectError(_ code: Int32, _ path: String) -> UserFacingError {
        let reason = String(cString: strerror(code))
        switch code {
        case ENOENT, ECONNREFUSED, ENOTDIR:
            return UserFacingError(.daemonNotRunning, "No daemon listens at \(path).")
        case EACCES, EPERM:
            return UserFacingError(.controlRefused, "This user may not use the control socket \(path).")
        case EAGAIN, ETIMEDOUT:
            return UserFacingError(.daemonBusy, "The daemon at \(path) takes no connections at the moment.")
        default:
            return UserFacingError(.daemonNotRunning, "The control socket \(path) cannot be used: \(reason).")
        }
    }
}
