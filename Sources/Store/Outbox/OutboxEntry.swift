package import PRSNLCore

/// One accepted write. docs/outbox.md draws the states and says who moves an entry out of each.
package struct OutboxEntry: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable, Codable {
        /// A URL.
        case capture
        case note
        case edit
        case delete

        package var isCreation: Bool { self == .capture || self == .note }
    }

    package enum State: String, Sendable, CaseIterable, Codable {
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
        package var isWaiting: Bool { self == .queued || self == .sending || self == .unknown }
    }

    /// What is to be written.
    package enum Payload: Sendable, Equatable {
        case create(NewItem)
        case edit(ItemEdit)
        case delete

        /// As the column `payload` has them.
        package var fields: JSONFields {
            switch self {
            case .create(let item): item.fields
            case .edit(let edit): edit.fields
            case .delete: JSONFields()
            }
        }

        /// `nil` for a text that this program did not write.
        init?(kind: Kind, json: String?) {
            guard let fields = json.flatMap(JSONFields.init(json:)) else { return nil }
            do throws(JSONFields.Failure) {
                switch kind {
                case .capture, .note: self = .create(try NewItem(fields))
                case .edit: self = .edit(try ItemEdit(fields))
                case .delete: self = .delete
                }
            } catch {
                return nil
            }
        }
    }

    /// The number that people see: `#12`. Never used again.
    package var id: Int64
    package var kind: Kind
    package var state: State
    /// The server's id, or `local-<uuid>` until a creation's is known.
    package var itemID: String
    package var payload: Payload
    /// What the edited fields were when the edit was accepted; of other kinds `nil`.
    package var base: ItemEdit?
    /// In a conflict, what the server has there.
    package var theirs: ItemEdit?
    package var acceptedAt: Timestamp
    package var endedAt: Timestamp?
    /// `nil` where it waits behind another entry of its item, and where nothing is to happen any more.
    package var nextAttemptAt: Timestamp?
    /// The entry of its item that it waits for.
    package var behind: Int64?
    /// How often it was sent.
    package var attempts: Int
    package var lastAttemptAt: Timestamp?
    /// How long the server could be reached while it waited.
    package var reachableAge: Duration
    package var supersededBy: Int64?
    /// How it ended, or why it waits, in words: "was already there".
    package var remark: String?
    package var errorCode: String?
    package var errorMessage: String?
    /// Sent with every attempt.
    package var idempotencyKey: String
    /// Of an edit that carries what a creation asked for and the server did not take: the creation.
    package var follows: Int64?
    /// It waits until the server has processed the item.
    package var awaitsItem = false
}

/// One request that was made for an entry.
package struct OutboxAttempt: Sendable, Equatable {
    package enum Purpose: String, Sendable, CaseIterable, Codable {
        /// The write itself.
        case send
        /// A question whether it was applied, or whether it may be.
        case look
    }

    package var purpose: Purpose
    package var startedAt: Timestamp
    /// `nil` where the process ended before the answer came.
    package var endedAt: Timestamp?
    /// What was concluded: `delivered`, `retry`, `wait_for_network`, `wait_for_login`, `look`, `park`.
    package var verdict: String?
    package var errorCode: String?
    /// HTTP.
    package var status: Int?
    package var requestID: String?
}

/// Which entries a list is of.
package enum OutboxFilter: Sendable, Equatable {
    /// `queued`, `sending`, `unknown` and `parked`: everything that is not over.
    case open
    case all
    case state(OutboxEntry.State)
}

/// A part of the outbox, and how many entries the whole has.
package struct OutboxList: Sendable, Equatable {
    package var entries: [OutboxEntry]
    package var total: Int

    package init(entries: [OutboxEntry], total: Int) {
        self.entries = entries
        self.total = total
    }
}

/// What became of one draft.
package enum Acceptance: Sendable, Equatable {
    case accepted(AcceptedWrite)
    /// `item_unknown`, `item_ambiguous`, `conflict`, `write_invalid`: nothing was queued for it.
    case refused(UserFacingError)
}

/// A write that is on disk.
package struct AcceptedWrite: Sendable, Equatable {
    package var entry: Int64
    /// `queued`, or `superseded` where nothing has to be sent: the server never had the item.
    package var state: OutboxEntry.State
    package var kind: OutboxEntry.Kind
    package var itemID: String
    /// The very same write was waiting already (a second delete); nothing new was queued.
    package var wasQueued: Bool
    /// Entries that this one made superfluous.
    package var supersedes: [Int64]
    /// The entry of the same item that is sent first.
    package var behind: Int64?
}

/// What `retry-queue` did.
package struct RetryOutcome: Sendable, Equatable {
    package enum Reason: String, Sendable, CaseIterable, Codable {
        case isBeingSent = "being_sent"
        case isDue = "already_due"
        case isBehind = "behind_another"
        case awaitsItem = "item_in_process"
        case wasTriedJustNow = "tried_just_now"
        case isParked = "parked"
        case isOver = "over"
    }

    package struct Skipped: Sendable, Equatable {
        package var entry: Int64
        package var reason: Reason
    }

    package var touched: Int = 0
    /// The first 50.
    package var touchedEntries: [Int64] = []
    /// The first 50; `skippedByReason` counts all.
    package var skipped: [Skipped] = []
    package var skippedByReason: [Reason: Int] = [:]

    package init() {}
}

/// What `queue drop` did, or would do.
package struct DropOutcome: Sendable, Equatable {
    /// Dropped; empty where dependents were found and not to be dropped.
    package var dropped: [Int64] = []
    /// Entries behind a dropped creation, which can only go with it.
    package var dependents: [Int64] = []

    package init() {}
}
