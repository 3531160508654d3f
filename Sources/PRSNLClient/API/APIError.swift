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
        /// This machine has no way to the server any more: `PRSNLClient.setOffline`.
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

    /// What has failed.
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
    package var isPRSNLError: Bool
    /// Not even a gateway answers so: by the server's own header, or `detail` in the body. `{"error": "text"}` may be a
    /// gateway's.
    package var isSurelyPRSNL: Bool
    package var origin: Origin
    /// What the server refuses is a login, and no key.
    package var isOfLogin = false
    /// Where on the way it failed, of a `networkError`.
    package var fault: ConnectionFault?
    /// libcurl's own words, or the body's text, for logs and `cause`.
    package var detail: String?

    package init(
        kind: Kind, endpoint: String, status: Int? = nil, serverCode: String? = nil, requestID: String,
        mayHaveReachedServer: Bool, isPRSNLError: Bool = false, isSurelyPRSNL: Bool = false, origin: Origin = .request,
        fault: ConnectionFault? = nil, detail: String? = nil
    ) {
        self.kind = kind
        self.endpoint = endpoint
        self.status = status
        self.serverCode = serverCode
        self.requestID = requestID
        self.mayHaveReachedServer = mayHaveReachedServer
        self.isPRSNLError = isPRSNLError
        self.isSurelyPRSNL = isSurelyPRSNL
        self.origin = origin
        self.fault = fault
        self.detail = detail
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
