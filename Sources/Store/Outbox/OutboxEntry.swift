package import PRSNLCore

/// One accepted write. docs/outbox.md draws the states and says who moves an entry out of each.
@dynamicMemberLookup
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
        /// On its way: on disk before the first byte is sent. Left by the replayer. The next start makes it `unknown`.
        case sending
        /// The server may have applied it. Left by the replayer, after it has looked.
        case unknown
        /// The server has it. Final.
        case delivered
        /// Refused for good, in conflict, undecidable or too old. Left by a person only.
        case parked
        /// Given up by a person. Final.
        case dropped
        /// Nothing of it is left to send: a later entry asked for something else, or a deletion made it superfluous. Left where that
        /// deletion is taken back.
        case superseded

        /// Whether something is still to happen: `queued`, `sending`, `unknown`.
        package var isWaiting: Bool { self == .queued || self == .sending || self == .unknown }
    }

    /// Why it has ended as it did, where anything depends on it.
    package enum Reason: String, Sendable {
        /// By `undo`.
        case takenBack = "taken_back"
        /// The item of a deletion was gone before it.
        case wasGone = "was_gone"
        /// The item of a deletion was there before the capture that it was to take back, and was not meant.
        case wasThere = "was_there"
    }

    /// What it writes.
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

    /// What people and programs are told of it: an object of `queue --json`.
    package struct Status: Sendable, Equatable, Codable {
        /// The number that people see: `#12`. Never used again.
        package var entry: Int64
        package var state: State
        package var kind: Kind
        /// The server's id, or `local-<uuid>` until a creation's is known.
        package var itemID: String
        /// What a person knows it by: the title, else the URL, else a note's first line, else the item's id.
        package var what = ""
        package var acceptedAt: Timestamp
        @Nullable package var endedAt: Timestamp? = nil
        /// `nil` where it waits behind another entry of its item, and where nothing is to happen any more.
        @Nullable package var nextAttemptAt: Timestamp? = nil
        /// The entry that it waits for: of its item, or a creation that it could be confused with.
        @Nullable package var behind: Int64? = nil
        /// The parked entry of its item that it waits for.
        @Nullable package var awaitsDecision: Int64? = nil
        /// Of an edit that carries what a creation asked for and the server did not take: the creation.
        @Nullable package var follows: Int64? = nil
        /// It waits until the server has processed the item.
        package var awaitsItem = false
        @Nullable package var supersededBy: Int64? = nil
        /// How often it was sent.
        package var attempts = 0
        @Nullable package var lastAttemptAt: Timestamp? = nil
        /// Seconds for which the server could be reached while it waited.
        package var reachableAge = 0
        /// How it ended, or why it waits, in words: "was already there".
        @Nullable package var remark: String? = nil
        @Nullable package var error: UserFacingError? = nil
    }

    private var status: Status
    package var payload: Payload
    /// What the edited fields were when the edit was accepted. Of a delivered creation whose item was there before: what the
    /// server had. `nil` for others.
    package var base: ItemEdit?
    /// In a conflict, what the server has there.
    package var theirs: ItemEdit?
    /// How long the server could be reached while it waited.
    package var reachableAge = Duration.zero
    package var reason: Reason?
    package var errorCode: String?
    package var errorMessage: String?
    /// Sent with every attempt.
    package var idempotencyKey: String

    package init(_ status: Status, payload: Payload, idempotencyKey: String) {
        (self.status, self.payload, self.idempotencyKey) = (status, payload, idempotencyKey)
    }

    package subscript<Value>(dynamicMember member: WritableKeyPath<Status, Value>) -> Value {
        get { status[keyPath: member] }
        set { status[keyPath: member] = newValue }
    }

    package var id: Int64 { status.entry }
}

extension OutboxEntry {
    private static let shownLength = 200

    /// With what is said of it in words.
    package var shown: Status {
        var shown = status
        (shown.what, shown.error, shown.reachableAge) = (what, error, Int(reachableAge.wholeMilliseconds / 1_000))
        return shown
    }

    private var what: String {
        switch payload {
        case .create(let item):
            let firstLine = item.note?.split(whereSeparator: \.isNewline).first.map(String.init)
            return String((item.title ?? item.url ?? firstLine ?? self.itemID).prefix(Self.shownLength))
        case .edit(let edit):
            let change = edit.tagChange
            let tags = change.added.map { "+\($0) " } + change.removed.map { "-\($0) " }
            return tags.joined() + (edit.title.map { String($0.prefix(Self.shownLength)) } ?? self.itemID)
        case .delete: return self.itemID
        }
    }
}

extension OutboxEntry {
    /// What its last attempt failed with, or why it is parked.
    package var error: UserFacingError? {
        errorCode.map { UserFacingError(code: $0, message: errorMessage, entry: id) }
    }
}

extension UserFacingError {
    /// What a write failed with, as the file has it.
    init(code: String, message: String?, entry: Int64) {
        let known = ErrorCode(rawValue: code) ?? .unexpectedStatus
        // The suggestions say N where they mean the entry.
        let suggestion = known.recoverySuggestion.map { command in
            command.line.hasSuffix(" N") ? NextCommand(line: command.line.dropLast() + "\(entry)") : command
        }
        self.init(known, message ?? "", recoverySuggestion: suggestion, codeName: code)
    }
}

/// One request that was made for an entry.
package struct OutboxAttempt: Sendable, Equatable, Codable {
    package enum Purpose: String, Sendable, CaseIterable, Codable {
        /// The write itself.
        case send
        /// A question whether it was applied, or whether it may be.
        case lookup = "look"
    }

    package var purpose: Purpose
    package var startedAt: Timestamp
    /// `nil` where the process ended before the answer came.
    @Nullable package var endedAt: Timestamp? = nil
    /// What was concluded (`WriteOutcome.verdict`).
    @Nullable package var verdict: String? = nil
    @Nullable package var errorCode: String? = nil
    /// HTTP.
    @Nullable package var status: Int? = nil
    @Nullable package var requestID: String? = nil
}

extension OutboxAttempt {
    package init(_ purpose: Purpose, startedAt: Timestamp) {
        self.purpose = purpose
        self.startedAt = startedAt
    }
}

extension OutboxEntry {
    /// A creation whose outcome is not known, and that the one of `outbox` could be confused with.
    static let unknownTwin = """
        FROM outbox AS twin
        WHERE twin.maybe_applied IS 1 AND twin.state = 'unknown' AND twin.fingerprint = outbox.fingerprint
        """

    /// What `init(row:)` reads.
    static let columns = """
        id, kind, state, item_id, payload, base, theirs, accepted_at, ended_at, next_attempt_at, attempts,
        last_attempt_at, superseded_by, reason, remark, error_code, error_message, idempotency_key, follows, awaits_item,
        CAST(max(0, (SELECT reachable_seconds FROM copy) - reachable_at) * 1e6 AS INTEGER) AS reachable_age,
        CASE WHEN state = 'queued' AND next_attempt_at IS NULL THEN (SELECT max(earlier.id) FROM outbox AS earlier
            WHERE earlier.item_id = outbox.item_id AND earlier.id < outbox.id AND earlier.ended_at IS NULL)
            WHEN state = 'queued' THEN (SELECT min(twin.id) \(unknownTwin)) END AS behind,
        CASE WHEN state = 'queued' AND next_attempt_at IS NULL THEN (SELECT max(earlier.id) FROM outbox AS earlier
            WHERE earlier.item_id = outbox.item_id AND earlier.id < outbox.id AND earlier.ended_at IS NULL
                AND earlier.state = 'parked') END AS awaits_decision
        """

    /// `nil` for a row that this program did not write.
    init?(row: Statement) {
        guard let kind = row.text("kind").flatMap(Kind.init), let state = row.text("state").flatMap(State.init),
            let itemID = row.text("item_id"), let payload = Payload(kind: kind, json: row.text("payload")),
            let acceptedAt = row.timestamp("accepted_at"), let key = row.text("idempotency_key")
        else { return nil }
        let status = Status(
            entry: row.int64("id"), state: state, kind: kind, itemID: itemID, acceptedAt: acceptedAt,
            endedAt: row.timestamp("ended_at"), nextAttemptAt: row.timestamp("next_attempt_at"),
            behind: row.entry("behind"), awaitsDecision: row.entry("awaits_decision"), follows: row.entry("follows"),
            awaitsItem: row.int("awaits_item") == 1, supersededBy: row.entry("superseded_by"),
            attempts: row.int("attempts"), lastAttemptAt: row.timestamp("last_attempt_at"), remark: row.text("remark"))
        self.init(status, payload: payload, idempotencyKey: key)
        (base, theirs) = (ItemEdit(json: row.text("base")), ItemEdit(json: row.text("theirs")))
        reachableAge = .microseconds(row.int("reachable_age"))
        (errorCode, errorMessage) = (row.text("error_code"), row.text("error_message"))
        reason = row.text("reason").flatMap(Reason.init)
    }
}

extension Statement {
    /// The number of another entry, where there is one.
    fileprivate func entry(_ column: String) -> Int64? { text(column) == nil ? nil : int64(column) }
}

extension ItemEdit {
    /// `nil` for a text that this program did not write.
    init?(json: String?) {
        guard case .edit(let edit)? = OutboxEntry.Payload(kind: .edit, json: json) else { return nil }
        self = edit
    }
}
