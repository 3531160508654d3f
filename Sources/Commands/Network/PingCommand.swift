package import Console
import Control
import PRSNLClient
package import PRSNLCore

/// `prsnlctl ping`: the daemon asks the server, with its own settings and on its own route.
enum PingCommand {
    static let command = Command(
        "ping", "Ask the server now whether it can be reached, and show how long each step takes.",
        asks: [PingRequest.self], onlyReads: true
    ) { context, _ throws(UserFacingError) in
        let report = try context.answer(PingRequest())
        try context.write(report, with: report.error)
        return report.exitCode
    }
}

/// Asks for one probe of the server, now.
struct PingRequest: Request, BareRequest {
    typealias Answer = PingReport
    static let command = "ping"
    static let asksServer = true
    var isChange: Bool { false }
    var place: RequestPlace { .daemon }
    /// A name, a connection and an answer, each as slow as it usually may be.
    var patience: Duration? { .seconds(120) }

    /// A probe that a person asked for. Like any other, it tells whether the server can be used.
    func answer(_ context: RequestContext) async throws(UserFacingError) -> PingReport? {
        let parts = try context.requireDaemon().parts
        let result = await parts.engine.ping()
        let current = parts.engine.network.current
        var report = PingReport(
            state: current.state, probe: result.sent.rawValue, total: result.total, now: context.now)
        report.note = result.note
        report.address = result.address
        report.ahead = result.ahead?.milliseconds
        if let ping = result.ping { report.add(ping) } else { report.failedPhase = "ahead" }
        report.clockOffset = parts.client.serverClockOffset?.seconds
        // The health check needs no login: an answer does not mean that the server can be used.
        report.error = (result.error ?? (current.state == .online ? nil : current.reason))
        return report
    }
}

/// One probe of the server: the JSON of `prsnlctl ping --json`.
package struct PingReport: ControlReply {
    package static let type = "ping"

    /// Milliseconds; `null` where it was not reached, and where there is no such phase.
    package struct Phases: Sendable, Equatable, Codable {
        @Nullable package var name: Double? = nil
        @Nullable package var connect: Double? = nil
        @Nullable package var tls: Double? = nil
        @Nullable package var firstByte: Double? = nil
    }

    package var schemaVersion = 1
    package var generatedAt: Timestamp
    /// What the answer means, or that none came.
    package var state: Connectivity.State
    /// `http` or `icmp`: what was really sent.
    package var probe: String
    /// Why it is not the probe that is configured.
    @Nullable package var note: String? = nil
    /// Where the connection led: the server, or the proxy.
    @Nullable package var address: String? = nil
    /// Milliseconds that the ICMP echo took that went ahead of the question.
    @Nullable package var ahead: Double? = nil
    package var phases = Phases()
    /// Milliseconds, from the question to the end.
    package var total: Double
    /// HTTP's.
    @Nullable package var status: Int? = nil
    /// `ahead`, `name`, `connect`, `tls`, `first_byte`, `answer`.
    @Nullable package var failedPhase: String? = nil
    @Nullable package var error: UserFacingError? = nil
    /// The server's clock minus this machine's, in seconds, from its newest answer; good to a second or two.
    @Nullable package var clockOffset: Double? = nil

    package init(state: Connectivity.State, probe: String, total: Duration, now: Timestamp) {
        self.state = state
        self.probe = probe
        self.total = total.milliseconds
        generatedAt = now
    }

    /// What the question to the server itself has shown.
    mutating func add(_ ping: Ping) {
        let took = ping.phases.mapValues(\.milliseconds)
        phases = Phases(name: took[.name], connect: took[.connect], tls: took[.tls], firstByte: took[.firstByte])
        status = ping.status
        failedPhase = ping.failedPhase?.rawValue
    }

    package var exitCode: ExitCode { state == .online && error == nil ? .fine : .error }
}

extension Duration {
    /// With microseconds behind the point.
    fileprivate var milliseconds: Double { Double(wholeMicroseconds) / 1_000 }
}

extension PingReport: Report {
    package func text(_ style: TextStyle) -> String {
        let rows: [(label: String, text: String?)] = [
            ("State", state.words.painted(style)),
            ("Probe", style.safe(probe) + (note.map { "; \(style.safe($0))" } ?? "")),
            ("Address", address.map(style.safe)),
            ("Echo", phase("ahead", ahead, style)),
            ("Name", phase("name", phases.name, style)),
            ("Connect", phase("connect", phases.connect, style)),
            ("TLS", phase("tls", phases.tls, style)),
            ("First byte", phase("first_byte", phases.firstByte, style)),
            ("Answer", phase("answer", nil, style) ?? status.map { "HTTP \($0)" }),
            ("Total", Formatting.milliseconds(total)),
        ]
        return fields(rows.map { ($0.label, [$0.text].compactMap(\.self)) }, style)
    }

    /// How long it took, or that it is where the probe failed.
    private func phase(_ name: String, _ took: Double?, _ style: TextStyle) -> String? {
        if failedPhase == name {
            return style.paint("failed", .red) + (name == "answer" ? status.map { ", HTTP \($0)" } ?? "" : "")
        }
        return took.map(Formatting.milliseconds)
    }
}
