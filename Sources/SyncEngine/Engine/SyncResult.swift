package import PRSNLCore

/// How a pull ended that somebody asked for.
package struct SyncResult: Sendable, Equatable {
    /// Nothing is known to be missing now.
    package var isComplete: Bool
    package var added = 0
    package var changed = 0
    package var deleted = 0
    /// Why it is not complete, or what failed.
    package var problem: UserFacingError?

    package init(isComplete: Bool) {
        self.isComplete = isComplete
    }
}
