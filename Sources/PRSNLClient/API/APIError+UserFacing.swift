package import PRSNLCore

extension APIError: UserFacing {
    /// The stable name: distinct for what has distinct cures.
    package var code: ErrorCode {
        switch kind {
        case .unauthorized: .unauthorized
        case .loginExpired: .loginExpired
        case .loginFailed: .loginFailed
        case .forbidden: saysKeyIsWrong ? .unauthorized : .forbidden
        case .notFound: .notFound
        case .invalidInput: .invalidInput
        case .conflict: .conflict
        case .rateLimitExceeded: .rateLimited
        case .serverError: .serverError
        case .serviceUnavailable: .serviceUnavailable
        case .networkError(let cause): cause.shown.code
        case .decodingError(let cause): cause.shown.code
        case .sessionEnded: .cancelled
        case .unknown: .unexpectedStatus
        }
    }

    /// Whether asking again may help, by the contract's table. TLS failures need a person; so do an answer that is too
    /// large and a redirect that is refused, which come again the same way.
    package var isRetryable: Bool {
        switch kind {
        case .rateLimitExceeded, .serviceUnavailable: true
        case .networkError(let cause):
            switch cause {
            case .nameNotResolved, .connectFailed, .timedOut, .cutOff: true
            case .tlsFailed, .answerTooLarge, .redirectRefused, .offline, .cancelled: false
            }
        case .unauthorized, .loginExpired, .loginFailed, .forbidden, .notFound, .invalidInput, .conflict, .serverError,
            .decodingError, .sessionEnded, .unknown:
            false
        }
    }

    /// A proxy in front of the server says that it does not answer: 502, 503 or 504, neither in PRSNL's own words nor with a
    /// wait, which would be kept.
    package var isGateway: Bool {
        if case .serviceUnavailable(_, retryAfter: nil) = kind { !isPRSNLError } else { false }
    }

    package var userFacing: UserFacingError {
        guard kind == .unauthorized, isOfLogin else {
            return UserFacingError(
                code, message, consequence: consequence, recoverySuggestion: recoverySuggestion, cause: cause)
        }
        return UserFacingError(
            code, "The server refuses the login.", consequence: consequence,
            recoverySuggestion: "Log in again with `prsnlctl login`.", nextCommand: "prsnlctl login", cause: cause)
    }

    /// The contract's text.
    private var message: String {
        switch kind {
        case .unauthorized: "Invalid or expired API key. Please check your settings."
        case .loginExpired: "The login has expired."
        case .loginFailed: "The server does not know this e-mail address with this password."
        case .forbidden where saysKeyIsWrong: "Wrong key: the server answers that it does not know this API key."
        case .forbidden where isPRSNLError: "Access denied: the server does not let this key or login do this."
        case .forbidden: "Access denied: what answers 403 is perhaps not the server but a proxy in front of it."
        case .notFound(let resource): "\(resource) not found."
        case .invalidInput(let message): "Invalid input: \(message.asSentence)"
        case .conflict(let message): "Conflict: \(message.asSentence)"
        case .rateLimitExceeded(let wait):
            "Too many requests. Try again in \(Count.text(Int(wait.wholeSecondsUp), "second"))."
        case .serverError(let message): "Server error: \(message.asSentence)"
        case .serviceUnavailable(let reason, _): "Service temporarily unavailable: \(reason.asSentence)"
        case .networkError(let cause): "Network error: \(fault?.phrase ?? cause.shown.phrase)."
        case .decodingError(let cause): "Unable to process server response. \(cause.shown.sentence)"
        case .sessionEnded: "The login was renewed or replaced meanwhile."
        case .unknown(let status, let message): "Error \(status): \(message.asSentence)"
        }
    }

    /// What to do, where more is known than for the code.
    private var recoverySuggestion: Advice? {
        if saysKeyIsWrong {
            return "Put a valid key into the file of api_key_file, which `prsnlctl whoami` names, then "
                + "`systemctl restart prsnld`."
        }
        if kind == .forbidden, !isPRSNLError {
            return "Check server_url, and the rules of what stands in front of the server."
        }
        return fault?.suggestion
    }

    /// What it means for the copy, or for the write.
    private var consequence: String? {
        if kind == .loginFailed { return nil }
        if origin == .renewal || kind == .loginExpired {
            return "Nothing was sent; the copy stays as it is, and writes wait in the queue."
        }
        if endpoint == "POST /api/auth/login" { return "No login was made." }
        // Other questions could change nothing, and what is sent to check-duplicate is a question.
        if endpoint == "GET /api/timeline" { return "The copy stays as it is." }
        let isQuestion = endpoint.hasPrefix("GET ") || endpoint == "POST /api/capture/check-duplicate"
        return isQuestion || endpoint.hasPrefix("POST /api/auth/") ? nil : consequenceForWrite
    }

    private var consequenceForWrite: String {
        if isCertainlyRefused { return "The server did not apply it." }
        guard mayHaveReachedServer else { return "The server did not receive it." }
        // To delete twice does no harm, so nothing is looked up after an answer.
        if endpoint.hasPrefix("DELETE "), let status, status >= 500 {
            return "The server may have applied it; it is sent again."
        }
        return "The server may have applied it, so it is looked up before it is sent again."
    }

    private var isCertainlyRefused: Bool {
        switch kind {
        case .networkError(.redirectRefused): true
        // Half of an answer says nothing for sure.
        case .networkError, .decodingError: false
        default: status.map { (400..<500).contains($0) || $0 == 503 && isSurelyPRSNL } ?? false
        }
    }

    /// For logs: where, and the words of the layer below.
    private var cause: String {
        var parts = [endpoint]
        if let status { parts.append("status \(status)") }
        if let serverCode { parts.append(serverCode) }
        if let detail { parts.append(detail) }
        parts.append("request \(requestID)")
        return parts.joined(separator: ", ")
    }
}

extension APIError.NetworkCause {
    var shown: (code: ErrorCode, phrase: String) {
        switch self {
        case .nameNotResolved: (.nameNotResolved, "the server's name could not be resolved")
        case .connectFailed: (.connectFailed, "could not connect to the server")
        case .tlsFailed: (.tlsFailed, "no trusted TLS connection to the server")
        case .timedOut: (.timedOut, "the server took too long to answer")
        case .cutOff: (.cutOff, "the connection was cut off before the answer was complete")
        case .answerTooLarge(let limit): (.answerTooLarge, "the answer is larger than \(limit) bytes")
        case .redirectRefused(let origin):
            (.redirectRefused, "the server redirects to \(origin), which is not followed")
        case .offline: (.offline, "this machine has no route to the server")
        case .cancelled: (.cancelled, "the request was cancelled")
        }
    }
}

extension APIError.DecodingCause {
    var shown: (code: ErrorCode, sentence: String) {
        switch self {
        case .empty: (.unexpectedShape, "The answer is empty.")
        case .portal: (.portal, "A web page came instead of data: a network login page, or another web site.")
        case .notJSON(let reason): (.unexpectedShape, "It is not JSON: \(reason.asSentence)")
        case .stale(let seconds):
            (.staleAnswer, "A cache answered in the server's place, with what it has had for \(seconds) s.")
        case .unexpectedShape(let reason): (.unexpectedShape, "It is not what was asked for: \(reason.asSentence)")
        }
    }
}

extension String {
    /// With a full stop, where none stands.
    fileprivate var asSentence: String {
        guard let last else { return "no reason given." }
        return ".!?…".contains(last) ? self : self + "."
    }
}

extension Duration {
    fileprivate var wholeSecondsUp: Int64 {
        let (seconds, rest) = components
        return rest > 0 ? seconds + 1 : seconds
    }
}
