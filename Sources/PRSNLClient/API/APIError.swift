import PRSNLCore

/// What went wrong with one request: the API contract's table (docs/errors.md), and whether the server may have acted on it.
package struct APIError: Error, Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case unauthorized
        /// The login in use has expired, or the server has refused to renew it. Its owner must log in again.
        case loginExpired
        /// The e-mail address or the password is wrong.
        case loginFailed
        case forbidden
        /// `resource` is "Item" or "Resource".
        case notFound(resource: String)
        case invalidInput(message: String)
        case conflict(message: String)
        /// The wait as the server gave it, clamped to 1 s ... 1 h; 60 s where it gave none.
        case rateLimitExceeded(retryAfter: Duration)
        case serverError(message: String)
        /// 502, 503, 504.
        case serviceUnavailable(reason: String, retryAfter: Duration?)
        case networkError(NetworkCause)
        case decodingError(DecodingCause)
        /// The login was renewed or replaced since the session's first answer.
        case sessionEnded
        case unknown(statusCode: Int, message: String)
    }

    /// The phase in which the transport failed.
    package enum NetworkCause: Sendable, Equatable {
        case nameNotResolved, connectFailed, tlsFailed, timedOut, cutOff
        /// The answer passed the limit, in bytes, decompressed.
        case answerTooLarge(limit: Int)
        /// A redirect that must not be followed; the origin it points to, without path, query and credentials.
        case redirectRefused(to: String)
        /// This machine has no route to the server any more: `PRSNLClient.setOffline`.
        case offline
        case cancelled
    }

    /// A 2xx that is not what was asked for.
    package enum DecodingCause: Error, Equatable {
        case empty
        /// HTML: a captive portal, or another web site.
        case portal
        case notJSON(String)
        /// JSON, but not of this endpoint; says what is missing and where.
        case unexpectedShape(String)
        /// Out of a cache, so many seconds old.
        case stale(seconds: Int)
    }

    package enum Origin: Sendable, Equatable {
        case request
        /// The renewal of the login that the request waited for, or a login that could not be renewed. The request was not
        /// sent.
        case renewal
    }

    package var kind: Kind
    /// "GET /api/timeline": method and path, never the query.
    package var endpoint: String
    /// The HTTP status, where one arrived.
    package var status: Int?
    /// `X-Error-Code`, else the body's `code`. Where it contradicts the status, the status wins.
    package var serverCode: String?
    package var requestID: String
    /// False only when it is certain that no byte of the request reached the server. A write that may have reached it
    /// must be looked up before it is sent again.
    package var mayHaveReachedServer: Bool
    /// The answer is PRSNL's own, by its header or the form of its body, and not the page of a proxy in front of it: the
    /// server itself has refused the request.
    package var isPRSNLError = false
    /// Not even a gateway answers so: by the server's own header, or `detail` in the body. `{"error": "text"}` may be a
    /// gateway's.
    package var isSurelyPRSNL = false
    package var origin = Origin.request
    /// What the server refuses is a login, and no key.
    package var isOfLogin = false
    /// Where on the way it failed, of a `networkError`.
    package var fault: ConnectionFault?
    /// libcurl's own words, or the body's text, for logs and `cause`.
    package var detail: String?
}

extension APIError {
    package init(kind: Kind, endpoint: String, status: Int?, requestID: String, mayHaveReachedServer: Bool) {
        self.init(
            kind: kind, endpoint: endpoint, status: status, serverCode: nil, requestID: requestID,
            mayHaveReachedServer: mayHaveReachedServer)
    }
}

extension APIError.DecodingCause {
    /// Reads JSON. What is not JSON is `notJSON`, with a reason and an offset, and nothing of the text.
    static func catching<Value>(_ read: () throws -> Value) throws(APIError.DecodingCause) -> Value {
        do {
            return try read()
        } catch let cause as APIError.DecodingCause {
            throw cause
        } catch {
            throw .notJSON("\(error)")
        }
    }
}

extension APIError {
    /// The contract's table: what an answer means that is neither a success nor a redirect we follow.
    init(answer: HTTPAnswer, endpoint: String, now: Timestamp, hiding secrets: [String] = []) {
        let body = ErrorBody(answer.body, hiding: secrets)
        let status = answer.status
        let message = body.message ?? HTTPStatus.phrase(status)
        let wait = RetryAfter.parse(answer.retryAfter, date: answer.date, now: now)
        let code = answer.errorCode.flatMap { ErrorBody.presentableCode($0, hiding: secrets) } ?? body.code
        let kind: Kind =
            switch status {
            case 401: .unauthorized
            case 403: .forbidden
            case 404: .notFound(resource: code == APIError.itemNotFoundCode ? "Item" : "Resource")
            case 400, 413, 422: .invalidInput(message: message)
            case 409: .conflict(message: message)
            case 429:
                .rateLimitExceeded(
                    retryAfter: wait ?? RetryAfter.parse(body.retryAfter, date: nil, now: now) ?? RetryAfter.unsaid)
            case 500: .serverError(message: message)
            case 502, 503, 504: .serviceUnavailable(reason: message, retryAfter: wait)
            default: .unknown(statusCode: status, message: message)
            }
        self.init(
            kind: kind, endpoint: endpoint, status: status, serverCode: code, requestID: answer.requestID,
            mayHaveReachedServer: true, isPRSNLError: answer.errorCode != nil || body.isPRSNL,
            isSurelyPRSNL: answer.errorCode != nil || body.isPRSNL && body.hasDetail, detail: body.message)
    }

    static let itemNotFoundCode = "ITEM_NOT_FOUND"

    /// A 404 of the item itself: `ITEM_NOT_FOUND` (C and P), or the small server's words. Any other 404 is of a route, a
    /// proxy or another web site, and says nothing about the item.
    package var isItemNotFound: Bool {
        status == 404 && (serverCode == Self.itemNotFoundCode || detail == "Item not found")
    }

    /// The server does not know the API key. The small server answers a wrong key with 403, and this; what a proxy says in
    /// other words is no word about the key.
    package var saysKeyIsWrong: Bool {
        status == 403 && isPRSNLError && !isOfLogin && detail?.lowercased().hasPrefix("invalid api key") == true
    }

    /// Of a capture that was refused: by a gateway's page, or by a 400 without words.
    package var saysNothingOfTheURL: Bool { !isPRSNLError || status == 400 && detail == nil }

    /// A capture that was refused because this account has an item with the very same URL. It is not said which one.
    package var saysURLExists: Bool {
        // The code is a header that a proxy may drop; the words are the server's.
        status == 400 && (serverCode ?? "INVALID_INPUT") == "INVALID_INPUT"
            && detail?.contains("already exists in your knowledge base") == true
    }
}

/// The reason phrases of RFC 9110 section 15 that an answer without a message is described with.
enum HTTPStatus {
    static func phrase(_ status: Int) -> String {
        switch status {
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 422: "Unprocessable Content"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 300..<400: "Unexpected redirect"
        default: "HTTP status \(status)"
        }
    }
}

/// How long a server asks to be left alone: `Retry-After` of RFC 9110 section 10.2.3, in seconds or as a date.
enum RetryAfter {
    static let shortest: Duration = .seconds(1)
    static let longest: Duration = .seconds(3_600)
    /// For a rate limit that does not say.
    static let unsaid: Duration = .seconds(60)

    /// - Parameters:
    ///   - date: the answer's own `Date`. A date is measured against it, so that a wrong clock here or there does not
    ///     matter.
    ///   - now: for an answer without `Date`.
    /// - Returns: the wait, 1 s to 1 h; `nil` for what cannot be understood.
    static func parse(_ text: String?, date: String?, now: Timestamp) -> Duration? {
        guard let text = text.map({ $0.trimmingSpaces() }), !text.isEmpty else { return nil }
        if text.utf8.allSatisfy(\.isASCIIDigit) {
            // More digits than fit are a very long time.
            return clamped(Int64(text).map { Duration.seconds(min($0, 1 << 40)) } ?? longest)
        }
        if let until = HTTPDate.parse(text) {
            return clamped(until.duration(since: date.flatMap(HTTPDate.parse) ?? now))
        }
        return nil
    }

    static func clamped(_ wait: Duration) -> Duration { min(max(wait, shortest), longest) }
}

/// The one date form that HTTP servers must send: IMF-fixdate, RFC 9110 section 5.6.7.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// `Sun, 06 Nov 1994 08:49:37 GMT`. The day of the week is not checked. `nil` for anything else, the two obsolete
    /// forms included.
    static func parse(_ text: String) -> Timestamp? {
        let parts = text.trimmingSpaces().split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].utf8.count == 4, parts[0].hasSuffix(","), parts[1].utf8.count == 2,
            let month = months.firstIndex(of: String(parts[2])), parts[3].utf8.count == 4, parts[4].utf8.count == 8,
            parts[5] == "GMT"
        else { return nil }
        let number = month + 1 < 10 ? "0\(month + 1)" : "\(month + 1)"
        return Timestamp("\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")
    }
}

extension String {
    func trimmingSpaces() -> String { String(trimming { $0 == " " || $0 == "\t" || $0.isNewline }) }
}
