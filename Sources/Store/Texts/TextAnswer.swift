package import PRSNLCore

/// An item whose text is to be asked for.
package struct DueText: Sendable, Equatable {
    package var id: String
    package var createdAt: Timestamp
    /// When the item was changed last, as its row says it: what the text is asked for.
    package var rowVersion: Timestamp
    /// How often asking for it has failed in a row.
    package var failures = 0
    /// The server still works on it, so that its text may change without a new version.
    package var isPending = false
    /// The copy has the text of this version: an answer was newer than the row was then.
    package var isStored = false
    /// The row says when the item was changed last. Else `rowVersion` is the time of its creation.
    package var rowHasVersion = true
    /// When an answer about this row was stored last that may have come out of a cache, where nothing else tells its age.
    package var doubtedAt: Timestamp?

    package init(id: String, createdAt: Timestamp, rowVersion: Timestamp, failures: Int = 0) {
        self.id = id
        self.createdAt = createdAt
        self.rowVersion = rowVersion
        self.failures = failures
    }
}

extension Timestamp {
    /// Whether both are one time, where one of them may have been cut to milliseconds.
    package func isSame(as other: Timestamp) -> Bool {
        if self == other { return true }
        guard microseconds % 1_000 == 0 || other.microseconds % 1_000 == 0 else { return false }
        return microseconds / 1_000 == other.microseconds / 1_000
    }
}

/// What became of one question for a text.
package struct TextAnswer: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        case text(ItemText)
        /// Stored as what it is, and asked for again: it may not be the text that the row is of.
        case doubted(ItemText, TextProblem)
        /// The copy had it already.
        case known
        /// It could not be had.
        case problem(TextProblem)
    }

    package var due: DueText
    package var outcome: Outcome

    package init(_ due: DueText, _ outcome: Outcome) {
        self.due = due
        self.outcome = outcome
    }

    /// Bytes of memory, about.
    package var size: Int {
        switch outcome {
        case .text(let text), .doubted(let text, _): text.size
        case .known, .problem: 0
        }
    }

    /// The server's list may show the item otherwise by now, or not at all.
    package var doubtsRow: Bool {
        switch outcome {
        case .doubted(let text, _): due.rowHasVersion && text.updatedAt != nil
        case .problem(let problem): problem.code == .textNotFound
        case .text, .known: false
        }
    }
}

/// Why a text could not be had.
package struct TextProblem: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The answer was of another time than the item's row, or of no time: out of a cache, or newer than the list.
        case stale
        case failing
        /// It has more bytes than `text_max_size`, or the answer more than `max_answer_size`.
        case tooLarge = "too_large"
    }

    package var kind: Kind
    package var failures: Int
    /// When it is asked for again; `nil`: not before the item changes, or the limit.
    package var nextAt: Timestamp?
    /// Of one that is too large: more bytes than these.
    package var size: Int?
    package var code: ErrorCode
    package var message: String

    package init(
        _ kind: Kind, failures: Int, nextAt: Timestamp?, size: Int? = nil, code: ErrorCode, message: String
    ) {
        self.kind = kind
        self.failures = failures
        self.nextAt = nextAt
        self.size = size
        self.code = code
        self.message = message
    }
}
