public import PRSNLClient
public import PRSNLCore
public import Store

/// What the owner may set about pulling; read again at reload.
public struct SyncSettings: Sendable, Equatable {
    /// Between two looks at the head; three times as long after a quiet hour.
    public var pollInterval: Duration = .seconds(300)
    /// Between two sweeps; `nil`: daily above 2,000 items, every 6 h below.
    public var sweepInterval: Duration?
    /// 1 to 100.
    public var pageSize = 100

    public init() {}
}

/// What a person asks for.
public struct SyncRequest: Sendable, Equatable {
    /// A whole sweep, not just the head.
    public var full = false
    /// Believe the deletions that were held back.
    public var acceptDeletions = false

    public init(full: Bool = false, acceptDeletions: Bool = false) {
        self.full = full
        self.acceptDeletions = acceptDeletions
    }
}

/// How a requested pull ended.
public struct SyncResult: Sendable, Equatable {
    /// Nothing is known to be missing now.
    public var isComplete: Bool
    public var added = 0
    public var changed = 0
    public var deleted = 0
    /// Why it is not complete, or what failed.
    public var problem: UserFacingError?

    public init(isComplete: Bool) {
        self.isComplete = isComplete
    }
}

/// Pulls the timeline into the store: decides what to ask for and when.
public final class SyncEngine: Sendable {
    public init(
        store: Store, client: PRSNLClient, serverURL: String, credentials: Credentials,
        settings: SyncSettings = SyncSettings(), time: TimeSource = .system, seed: UInt64? = nil,
        log: @escaping LogHandler = { _, _, _ in }
    ) {
    }

    /// Pulls on schedule until the task is cancelled. Being offline is never a reason to return.
    public func run() async {}

    /// Pulls everything there is, once, retrying nothing beyond the client's own retries.
    public func runOnce(full: Bool = false) async -> SyncResult { SyncResult(isComplete: false) }

    /// Pulls now, while `run` runs, and says how it ended.
    public func sync(_ request: SyncRequest) async -> SyncResult { SyncResult(isComplete: false) }

    /// A snapshot, cheap enough to take several times a second.
    public var state: EngineState { EngineState() }

    /// Takes effect from the next decision on.
    public func apply(_ settings: SyncSettings) {}
}
