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
package struct PingRequest: Request, BareRequest {
    package typealias Answer = PingReport
    package static let command = "ping"
    package static let asksServer = true
    package var isChange: Bool { false }
    package var place: RequestPlace { .daemon }
    /// A name, a connection and an answer, each as slow as it usually may be.
    package var patience: Duration? { .seconds(120) }

    package init() {}

    /// A probe that a person asked for. Like any other, it tells whether the server can be used.
    package func answer(_ context: RequestContext) async throws(UserFacingError) -> PingReport? {
        let parts = try context.requireDaemon().parts
        let result = await parts.engine.ping()
        let current = parts.engine.network.current
        var report = PingReport(
            state: current.state, probe: result.sent.rawValue, total: result.total, now: context.now)
        report.note = result.note
        report.address = result.address
        report.ahead = result.ahead.map(PingReport.milliseconds)
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

        package init(
            name: Duration? = nil, connect: Duration? = nil, tls: Duration? = nil, firstByte: Duration? = nil
        ) {
            self.name = name?.milliseconds
            self.connect = connect?.milliseconds
            self.tls = tls?.milliseconds
            self.firstByte = firstByte?.milliseconds
        }
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

    package static func milliseconds(_ duration: Duration) -> Double { duration.milliseconds }

    /// What the question to the server itself has shown.
    mutating func add(_ ping: Ping) {
        phases = Phases(
            name: ping.phases[.name], connect: ping.phases[.connect], tls: ping.phases[.tls],
            firstByte: ping.phases[.firstByte])
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
        func field(_ label: String, _ text: String?) -> [String] {
            text.map { TextLayout.field(label, [$0], style: style) } ?? []
        }
        let fields: [[String]] = [
            field("State", ConnectivityWords.painted(state, style)),
            field("Probe", style.safe(probe) + (note.map { "; \(style.safe($0))" } ?? "")),
            field("Address", address.map(style.safe)),
            field("Echo", phase("ahead", ahead, style)),
            field("Name", phase("name", phases.name, style)),
            field("Connect", phase("connect", phases.connect, style)),
            field("TLS", phase("tls", phases.tls, style)),
            field("First byte", phase("first_byte", phases.firstByte, style)),
            field("Answer", phase("answer", nil, style) ?? status.map { "HTTP \($0)" }),
            field("Total", Formatting.milliseconds(total)),
        ]
        return fields.joined().map { $0 + "\n" }.joined()
    }

    /// How long it took, or that it is where the probe failed.
    private func phase(_ name: String, _ took: Double?, _ style: TextStyle) -> String? {
        if failedPhase == name {
            return style.paint("failed", .red) + (name == "answer" ? status.map { ", HTTP \($0)" } ?? "" : "")
        }
        return took.map(Formatting.milliseconds)
    }
}
