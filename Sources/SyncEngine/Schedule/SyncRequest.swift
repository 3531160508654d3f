/// What a person asks for.
package struct SyncRequest: Sendable, Equatable {
    /// A whole sweep, not just the head.
    package var full = false
    /// Believe the deletions that were held back.
    package var acceptDeletions = false

    package init(full: Bool = false, acceptDeletions: Bool = false) {
        self.full = full
        self.acceptDeletions = acceptDeletions
    }
}
