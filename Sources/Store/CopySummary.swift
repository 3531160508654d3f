public import PRSNLCore

/// What the file says about itself, in one read: the material of `prsnlctl status`.
public struct CopySummary: Sendable, Equatable {
    public var serverURL: String?
    public var dialect: Dialect?
    public var accountID: String?
    public var accountName: String?
    /// Whom the login token named when the account was bound.
    public var accountSubject: String?
    /// Made without a login: it holds everybody's items.
    public var isAnonymous: Bool { dialect == .cursor && accountID == nil }
    /// When the copy was bound to server and account.
    public var boundAt: Timestamp?
    /// New items are complete as of this time (T1): the last head read that reached what was already here.
    public var newAsOf: Timestamp?
    /// Edits and deletions are complete as of this time (T2): the start of the oldest read that still counts; `nil` while
    /// a part of the timeline was never read.
    public var editsAsOf: Timestamp?
    /// Nothing is known to be missing.
    public var isComplete = false
    public var gaps: [Gap] = []
    /// Times at which the server has more items than it shows.
    public var possiblyMoreAt: [Timestamp] = []
    public var live = 0
    public var deleted = 0
    public var rejected = 0
    /// Items that the server's list lacks and that are not yet proven to be deleted.
    public var suspects = 0
    /// More deletions at once than are believed: waiting for `sync --accept-deletions`.
    public var deletionsHeld = 0
    /// Writes that are not on the server yet, and are to be sent: `queued`, `sending` and `unknown`.
    public var waiting = 0
    /// Of these, the ones that may be there already.
    public var unknown = 0
    /// Writes that wait for a person.
    public var parked = 0
    /// Of the waiting ones, those that have failed at least four times, or were refused.
    public var failing: Failing?
    /// When the oldest waiting write was accepted.
    public var oldestWaiting: Timestamp?
    public var lastError: RecurringError?
    /// Bytes of the database, and of its write-ahead log beside it.
    public var databaseSize: Int64 = 0
    public var walSize: Int64 = 0
    public var schemaVersion = 0

    public init() {}

    /// A stretch of the timeline that the copy lacks; both ends included.
    public struct Gap: Sendable, Equatable {
        public var from: Timestamp
        public var to: Timestamp
        public init(from: Timestamp, to: Timestamp) {
            self.from = from
            self.to = to
        }
    }

    /// Writes that fail again and again, or are refused.
    public struct Failing: Sendable, Equatable {
        public var count: Int
        /// Those of them that people asked for; the others are titles and tags that follow a capture.
        public var ownCount: Int
        /// The first of the former, else of all.
        public var entry: Int64
        /// Its last error.
        public var code: String?
        public var message: String?

        public init(count: Int, ownCount: Int, entry: Int64, code: String?, message: String?) {
            self.count = count
            self.ownCount = ownCount
            self.entry = entry
            self.code = code
            self.message = message
        }
    }

    /// Errors of one code at one endpoint, grouped.
    public struct RecurringError: Sendable, Equatable {
        public var code: String
        public var endpoint: String
        public var message: String
        public var first: Timestamp
        public var last: Timestamp
        public var count: Int
        /// Whether it went away since: something succeeded after `last`.
        public var isOver: Bool
        public init(
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
public struct PullRecord: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable, Codable { case backfill, head, sweep, pass, check }
    public enum Outcome: String, Sendable, CaseIterable, Codable {
        case running, complete, incomplete, failed, interrupted
    }

    public var id: Int64 = 0
    public var kind: Kind
    public var startedAt: Timestamp
    public var endedAt: Timestamp?
    public var outcome: Outcome = .running
    public var requests = 0
    public var pages = 0
    public var added = 0
    public var changed = 0
    public var deleted = 0
    public var suspects = 0
    public var rejected = 0
    public var errorCode: String?

    public init(kind: Kind, startedAt: Timestamp) {
        self.kind = kind
        self.startedAt = startedAt
    }
}
