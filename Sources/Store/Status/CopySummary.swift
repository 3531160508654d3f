package import PRSNLCore

/// What the file says about itself, in one read: the material of `prsnlctl status`.
package struct CopySummary: Sendable, Equatable {
    package var serverURL: String?
    package var dialect: Dialect?
    package var accountID: String?
    package var accountName: String?
    /// Whom the login token named when the account was bound.
    package var accountSubject: String?
    /// Made without a login: it holds everybody's items.
    package var isAnonymous: Bool { dialect == .cursor && accountID == nil }
    /// When the copy was bound to server and account.
    package var boundAt: Timestamp?
    /// New items are complete as of this time (T1): the last head read that reached what was already here.
    package var newAsOf: Timestamp?
    /// Edits and deletions are complete as of this time (T2): the start of the oldest read that still counts; `nil` while
    /// a part of the timeline was never read.
    package var editsAsOf: Timestamp?
    /// Nothing is known to be missing.
    package var isComplete = false
    package var gaps: [Gap] = []
    /// Times at which the server has more items than it shows.
    package var possiblyMoreAt: [Timestamp] = []
    package var live = 0
    package var deleted = 0
    package var rejected = 0
    /// Items that the server's list lacks and that are not yet proven to be deleted.
    package var suspects = 0
    /// More deletions at once than are believed: waiting for `sync --accept-deletions`.
    package var deletionsHeld = 0
    /// Writes that are not on the server yet, and are to be sent: `queued`, `sending` and `unknown`.
    package var waiting = 0
    /// Of these, the ones that may be there already.
    package var unknown = 0
    /// Writes that wait for a person.
    package var parked = 0
    /// Of the waiting ones, those that have failed at least four times, or were refused.
    package var failing: Failing?
    /// When the oldest waiting write was accepted.
    package var oldestWaiting: Timestamp?
    package var lastError: RecurringError?
    /// Bytes of the database, and of its write-ahead log beside it.
    package var databaseSize: Int64 = 0
    package var walSize: Int64 = 0
    package var schemaVersion = 0

    package init() {}

    /// A stretch of the timeline that the copy lacks; both ends included.
    package struct Gap: Sendable, Equatable {
        package var from: Timestamp
        package var to: Timestamp
        package init(from: Timestamp, to: Timestamp) {
            self.from = from
            self.to = to
        }
    }

    /// Writes that fail again and again, or are refused.
    package struct Failing: Sendable, Equatable {
        package var count: Int
        /// Those of them that people asked for; the others are titles and tags that follow a capture.
        package var ownCount: Int
        /// The first of the former, else of all.
        package var entry: Int64
        /// Its last error.
        package var code: String?
        package var message: String?

        package init(count: Int, ownCount: Int, entry: Int64, code: String?, message: String?) {
            self.count = count
            self.ownCount = ownCount
            self.entry = entry
            self.code = code
            self.message = message
        }
    }

    /// Errors of one code at one endpoint, grouped.
    package struct RecurringError: Sendable, Equatable {
        package var code: String
        package var endpoint: String
        package var message: String
        package var first: Timestamp
        package var last: Timestamp
        package var count: Int
        /// Whether it went away since: something succeeded after `last`.
        package var isOver: Bool
        package init(
            code: String, endpoint: String, message: String, first: Timestamp, last: Timestamp, count: Int, isOver: Bool
        ) {
            self.code = code
            self.endpoint = endpoint
            self.message = message
            self.first = first
            self.last = last
            self.count = count
            self.isOver = isOver
        }
    }
}

/// One pull that did something, as the history keeps it.
package struct PullRecord: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable, Codable { case backfill, head, sweep, pass, check }
    package enum Outcome: String, Sendable, CaseIterable, Codable {
        case running, complete, incomplete, failed, interrupted
    }

    package var id: Int64 = 0
    package var kind: Kind
    package var startedAt: Timestamp
    package var endedAt: Timestamp?
    package var outcome: Outcome = .running
    package var requests = 0
    package var pages = 0
    package var added = 0
    package var changed = 0
    package var deleted = 0
    package var suspects = 0
    package var rejected = 0
    package var errorCode: String?

    package init(kind: Kind, startedAt: Timestamp) {
        self.kind = kind
        self.startedAt = startedAt
    }
}
