public import PRSNLCore

/// One accepted write. docs/outbox.md draws the states and says who moves an entry out of each.
public struct OutboxEntry: Sendable, Equatable {
    public enum Kind: String, Sendable, CaseIterable, Codable {
        /// A URL.
        case capture
        case note
        case edit
        case delete

        public var isCreation: Bool { self == .capture || self == .note }
    }

    public enum State: String, Sendable, CaseIterable, Codable {
        /// Waits for its time, or behind another entry of its item. Left by the replayer, a person, or a newer write.
        case queued
        /// On its way: on disk before the first byte is sent. Left by the replayer; at a start it becomes `unknown`.
        case sending
        /// The server may have applied it. Left by the replayer, after it has looked.
        case unknown
        /// The server has it. Final.
        case delivered
        /// Refused for good, in conflict, undecidable or too old. Left by a person only.
        case parked
        /// Given up by a person. Final.
        case dropped
        /// Taken over by a newer entry before it was ever sent. Final.
        case superseded

        /// Whether something is still to happen: `queued`, `sending`, `unknown`.
        public var isWaiting: Bool { self == .queued || self == .sending || self == .unknown }
    }

    /// What is to be written.
    public enum Payload: Sendable, Equatable {
        case create(NewItem)
        case edit(ItemEdit)
        case delete
    }

    /// The number that people see: `#12`. Never used again.
    public var id: Int64
    public var kind: Kind
    public var state: State
    /// The server's id, or `local-<uuid>` until a creation's is known.
    public var itemID: String
    public var payload: Payload
    /// What the edited fields were when the edit was accepted; of other kinds `nil`.
    public var base: ItemEdit?
    /// In a conflict, what the server has there.
    public var theirs: ItemEdit?
    public var acceptedAt: Timestamp
    public var endedAt: Timestamp?
    /// `nil` where it waits behind another entry of its item, and where nothing is to happen any more.
    public var nextAttemptAt: Timestamp?
    /// The entry of its item that it waits for.
    public var behind: Int64?
    /// How often it was sent.
    public var attempts: Int
    public var lastAttemptAt: Timestamp?
    /// How long the server could be reached while it waited.
    public var reachableAge: Duration
    public var supersededBy: Int64?
    /// How it ended, or why it waits, in words: "was already there".
    public var remark: String?
    public var errorCode: String?
    public var errorMessage: String?
    /// Sent with every attempt.
    public var idempotencyKey: String
    /// Of an edit that carries what a creation asked for and the server did not take: the creation.
    public var follows: Int64?
    /// It waits until the server has processed the item.
    public var awaitsItem = false
}

/// One request that was made for an entry.
public struct OutboxAttempt: Sendable, Equatable {
    public enum Purpose: String, Sendable, CaseIterable, Codable {
        /// The write itself.
        case send
        /// A question whether it was applied, or whether it may be.
        case look
    }

    public var purpose: Purpose
    public var startedAt: Timestamp
    /// `nil` where the process ended before the answer came.
    public var endedAt: Timestamp?
    /// What was concluded: `delivered`, `retry`, `wait_for_network`, `wait_for_login`, `look`, `park`.
    public var verdict: String?
    public var errorCode: String?
    /// HTTP.
    public var status: Int?
    public var requestID: String?
}

/// Which entries a list is of.
public enum OutboxFilter: Sendable, Equatable {
    /// `queued`, `sending`, `unknown` and `parked`: everything that is not over.
    case open
    case all
    case state(OutboxEntry.State)
}

/// A part of the outbox, and how many entries the whole has.
public struct OutboxList: Sendable, Equatable {
    public var entries: [OutboxEntry]
    public var total: Int

    public init(entries: [OutboxEntry], total: Int) {
        self.entries = entries
        self.total = total
    }
}

/// What became of one draft.
public enum Acceptance: Sendable, Equatable {
    case accepted(AcceptedWrite)
    /// `item_unknown`, `item_ambiguous`, `conflict`, `write_invalid`: nothing was queued for it.
    case refused(UserFacingError)
}

/// A write that is on disk.
public struct AcceptedWrite: Sendable, Equatable {
    public var entry: Int64
    /// `queued`, or `superseded` where nothing has to be sent: the server never had the item.
    public var state: OutboxEntry.State
    public var kind: OutboxEntry.Kind
    public var itemID: String
    /// The very same write was waiting already (a second delete); nothing new was queued.
    public var wasQueued: Bool
    /// Entries that this one made superfluous.
    public var supersedes: [Int64]
    /// The entry of the same item that is sent first.
    public var behind: Int64?
}

/// What `retry-queue` did.
public struct RetryOutcome: Sendable, Equatable {
    public enum Reason: String, Sendable, CaseIterable, Codable {
        case isBeingSent = "being_sent"
        case isDue = "already_due"
        case isBehind = "behind_another"
        case awaitsItem = "item_in_process"
        case wasTriedJustNow = "tried_just_now"
        case isParked = "parked"
        case isOver = "over"
    }

    public struct Skipped: Sendable, Equatable {
        public var entry: Int64
        public var reason: Reason
    }

    public var touched: Int = 0
    /// The first 50.
    public var touchedEntries: [Int64] = []
    /// The first 50; `skippedByReason` counts all.
    public var skipped: [Skipped] = []
    public var skippedByReason: [Reason: Int] = [:]

    public init() {}
}

/// What `queue drop` did, or would do.
public struct DropOutcome: Sendable, Equatable {
    /// Dropped; empty where dependents were found and not to be dropped.
    public var dropped: [Int64] = []
    /// Entries behind a dropped creation, which can only go with it.
    public var dependents: [Int64] = []

    public init() {}
}
