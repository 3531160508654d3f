import PRSNLClient
import PRSNLCore
import Store

/// What a failed write means for its entry. A pure function of the error: docs/outbox.md has the table.
enum WriteVerdict: Sendable, Equatable {
    /// Certainly not applied; to be sent again, later.
    case retry(after: Duration?)
    /// Certainly nothing was sent: the network has to come back first. Costs no attempt.
    case waitForNetwork
    /// The login could not be renewed: the whole queue stops. Costs no attempt.
    case waitForLogin
    /// The server, or something in front of it, does not take this write. It may take others. Costs no attempt.
    case refused
    /// The server asks for a slower pace. Costs no attempt.
    case slowDown(Duration)
    /// It may have been applied: to be looked up before anything else is done.
    case look
    /// The server has what the write was to bring about.
    case done(remark: String)
    /// The server has this URL already.
    case alreadyThere
    /// Refused for good.
    case park
    /// Stopped from here, before anything was sent.
    case returned

    /// The name in `outbox_attempt` and in `prsnlctl queue show`.
    var name: String {
        switch self {
        case .retry: "retry"
        case .waitForNetwork: "wait_for_network"
        case .waitForLogin: "wait_for_login"
        case .refused: "refused"
        case .slowDown: "slow_down"
        case .look: "look"
        case .done, .alreadyThere: "delivered"
        case .park: "park"
        case .returned: OutboxAttempt.returned
        }
    }

    init(_ error: APIError, kind: OutboxEntry.Kind) {
        if error.isOfRenewal {
            self = Self.unrenewed(error)
            return
        }
        self =
            switch error.kind {
            case .unauthorized, .forbidden: .refused
            case .loginExpired, .loginFailed: .waitForLogin
            case .rateLimitExceeded(let wait): .slowDown(wait)
            case .conflict: .park
            case .invalidInput: kind == .capture && error.saysURLExists ? .alreadyThere : .park
            case .notFound: Self.notFound(error, kind)
            case .serverError: kind == .delete ? .retry(after: nil) : .look
            case .serviceUnavailable(_, let wait): Self.unavailable(error, kind, wait)
            case .networkError(.cancelled): error.mayHaveReachedServer ? .look : .returned
            // A server that takes writes does not answer them with another address: something stands in between.
            case .networkError(.redirectRefused): .refused
            case .networkError: error.mayHaveReachedServer ? .look : .waitForNetwork
            // A page of a portal, or half of PRSNL's own answer: nobody knows.
            case .decodingError: .look
            case .unknown(let status, _): status >= 500 ? .look : .retry(after: nil)
            }
    }

    /// The write was not sent, because the login could not be renewed: its entry has not failed at anything.
    private static func unrenewed(_ error: APIError) -> WriteVerdict {
        switch error.kind {
        case .unauthorized, .loginExpired, .loginFailed, .forbidden: .waitForLogin
        case .rateLimitExceeded(let wait): .slowDown(wait)
        case .networkError(.cancelled): .returned
        case .networkError, .serviceUnavailable, .serverError, .decodingError, .notFound, .invalidInput, .conflict,
            .unknown:
            .waitForNetwork
        }
    }

    /// Only the item's own 404 says something about the item; a proxy's, or that of another program, does not.
    private static func notFound(_ error: APIError, _ kind: OutboxEntry.Kind) -> WriteVerdict {
        guard error.isItemNotFound else { return .retry(after: nil) }
        return switch kind {
        case .delete: .done(remark: "was already gone")
        case .edit: .park
        case .capture, .note: .retry(after: nil)
        }
    }

    private static func unavailable(_ error: APIError, _ kind: OutboxEntry.Kind, _ wait: Duration?) -> WriteVerdict {
        // 502 and 504 are a proxy's words about a request that it has passed on. PRSNL itself says 503 before it acts.
        if error.status == 503, kind == .delete || error.isSurelyPRSNL { return .retry(after: wait) }
        return kind == .delete ? .retry(after: wait) : .look
    }
}
