import Glibc
import PRSNLCore

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
    /// What was sent as `X-Request-ID`.
    var requestID = ""
    /// Decompressed. Of an error only the first `Transfer.keptErrorBytes`.
    var body: [UInt8] = []
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

    static func withoutLibcurl(_ reason: String) -> HTTPOutcome {
        let fault = ConnectionFault(
            phrase: "libcurl, which makes the requests, cannot be loaded: \(reason)",
            suggestion: "Install it: on Debian it is the package libcurl4.")
        return unsent(.connectFailed, reason, fault)
    }

    private static func unsent(
        _ cause: APIError.NetworkCause, _ detail: String, _ fault: ConnectionFault? = nil
    ) -> HTTPOutcome {
        HTTPOutcome(
            result: .failure(
                TransportFailure(
                    kind: .networkError(cause), mayHaveReachedServer: false, status: nil, fault: fault, detail: detail)
            ))
    }
}

/// The encodings that an answer's header names.
///
/// libcurl decodes as many as are named, one after another, in one call: what is compressed three times makes gigabytes of 57 KB,
/// while no deadline is looked at. So there is one at most, of those that were asked for, and a wrong one ends the transfer before
/// anything is decoded.
struct Encodings {
    private var count = 0
    private(set) var areExpected = true

    private static let shortestName = "content-encoding".utf8.count
    private static let accepted: Set<String> = ["gzip", "x-gzip", "deflate"]

    /// A line of the header, or the status line of the next answer: a proxy's comes before the server's.
    mutating func read(_ line: UnsafeRawBufferPointer) {
        if line.starts(with: "HTTP/".utf8) { return count = 0 }
        // No name of interest is shorter.
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon >= Self.shortestName else { return }
        let name = Self.lowercased(line[..<colon])
        guard name == "content-encoding" || name == "transfer-encoding" else { return }
        for part in line[(colon + 1)...].split(separator: UInt8(ascii: ",")) {
            switch Self.lowercased(part) {
            case "", "identity", "none": continue
            case "chunked" where name == "transfer-encoding": continue
            case let encoding where name == "content-encoding" && Self.accepted.contains(encoding): count += 1
            default: areExpected = false
            }
        }
        if count > 1 { areExpected = false }
    }

    private static func lowercased(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: bytes, as: UTF8.self).lowercased().filter { !$0.isWhitespace }
    }
}

/// What the thread has used of its processor since it was asked last.
final class CPUMeter {
    private var last: Int64 = 0

    /// In nanoseconds.
    func lap() -> Int64 {
        let now = TimeSource.nanoseconds(CLOCK_THREAD_CPUTIME_ID)
        defer { last = now }
        return now - last
    }
}
