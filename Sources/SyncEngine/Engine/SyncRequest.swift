package import PRSNLCore

/// What a person asks for.
package struct SyncRequest: Sendable, Equatable {
    /// A whole sweep, not just the head.
    package var full = false
    /// Believe the deletions that were held back.
    package var acceptDeletions = false
    /// All texts that are due, without pauses.
    package var texts = false
    /// The text of this item alone, of any size.
    package var textOf: String?

    package init(full: Bool = false, acceptDeletions: Bool = false, texts: Bool = false, textOf: String? = nil) {
        self.full = full
        self.acceptDeletions = acceptDeletions
        self.texts = texts
        self.textOf = textOf
    }
}

/// How a pull ended that a person asked for.
package struct SyncResult: Sendable, Equatable {
    /// Nothing is known to be missing now.
    package var isComplete: Bool
    package var added = 0
    package var changed = 0
    package var deleted = 0
    /// Texts that were fetched.
    package var texts = 0
    /// Why it is not complete, or what failed.
    package var problem: UserFacingError?

    package init(isComplete: Bool) {
        self.isComplete = isComplete
    }

    /// Another pull has followed.
    mutating func add(_ other: SyncResult) {
        added += other.added
        changed += other.changed
        deleted += other.deleted
        texts += other.texts
        problem = other.problem
        isComplete = other.isComplete
    }
}
