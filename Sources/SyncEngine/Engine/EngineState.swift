package import PRSNLCore
package import Store

/// What the engine is doing now: shown by `prsnlctl status`, never stored.
package struct EngineState: Sendable, Equatable {
    package enum Activity: String, Sendable, Codable { case starting, idle, pulling, waiting, stopped }

    /// The pull under way.
    package struct Progress: Sendable, Equatable {
        package var kind: PullRecord.Kind
        package var startedAt: Timestamp
        package var pages = 0
        /// Items read from the server so far in this pull, known ones included.
        package var items = 0
        /// The whole, where the server or an earlier pull said it.
        package var expectedItems: Int?
        /// Where on the timeline the pull stands (dialect C).
        package var position: Timestamp?
        /// Items per second since the pull began.
        package var rate: Double = 0

        package init(kind: PullRecord.Kind, startedAt: Timestamp) {
            self.kind = kind
            self.startedAt = startedAt
        }
    }

    /// Until when the server has asked not to send.
    package struct ServerWait: Sendable, Equatable {
        package var creationsUntil: Timestamp?
        package var othersUntil: Timestamp?
    }

    /// What failed before the next send could begin, whichever entry's turn it is.
    package struct Hindrance: Sendable, Equatable {
        package var error: UserFacingError
        /// Whether it will hardly be over in a second.
        package var isLasting: Bool
        /// When the next try is; `nil` where it is due.
        package var until: Timestamp?
    }

    package var activity: Activity = .starting
    package var progress: Progress?
    /// When the next pull is due; `nil` while one runs or when only a person can help.
    package var nextPullAt: Timestamp?
    /// Why it waits or stopped; `nil` when all is well.
    package var problem: UserFacingError?
    /// Whether the settings ask for texts.
    package var copiesTexts = true
    /// Whether the index of words is kept up to date.
    package var indexesWords = true
    /// Why texts are missing that could be fetched; `nil` when all is well.
    package var textsProblem: UserFacingError?
    /// New items are complete as of this time (T1); newer than what the file says while nothing changed.
    package var newAsOf: Timestamp?
    /// Whether the server can be used.
    package var connectivity = Connectivity()

    /// `nil` where the server takes writes as they come.
    package var serverWait: ServerWait?

    /// Why nothing is sent though the server can be reached; `nil` when all is well.
    package var hindrance: Hindrance?

    /// When writes that the server has refused are tried again, by entry.
    package var refusedUntil: [Int64: Timestamp] = [:]

    package init() {}
}
