import CLinux
import Glibc
import PRSNLCore

/// Whether a port accepts connections: connect(2), and close at once. Says nothing of what listens there.
package enum TCPProbe {
    package enum Outcome: Sendable, Equatable {
        case connected(after: Duration)
        /// The machine is there, and no program listens.
        case refused
        /// `because` in words: no answer in time, or what the kernel says (no route, unreachable).
        case noAnswer(because: String)
    }

    /// - Parameters:
    ///   - address: an IP address, not a name.
    ///   - port: TCP.
    /// - Throws: `CancellationError` at once when the task is cancelled.
    package static func connect(
        to address: String, port: UInt16, within timeout: Duration
    ) async throws(CancellationError) -> Outcome {
        try await ProbeThread.run(otherwise: .noAnswer(because: "no thread or no descriptor is left for it")) {
            cancellation in
            run(address, port: port, within: timeout, cancellation)
        }
    }

    /// - Returns: `nil` where it was cancelled.
    static func run(
        _ address: String, port: UInt16, within timeout: Duration, _ cancellation: ProbeThread.Cancellation
    ) -> Outcome? {
        guard let address = IPAddress(address) else { return .noAnswer(because: "\(address) is not an IP address") }
        let start = ContinuousClock.now
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let descriptor = socket(address.family, Int32(type), Int32(IPPROTO_TCP))
        guard descriptor >= 0 else { return outcome(errno, start) }
        defer { close(descriptor) }
        let code = address.withSocketAddress(port: port) { Glibc.connect(descriptor, $0, $1) == 0 ? 0 : errno }
        guard code == EINPROGRESS else { return outcome(code, start) }
        switch ProbeThread.wait(for: descriptor, POLLOUT, until: start + timeout, cancellation) {
        case .cancelled: return nil
        case .tooLate: return outcome(ETIMEDOUT, start)
        case .ready:
            var result: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            let isRead = getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &result, &length) == 0
            return outcome(isRead ? result : errno, start)
        }
    }

    private static func outcome(_ code: Int32, _ start: ContinuousClock.Instant) -> Outcome {
        switch code {
        case 0: .connected(after: start.duration(to: .now))
        case ECONNREFUSED: .refused
        case ETIMEDOUT: .noAnswer(because: "no answer in time")
        default: .noAnswer(because: String(cString: strerror(code)))
        }
    }
}
