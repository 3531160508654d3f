package import PRSNLCore

/// Seconds during which the server could be reached, over the file's life: the outbox's own clock.
struct ReachableTime {
    /// What the file has.
    var saved: Double
    /// What it does not have yet.
    var unsaved: Double = 0
    var all: Double { saved + unsaved }
}

extension Store {
    /// Adds to the time during which the server could be reached. It is saved with the outbox's next move, or
    /// by `saveReachable`.
    package func noteReachable(_ duration: Duration) {
        reachable.unsaved += Double(duration.wholeMicroseconds) / 1e6
    }

    package func saveReachable() throws(UserFacingError) {
        guard reachable.unsaved > 0 else { return }
        try writeOutbox { _ in }
    }

    /// One durable transaction: what the outbox says must survive a power cut (`synchronous=FULL`). What can be
    /// pulled again is written with NORMAL.
    @discardableResult
    func writeOutbox<Result>(
        _ body: (Connection) throws -> Result
    ) throws(UserFacingError) -> Result {
        let saving = reachable.unsaved
        let result = try write(durably: true, from: .here) { connection in
            if saving > 0 {
                try connection.cached("UPDATE copy SET reachable_seconds = reachable_seconds + ?").bind(saving).run()
            }
            return try body(connection)
        }
        reachable.saved += saving
        reachable.unsaved -= saving
        return result
    }

    /// Moves entries, in one durable transaction.
    func moveEntries<Result>(
        now: Timestamp, _ body: (inout OutboxWriter) throws -> Result
    ) throws(UserFacingError) -> Result {
        let (result, awaited, sends) = try writeOutbox { connection in
            var writer = self.writer(connection, now: now)
            let result = try body(&writer)
            try writer.deltas.save(connection)
            return (result, writer.awaited, writer.deltas.sends)
        }
        followSends(sends)
        inFlight.expectProcessing(of: awaited)
        return result
    }

    func writer(_ connection: Connection, now: Timestamp) -> OutboxWriter {
        OutboxWriter(
            connection: connection, statements: statements, now: now, serverNow: serverNow, reachable: reachable.all)
    }
}

/// The outbox inside one transaction: the moves of entries, the counters, and what waiting writes make of the items.
///
/// Every move names the state that it leaves.
struct OutboxWriter {
    let connection: Connection
    let statements: ItemStatements?
    let now: Timestamp
    /// The times of items are compared with this.
    let serverNow: ServerTime?
    /// `ReachableTime`, in seconds.
    let reachable: Double
    var deltas = CounterDeltas()
    /// Items that something waits for until the server has processed them: for `InFlightWrites`, after the commit.
    var awaited: Set<String> = []
    /// Of the command whose writes are accepted.
    var command: String?

    // MARK: Rows

    /// The entries of an item that are not over, in the order in which they were asked for.
    func open(_ item: String) throws -> [ItemEntry] {
        try connection.cached(
            """
            SELECT \(ItemEntry.columns) FROM outbox
            WHERE item_id = ? AND ended_at IS NULL ORDER BY coalesce(follows, id), id
            """
        ).bind(item).all(ItemEntry.init(row:))
    }

    /// - Parameters:
    ///   - dueAt: `nil` puts it behind the entry of its item that comes first. `advance` gives that one its time.
    ///   - follows: of a generated edit: the entry it was generated for.
    mutating func insert(
        _ kind: OutboxEntry.Kind, item: String, localID: String? = nil, payload: OutboxEntry.Payload,
        base: ItemEdit? = nil, dueAt: Timestamp?, requestKey: RequestKey? = nil,
        follows: Int64? = nil
    ) throws -> Int64 {
        // Without RETURNING, for which SQLite makes a table of its own each time.
        let inserted = try connection.cached(
            """
            INSERT INTO outbox (kind, state, item_id, local_id, payload, url, title, base, accepted_at, next_attempt_at,
                reachable_at, idempotency_key, fingerprint, request_key, follows, command)
            VALUES (?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?, lower(hex(randomblob(16))), ?, ?, ?, ?)
            """
        ).bind(kind.rawValue).bind(item).bind(localID).bind(payload.fields.json).bind(payload.url).bind(payload.title)
            .bind(base?.fields.json).bind(now).bind(dueAt)
            .bind(reachable).bind(payload.fingerprint).bind(requestKey?.text).bind(follows.map(Int.init))
            .bind(follows == nil ? command : nil).run()
        guard inserted == 1 else { throw stale("a new entry") }
        deltas.waiting += 1
        return connection.lastInsertedRow
    }

    /// What waits, or is parked, and is not sent because of a deletion that waits or is parked itself.
    func replaced(by deletion: OutboxEntry) throws -> [Int64] {
        guard deletion.kind == .delete, deletion.endedAt == nil else { return [] }
        return try open(deletion.itemID).filter { $0.isReplaced(by: deletion.id) }.map(\.id)
    }

    // MARK: Moves

    /// Gives the entry of an item that is sent next its time, and takes it from the others: they go along with it, or after it.
    ///
    /// An edit waits until the server has processed the item, because processing would overwrite it.
    mutating func advance(_ item: String) throws {
        let rows = try open(item)
        let next = Self.next(rows)
        for row in rows where row.state == .queued && row.hasTime && row.id != next?.id {
            try setTime(of: row.id, nil, awaitsItem: false)
        }
        guard let next, !next.hasTime else { return }
        var awaitsItem = false
        if next.kind == .edit, next.state == .queued { awaitsItem = try isUnsettled(item) }
        if awaitsItem { awaited.insert(item) }
        var dueAt = now
        if awaitsItem {
            dueAt = now.advanced(by: Self.settlingPatience)
        } else if next.follows != nil, let others = try followUpsDueAt() {
            dueAt = max(now, others)
        }
        try setTime(of: next.id, dueAt, awaitsItem: awaitsItem)
    }

    /// One request of an item is under way at a time. A creation goes before all else, and a parked entry blocks
    /// none. What a deletion replaces is not sent. The generated edit of a creation goes along with other edits, so that its backoff
    /// blocks none.
    private static func next(_ rows: [ItemEntry]) -> ItemEntry? {
        if rows.contains(where: { $0.state == .sending }) { return nil }
        // Of those that were sent together, one is looked up for all.
        let unknown = rows.filter { $0.state == .unknown }
        if !unknown.isEmpty { return unknown.first(where: \.hasTime) ?? unknown.first }
        if let creation = rows.first(where: { $0.kind.isCreation }) {
            return creation.state == .queued ? creation : nil
        }
        let deletion = rows.openDeletion
        let queued = rows.filter { $0.state == .queued && !$0.isReplaced(by: deletion) }
        return queued.first { $0.follows == nil } ?? queued.first
    }

    private mutating func setTime(of id: Int64, _ time: Timestamp?, awaitsItem: Bool) throws {
        try change(id) { ($0.dueAt, $0.awaitsItem) = (time, awaitsItem) }
    }

    /// Nothing will be processed any more of an item that is gone: the server's answer to the edits that await it decides.
    mutating func releaseEdits(of item: String) throws {
        for entry in try open(item) where entry.state == .queued {
            try change(entry.id) { [now] in if $0.awaitsItem { ($0.dueAt, $0.awaitsItem) = (now, false) } }
        }
    }

    func stale(_ what: String) -> SQLiteFailure {
        SQLiteFailure(code: SQLiteFailure.staleTransition, message: what, operation: "outbox")
    }

    // MARK: The items

    /// Works out again what the waiting edits and deletions of an item make of it. Parked ones do not count: the server
    /// has refused them, and what it has is the truth.
    func refreshLocalEdit(_ item: String) throws {
        let waiting = try open(item).filter(\.state.isWaiting)
        let desired = Desired(waiting.filter { !$0.kind.isCreation }.map(\.intent))
        let isDeleted = desired.deletion != nil
        var edit = desired.edit
        if !edit.tagChange.isEmpty { edit = edit.resolved(with: try shownTags(item)) }
        guard !edit.isEmpty || isDeleted else {
            try connection.cached("DELETE FROM local_edit WHERE item_id = ?").bind(item).run()
            return
        }
        try connection.cached(
            """
            INSERT INTO local_edit (item_id, title, summary, tags, is_deleted) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (item_id) DO UPDATE SET title = ?2, summary = ?3, tags = ?4, is_deleted = ?5
            """
        ).bind(item).bind(edit.title).bind(edit.summary).bind(edit.tags.map(Tags.json)).bind(isDeleted ? 1 : 0).run()
    }

    func insertLocalItem(
        _ id: String, entry: Int64, _ item: NewItem, at time: Timestamp? = nil
    ) throws {
        try connection.cached(
            """
            INSERT INTO local_item (id, entry_id, created_at, type, title, url, content, tags)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).bind(id).bind(Int(entry)).bind(time ?? now).bind(item.type).bind(item.shownTitle).bind(item.url).bind(
            item.note
        )
        .bind(Tags.json(item.tags)).run()
    }

    /// Of a creation that is not sent.
    func removeLocalItem(entry: Int64) throws {
        try connection.prepare("DELETE FROM local_item WHERE entry_id = ?").bind(Int(entry)).run()
        try release(entry)
    }

    func isLocal(_ item: String) throws -> Bool {
        try connection.cached("SELECT 1 FROM local_item WHERE id = ?").bind(item).hasRow()
    }
}

extension OutboxEntry.Payload {
    var ask: Intent.Ask {
        switch self {
        case .create(let item): .create(item)
        case .edit(let edit): .edit(edit)
        case .delete: .delete
        }
    }

    fileprivate var url: String? {
        if case .create(let item) = self { item.url } else { nil }
    }

    fileprivate var title: String? {
        switch self {
        case .create(let item): item.title
        case .edit(let edit): edit.title
        case .delete: nil
        }
    }

    /// What a creation could be confused with when its outcome is not known: the same URL, or a note with the same title.
    var fingerprint: String? {
        guard case .create(let item) = self else { return nil }
        return item.url.map { "url:" + $0 } ?? "note:" + NoteTitle.derived(from: item.note ?? "")
    }
}
