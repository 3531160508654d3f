public import PRSNLCore
public import Store

/// What the engine is doing now: shown by `prsnlctl status`, never stored.
public struct EngineState: Sendable, Equatable {
    public enum Activity: String, Sendable, Codable { case starting, idle, pulling, waiting, stopped }

    /// The pull under way.
    public struct Progress: Sendable, Equatable {
        public var kind: PullRecord.Kind
        public var startedAt: Timestamp
        public var pages = 0
        /// Items read from the server so far in this pull, known ones included.
        public var items = 0
        /// The whole, where the server or an earlier pull said it.
        public var expectedItems: Int?
        /// Where on the timeline the pull stands (dialect C).
        public var position: Timestamp?
        /// Items per second since the pull began.
        public var rate: Double = 0

        public init(kind: PullRecord.Kind, startedAt: Timestamp) {
            self.kind = kind
            self.startedAt = startedAt
        }
    }

    /// Until when the server has asked not to send.
    public struct ServerWait: Sendable, Equatable {
        public var creationsUntil: Timestamp?
        public var othersUntil: Timestamp?
    }

    public var activity: Activity = .starting
    public var progress: Progress?
    /// When the next pull is due; `nil` while one runs or when only a person can help.
    public var nextPullAt: Timestamp?
    /// Why it waits or stopped; `nil` when all is well.
    public var problem: UserFacingError?
    /// New items are complete as of this time (T1); newer than what the file says while nothing changed.
    public var newAsOf: Timestamp?
    /// Whether the server can be used.
    public var connectivity = Connectivity()

    /// `nil` where the server takes writes as they come.
    public var serverWait: ServerWait?

    /// When writes that the server has refused are tried again, by entry.
    public var refusedUntil: [Int64: Timestamp] = [:]

    public init() {}
}
