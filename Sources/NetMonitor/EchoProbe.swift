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
        guard let cancellation = EventDescriptor() else { return .noAnswer(because: "no descriptor is left for it") }
        let outcome = await withTaskCancellationHandler {
            // A thread of its own, because it waits in poll(2), and tasks must not block.
            await WorkerThread.result(of: "prsnl-probe") { run(address, within: timeout, cancellation) }
        } onCancel: {
            cancellation.signal()
        }
        guard let outcome else { throw CancellationError() }
        return outcome
    }

    /// - Returns: `nil` where it was cancelled.
    static func run(_ address: String, within timeout: Duration, _ cancellation: EventDescriptor) -> Outcome? {
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
                switch wait(for: descriptor, until: pause, cancellation) {
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

/// The requests of one ping and the answers to them. The kernel fills in identifier and checksum.
struct EchoConversation {
    private let isIPv6: Bool
    /// What is not ours is told by it.
    private let token: UInt64
    private var sent: [ContinuousClock.Instant] = []

    init(isIPv6: Bool, token: UInt64 = .random(in: .min ... .max)) {
        self.isIPv6 = isIPv6
        self.token = token
    }

    /// Type, code, checksum, identifier, number; 8 bytes, and the token.
    mutating func request(at now: ContinuousClock.Instant) -> [UInt8] {
        sent.append(now)
        let number = UInt16(truncatingIfNeeded: sent.count - 1)
        return [isIPv6 ? 128 : 8, 0, 0, 0, 0, 0] + NetlinkMessage.native(number.bigEndian)
            + NetlinkMessage.native(token)
    }

    /// How long ago the request was sent which this answers; `nil` where it answers none.
    func time(of answer: ArraySlice<UInt8>, at now: ContinuousClock.Instant) -> Duration? {
        let start = answer.startIndex
        guard answer.count == 16, answer[start] == (isIPv6 ? 129 : 0), answer[start + 1] == 0,
            Array(answer.suffix(8)) == NetlinkMessage.native(token),
            let number = answer.uint16(at: start + 6).map(UInt16.init(bigEndian:)), Int(number) < sent.count
        else { return nil }
        return sent[Int(number)].duration(to: now)
    }
}

extension EchoProbe {
    private enum Waited { case ready, tooLate, cancelled }

    private static func wait(
        for descriptor: Int32, until end: ContinuousClock.Instant, _ cancellation: EventDescriptor
    ) -> Waited {
        while true {
            var descriptors = [
                pollfd(fd: cancellation.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let left = max(.zero, ContinuousClock.now.duration(to: end))
            // Rounded up, so that the end is not waited for in a busy loop.
            let count = poll(&descriptors, 2, Int32(clamping: left > .zero ? left.wholeMilliseconds + 1 : 0))
            if descriptors[0].revents != 0 { return .cancelled }
            if count > 0 { return .ready }
            if count == 0, ContinuousClock.now >= end { return .tooLate }
        }
    }
}
