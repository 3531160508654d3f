import PRSNLClient
import PRSNLCore
import Store

/// What is known of a write after an answer to it, or after a lookup at what the server has. docs/outbox.md has the table.
enum WriteFinding: Sendable, Equatable {
    /// The server has it.
    case applied(Settlement.Delivery, remark: String? = nil)
    /// The server does not have it. It can be sent again after the wait that the server asked for.
    case notApplied(after: Duration? = nil)
    /// Nothing was sent: the network has to come back first.
    case unreachable
    /// Nothing was sent: the login could not be renewed.
    case needsLogin
    /// Nothing was sent: the request was stopped here, or the session that was proven has ended.
    case stopped(isReplacedLogin: Bool = false)
    /// The server, or something in front of it, does not take this write. It may take others.
    case refused
    /// The server asks for a slower pace.
    case slowDown(Duration)
    /// The server may have applied it, and has to be asked.
    case maybeApplied
    /// A lookup has not found it. One lookup is not enough, because servers insert late.
    case notFoundYet(lookupAfter: Duration, undecidedSince: UndecidedSince)
    /// No lookup can tell whether it was applied.
    case undecidable
    /// The server has this URL, under an id that has to be asked for.
    case alreadyThere
    /// The server has this URL and does not say under which id.
    case thereUnderNoID
    /// The item of the write is not on the server.
    case itemGone
    /// The item was changed elsewhere since the edit was made.
    case conflict(theirs: ItemEdit)
    /// The server refuses it for good.
    case rejected

    /// What a failed request says of the write that it carried.
    init(_ error: APIError, kind: OutboxEntry.Kind) {
        if error.origin == .renewal {
            self = Self.unrenewed(error)
            return
        }
        self =
            switch error.kind {
            case .unauthorized, .forbidden: .refused
            case .loginExpired, .loginFailed: .needsLogin
            case .rateLimitExceeded(let wait): .slowDown(wait)
            case .conflict: .rejected
            case .invalidInput: kind == .capture && error.saysURLExists ? .alreadyThere : .rejected
            case .notFound: Self.notFound(error, kind)
            case .serverError: kind == .delete ? .notApplied() : .maybeApplied
            case .serviceUnavailable(_, let wait): Self.unavailable(error, kind, wait)
            case .networkError(.cancelled): error.mayHaveReachedServer ? .maybeApplied : .stopped()
            case .sessionEnded: error.mayHaveReachedServer ? .maybeApplied : .stopped(isReplacedLogin: true)
            // A server that takes writes does not redirect them: something stands in between.
            case .networkError(.redirectRefused): .refused
            case .networkError: error.mayHaveReachedServer ? .maybeApplied : .unreachable
            // A page of a portal, or half of PRSNL's own answer.
            case .decodingError: .maybeApplied
            case .unknown(let status, _): status >= 500 ? .maybeApplied : .notApplied()
            }
    }

    /// The write was not sent, because the login could not be renewed: the entry itself has not failed.
    private static func unrenewed(_ error: APIError) -> WriteFinding {
        switch error.kind {
        case .unauthorized, .loginExpired, .loginFailed, .forbidden: .needsLogin
        case .rateLimitExceeded(let wait): .slowDown(wait)
        case .networkError(.cancelled), .sessionEnded: .stopped(isReplacedLogin: true)
        case .networkError, .serviceUnavailable, .serverError, .decodingError, .notFound, .invalidInput, .conflict,
            .unknown:
            .unreachable
        }
    }

    /// Only the item's own 404 says something about the item. A proxy's 404 does not.
    private static func notFound(_ error: APIError, _ kind: OutboxEntry.Kind) -> WriteFinding {
        guard error.isItemNotFound else { return .notApplied() }
        return switch kind {
        case .delete: .applied(Settlement.Delivery(), remark: "was already gone")
        case .edit: .itemGone
        case .capture, .note: .notApplied()
        }
    }

    private static func unavailable(_ error: APIError, _ kind: OutboxEntry.Kind, _ wait: Duration?) -> WriteFinding {
        // 502 and 504 are a proxy's words about a request that it has passed on. PRSNL itself says 503 before it acts.
        if error.status == 503, error.isSurelyPRSNL { return .notApplied(after: wait) }
        return kind == .delete ? .notApplied(after: wait) : .maybeApplied
    }

    /// The name in `outbox_attempt` and in `prsnlctl queue show`.
    var name: String {
        switch self {
        case .applied: "delivered"
        case .notApplied: "retry"
        case .unreachable: "wait_for_network"
        case .needsLogin: "wait_for_login"
        case .stopped: OutboxAttempt.returned
        case .refused: "refused"
        case .slowDown: "slow_down"
        case .maybeApplied, .notFoundYet: "look"
        case .alreadyThere: "already_there"
        case .undecidable, .thereUnderNoID, .itemGone, .conflict, .rejected: "park"
        }
    }
}
