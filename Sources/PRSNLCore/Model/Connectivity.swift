/// Whether the server can be used, as one value: by what the kernel says of the route there, and by the server's answers.
package struct Connectivity: Sendable, Equatable, Codable {
    package enum State: String, Sendable, Codable {
        /// Nothing was asked yet.
        case unknown
        case online
        /// This machine has no route to the server.
        case offline
        /// There is a route, and the server does not answer.
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

        /// A state that a newer daemon has is not known here.
        package init(from decoder: any Decoder) throws { self = Self(rawValue: try String(from: decoder)) ?? .unknown }
    }

    package var state: State = .unknown
    @Nullable package var since: Timestamp? = nil
    /// Why, where it is neither online nor unknown.
    @Nullable package var reason: UserFacingError? = nil

    package init(state: State = .unknown, since: Timestamp? = nil, reason: UserFacingError? = nil) {
        self.state = state
        self.since = since
        self.reason = reason
    }
}

package enum ProbeKind: String, Sendable, Codable, CaseIterable {
    /// `GET /api/health`.
    case http
    /// An ICMP echo ahead of it, where the kernel permits echoes.
    case icmp
}

/// One change of it, as the file keeps it.
package struct ConnectivityTransition: Sendable, Equatable, Codable {
    package var at: Timestamp
    package var state: Connectivity.State
    /// The reason, `nil` where the server has simply answered.
    @Nullable package var code: String? = nil
    /// In words, with what the kernel said: `No route to prsnl.example.org: v0: carrier lost.`
    @Nullable package var reason: String? = nil

    package init(at: Timestamp, state: Connectivity.State, code: String? = nil, reason: String? = nil) {
        self.at = at
        self.state = state
        self.code = code
        self.reason = reason
    }
}

/// What the requests to one endpoint have cost since the daemon started.
package struct RequestCosts: Sendable, Equatable, Codable {
    /// `GET /api/timeline`; ids stand as `{id}`.
    package var endpoint: String
    /// Requests that went out, or tried to: repetitions, redirects and other forms of a key included.
    package var requests = 0
    /// Calls that ended without the answer that was asked for: an error's status, or none. A 304 is an answer.
    package var failures = 0
    /// Bytes on the wire, headers included, before decompression.
    package var bytesSent = 0
    package var bytesReceived = 0
    /// Milliseconds of a request on average, from the name to the last byte.
    package var meanDuration = 0.0
    /// Milliseconds of the longest call, its repetitions included and the pauses between them not.
    package var longestDuration = 0.0

    package init(endpoint: String) { self.endpoint = endpoint }
}
