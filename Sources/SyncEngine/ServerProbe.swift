import NetMonitor
public import PRSNLClient
public import PRSNLCore
import Synchronization

/// What became of one probe.
public struct ProbeResult: Sendable {
    /// What was sent, or went ahead of the question to the server.
    public var sent: ProbeKind
    /// Why that is not what the configuration says.
    public var note: String?
    /// How long the ICMP echo or the TCP handshake took that went ahead.
    public var ahead: Duration?
    /// `nil` where the server was not asked, because nothing came back from its machine.
    public var ping: Ping?
    public var error: UserFacingError?
    public var address: String?
    /// From the first packet to the end.
    public var total: Duration = .zero

    public init(sent: ProbeKind) { self.sent = sent }
}

/// Asks whether the server is there, as the owner wants it asked.
///
/// An echo or a handshake proves that a machine is there, and not that PRSNL is: they go ahead of the HTTP question, and
/// save the server that question for as long as nothing comes back.
final class ServerProbe: Sendable {
    private let client: PRSNLClient
    private let kind: @Sendable () -> ProbeKind
    private let log: LogHandler
    private let hasSaidWhy = Flag()

    init(client: PRSNLClient, kind: @escaping @Sendable () -> ProbeKind, log: @escaping LogHandler) {
        self.client = client
        self.kind = kind
        self.log = log
    }

    func run() async -> ProbeResult {
        let wanted = kind()
        let peer = client.peer
        let address = ServerAddress(host: peer.host, port: peer.port, lastAddress: client.lastAddress).literal
        var result = ProbeResult(sent: wanted)
        if wanted != .http {
            if let address {
                do throws(CancellationError) {
                    try await goAhead(address, peer.port, &result)
                } catch {
                    result.error = UserFacingError(.cancelled, "The probe was stopped.")
                }
            } else {
                result.sent = .http
                result.note = "the address of \(peer.host) is not known yet"
            }
        }
        guard result.error == nil else { return result }
        let ping = await client.ping()
        result.ping = ping
        result.error = ping.error?.userFacing
        result.address = ping.address ?? result.address
        result.total += ping.total
        return result
    }

    private func goAhead(
        _ address: String, _ port: UInt16, _ result: inout ProbeResult
    ) async throws(CancellationError) {
        let limit = client.connectTimeout
        result.address = address
        if result.sent == .icmp {
            switch try await EchoProbe.ping(address, within: limit) {
            case .answered(let after):
                result.ahead = after
                result.total = after
                return
            case .noAnswer(let because):
                result.error = UserFacingError(
                    .timedOut, "Network error: no ICMP echo from \(address): \(because).")
                return
            case .notPermitted:
                result.sent = .tcp
                let note = "ICMP is not permitted here (net.ipv4.ping_group_range)"
                result.note = note
                if !hasSaidWhy.isSet {
                    hasSaidWhy.set()
                    log(.warning, .net, "\(note): probe = icmp is done over TCP")
                }
            }
        }
        switch try await TCPProbe.connect(to: address, port: port, within: limit) {
        case .connected(let after):
            result.ahead = after
            result.total = after
        case .refused:
            result.error = UserFacingError(
                .connectFailed, "Network error: \(address) refuses connections to port \(port).")
        case .noAnswer(let because):
            result.error = UserFacingError(
                .timedOut, "Network error: no TCP connection to \(address), port \(port): \(because).")
        }
    }
}
