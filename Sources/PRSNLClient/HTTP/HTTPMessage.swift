/// One request as it goes over the wire.
struct HTTPRequest: Sendable {
    var method: String
    /// Absolute; the query is already percent-encoded.
    var url: String
    /// Whole lines: `X-API-Key: …`. They hold secrets: never logged.
    var headers: [String]
    var body: [UInt8]?
    var totalTimeout: Duration
    /// The most bytes of a body, decompressed.
    var answerLimit: Int
    /// With a name resolution and a connection of its own, and with timings. Sent although the network is said to be away:
    /// the server's answer is the truth.
    var isProbe = false

    /// Anything but a GET may change the server: it is started once at most.
    var isWrite: Bool { method != "GET" }
}

/// An answer that arrived whole, whatever its status.
struct HTTPAnswer: Sendable {
    var status: Int
    /// Decompressed. Of an error only the first `Transfer.keptErrorBytes`.
    var body: [UInt8]
    var contentType: String?
    var etag: String?
    var retryAfter: String?
    /// `Age`, in seconds: how long the answer was in a cache.
    var age: Int?
    /// `Date`; `nil` for an answer out of a cache.
    var date: String?
    /// `X-Error-Code`.
    var errorCode: String?
    /// Where a 3xx points to, made absolute.
    var redirect: String?

    init(status: Int, body: [UInt8] = []) {
        self.status = status
        self.body = body
    }
}

/// No whole answer arrived.
struct TransportFailure: Error, Equatable, Sendable {
    /// `networkError`, or `decodingError` for an answer that is not HTTP.
    var kind: APIError.Kind
    var mayHaveReachedServer: Bool
    /// Where a status line arrived before the failure.
    var status: Int?
    var fault: ConnectionFault?
    /// libcurl's words.
    var detail: String
}

/// How one request ended, and its cost.
struct HTTPOutcome: Sendable {
    var result: Result<HTTPAnswer, TransportFailure>
    /// Bytes on the wire, headers included.
    var bytesSent = 0
    var bytesReceived = 0
    var duration: Duration = .zero
    var connectionReused = false
    /// Where they were asked for.
    var timings: RequestTimings?

    /// A request that was stopped before libcurl saw it.
    static var cancelledUnsent: HTTPOutcome { unsent(.cancelled, "cancelled before it was sent") }
    static var offlineUnsent: HTTPOutcome { unsent(.offline, "not sent because the network is away") }

    /// The thread that would send it cannot be woken.
    static func notBegun(_ reason: String) -> HTTPOutcome { unsent(.connectFailed, reason) }

    private static func unsent(_ cause: APIError.NetworkCause, _ detail: String) -> HTTPOutcome {
        HTTPOutcome(
            result: .failure(
                TransportFailure(
                    kind: .networkError(cause), mayHaveReachedServer: false, status: nil, detail: detail)))
    }
}
