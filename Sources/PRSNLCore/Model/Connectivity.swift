/// Whether the server can be used, as one value.
package struct Connectivity: Sendable, Equatable {
    package enum State: String, Sendable, Codable {
        /// Nothing was asked yet.
        case unknown
        case online
        /// This machine has no way to the server.
        case offline
        /// There is a way, and the server does not answer.
        case unreachable
        /// Something answers that is not PRSNL.
        case portal
        /// The server refuses the credentials, or takes them for another account's.
        case unauthorized

        /// Whether there is no use in sending anything but probes.
        package var isClosed: Bool {
            switch self {
            case .offline, .unreachable, .portal: true
            case .unknown, .online, .unauthorized: false
            }
        }
    }

    package var state: State = .unknown
    /// Since when it is so.
    package var since: Timestamp?
    /// Why, where it is neither online nor unknown.
    package var reason: UserFacingError?

    package init(state: State = .unknown, since: Timestamp? = nil, reason: UserFacingError? = nil) {
        self.state = state
        self.since = since
        self.reason = reason
    }
}

/// What a probe of the server is.
package enum ProbeKind: String, Sendable, Codable, CaseIterable {
    /// `GET /api/health`.
    case http
    /// An ICMP echo ahead of it, where the kernel permits echoes.
    case icmp
}

/// One change of it, as the file keeps it.
package struct ConnectivityTransition: Sendable, Equatable {
    package var at: Timestamp
    package var state: Connectivity.State
    /// The reason, `nil` where the server has simply answered.
    package var code: ErrorCode?
    /// In words, with what the kernel said: `No way to prsnl.example.org: v0: carrier lost.`
    package var reason: String?

    package init(at: Timestamp, state: Connectivity.State, code: ErrorCode? = nil, reason: String? = nil) {
        self.at = at
        self.state = state
        self.code = code
        self.reason = reason
    }
}
