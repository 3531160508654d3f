public import PRSNLCore

/// How a pull ended that somebody asked for.
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
