package import PRSNLCore

/// An entry whose time has come, with what the replayer needs to know beyond what people see.
package struct OutboxTask: Sendable, Equatable {
    /// What a person said about a parked entry.
    package enum ByHand: String, Sendable {
        /// One more attempt: the first failure parks it again.
        case retry
        /// The same, and whatever the server has there is to be replaced.
        case overwrite
    }

    package var entry: OutboxEntry
    /// In a row, for the backoff.
    package var failures: Int
    /// Whether an attempt may have been applied, as far as anybody knows.
    package var maybeApplied: Bool
    package var byHand: ByHand?
    /// Of the send whose outcome is looked for.
    package var evidence: SendEvidence?
    /// When a look, by the server's clock, first could not find what was sent. One look is not enough: servers insert late.
    package var undecidedSince: UndecidedSince?
    /// In a row, for their backoff.
    package var failedLooks: Int
}

/// What the server had just before a creation was sent: by this a new item can be told from an old one, whatever any clock
/// says.
package struct SendEvidence: Sendable, Equatable {
    /// The ids of the newest items.
    package var knownIDs: [String]
    /// All items that are newer than this are among `knownIDs`; `nil` where all items are.
    package var knownDownTo: Timestamp?

    package init(knownIDs: [String], knownDownTo: Timestamp? = nil) {
        self.knownIDs = knownIDs
        self.knownDownTo = knownDownTo
    }
}

/// What a request brought, and what it makes of its entry.
package struct Settlement: Sendable {
    package enum Outcome: Sendable, Equatable {
        case delivered(Delivery)
        /// Certainly not applied: to be sent at that time. `isFailure`: the backoff grows.
        case queued(at: Timestamp, isFailure: Bool)
        /// To be looked up at that time.
        case unknown(lookAt: Timestamp, undecidedSince: UndecidedSince?, failedLooks: Int)
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

extension OutboxAttempt {
    /// The verdict on a send that was given up before a byte of it went out.
    package static let returned = "returned"

    package init(_ purpose: Purpose, startedAt: Timestamp) {
        self.purpose = purpose
        self.startedAt = startedAt
    }
}

/// When a look first could not find what was sent. Either clock may be set: only what both say has passed.
package struct UndecidedSince: Sendable, Equatable {
    package var server: Timestamp
    package var here: Timestamp

    package init(server: Timestamp, here: Timestamp) {
        self.server = server
        self.here = here
    }

    /// What has passed since; `nil` where a clock was set back.
    package func passed(until now: UndecidedSince) -> Duration? {
        let passed = min(now.server.duration(since: server), now.here.duration(since: here))
        return passed < .zero ? nil : passed
    }
}
