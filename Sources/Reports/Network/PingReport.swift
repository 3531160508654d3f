package import Console
package import PRSNLCore

/// One probe of the server: the JSON of `prsnlctl ping --json`.
package struct PingReport: Sendable, Equatable, Codable {
    /// Milliseconds; `null` where it was not reached, and where there is no such phase.
    package struct Phases: Sendable, Equatable, Codable {
        @Nullable package var name: Double? = nil
        @Nullable package var connect: Double? = nil
        @Nullable package var tls: Double? = nil
        @Nullable package var firstByte: Double? = nil

        enum CodingKeys: String, CodingKey {
            case name, connect, tls
            case firstByte = "first_byte"
        }

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
    /// What the answer means, or that none came: a state as in `StatusReport.Connectivity`.
    package var state: String
    /// `http`, `icmp`, `tcp`: what was really sent.
    package var probe: String
    /// Why it is not the probe that is configured.
    @Nullable package var note: String? = nil
    /// Where the connection led: the server, or the proxy.
    @Nullable package var address: String? = nil
    /// Milliseconds that the ICMP echo or TCP's handshake took that went ahead of the question.
    @Nullable package var ahead: Double? = nil
    package var phases = Phases()
    /// Milliseconds, from the question to the end.
    package var total: Double
    /// HTTP's.
    @Nullable package var status: Int? = nil
    /// `ahead`, `name`, `connect`, `tls`, `first_byte`, `answer`.
    @Nullable package var failedPhase: String? = nil
    @Nullable package var error: ErrorReport? = nil
    /// The server's clock minus this machine's, in seconds, from its newest answer; good to a second or two.
    @Nullable package var clockOffset: Double? = nil

    enum CodingKeys: String, CodingKey {
        case state, probe, note, address, ahead, phases, total, status, error
        case schemaVersion = "schema_version"
        case generatedAt = "generated_at"
        case failedPhase = "failed_phase"
        case clockOffset = "clock_offset"
    }

    package init(state: String, probe: String, total: Duration, now: Timestamp) {
        self.state = state
        self.probe = probe
        self.total = total.milliseconds
        generatedAt = now
    }

    package static func milliseconds(_ duration: Duration) -> Double { duration.milliseconds }

    package var exitCode: ExitCode { state == "online" && error == nil ? .fine : .error }
}

extension Duration {
    /// With microseconds behind the point.
    fileprivate var milliseconds: Double { Double(wholeMicroseconds) / 1_000 }
}
