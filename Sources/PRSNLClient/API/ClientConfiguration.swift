package struct ClientConfiguration: Sendable {
    /// Scheme, host, port and an optional path prefix, without a slash at the end: `https://prsnl.example.org`.
    package var serverURL: String
    package var credentials: Credentials
    /// As libcurl's CURLOPT_PROXY takes it; `nil` leaves it to the proxy variables of the environment.
    package var proxy: String?
    /// Plain http to anything but loopback is refused without it.
    package var allowInsecureHTTP = false
    /// A file of CA certificates; `nil` for the system's.
    package var caFile: String?
    package var connectTimeout: Duration = .seconds(10)
    /// The longest time without a byte of progress.
    package var stallTimeout: Duration = .seconds(30)
    package var totalTimeout: Duration = .seconds(60)
    /// Bytes of an answer's body, decompressed.
    package var maximumAnswerSize = 16 << 20
    package var userAgent = "prsnld"

    package init(serverURL: String, credentials: Credentials) {
        self.serverURL = serverURL
        self.credentials = credentials
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
