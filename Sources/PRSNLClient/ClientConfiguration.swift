public struct ClientConfiguration: Sendable {
    /// Scheme, host, port and an optional path prefix, without a slash at the end: `https://prsnl.example.org`.
    public var serverURL: String
    public var credentials: Credentials
    /// As libcurl's CURLOPT_PROXY takes it; `nil` leaves it to the proxy variables of the environment.
    public var proxy: String?
    /// Plain http to anything but loopback is refused without it.
    public var allowInsecureHTTP = false
    /// A file of CA certificates; `nil` for the system's.
    public var caFile: String?
    public var connectTimeout: Duration = .seconds(10)
    /// The longest time without a byte of progress.
    public var stallTimeout: Duration = .seconds(30)
    public var totalTimeout: Duration = .seconds(60)
    /// Bytes of an answer's body, decompressed.
    public var maximumAnswerSize = 16 << 20
    public var userAgent = "prsnld"

    public init(serverURL: String, credentials: Credentials) {
        self.serverURL = serverURL
        self.credentials = credentials
    }
}

/// The cost of one call, for benchmarks and status (`RequestFigures`).
public struct RequestUsage: Sendable, Equatable {
    public var endpoint: String
    public var requestID: String
    public var status: Int?
    /// Bytes on the wire, headers included.
    public var bytesSent = 0
    public var bytesReceived = 0
    public var duration: Duration = .zero
    /// 1 for a call that succeeded at once.
    public var attempts = 1
    /// What went over the wire, or tried to: attempts, redirects and other forms of the credentials; 0 where nothing did.
    public var requests = 0
    /// No 2xx came, nor the 304 that was asked for.
    public var hasFailed = false
    public var connectionReused = false
    /// Of the last request, where it was a ping.
    var timings: RequestTimings?

    public init(endpoint: String, requestID: String) {
        self.endpoint = endpoint
        self.requestID = requestID
    }
}
