public import PRSNLCore

/// One probe of the server: the JSON of `prsnlctl ping --json`.
public struct PingReport: Sendable, Equatable, Codable {
    /// Milliseconds; `null` where it was not reached, and where there is no such phase.
    public struct Phases: Sendable, Equatable, Codable {
        @Nullable public var name: Double? = nil
        @Nullable public var connect: Double? = nil
        @Nullable public var tls: Double? = nil
        @Nullable public var firstByte: Double? = nil

        enum CodingKeys: String, CodingKey {
            case name, connect, tls
            case firstByte = "first_byte"
        }

        public init(
            name: Duration? = nil, connect: Duration? = nil, tls: Duration? = nil, firstByte: Duration? = nil
        ) {
            self.name = name?.milliseconds
            self.connect = connect?.milliseconds
            self.tls = tls?.milliseconds
            self.firstByte = firstByte?.milliseconds
        }
    }

    public var schemaVersion = 1
    public var generatedAt: Timestamp
    /// What the answer means, or that none came: a state as in `StatusReport.Connectivity`.
    public var state: String
    /// `http`, `icmp`, `tcp`: what was really sent.
    public var probe: String
    /// Why it is not the probe that is configured.
    @Nullable public var note: String? = nil
    /// Where the connection led: the server, or the proxy.
    @Nullable public var address: String? = nil
    /// Milliseconds that the ICMP echo or TCP's handshake took that went ahead of the question.
    @Nullable public var ahead: Double? = nil
    public var phases = Phases()
    /// Milliseconds, from the question to the end.
    public var total: Double
    /// HTTP's.
    @Nullable public var status: Int? = nil
    /// `ahead`, `name`, `connect`, `tls`, `first_byte`, `answer`.
    @Nullable public var failedPhase: String? = nil
    @Nullable public var error: ErrorReport? = nil
    /// The server's clock minus this machine's, in seconds, from its newest answer; good to a second or two.
    @Nullable public var clockOffset: Double? = nil

    enum CodingKeys: String, CodingKey {
        case state, probe, note, address, ahead, phases, total, status, error
        case schemaVersion = "schema_version"
        case generatedAt = "generated_at"
        case failedPhase = "failed_phase"
        case clockOffset = "clock_offset"
    }

    public init(state: String, probe: String, total: Duration, now: Timestamp) {
        self.state = state
        self.probe = probe
        self.total = total.milliseconds
        generatedAt = now
    }

    public static func milliseconds(_ duration: Duration) -> Double { duration.milliseconds }

    public var exitCode: ExitCode { state == "online" && error == nil ? .fine : .error }
}

extension Duration {
    /// With microseconds behind the point.
    fileprivate var milliseconds: Double { Double(wholeMicroseconds) / 1_000 }
}
