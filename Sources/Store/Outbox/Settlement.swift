package import PRSNLCore

/// What a request brought, and what it makes of its entry.
package struct Settlement: Sendable {
    package enum Outcome: Sendable, Equatable {
        case delivered(Delivery)
        /// Certainly not applied: to be sent at that time. `isFailure`: the backoff grows.
        case queued(at: Timestamp, isFailure: Bool)
        /// To be looked up at that time.
        case unknown(lookupAt: Timestamp, undecidedSince: UndecidedSince?, failedLookups: Int)
        /// `theirs`: in a conflict, what the server has.
        case parked(theirs: ItemEdit?)
    }

    /// What the server has now.
    package struct Delivery: Sendable, Equatable {
        /// Of a creation. `nil` where the server has the item and does not say which it is.
        package var serverID: String?
        /// The whole item, where the answer had it.
        package var item: TimelineItem?
        /// Of an edit: the item's fields, where the answer had them.
        package var fields: ItemEdit?
        package var updatedAt: Timestamp?
        /// Of a creation whose item was there before it: what the server has in its fields.
        package var there: ItemEdit?

        package init(serverID: String? = nil, there: ItemEdit? = nil) {
            self.serverID = serverID
            self.there = there
        }
    }

    package var entry: Int64
    /// The state that it leaves.
    package var from: OutboxEntry.State
    package var outcome: Outcome
    package var attempt: OutboxAttempt
    package var error: UserFacingError?
    /// How it ended, in words.
    package var remark: String?

    package init(
        entry: Int64, from: OutboxEntry.State, outcome: Outcome, attempt: OutboxAttempt, error: UserFacingError? = nil,
        remark: String? = nil
    ) {
        self.entry = entry
        self.from = from
        self.outcome = outcome
        self.attempt = attempt
        self.error = error
        self.remark = remark
    }
}

extension Settlement.Outcome {
    package var isParked: Bool {
        if case .parked = self { true } else { false }
    }

    var isUnknown: Bool {
        if case .unknown = self { true } else { false }
    }
}
