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
    /// How long the ICMP echo took that went ahead.
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
/// An echo proves that a machine is there, and not that PRSNL is: it goes ahead of the HTTP question, and saves the server
/// that question while nothing comes back. That a machine does not echo proves nothing either, nor that its
/// name still leads there. So the question is asked once in a while nevertheless.
final class ServerProbe: Sendable {
    private let client: PRSNLClient
    private let time: TimeSource
    private let echo: Echo
    private let shared: EngineSharedState
    private let log: LogHandler
    private let hasSaidWhy = Flag()
    /// When HTTP was last asked (uptime).
    private let lastQuestion = Mutex<Duration?>(nil)

    /// Between two questions that are asked although nothing came back ahead of them.
    static let betweenQuestions: Duration = .seconds(60)

    /// Sends an echo to an address.
    typealias Echo = @Sendable (String, Duration) async throws(CancellationError) -> EchoProbe.Outcome

    /// - Parameter echo: the kernel's; tests put something else in.
    init(
        client: PRSNLClient, shared: EngineSharedState, time: TimeSource,
        echo: @escaping Echo = EchoProbe.ping, log: @escaping LogHandler
    ) {
        self.echo = echo
        self.client = client
        self.time = time
        self.shared = shared
        self.log = log
    }

    /// - Parameter manual: A person wants to know: everything is asked.
    func run(manual: Bool = false) async -> ProbeResult {
        let wanted = shared.settings.probe
        let peer = client.peer
        let address = ServerAddress(host: peer.host, port: peer.port, lastAddress: client.lastAddress)
        var result = ProbeResult(sent: wanted)
        if wanted != .http {
            if let address = address.literal {
                do throws(CancellationError) {
                    try await goAhead(address, &result)
                } catch {
                    result.error = UserFacingError(.cancelled, "The probe was stopped.")
                }
            } else {
                result.sent = .http
                result.note = "the address of \(peer.host) is not known yet"
            }
        }
        guard result.error == nil || result.error?.code != .cancelled && (manual || isQuestionDue) else {
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

    private func goAhead(_ address: String, _ result: inout ProbeResult) async throws(CancellationError) {
        result.address = address
        switch try await echo(address, client.connectTimeout) {
        case .answered(let after):
            result.ahead = after
            result.total = after
        case .noAnswer(let because):
            result.error = UserFacingError(.timedOut, "Network error: no ICMP echo from \(address): \(because).")
        case .notPermitted:
            result.sent = .http
            let note = "ICMP is not permitted here (net.ipv4.ping_group_range)"
            result.note = note
            if !hasSaidWhy.isSet {
                hasSaidWhy.set()
                log(.warning, .net, "\(note): probe = icmp is done over HTTP")
            }
        }
    }
}
