package import PRSNLCore

/// What the engine is doing now: shown by `prsnlctl status`, never stored. It stands beside `CopySummary`, because the status is
/// made of both.
@dynamicMemberLookup
package struct EngineState: Sendable, Equatable {
    package enum Activity: String, Sendable, Codable { case starting, idle, pulling, waiting, stopped }

    /// What is shown of the engine itself: members of `daemon` in the JSON of the status.
    package struct Shown: Sendable, Equatable, Codable {
        package var activity: Activity = .starting
        /// When the next pull is due; `nil` while one runs or when only a person can help.
        @Nullable package var nextPullAt: Timestamp? = nil
        /// When edits and deletions of the whole copy are looked for next; `nil` while the copy has gaps.
        @Nullable package var nextSweepAt: Timestamp? = nil
        /// Why it waits or stopped; `nil` when all is well.
        @Nullable package var problem: UserFacingError? = nil
        package var connectivity = Connectivity()

        package init() {}
    }

    /// What failed before the next send could begin, whichever entry's turn it is.
    package struct Blocker: Sendable, Equatable {
        package var error: UserFacingError
        /// Whether it will hardly be over in a second.
        package var isLasting: Bool
        /// When the next try is; `nil` where it is due.
        package var until: Timestamp?

        package init(error: UserFacingError, isLasting: Bool, until: Timestamp? = nil) {
            self.error = error
            self.isLasting = isLasting
            self.until = until
        }
    }

    package var shown = Shown()

    // What it says of the copy and of writes: `StatusReport` shows it with these.

    package var pull: Progress?
    /// Of the full-text index, while there is much to do.
    package var indexing: Progress?
    package var copiesTexts = true
    package var keepsSearchIndex = true
    /// Why texts are missing that could be fetched; `nil` when all is well.
    package var textsProblem: UserFacingError?
    /// Why the full-text index does not follow; `nil` when all is well.
    package var searchProblem: UserFacingError?
    /// New items are complete as of this time (T1); newer than what the file says while nothing changed.
    package var newAsOf: Timestamp?
    /// `nil` where the server takes writes as they come.
    package var serverWait: ServerWait?
    /// Why nothing is sent though the server can be reached; `nil` when all is well.
    package var blocker: Blocker?
    /// When writes that the server has refused are tried again, by entry.
    package var refusedUntil: [Int64: Timestamp] = [:]

    package init() {}

    package subscript<Value>(dynamicMember path: WritableKeyPath<Shown, Value>) -> Value {
        get { shown[keyPath: path] }
        set { shown[keyPath: path] = newValue }
    }
}

/// Until when the server has asked not to send: it limits how many items are made in a minute, say.
package struct ServerWait: Sendable, Equatable, Codable {
    @Nullable package var creationsUntil: Timestamp? = nil
    @Nullable package var othersUntil: Timestamp? = nil

    package init(creationsUntil: Timestamp?, othersUntil: Timestamp?) {
        self.creationsUntil = creationsUntil
        self.othersUntil = othersUntil
    }
}

/// What became of a pull that a person asked for: the JSON of `prsnlctl sync --json`.
package struct SyncResult: Sendable, Equatable, Codable {
    package enum Outcome: String, Sendable, Codable {
        /// The daemon has taken the request and pulls. The request did not wait for the end.
        case started
        /// Nothing is known to be missing now.
        case complete
        /// The pull ended, and something is missing: `problem`, or `prsnlctl status`, says what.
        case incomplete
        case failed
    }

    package var schemaVersion = 1
    package var outcome: Outcome
    /// `nil` where the end was not waited for.
    @Nullable package var added: Int? = nil
    @Nullable package var changed: Int? = nil
    @Nullable package var deleted: Int? = nil
    /// Texts that were fetched.
    @Nullable package var texts: Int? = nil
    /// Why it is not complete, or what failed.
    @Nullable package var problem: UserFacingError? = nil
    /// Whether another pull was under way when it was asked for, which is not counted.
    @Nullable package var followed: Bool? = nil

    package init(followed: Bool?) { (outcome, self.followed) = (.started, followed) }

    /// The end of a pull.
    package init(
        isComplete: Bool, added: Int = 0, changed: Int = 0, deleted: Int = 0, texts: Int = 0,
        problem: UserFacingError? = nil
    ) {
        outcome =
            switch problem?.code {
            case nil: isComplete ? .complete : .incomplete
            // The pull itself worked; what is missing waits for a person, for a quieter timeline, or without an end.
            case .deletionsHeld, .deletionUndecided, .timelineUnsettled, .crowdedInstant: .incomplete
            default: .failed
            }
        self.added = added
        self.changed = changed
        self.deleted = deleted
        self.texts = texts
        self.problem = problem
    }

    package var isComplete: Bool { outcome == .complete }

    /// Another pull has followed.
    package mutating func add(_ other: SyncResult) {
        func sum(_ count: KeyPath<SyncResult, Int?>) -> Int {
            (self[keyPath: count] ?? 0) + (other[keyPath: count] ?? 0)
        }
        self = SyncResult(
            isComplete: other.isComplete, added: sum(\.added), changed: sum(\.changed), deleted: sum(\.deleted),
            texts: sum(\.texts), problem: other.problem)
    }
}
