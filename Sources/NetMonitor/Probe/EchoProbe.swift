import CLinux
import Glibc
import PRSNLCore

/// One ping: an ICMP echo (RFC 792, RFC 4443) over the kernel's unprivileged socket (icmp(7)), which it grants to the groups
/// of `net.ipv4.ping_group_range`, by default to none.
package enum EchoProbe {
    package enum Outcome: Sendable, Equatable {
        case answered(after: Duration)
        /// `because` in words: no answer in time, or what the kernel says (no route, unreachable).
        case noAnswer(because: String)
        /// Not with this user's groups, or not in this sandbox.
        case notPermitted(errno: Int32)
    }

    /// From one request to the next while there is no answer: a lost packet is not a lost host.
    static let interval: Duration = .seconds(1)

    /// - Parameter address: an IP address, not a name.
    /// - Throws: `CancellationError` at once when the task is cancelled.
    package static func ping(_ address: String, within timeout: Duration) async throws(CancellationError) -> Outcome {
        try await ProbeThread.run(otherwise: .noAnswer(because: "no thread or no descriptor is left for it")) {
            cancellation in
            run(address, within: timeout, cancellation)
        }
    }

    /// - Returns: `nil` where it was cancelled.
    static func run(_ address: String, within timeout: Duration, _ cancellation: ProbeThread.Cancellation) -> Outcome? {
        guard let address = IPAddress(address) else { return .noAnswer(because: "\(address) is not an IP address") }
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, type, Int32(address.isIPv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
        guard descriptor >= 0 else {
            switch errno {
            case EACCES, EPERM, EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT: return .notPermitted(errno: errno)
            default: return failure(errno)
            }
        }
        defer { close(descriptor) }
        // Connected, it hears that host only, and what routers say of it.
        guard address.withSocketAddress(port: 0, { connect(descriptor, $0, $1) }) == 0 else { return failure(errno) }

        var conversation = EchoConversation(isIPv6: address.isIPv6)
        let end = ContinuousClock.now + timeout
        while true {
            let now = ContinuousClock.now
            let request = conversation.request(at: now)
            guard send(descriptor, request, request.count, 0) >= 0 || errno == EINTR else { return failure(errno) }
            let pause = min(now + interval, end)
            waiting: while true {
                switch ProbeThread.wait(for: descriptor, POLLIN, until: pause, cancellation) {
                case .cancelled: return nil
                case .tooLate:
                    if pause < end { break waiting }
                    return failure(ETIMEDOUT)
                case .ready:
                    var answer = [UInt8](repeating: 0, count: 256)
                    let count = recv(descriptor, &answer, answer.count, 0)
                    if count < 0, errno != EINTR, errno != EAGAIN { return failure(errno) }
                    if count > 0, let time = conversation.time(of: answer[..<count], at: .now) {
                        return .answered(after: time)
                    }
                }
            }
        }
    }

    private static func failure(_ code: Int32) -> Outcome {
        .noAnswer(because: code == ETIMEDOUT ? "no answer in time" : String(cString: strerror(code)))
    }
}
