package import PRSNLCore

/// What became of a write, from the answer to its row: the state that its entry goes to, and why. docs/outbox.md has the table.
package enum WriteOutcome: Sendable, Equatable {
    /// The server has it. The remark says how it ended.
    case delivered(Delivery, remark: String? = nil)
    /// The server does not have it: it is sent again.
    case queued(Queued)
    /// The server may have it: it is looked up.
    case unknown(Unknown)
    /// A person decides.
    case parked(Parked)

    package enum Queued: Sendable, Equatable {
        /// Certainly not applied. It can be sent again after the wait that the server asked for.
        case notApplied(after: Duration? = nil)
        /// What has to be known before it is sent could not be asked for.
        case lookupFailed
        /// The server still has the item of this URL, which that entry may still delete.
        case behindDeletion(Int64)
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
        /// The server refuses several together: each is sent alone. Or an edit is sent without the fields that were changed elsewhere,
        /// with what the server has in these.
        case apart(held: ItemEdit? = nil)
        /// The server has it, and an earlier request without an answer may still be applied over it until then: it is compared again.
        case settling(until: Timestamp)
    }

    package enum Unknown: Sendable, Equatable {
        /// The server may have applied it, and has to be asked.
        case maybeApplied
        /// A lookup has not found it. One lookup is not enough, because servers insert late. Nor is it where the URL was there before: the
        /// item may be deleted, and then made again.
        case notFoundYet(lookupAfter: Duration, undecidedSince: UndecidedSince, wasThere: Bool = false)
        /// So many lookups in a row have failed.
        case lookupFailed(Int, undecidedSince: UndecidedSince?)
        /// The server has this URL, under an id that has to be asked for. So many times in a row that has failed.
        case alreadyThere(failedLookups: Int = 0)
    }

    package enum Parked: Sendable, Equatable {
        /// The server refuses it for good.
        case rejected
        /// It was refused again, while the server takes others.
        case refusedAlone
        /// It has failed often enough.
        case failing
        /// The server could be reached for so long that it would have been delivered.
        case tooOld
        /// What has to be known of it could not be asked for, and is not asked for again.
        case lookupFailed
        /// No lookup can tell whether it was applied.
        case undecidable
        /// The server has this URL and does not say under which id.
        case thereUnderNoID
        case itemGone
        /// With those that the server has by now, the item would have so many.
        case tooManyTags(Int)
        /// The item was changed elsewhere since the edit was made. What the server has in the edited fields.
        case conflict(theirs: ItemEdit)
    }

    package struct Delivery: Sendable, Equatable {
        /// Of a creation. `nil` where the server has the item and does not say which it is.
        package var serverID: String?
        package var item: TimelineItem?
        /// Of an edit: the item's fields, where the answer had them.
        package var fields: ItemEdit?
        package var updatedAt: Timestamp?
        /// Of a creation whose item was there before it: what the server has in its fields.
        package var there: ItemEdit?
        package var reason: OutboxEntry.Reason?

        package init(
            serverID: String? = nil, item: TimelineItem? = nil, fields: ItemEdit? = nil, updatedAt: Timestamp? = nil,
            there: ItemEdit? = nil, reason: OutboxEntry.Reason? = nil
        ) {
            (self.serverID, self.item, self.there, self.reason) = (serverID, item, there, reason)
            (self.fields, self.updatedAt) = (fields, updatedAt)
        }
    }
}

// What the row says of it.
extension WriteOutcome {
    /// The column `verdict` of `outbox_attempt`, and `prsnlctl queue show`.
    package var verdict: String {
        switch self {
        case .delivered: "delivered"
        case .queued(.notApplied), .queued(.behindDeletion): "retry"
        case .queued(.unreachable): "wait_for_network"
        case .queued(.needsLogin): "wait_for_login"
        case .queued(.stopped): "returned"
        case .queued(.apart), .queued(.settling): "retry"
        case .queued(.refused): "refused"
        case .queued(.slowDown): "slow_down"
        case .queued(.lookupFailed), .unknown(.lookupFailed), .parked(.lookupFailed): "look"
        case .unknown(.maybeApplied), .unknown(.notFoundYet): "look"
        case .unknown(.alreadyThere): "already_there"
        case .parked: "park"
        }
    }

    package var remark: String? {
        switch self {
        case .delivered(_, let remark): remark
        case .queued(.settling):
            "an earlier request of this item has no answer, and may still be applied: compared again then"
        case .unknown(.notFoundYet(_, _, wasThere: true)):
            "was already there; a request for it has no answer, and may still be applied: looked up again then"
        case .unknown(.notFoundYet): "not found on the server yet; it may still be working on it"
        case .parked(.refusedAlone): "refused, while the server takes other writes"
        default: nil
        }
    }

    /// Where the reason alone says it. Else it is what the server has answered.
    package var error: UserFacingError? {
        switch self {
        case .queued(.behindDeletion(let deletion)):
            UserFacingError(
                .conflict, "The server still has the item of this URL, which #\(deletion) may still delete.",
                consequence: "The write is sent after that.")
        case .unknown(.alreadyThere):
            UserFacingError(
                .conflict, "The server has this URL already; under which id is not known yet.",
                consequence: "The write is not sent again; title and tags follow when the item is found.")
        case .parked(.tooOld):
            UserFacingError(
                .writeTooOld, "The write could not be delivered in 30 days during which the server could be reached.",
                consequence: "It is parked.")
        case .parked(.undecidable):
            UserFacingError(
                .outcomeUndecidable, "Could not determine whether the server applied this write.",
                consequence: "It is parked so that it is not sent twice.")
        case .parked(.thereUnderNoID):
            UserFacingError(
                .conflict, "The server has this URL already and does not say under which id.",
                consequence: "Title, tags and remark are kept here; try again when the item was pulled.")
        case .parked(.itemGone):
            UserFacingError(.itemGone, "The item is no longer on the server.", consequence: "The edit is parked.")
        case .parked(.tooManyTags(let count)):
            UserFacingError(
                .writeInvalid,
                "With the tags that the server has by now, the item would have \(count); \(WriteLimits.tagCount) are allowed.",
                consequence: "No tag was changed.",
                recoverySuggestion: "Take a tag from it, and then run `prsnlctl retry-queue N`.")
        case .parked(.conflict):
            UserFacingError(
                .editConflict, "The server has another value than the one that the edit was made to replace.",
                consequence: "The server's values were not overwritten.")
        default: nil
        }
    }

    /// Whether the backoff grows. What was never sent, or was refused for now, costs the entry no attempt.
    var isFailure: Bool {
        switch self {
        case .queued(.notApplied), .queued(.behindDeletion), .queued(.lookupFailed): true
        default: false
        }
    }

    package var state: OutboxEntry.State {
        switch self {
        case .delivered: .delivered
        case .queued: .queued
        case .unknown: .unknown
        case .parked: .parked
        }
    }

    package var isParked: Bool { state == .parked }
    var isUnknown: Bool { state == .unknown }
    var isSettling: Bool { if case .queued(.settling) = self { true } else { false } }
    /// Whether a send that ended so took place, and the server may have acted on it.
    var isCounted: Bool {
        switch self {
        case .queued(.unreachable), .queued(.needsLogin), .queued(.stopped), .queued(.refused), .queued(.slowDown):
            false
        default: true
        }
    }

    var theirs: ItemEdit? {
        switch self {
        case .parked(.conflict(let theirs)): theirs
        case .queued(.apart(let held)): held
        default: nil
        }
    }

    var undecidedSince: UndecidedSince? {
        switch self {
        case .unknown(.notFoundYet(_, let since, _)): since
        case .unknown(.lookupFailed(_, let since)): since
        default: nil
        }
    }

    var failedLookups: Int {
        switch self {
        case .unknown(.lookupFailed(let count, _)), .unknown(.alreadyThere(let count)): count
        default: 0
        }
    }
}

/// What a request brought, and what it makes of its entry: carried out by one transaction (`Store.record`).
package struct WriteRecord: Sendable {
    package var entry: Int64
    /// The entries that were sent, or asked about, along with it, and what all of them came to.
    package var others: [Int64]
    package var payload: OutboxEntry.Payload
    package var from: OutboxEntry.State
    package var outcome: WriteOutcome
    /// When it is sent again, or looked up.
    package var dueAt: Timestamp?
    package var attempt: OutboxAttempt
    package var error: UserFacingError?

    package init(
        _ task: OutboxTask, outcome: WriteOutcome, dueAt: Timestamp? = nil, attempt: OutboxAttempt,
        error: UserFacingError? = nil
    ) {
        entry = task.entry.id
        others = task.others
        payload = task.entry.payload
        from = task.entry.state
        self.outcome = outcome
        self.dueAt = dueAt
        self.attempt = attempt
        self.error = error ?? outcome.error
        self.attempt.verdict = outcome.verdict
        self.attempt.errorCode = attempt.errorCode ?? self.error?.code.rawValue
    }

    /// Whether a person decides what no lookup can tell.
    var isUndecidable: Bool { outcome.isParked && error?.code == .outcomeUndecidable }
}
