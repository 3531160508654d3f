import PRSNLCore

extension OutboxEntry {
    /// The columns that `init(row:)` reads, in its order.
    static let columns = """
        id, kind, state, item_id, payload, base, theirs, accepted_at, ended_at, next_attempt_at, attempts,
        last_attempt_at, (SELECT reachable_seconds FROM copy) - reachable_at, superseded_by, remark, error_code,
        error_message, idempotency_key,
        CASE WHEN state = 'queued' AND next_attempt_at IS NULL THEN (SELECT max(earlier.id) FROM outbox AS earlier
            WHERE earlier.item_id = outbox.item_id AND earlier.id < outbox.id AND earlier.ended_at IS NULL) END,
        follows, awaits_item,
        CASE WHEN state = 'queued' AND next_attempt_at IS NULL THEN (SELECT max(earlier.id) FROM outbox AS earlier
            WHERE earlier.item_id = outbox.item_id AND earlier.id < outbox.id AND earlier.ended_at IS NULL
                AND earlier.state = 'parked') END
        """

    /// `nil` for a row that this program did not write.
    init?(row: Statement) {
        guard let kind = row.text(1).flatMap(Kind.init), let state = row.text(2).flatMap(State.init),
            let itemID = row.text(3), let payload = Payload(kind: kind, json: row.text(4)),
            let acceptedAt = row.timestamp(7), let key = row.text(17)
        else { return nil }
        self.init(
            id: row.int64(0), kind: kind, state: state, itemID: itemID, payload: payload,
            base: ItemEdit(json: row.text(5)),
            theirs: ItemEdit(json: row.text(6)), acceptedAt: acceptedAt, endedAt: row.timestamp(8),
            nextAttemptAt: row.timestamp(9), behind: row.text(18) == nil ? nil : row.int64(18),
            awaitsDecision: row.text(21) == nil ? nil : row.int64(21), attempts: row.int(10),
            lastAttemptAt: row.timestamp(11),
            reachableAge: .microseconds(ForeignNumber.clamp(max(0, row.double(12)) * 1e6)),
            supersededBy: row.text(13) == nil ? nil : row.int64(13), remark: row.text(14), errorCode: row.text(15),
            errorMessage: row.text(16), idempotencyKey: key, follows: row.text(19) == nil ? nil : row.int64(19),
            awaitsItem: row.int(20) == 1)
    }
}

extension OutboxTask {
    static let columns =
        OutboxEntry.columns
        + ", failures, maybe_applied, by_hand, evidence, undecided_since, failed_looks, undecided_here"

    init?(row: Statement) {
        guard let entry = OutboxEntry(row: row) else { return nil }
        self.init(
            entry: entry, failures: row.int(22), maybeApplied: row.int(23) == 1,
            manual: row.text(24).flatMap(ManualDecision.init), evidence: row.text(25).flatMap(SendEvidence.init(json:)),
            undecidedSince: UndecidedSince(row.timestamp(26), row.timestamp(28)), failedLookups: row.int(27))
    }
}

extension ItemEdit {
    /// `nil` for a text that this program did not write.
    init?(json: String?) {
        guard case .edit(let edit)? = OutboxEntry.Payload(kind: .edit, json: json) else { return nil }
        self = edit
    }
}

extension SendEvidence {
    var json: String {
        var fields = JSONFields()
        fields.add("known_ids", knownIDs)
        fields.add("known_down_to", knownDownTo?.written.description)
        return fields.json
    }

    init?(json: String) {
        guard let fields = JSONFields(json: json), case .texts(let ids)? = fields["known_ids"] else { return nil }
        self.init(knownIDs: ids)
        if case .text(let time)? = fields["known_down_to"] { knownDownTo = Timestamp(time).map(ServerTime.init) }
    }
}

extension UndecidedSince {
    fileprivate init?(_ server: Timestamp?, _ here: Timestamp?) {
        guard let server, let here else { return nil }
        self.init(server: ServerTime(server), here: here)
    }
}
