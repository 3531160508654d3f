package import Configuration

/// A server, how it is reached, and as whom. The members of `network` read as its own.
@dynamicMemberLookup
package struct ClientConfiguration: Sendable {
    /// Scheme, host, port and an optional path prefix, without a slash at the end: `https://prsnl.example.org`.
    package var serverURL: String
    package var credentials: Credentials
    package var network: NetworkSettings
    /// `prsnld/1.2.3`.
    package var userAgent: String

    package init(
        serverURL: String, credentials: Credentials, network: NetworkSettings = NetworkSettings(),
        userAgent: String = "prsnld"
    ) {
        self.serverURL = serverURL
        self.credentials = credentials
        self.network = network
        self.userAgent = userAgent
    }

    package subscript<Value>(dynamicMember member: WritableKeyPath<NetworkSettings, Value>) -> Value {
        get { network[keyPath: member] }
        set { network[keyPath: member] = newValue }
    }
}

/// The cost of one call, for benchmarks and status (`RequestFigures`).
package struct RequestUsage: Sendable, Equatable {
    package var endpoint: String
    package var requestID: String
    package var status: Int?
    /// Bytes on the wire, headers included.
    package var bytesSent = 0
    package var bytesReceived = 0
    package var duration: Duration = .zero
    /// 1 for a call that succeeded at once.
    package var attempts = 1
    /// What went over the wire, or tried to: attempts, redirects and other forms of the credentials; 0 where nothing did.
    package var requests = 0
    /// No 2xx came, nor the 304 that was asked for.
    package var hasFailed = false
    package var connectionReused = false
    /// Of the last request, where it was a ping.
    var timings: RequestTimings?

    package init(endpoint: String, requestID: String) {
        self.endpoint = endpoint
        self.requestID = requestID
    }
}
