import PRSNLCore

extension APIError {
    /// The contract's table: what an answer means that is neither a success nor a redirect we follow.
    init(answer: HTTPAnswer, endpoint: String, requestID: String, now: Timestamp, hiding secrets: [String] = []) {
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
            kind: kind, endpoint: endpoint, status: status, serverCode: code, requestID: requestID,
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
