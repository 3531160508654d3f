package import PRSNLCore

/// An entry whose time has come, with what the replayer needs to know beyond what people see.
package struct OutboxTask: Sendable, Equatable {
    /// What a person said about a parked entry.
    package enum ManualDecision: String, Sendable {
        /// One more attempt: the first failure parks it again.
        case retry
        /// The same, and it replaces what the server has there.
        case overwrite
    }

    package var entry: OutboxEntry
    /// In a row, for the backoff.
    package var failures: Int
    /// Whether an attempt may have been applied.
    package var maybeApplied: Bool
    package var manual: ManualDecision?
    /// Of the send whose outcome is looked for.
    package var evidence: SendEvidence?
    /// When a look, by the server's clock, first could not find what was sent. One look is not enough: servers insert late.
    package var undecidedSince: UndecidedSince?
    /// In a row, for their backoff.
    package var failedLookups: Int
}

/// What the server had just before a creation was sent: by this a new item can be told from an old one without
/// any clock.
package struct SendEvidence: Sendable, Equatable {
    /// The ids of the newest items.
    package var knownIDs: [String]
    /// All items that are newer than this are among `knownIDs`. `nil` where all items are.
    package var knownDownTo: ServerTime?

    package init(knownIDs: [String], knownDownTo: ServerTime? = nil) {
        self.knownIDs = knownIDs
        self.knownDownTo = knownDownTo
    }
}

/// When a look first could not find what was sent. Either clock may be set: only what both say has passed.
package struct UndecidedSince: Sendable, Equatable {
    package var server: ServerTime
    package var here: Timestamp

    package init(server: ServerTime, here: Timestamp) {
        self.server = server
        self.here = here
    }

    /// What has passed since. `nil` where a clock was set back.
    package func passed(until now: UndecidedSince) -> Duration? {
        let passed = min(now.server.duration(since: server), now.here.duration(since: here))
        return passed < .zero ? nil : passed
    }
}
