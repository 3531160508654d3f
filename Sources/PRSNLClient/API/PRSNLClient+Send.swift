import PRSNLCore

extension PRSNLClient {
    static let mostRedirects = 5
    /// What a ping may take once there is a connection: its answer has some bytes, and a person waits for it.
    static let pingTime: Duration = .seconds(10)

    /// Sends a call and returns its 2xx, or the 304 that `If-None-Match` asked for. A GET is retried in place by
    /// `ReadRetry`; anything else is sent once.
    ///
    /// - Parameter other: sends it over a loop of its own.
    func send(_ call: Call, over other: CurlLoop? = nil) async throws(APIError) -> HTTPAnswer {
        var figures = RequestUsage(endpoint: call.endpoint, requestID: "")
        figures.attempts = 0
        defer { usage?(figures) }
        var policy = ReadRetry(waitedForRateLimit: call.session?.waitsForRateLimit == false)
        while true {
            figures.attempts += 1
            let failure: APIError
            do throws(APIError) { return try await attempt(call, &figures, over: other) } catch { failure = error }
            guard call.method == "GET", !call.isProbe, !call.isSentOnce,
                let delay = policy.delay(after: failure, unit: random.unit())
            else {
                throw failure
            }
            log(.info, .http, "\(call.endpoint): \(failure.code.rawValue); again in \(delay.wholeMilliseconds) ms")
            await pause(delay)
            if Task.isCancelled {
                throw APIError(
                    kind: .networkError(.cancelled), endpoint: call.endpoint, requestID: failure.requestID,
                    mayHaveReachedServer: failure.mayHaveReachedServer, detail: "cancelled between two attempts")
            }
        }
    }

    /// One attempt: the request, the redirects that may be followed, and after a 401 the key's other form, or a renewed
    /// login, once: the server has certainly not applied what it has answered so.
    func attempt(
        _ call: Call, _ figures: inout RequestUsage, over other: CurlLoop? = nil
    ) async throws(APIError) -> HTTPAnswer {
        var target = server
        var url = server.base + call.path + (call.query.isEmpty ? "" : "?" + call.query)
        var pair = call.isAuthenticated ? try await usablePair(for: call) : nil
        if call.isAuthenticated { try refuseExpiredToken(call) }
        var (authorization, fallback, shown) = call.isAuthenticated ? authorization(call.dialect) : (nil, nil, .none)
        if let pair { (authorization, fallback, shown) = (Self.bearer(pair), nil, .login(pair)) }
        try call.session?.require(shown, for: call)
        var triedFallback = false
        var triedRenewal = false
        var redirects = 0
        var start = ContinuousClock.now
        let limit = timeLimit(of: call)
        while true {
            let requestID = random.requestID()
            let request = HTTPRequest(
                method: call.method, url: url, headers: headers(call, requestID, authorization), body: call.body,
                totalTimeout: max(limit - start.duration(to: .now), .milliseconds(1)),
                answerLimit: answerLimit(of: call), isProbe: call.isProbe)
            let answer = try await exchange(
                request, of: call, requestID, isFirst: redirects == 0, &figures, over: other ?? loop)
            switch answer.status {
            case 200..<300:
                if triedFallback { remember(keyIsBearer: true) }
                // Reads are answered whatever the token.
                if let pair, call.method != "GET" { noteAccepted(pair) }
                try call.session?.note(shown, for: call)
                return answer
            case 304 where call.headers.contains { $0.hasPrefix("If-None-Match:") }:
                try call.session?.note(shown, for: call)
                return answer
            case 401:
                if let next = fallback {
                    authorization = next
                    fallback = nil
                    triedFallback = true
                    continue
                }
                // A key that was good as Bearer may be good again as X-API-Key, after an update of the server.
                if !triedFallback { remember(keyIsBearer: false) }
                if let sent = pair, !triedRenewal, error(call, answer).isPRSNLError, reject(sent) {
                    triedRenewal = true
                    guard let next = try await usablePair(for: call) else { break }
                    pair = next
                    authorization = Self.bearer(next)
                    // The renewal had a limit of its own.
                    start = .now
                    shown = .login(next)
                    try call.session?.require(shown, for: call)
                    continue
                }
            case 301, 302, 303, 307, 308:
                if let location = answer.redirect {
                    target = try follow(location, from: target, redirects, call, requestID, answer.status)
                    url = location
                    redirects += 1
                    continue
                }
            // That it is not there is an answer too, and so is a refusal of the write itself.
            case 400..<500: try call.session?.note(shown, for: call)
            default: break
            }
            var failure = error(call, answer)
            failure.isOfLogin = pair != nil
            throw failure
        }
    }

    private func timeLimit(of call: Call) -> Duration {
        guard call.isProbe else { return configuration.totalTimeout }
        return min(configuration.totalTimeout, configuration.connectTimeout + Self.pingTime)
    }

    private func answerLimit(of call: Call) -> Int {
        call.mayExceedLimit ? call.answerLimit : min(call.answerLimit, configuration.maximumAnswerSize)
    }

    /// One request and its answer, whatever the status.
    private func exchange(
        _ request: HTTPRequest, of call: Call, _ requestID: String, isFirst: Bool, _ figures: inout RequestUsage,
        over loop: CurlLoop
    ) async throws(APIError) -> HTTPAnswer {
        Heartbeat.current?.expect(within: request.totalTimeout)
        let sentAt = time.uptime()
        let outcome = await loop.perform(request)
        figures.add(outcome, requestID)
        log(.debug, .http, "\(line(call, isFirst: isFirst, outcome, requestID))")
        switch outcome.result {
        case .failure(let failure): throw APIError(failure, endpoint: call.endpoint, requestID: requestID)
        case .success(var answer):
            answer.requestID = requestID
            remember(dateOf: answer, sentAt: sentAt)
            return answer
        }
    }

    /// One request in a line: no header, no body, and nothing of an address that the server has written.
    private func line(_ call: Call, isFirst: Bool, _ outcome: HTTPOutcome, _ requestID: String) -> String {
        let path = server.path + call.path + (call.query.isEmpty ? "" : "?\(call.query)")
        let result =
            switch outcome.result {
            case .success(let answer): "\(answer.status)"
            case .failure(let failure): APIError(failure, endpoint: call.endpoint, requestID: requestID).code.rawValue
            }
        return "\(call.method) \(path)\(isFirst ? "" : " (redirected)"): \(result), "
            + "\(outcome.duration.wholeMilliseconds) ms, "
            + "\(outcome.bytesSent) B sent, \(outcome.bytesReceived) B received, request \(requestID)"
    }

    private static func bearer(_ pair: TokenPair) -> String { "Authorization: Bearer \(pair.access)" }

    private func error(_ call: Call, _ answer: HTTPAnswer) -> APIError {
        APIError(
            answer: answer, endpoint: call.endpoint, now: time.now(), hiding: credentials.secrets + call.secrets)
    }

    /// - Returns: where to go on.
    private func follow(
        _ location: String, from origin: ServerURL, _ redirects: Int, _ call: Call, _ requestID: String, _ status: Int
    ) throws(APIError) -> ServerURL {
        let target = ServerURL(foreign: location)
        let detail: String?
        if call.method != "GET" {
            detail = "a write is not sent to another address"
        } else if redirects >= Self.mostRedirects {
            detail = "more than \(Self.mostRedirects) redirects"
        } else if let target, origin.mayRedirect(to: target) {
            return target
        } else {
            detail = nil
        }
        throw APIError(
            kind: .networkError(.redirectRefused(to: target.map(shown) ?? "an address that cannot be used")),
            endpoint: call.endpoint, status: status, requestID: requestID, mayHaveReachedServer: true, detail: detail)
    }

    /// A server may put what was sent to it into the name of a host, too.
    private func shown(_ target: ServerURL) -> String {
        let holdsSecret = credentials.secrets.contains { target.host.contains($0.lowercased()) }
        return holdsSecret ? "another host" : target.origin
    }

    private func headers(_ call: Call, _ requestID: String, _ authorization: String?) -> [String] {
        var lines = ["Accept: application/json", "X-Request-ID: \(requestID)"]
        if let authorization { lines.append(authorization) }
        if call.method == "GET" { lines.append("Cache-Control: no-cache") }
        // Without `Expect:` libcurl may hold a large body back for a second, waiting for a permission that no server gives.
        if call.body != nil { lines += ["Content-Type: application/json", "Expect:"] }
        return lines + call.headers
    }
}

extension APIError {
    init(_ failure: TransportFailure, endpoint: String, requestID: String) {
        self.init(
            kind: failure.kind, endpoint: endpoint, status: failure.status, requestID: requestID,
            mayHaveReachedServer: failure.mayHaveReachedServer, fault: failure.fault, detail: failure.detail)
    }
}

extension RequestUsage {
    mutating func add(_ outcome: HTTPOutcome, _ requestID: String) {
        self.requestID = requestID
        if outcome.duration > .zero { requests += 1 }
        switch outcome.result {
        case .success(let answer):
            status = answer.status
            hasFailed = !(200..<300).contains(answer.status) && answer.status != 304
        case .failure(let failure):
            status = failure.status
            hasFailed = true
        }
        bytesSent += outcome.bytesSent
        bytesReceived += outcome.bytesReceived
        duration += outcome.duration
        connectionReused = outcome.connectionReused
        timings = outcome.timings
    }
}

extension SeededGenerator {
    /// 128 bits in the form of a UUID of version 4.
    fileprivate func requestID() -> String {
        let high = next() & ~0xF000 | 0x4000
        return TimedUUID.text(high, next() & ~(3 << 62) | (2 << 62))
    }
}

/// Decides whether a GET that failed is repeated in place, and when. Pure: time and randomness come from outside.
struct ReadRetry: Equatable {
    static let mostAttempts = 3
    private static let backoff = Backoff(base: .seconds(1), cap: .seconds(10), jitter: 0.8...1.2)
    /// A rate limit is waited for in place up to here; the scheduler waits longer ones.
    static let longestRateLimit: Duration = .seconds(60)

    private(set) var attempts = 1
    private(set) var waitedForRateLimit = false

    /// How long to wait before the next attempt; `nil` when the error goes to the caller.
    ///
    /// - Parameter unit: a random number, 0..<1.
    mutating func delay(after error: APIError, unit: Double) -> Duration? {
        if case .rateLimitExceeded(let wait) = error.kind {
            guard !waitedForRateLimit, wait <= Self.longestRateLimit else { return nil }
            waitedForRateLimit = true  // and not an attempt
            return wait
        }
        guard error.isRetryable, attempts < Self.mostAttempts else { return nil }
        var delay = Self.backoff.wait(failures: attempts, draw: unit)
        if case .serviceUnavailable(_, let asked?) = error.kind {
            if asked > Self.backoff.cap { return nil }
            delay = max(delay, asked)
        }
        attempts += 1
        return delay
    }
}

/// One call of the API, before it is sent: what stays the same over retries, redirects and forms of credentials.
struct Call: Sendable {
    var method: String
    /// From the server's base on, percent-encoded.
    var path: String
    /// Percent-encoded, without the question mark.
    var query: String
    var headers: [String] = []
    /// JSON.
    var body: [UInt8]?
    var isAuthenticated = true
    /// Holds it to one set of credentials.
    var session: ClientSession?
    /// What its body holds and no error and no log line may show.
    var secrets: [String] = []
    /// Asks whether the server is there: once, over a connection and with a name resolution of its own, with little patience,
    /// and even while the network is said to be away.
    var isProbe = false
    /// A longer answer, decompressed, is refused. Accounts and writes have some hundred bytes.
    var answerLimit = 1 << 20
    /// Sent once, although it is a GET: who asks has a schedule of its own.
    var isSentOnce = false
    /// Also where that is more than the client's own limit.
    var mayExceedLimit = false
    /// Where the caller knows it, and no timeline has told the client yet: which form of credentials may be tried.
    var dialect: Dialect?
    /// "GET /api/items/{id}": for people and for grouping errors; never with ids or a query.
    var endpoint: String

    init(_ method: String, _ path: String, query: String = "", named endpoint: String? = nil) {
        self.method = method
        self.path = path
        self.query = query
        self.endpoint = endpoint ?? "\(method) \(path)"
    }

    /// - Throws: `invalidInput` for an id that is no segment of a path: whatever stands in between would take it for the
    ///   folder above, and `DELETE /api/items/..` for another request (RFC 3986, 6.2.2.3; percent-encoded dots too).
    static func itemPath(_ id: String, _ endpoint: String) throws(APIError) -> String {
        guard !["", ".", ".."].contains(id) else {
            throw APIError(
                kind: .invalidInput(message: "the id \(JSONText.string(id)) cannot be a part of an address"),
                endpoint: endpoint, requestID: "none", mayHaveReachedServer: false)
        }
        return "/api/items/\(ServerURL.escaped(id))"
    }
}

extension TimelineRequest {
    /// In the form that the position's dialect understands. `page=1` is also understood by dialect C, which ignores it.
    var query: String {
        switch position {
        case .before(nil): "limit=\(limit)"
        case .before(let time?):
            // Items say `Z` and cursors say `+00:00`, whose `+` must be encoded: a raw one arrives as a space.
            "limit=\(limit)&cursor=\(ServerURL.escaped(String(time.description.dropLast()) + "+00:00"))"
        case .page(let number): "page=\(number)&limit=\(limit)"
        }
    }
}
