import NetMonitor
package import PRSNLClient
package import PRSNLCore
import Synchronization

/// What became of one probe.
package struct ProbeResult: Sendable {
    /// What was sent, or went ahead of the question to the server.
    package var sent: ProbeKind
    /// Why that is not what the configuration says.
    package var note: String?
    /// How long the ICMP echo or the TCP handshake took that went ahead.
    package var ahead: Duration?
    /// `nil` where the server was not asked, because nothing came back from its machine.
    package var ping: Ping?
    package var error: UserFacingError?
    package var address: String?
    /// From the first packet to the end.
    package var total: Duration = .zero

    /// What it says of the server; `nil` where PRSNL has answered, be it that it is not well.
    var failure: NetMonitor.Failure? {
        guard let error else { return nil }
        if let answer = ping?.error, answer.isPRSNLError { return nil }
        return NetMonitor.Failure(error, isGateway: ping?.error?.isGateway ?? false)
    }

    package init(sent: ProbeKind) { self.sent = sent }
}

/// Asks whether the server is there, as the owner wants it asked.
///
/// An echo or a handshake proves that a machine is there, and not that PRSNL is: they go ahead of the HTTP question, and
/// save the server that question while nothing comes back. That a machine does not echo proves nothing either, nor that its
/// name still leads there. So the question is asked once in a while nevertheless.
final class ServerProbe: Sendable {
    private let client: PRSNLClient
    private let time: TimeSource
    private let aheadTo: @Sendable (ServerAddress) -> String?
    private let board: EngineBoard
    private let log: LogHandler
    private let hasSaidWhy = Flag()
    /// When HTTP was last asked (uptime).
    private let lastQuestion = Mutex<Duration?>(nil)

    /// Between two questions that are asked although nothing came back ahead of them.
    static let betweenQuestions: Duration = .seconds(60)

    /// - Parameter aheadTo: where echoes and handshakes go; tests put something else in.
    init(
        client: PRSNLClient, board: EngineBoard, time: TimeSource,
        aheadTo: @escaping @Sendable (ServerAddress) -> String? = { $0.literal }, log: @escaping LogHandler
    ) {
        self.aheadTo = aheadTo
        self.client = client
        self.time = time
        self.board = board
        self.log = log
    }

    /// - Parameter byHand: A person wants to know: everything is asked.
    func run(byHand: Bool = false) async -> ProbeResult {
        let wanted = board.settings.probe
        let peer = client.peer
        let address = aheadTo(ServerAddress(host: peer.host, port: peer.port, lastAddress: client.lastAddress))
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
        guard result.error == nil || result.error?.code != .cancelled && (byHand || isQuestionDue) else {
            return result
        }
        lastQuestion.withLock { $0 = time.uptime() }
        let ping = await client.ping()
        result.ping = ping
        if result.error != nil, ping.error == nil { result.note = "nothing came back ahead, and the server answers" }
        result.error = ping.error?.userFacing
        result.address = ping.address ?? result.address
        result.total += ping.total
        return result
    }

    private var isQuestionDue: Bool {
        lastQuestion.withLock { $0.map { time.uptime() - $0 >= Self.betweenQuestions } ?? true }
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
