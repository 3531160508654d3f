package import PRSNLCore

/// An entry whose time has come, with what the replayer needs to know beyond what people see.
package struct OutboxTask: Sendable, Equatable {
    /// What a person said about a parked entry.
    package enum ManualDecision: String, Sendable {
        /// One more attempt: the first failure that the server answers with parks it again.
        case retry
        /// The same, and it replaces what the server had there when the person decided.
        case overwrite
    }

    package var entry: OutboxEntry
    /// In a row, for the backoff.
    package var failures: Int
    /// Whether an attempt may have been applied.
    package var maybeApplied: Bool
    package var manual: ManualDecision?
    /// Of the send whose outcome is looked for.
    package var evidence: SendEvidence?
    /// When a lookup, by the server's clock, first could not find what was sent. One is not enough: servers insert late.
    package var undecidedSince: UndecidedSince?
    /// In a row, for their backoff.
    package var failedLookups: Int
    /// The entries of the item that are sent along with it: `entry.payload` is what all of them make together.
    package var others: [Int64] = []
    /// Of `entry` and `others`, those of which nothing is wanted any more, because a later one asks for something else.
    package var overridden: Set<Int64> = []
    /// The last delivered entry that has done so.
    package var overridingEntry: Int64?
    /// Of an edit, the fields of which is not known what they were when it was made.
    package var unseen = ItemEdit()
    /// Of an edit, what people here have seen in its fields, or have sent: what they put another value in place of.
    package var known: [ItemEdit] = []

    package var covered: [Int64] { [entry.id] + others }
}

/// What the server had just before a creation was sent: by this a new item can be told from an old one without
/// any clock.
package struct SendEvidence: Sendable, Equatable {
    /// The ids of the newest items.
    package var knownIDs: [String]
    /// All items that are newer than this are among `knownIDs`. `nil` where all items are.
    package var knownDownTo: ServerTime?

    package init(knownIDs: [String], knownDownTo: ServerTime? = nil) {
        self.knownIDs = knownIDs
        self.knownDownTo = knownDownTo
    }
}

/// When a lookup first could not find what was sent. Either clock may be set: only what both say has passed.
package struct UndecidedSince: Sendable, Equatable {
    package var server: ServerTime
    package var here: Timestamp

    package init(server: ServerTime, here: Timestamp) {
        self.server = server
        self.here = here
    }

    /// What has passed since. `nil` where a clock was set back.
    package func passed(until now: UndecidedSince) -> Duration? {
        let passed = min(now.server.duration(since: server), now.here.duration(since: here))
        return passed < .zero ? nil : passed
    }
}

extension OutboxTask {
    static let columns =
        OutboxEntry.columns
        + ", failures, maybe_applied, by_hand, evidence, undecided_since, failed_looks, undecided_here"

    init?(row: Statement) {
        guard let entry = OutboxEntry(row: row) else { return nil }
        self.init(
            entry: entry, failures: row.int("failures"), maybeApplied: row.int("maybe_applied") == 1,
            manual: row.text("by_hand").flatMap(ManualDecision.init),
            evidence: row.text("evidence").flatMap(SendEvidence.init(json:)),
            undecidedSince: UndecidedSince(row.timestamp("undecided_since"), row.timestamp("undecided_here")),
            failedLookups: row.int("failed_looks"))
    }
}

/// An entry among those of its item, and what it asks for of the item.
struct ItemEntry {
    var id: Int64
    var kind: OutboxEntry.Kind
    var state: OutboxEntry.State
    var maybeApplied: Bool
    var payload: OutboxEntry.Payload
    var base: ItemEdit?
    /// Of a generated edit, the number of the entry it was generated for.
    var follows: Int64?
    var hasFailed: Bool
    /// Whether it is sent, or looked up, at a time of its own, and not after another one.
    var hasTime: Bool
    /// What the server has in its fields that are in conflict. The others are sent. Of one that a person retries: these fields,
    /// because the server has the others.
    var held: ItemEdit?
    var manual: OutboxTask.ManualDecision?
    var endedAt: Timestamp?
    /// Whether the server may lack some of it, although it was delivered.
    var isUnverified: Bool
    /// What follows it by itself.
    var following: [ItemEdit] = []

    var place: Int64 { follows ?? id }
    var edit: ItemEdit? { if case .edit(let edit) = payload { edit } else { nil } }

    /// What it asks for by itself.
    var ask: Intent.Ask {
        var ask = payload.ask
        // The remark of an item that was not there has become a part of it.
        if case .create(var item) = payload, state == .delivered, base == nil {
            item.note = nil
            ask = .create(item)
        }
        if let held, let edit { ask = .edit(manual == nil ? edit.without(held) : edit.only(held)) }
        return following.reduce(ask) { $0.without($1) }
    }

    var intent: Intent {
        Intent(number: id, ask: ask, isDelivered: state == .delivered, isRemark: isRemark)
    }

    /// An edit generated for a capture that replaces no summary.
    var isRemark: Bool { follows != nil && base != nil && base?.summary == nil && edit?.summary != nil }
    /// Whether the server certainly has nothing of it.
    var isUnsent: Bool { (state == .queued || state == .parked) && !maybeApplied }
    /// Whether a deletion that was asked for later takes its place. Then it waits, and ends with the deletion. If that is given up, it is
    /// sent after all.
    func isReplaced(by deletion: Int64) -> Bool {
        !kind.isCreation && place < deletion && (state == .queued || state == .parked)
    }
    /// Whether the server was seen to have it, and it only waits to be compared again (`WriteOutcome.settling`).
    var isSettling: Bool { state == .queued && maybeApplied && !hasFailed }

    static let columns = """
        id, kind, state, maybe_applied, payload, base, follows, error_code IS NOT NULL,
        iif(ended_at IS NULL AND state != 'parked', theirs, NULL), by_hand,
        ended_at, is_unverified, next_attempt_at IS NOT NULL
        """

    init?(row: Statement) {
        guard let kind = row.text(1).flatMap(OutboxEntry.Kind.init),
            let state = row.text(2).flatMap(OutboxEntry.State.init),
            let payload = OutboxEntry.Payload(kind: kind, json: row.text(4))
        else { return nil }
        (id, self.kind, self.state, maybeApplied) = (row.int64(0), kind, state, row.int(3) == 1)
        (self.payload, base) = (payload, ItemEdit(json: row.text(5)))
        (follows, hasFailed) = (row.isNull(6) ? nil : row.int64(6), row.int(7) == 1)
        (held, manual) = (ItemEdit(json: row.text(8)), row.text(9).flatMap(OutboxTask.ManualDecision.init))
        (endedAt, isUnverified, hasTime) = (row.timestamp(10), row.int(11) == 1, row.int(12) == 1)
    }

    /// Those of an item that count, in the order in which they were asked for, each with what follows it.
    static func all(of item: String, _ connection: Connection) throws -> [ItemEntry] {
        var all = try connection.cached(
            "SELECT \(columns) FROM outbox WHERE item_id = ? AND is_withdrawn = 0 ORDER BY coalesce(follows, id), id"
        ).bind(item).all(ItemEntry.init(row:))
        let following = Dictionary(grouping: all.filter { $0.follows != nil }, by: \.place)
        for index in all.indices where all[index].follows == nil {
            all[index].following = following[all[index].id]?.compactMap(\.edit) ?? []
        }
        return all
    }
}

extension [ItemEntry] {
    /// The last deletion of the item that is not over; 0 where there is none.
    var openDeletion: Int64 { last { $0.kind == .delete && $0.endedAt == nil }?.id ?? 0 }
}

// What is sent together.
extension OutboxTask {
    /// The entry, and those of its item that are sent along with it. What was asked for stays as it was accepted: here is what it
    /// comes to (`Desired`).
    static func load(_ id: Int64, _ connection: Connection) throws -> OutboxTask? {
        let found = try alone(id, connection)
        guard var task = found, task.entry.kind != .delete, task.entry.endedAt == nil, task.entry.state != .parked
        else { return found }
        var rows = try ItemEntry.all(of: task.entry.itemID, connection)
        // Of a creation, nothing was sent before it.
        if task.entry.kind.isCreation { rows = rows.filter { $0.id >= id && $0.endedAt == nil } }
        let group = task.group(rows)
        task.others = group.map(\.id).filter { $0 != id }
        if task.entry.kind == .edit { try task.noteKnown(rows, group, connection) }
        let isUnderWay = task.entry.state != .queued
        // An edit that has no answer is compared again, and a creation is looked for as it was sent.
        if isUnderWay, task.entry.kind.isCreation, let sent = try sent(id, connection) { task.entry.payload = sent }
        let place = group.map(\.place).min() ?? id
        let later = rows.filter { $0.state == .delivered && $0.place > place }
        guard group.count > 1 || !later.isEmpty || group.contains(where: { $0.held != nil }) else { return task }
        let desired = Desired((group + later).sorted { ($0.place, $0.id) < ($1.place, $1.id) }.map(\.intent))
        task.overridden = Set(task.covered.filter { !desired.wants($0) })
        task.overridingEntry = later.last?.id
        if task.entry.kind == .edit {
            task.entry.payload = .edit(desired.edit)
        } else if !isUnderWay, let made = desired.madeItem {
            task.entry.payload = .create(made)
        }
        return task
    }

    /// The entry by itself, as it was accepted.
    static func alone(_ id: Int64, _ connection: Connection) throws -> OutboxTask? {
        try connection.cached("SELECT \(columns) FROM outbox WHERE id = ?").bind(Int(id)).first(OutboxTask.init(row:))
    }

    /// What an entry asks for by itself.
    static func own(_ id: Int64, _ connection: Connection) throws -> OutboxEntry.Payload? {
        try payload("payload", id, connection)
    }

    /// What the last request of a creation carried of which the server may have something: edits go along with it.
    static func sent(_ id: Int64, _ connection: Connection) throws -> OutboxEntry.Payload? {
        let sent = """
            coalesce((SELECT payload FROM outbox_attempt
                WHERE entry_id = outbox.id AND \(OutboxAttempt.isUnknownSend) ORDER BY number DESC LIMIT 1), payload)
            """
        return try payload(sent, id, connection)
    }

    private static func payload(
        _ column: String, _ id: Int64, _ connection: Connection
    ) throws -> OutboxEntry.Payload? {
        try connection.cached("SELECT kind, \(column) FROM outbox WHERE id = ?").bind(Int(id)).first { row in
            row.text(0).flatMap(OutboxEntry.Kind.init).flatMap { OutboxEntry.Payload(kind: $0, json: row.text(1)) }
        } ?? nil
    }

    /// What is under way together, or would be sent together now.
    private func group(_ rows: [ItemEntry]) -> [ItemEntry] {
        // Which of several the server has refused shows when each is sent alone.
        guard entry.state != .queued || !entry.wasRefused else { return rows.filter { $0.id == entry.id } }
        let deletion = rows.openDeletion
        let rows = rows.filter { !$0.isReplaced(by: deletion) }
        guard entry.state == .queued, entry.kind.isCreation else {
            // What a person retries has one attempt, and others have not.
            let edits = rows.filter { row in
                row.id == entry.id
                    || row.state == entry.state && row.edit != nil && (row.manual == nil) == (manual == nil)
            }
            // A remark replaces no summary. One that was written before it is sent before it, and then a person is asked.
            let summary = edits.first { $0.edit?.summary != nil && !$0.isRemark }
            guard entry.state == .queued, let summary else { return edits }
            return edits.filter { $0.id == entry.id || !$0.isRemark || $0.place < summary.place }
        }
        return rows.prefix { row in
            row.id == entry.id || row.state == .queued && row.edit?.goesAlong(with: entry.kind) == true
        }
    }

    private mutating func noteKnown(
        _ rows: [ItemEntry], _ group: [ItemEntry], _ connection: Connection
    ) throws {
        var base = ItemEdit()
        // Its first change counts: the later ones were made on top of it.
        func note<Value>(_ field: WritableKeyPath<ItemEdit, Value?>, none: Value, _ changes: (ItemEdit) -> Bool) {
            for row in group where row.edit.map(changes) == true {
                guard let seen = row.base else { return unseen[keyPath: field] = none }
                guard seen[keyPath: field] != nil || row.edit?[keyPath: field] != nil else { continue }
                return base[keyPath: field] = seen[keyPath: field]
            }
        }
        note(\.title, none: "") { $0.title != nil }
        note(\.summary, none: "") { $0.summary != nil }
        note(\.tags, none: []) { $0.tags != nil || !$0.tagChange.isEmpty }
        entry.base = group.allSatisfy { $0.base == nil } ? nil : base
        // A person has decided about these values, and about no others.
        let decided = group.filter { $0.manual == .overwrite }.compactMap(\.held)
        defer { known += decided }
        guard rows.count > 1 || entry.attempts > 0 else { return }
        // What was seen by who asked for a later edit was not seen by who asked for this one.
        let last = group.map(\.place).max() ?? entry.id
        known = rows.compactMap { row in
            row.state == .delivered ? row.edit : row.edit == nil || row.place > last ? nil : row.base
        }
        let ids = JSONText.array(rows.map { String($0.id) })
        known += try connection.cached(
            "SELECT payload FROM outbox_attempt WHERE entry_id IN (SELECT value FROM json_each(?)) AND payload IS NOT NULL"
        ).bind(ids).all { ItemEdit(json: $0.text(0)) }
        // A remark replaces no summary, from here or from elsewhere.
        let summaries = group.filter { $0.edit?.summary != nil }
        guard !summaries.isEmpty, summaries.allSatisfy(\.isRemark) else { return }
        for index in known.indices { known[index].summary = nil }
    }
}

extension ItemEdit {
    func without(_ held: ItemEdit) -> ItemEdit {
        var rest = self
        if held.title != nil { rest.title = nil }
        if held.summary != nil { rest.summary = nil }
        if held.tags != nil { rest.tags = nil }
        return rest
    }

    /// Those fields of it that are in conflict. A change of tags never is.
    func only(_ held: ItemEdit) -> ItemEdit {
        var part = without(without(held))
        if held.tags == nil { part.tagChange = TagChange() }
        return part
    }

    /// Whether the creation of its item can carry it. A new item takes no summary. The tags of a capture are added where the server
    /// has the URL, and an edit may take away what is there.
    func goesAlong(with creation: OutboxEntry.Kind) -> Bool {
        summary == nil && (creation == .note || tags == nil && tagChange.removed.isEmpty)
    }
}

extension OutboxEntry {
    /// Whether the server refused it for good when it was sent last.
    fileprivate var wasRefused: Bool {
        errorCode == ErrorCode.invalidInput.rawValue || errorCode == ErrorCode.conflict.rawValue
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
