package import Console
package import PRSNLCore

/// What became of a requested pull: the JSON of `prsnlctl sync --json`.
package struct SyncReport: Sendable, Equatable, Codable {
    package enum Outcome: String, Sendable, Codable {
        /// The daemon has taken the request and pulls; nobody waited.
        case started
        /// Nothing is known to be missing now.
        case complete
        /// The pull ended, and something is missing: `problem`, or `prsnlctl status`, says what.
        case incomplete
        case failed
    }

    package var schemaVersion = 1
    package var outcome: Outcome
    /// `null` where nobody waited.
    @Nullable package var added: Int? = nil
    @Nullable package var changed: Int? = nil
    @Nullable package var deleted: Int? = nil
    @Nullable package var problem: ErrorReport? = nil

    enum CodingKeys: String, CodingKey {
        case outcome, added, changed, deleted, problem
        case schemaVersion = "schema_version"
    }

    package static let started = SyncReport(outcome: .started)

    private init(outcome: Outcome) {
        self.outcome = outcome
    }

    /// The end of a pull that was waited for.
    package init(isComplete: Bool, added: Int, changed: Int, deleted: Int, problem: UserFacingError?) {
        self.added = added
        self.changed = changed
        self.deleted = deleted
        self.problem = problem.map(ErrorReport.init)
        outcome =
            switch problem?.code {
            case nil: isComplete ? .complete : .incomplete
            // The pull itself worked; what is missing waits for a person, for a quieter timeline, or for ever.
            case .deletionsHeld, .deletionUndecided, .timelineUnsettled, .crowdedInstant: .incomplete
            default: .failed
            }
    }

    package var exitCode: ExitCode {
        switch outcome {
        case .started, .complete: .fine
        case .incomplete: .needsAttention
        // A person has to log in; asking again would change nothing.
        case .failed: problem?.knownCode == .needsLogin ? .needsAttention : .error
        }
    }
}
