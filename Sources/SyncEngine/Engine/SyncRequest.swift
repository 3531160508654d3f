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
