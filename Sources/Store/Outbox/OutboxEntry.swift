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
        /// Nothing of it is left to send: a later entry asked for something else, or the item was deleted. Left where it was never sent,
        /// and the deletion is taken back.
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
        /// The item was there before its capture. Of a deletion of that one: the item was not meant.
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
        /// The entry that leaves nothing of it to send. Of one that waits or is parked: a deletion that is not carried out yet.
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
    /// Whether the server may have something of it that it had not before.
    package var mayBeThere = false
    /// Parked, and it would delete a capture with its item (`isOfCapture`).
    package var wouldDeleteCapture = false
    /// `title and tags follow as #3`
    private var following: [String] = []
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

    /// Delivered, and the server had the item before: it took nothing of this. All that comes of it are the edits that follow.
    package var isOfKnownItem: Bool {
        self.state == .delivered && (self.kind.isCreation ? base != nil : reason == .wasThere)
    }
}

extension OutboxEntry {
    private static let shownLength = 200

    /// With what is said of it in words.
    package var shown: Status {
        var shown = status
        (shown.what, shown.error, shown.reachableAge) = (what, error, Int(reachableAge.wholeMilliseconds / 1_000))
        let remarks = [shown.remark].compactMap(\.self) + following
        shown.remark = remarks.isEmpty ? nil : remarks.joined(separator: "; ")
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
        let error = errorCode.map {
            UserFacingError(code: $0, message: errorMessage, entry: id, isParked: self.state == .parked)
        }
        guard wouldDeleteCapture else { return error }
        return error?.with(
            suggestion: """
                A capture has become a part of the item since. To delete both: `prsnlctl delete \(self.itemID)`. \
                To keep both: `prsnlctl queue drop \(id)`.
                """)
    }
}

extension UserFacingError {
    /// What a write failed with, as the file has it.
    init(code: String, message: String?, entry: Int64, isParked: Bool = false) {
        let known = ErrorCode(rawValue: code) ?? .unexpectedStatus
        var suggestion = known.recoverySuggestion
        // Nothing happens to it by itself, whatever the code says of requests.
        if isParked, !suggestion.commands.contains(where: \.isOfEntry) {
            suggestion = ErrorCode.writeTooOld.recoverySuggestion
        }
        suggestion = suggestion.map { $0.isOfEntry ? NextCommand(line: $0.line.dropLast() + "\(entry)") : $0 }
        self.init(known, message ?? "", recoverySuggestion: suggestion, codeName: code)
    }
}

extension NextCommand {
    /// The suggestions say N where they mean the entry.
    fileprivate var isOfEntry: Bool { line.hasSuffix(" N") }
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
    /// The server may have applied it, or still does.
    static let isUnknownSend = "purpose = 'send' AND (verdict IS NULL OR verdict = 'look')"

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

    /// A deletion, since which a capture has become a part of the item. That was not asked for of both.
    static let isOfCapture = """
        kind = 'delete' AND EXISTS (SELECT 1 FROM outbox AS made WHERE made.item_id = outbox.item_id
            AND made.kind = 'capture' AND made.state = 'delivered' AND made.base IS NOT NULL
            AND made.ended_at >= outbox.accepted_at AND made.reason IS NOT 'taken_back')
            AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = outbox.item_id AND deleted_at IS NOT NULL)
        """

    /// Not so of a creation that was refused because the server had the item, and that was never sent without an answer.
    static let mayBeThere = """
        (maybe_applied = 1 OR state IN ('sending', 'unknown') OR state = 'delivered' AND attempts > 0) AND NOT (state = 'unknown'
            AND EXISTS (SELECT 1 FROM outbox_attempt WHERE entry_id = outbox.id AND verdict = 'already_there')
            AND NOT EXISTS (SELECT 1 FROM outbox_attempt WHERE entry_id = outbox.id AND \(OutboxAttempt.isUnknownSend)))
        """

    /// The deletion that an entry waits behind, and ends with (`ItemEntry.isReplaced`).
    private static let openDeletion = """
        SELECT max(later.id) FROM outbox AS later WHERE later.item_id = outbox.item_id AND later.kind = 'delete'
            AND later.ended_at IS NULL AND later.id > coalesce(outbox.follows, outbox.id)
        """

    /// What `init(row:)` reads.
    static let columns = """
        id, kind, state, item_id, payload, base, theirs, accepted_at, ended_at, next_attempt_at, attempts,
        last_attempt_at, reason, remark, error_code, error_message, idempotency_key, follows, awaits_item,
        CASE WHEN kind IN ('edit', 'delete') AND state IN ('queued', 'parked') THEN (\(openDeletion)) ELSE superseded_by
            END AS superseded_by,
        CAST(max(0, (SELECT reachable_seconds FROM copy) - reachable_at) * 1e6 AS INTEGER) AS reachable_age,
        CASE WHEN state = 'queued' AND next_attempt_at IS NULL THEN (SELECT coalesce(max(iif(other.id < outbox.id, other.id,
            NULL)), min(other.id)) FROM outbox AS other
            WHERE other.item_id = outbox.item_id AND other.id != outbox.id AND other.ended_at IS NULL
                AND NOT (other.kind = 'edit' AND (other.state = 'parked' OR outbox.kind = 'delete' AND other.state = 'queued')))
            WHEN state = 'queued' THEN (SELECT min(twin.id) \(unknownTwin)) END AS behind,
        CASE WHEN state = 'queued' AND next_attempt_at IS NULL THEN (SELECT max(parked.id) FROM outbox AS parked
            WHERE parked.item_id = outbox.item_id AND parked.id != outbox.id AND parked.ended_at IS NULL
                AND parked.state = 'parked' AND parked.kind != 'edit') END AS awaits_decision,
        \(mayBeThere) AS may_be_there, state = 'parked' AND \(isOfCapture) AS would_delete_capture,
        CASE WHEN state = 'delivered' THEN (SELECT group_concat(id || ' ' || state || ' ' || payload || char(9) || coalesce(iif(
            state = 'parked' OR by_hand IS NOT NULL, theirs, NULL), ''), char(10)) FROM outbox AS edit
            WHERE edit.item_id = outbox.item_id AND follows = outbox.id AND ended_at IS NULL) END AS following
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
        (mayBeThere, wouldDeleteCapture) = (row.int("may_be_there") == 1, row.int("would_delete_capture") == 1)
        following = row.text("following")?.split(separator: "\n").compactMap(Self.words) ?? []
    }

    /// - Parameter edit: the number, the state and the payload of one that follows, and what the server has where that is in conflict.
    private static func words(of edit: Substring) -> String? {
        let parts = edit.split(separator: " ", maxSplits: 2)
        let texts = parts.last?.split(separator: "\t").map(String.init) ?? []
        guard parts.count == 3, var fields = ItemEdit(json: texts.first) else { return nil }
        if let theirs = ItemEdit(json: texts.last), texts.count > 1 { fields = fields.only(theirs) }
        let names = [
            fields.title.map { _ in "title" }, fields.tagChange.isEmpty ? nil : "tags",
            fields.summary.map { _ in "remark" },
        ].compactMap(\.self)
        let all = (names.dropLast(2) + [names.suffix(2).joined(separator: " and ")]).joined(separator: ", ")
        let end = names.count > 1 || names == ["tags"] ? "" : "s"
        return parts[1] == "parked"
            ? "\(all) wait\(end) for a decision about #\(parts[0])" : "\(all) follow\(end) as #\(parts[0])"
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

/// How far an entry is: all that ever changes of it. What was asked for stays as it was accepted.
struct Standing: Sendable, Equatable {
    var state: OutboxEntry.State
    /// The server's id, or a local one.
    var itemID: String
    var endedAt: Timestamp?
    /// When it is sent, or looked up. `nil` where another entry of its item comes first.
    var dueAt: Timestamp?
    var attempts: Int
    var failures: Int
    var failedLookups: Int
    var lastAttemptAt: Timestamp?
    var supersededBy: Int64?
    /// What it was before it ended with a deletion.
    var supersededFrom: OutboxEntry.State?
    var reason: OutboxEntry.Reason?
    var remark: String?
    var errorCode: String?
    var errorMessage: String?
    var isMaybeApplied: Bool
    var awaitsItem: Bool
    var isUnverified: Bool
    /// Delivered, and what it asked for besides is not wanted any more.
    var isWithdrawn: Bool
    var manual: OutboxTask.ManualDecision?
    /// JSON, as the other two.
    var evidence: String?
    var base: String?
    var theirs: String?
    var undecidedSince: Timestamp?
    var undecidedHere: Timestamp?

    mutating func setError(_ code: String?, _ message: String?) { (errorCode, errorMessage) = (code, message) }

    /// What follows from its state.
    private mutating func settle(at now: Timestamp) {
        if state != .queued, state != .unknown { (dueAt, awaitsItem) = (nil, false) }
        if state == .parked { (failures, manual) = (0, nil) }
        let isOpen = state.isWaiting || state == .parked
        endedAt = isOpen ? nil : endedAt ?? now
        if isOpen || state == .delivered { supersededBy = nil }
        if isOpen { reason = nil }
        if state != .superseded { supersededFrom = nil }
    }

    private enum Value: Equatable {
        case text(String?)
        case time(Timestamp?)
        case number(Int?)
        case flag(Bool)

        func bind(to statement: Statement) {
            switch self {
            case .text(let text): statement.bind(text)
            case .time(let time): statement.bind(time)
            case .number(let number): statement.bind(number)
            case .flag(let isSet): statement.bind(isSet ? 1 : 0)
            }
        }
    }

    private static let columns = [
        "state", "item_id", "ended_at", "next_attempt_at", "attempts", "failures", "failed_looks", "last_attempt_at",
        "superseded_by", "superseded_from", "remark", "error_code", "error_message", "maybe_applied", "awaits_item",
        "is_unverified", "by_hand", "evidence", "base", "theirs", "undecided_since", "undecided_here", "is_withdrawn",
        "reason",
    ]

    /// Of the columns, in their order.
    private var values: [Value] {
        [
            .text(state.rawValue), .text(itemID), .time(endedAt), .time(dueAt), .number(attempts), .number(failures),
            .number(failedLookups), .time(lastAttemptAt), .number(supersededBy.map(Int.init)),
            .text(supersededFrom?.rawValue), .text(remark), .text(errorCode), .text(errorMessage),
            .flag(isMaybeApplied), .flag(awaitsItem), .flag(isUnverified), .text(manual?.rawValue), .text(evidence),
            .text(base), .text(theirs), .time(undecidedSince), .time(undecidedHere), .flag(isWithdrawn),
            .text(reason?.rawValue),
        ]
    }

    /// Only what has changed: SQLite writes an entry of each index again that has a column which is set
    /// (https://sqlite.org/queryplanner.html).
    private func write(_ id: Int64, _ before: Standing, _ connection: Connection) throws {
        let changed = zip(Self.columns, zip(before.values, values)).filter { $1.0 != $1.1 }
        guard !changed.isEmpty else { return }
        let set = changed.map { $0.0 + " = ?" }.joined(separator: ", ")
        let statement = try connection.cached("UPDATE outbox SET \(set) WHERE id = ?")
        for (_, (_, value)) in changed { value.bind(to: statement) }
        try statement.bind(Int(id)).run()
    }

    /// - Returns: What it was, and what it is; `nil` where there is no such entry.
    fileprivate static func change(
        _ id: Int64, _ connection: Connection, now: Timestamp, _ body: (inout Standing) throws -> Void
    ) throws -> (before: Standing, after: Standing)? {
        let found =
            try connection.cached("SELECT \(columns.joined(separator: ", ")) FROM outbox WHERE id = ?").bind(Int(id))
            .first { Standing($0) } ?? nil
        guard let before = found else { return nil }
        var after = before
        try body(&after)
        after.settle(at: now)
        try after.write(id, before, connection)
        return (before, after)
    }
}

extension Standing {
    private init?(_ row: Statement) {
        guard let state = row.text(0).flatMap(OutboxEntry.State.init), let itemID = row.text(1) else { return nil }
        self.init(
            state: state, itemID: itemID, endedAt: row.timestamp(2), dueAt: row.timestamp(3), attempts: row.int(4),
            failures: row.int(5), failedLookups: row.int(6), lastAttemptAt: row.timestamp(7),
            supersededBy: row.isNull(8) ? nil : row.int64(8),
            supersededFrom: row.text(9).flatMap(OutboxEntry.State.init),
            reason: row.text(23).flatMap(OutboxEntry.Reason.init), remark: row.text(10), errorCode: row.text(11),
            errorMessage: row.text(12), isMaybeApplied: row.int(13) == 1, awaitsItem: row.int(14) == 1,
            isUnverified: row.int(15) == 1, isWithdrawn: row.int(22) == 1,
            manual: row.text(16).flatMap(OutboxTask.ManualDecision.init),
            evidence: row.text(17), base: row.text(18), theirs: row.text(19), undecidedSince: row.timestamp(20),
            undecidedHere: row.timestamp(21))
    }
}

extension OutboxWriter {
    /// The one way in which an entry changes.
    ///
    /// - Parameter from: what it has to be. One that is something else is a defect, and rolls back.
    mutating func change(
        _ id: Int64, from: OutboxEntry.State? = nil, _ body: (inout Standing) -> Void
    ) throws {
        let changed = try Standing.change(id, connection, now: now) { standing in
            guard from == nil || standing.state == from else { throw stale("#\(id) is not \(from?.rawValue ?? "")") }
            body(&standing)
        }
        guard let (before, after) = changed else { throw stale("#\(id) is gone") }
        deltas.waiting += (after.state.isWaiting ? 1 : 0) - (before.state.isWaiting ? 1 : 0)
        deltas.unknown += (after.state == .unknown ? 1 : 0) - (before.state == .unknown ? 1 : 0)
        deltas.parked += (after.state == .parked ? 1 : 0) - (before.state == .parked ? 1 : 0)
    }

    /// Changes all entries that a query names.
    ///
    /// - Parameter ids: `SELECT id FROM outbox …`, bound.
    mutating func change(each ids: Statement, _ body: (inout Standing) -> Void) throws {
        for id in try ids.all({ $0.int64(0) }) { try change(id, body) }
    }

    /// Ends an entry, or parks it.
    mutating func move(
        _ id: Int64, from: OutboxEntry.State, to state: OutboxEntry.State, supersededBy: Int64? = nil,
        reason: OutboxEntry.Reason? = nil, remark: String? = nil
    ) throws {
        try change(id, from: from) { standing in
            (standing.supersededFrom, standing.state) = (standing.state, state)
            (standing.supersededBy, standing.reason) = (supersededBy, reason)
            standing.remark = remark ?? standing.remark
        }
    }
}
