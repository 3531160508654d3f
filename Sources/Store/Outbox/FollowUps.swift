import PRSNLCore

// What a creation asked for and the server did not take over: it follows as an edit, once the server has processed the item.
//
// The main server gives a link the title of its page and a note the title of its first line, not the one that was asked for, and may
// insert an item without its tags. So each delivered creation is compared with the processed item, as a pull shows it.
extension OutboxWriter {
    /// An item that the server still works on after this long is taken as it is: such items stay `pending` for good.
    static let settlingPatience: Duration = .seconds(3_600)

    /// Whether the server still works on the item, as far as the copy knows. So does an item that no pull has brought yet.
    func isUnsettled(_ item: String) throws(SQLiteFailure) -> Bool {
        let row = try connection.cached(
            """
            SELECT 1 FROM item WHERE id = ?1 AND status = 'pending' AND created_at > ?2 AND deleted_at IS NULL
            UNION ALL SELECT 1 FROM local_item WHERE id = ?1 AND delivered_at > ?2 LIMIT 1
            """
        ).bind(item).bind(now.advanced(by: .zero - Self.settlingPatience))
        defer { row.reset() }
        return try row.step()
    }

    /// After a creation was delivered: compares what it asked for with what the server has, or notes that this is still to
    /// be done.
    mutating func carryOver(
        _ entry: OutboxEntry, _ delivery: Settlement.Delivery, remark: String?
    ) throws(SQLiteFailure) {
        // The small server answers with the item as it keeps it.
        guard case .create(let asked) = entry.payload, let item = delivery.serverID, delivery.item == nil else {
            return
        }
        let isUnsettled = try isUnsettled(item)
        if let there = delivery.there, !isUnsettled {
            let later = try deliveredWords(on: item, after: entry.id)
            let wanted = Wanted(entry: entry.id, title: asked.title, tags: asked.tags, summary: asked.note)
            if let followUp = try follow(wanted, item: item, theirs: there, after: later) {
                let words = [remark, followUp].compactMap(\.self).joined(separator: "; ")
                try connection.cached("UPDATE outbox SET remark = ?2 WHERE id = ?1").bind(Int(entry.id)).bind(words)
                    .run()
            }
            return
        }
        if let there = delivery.there, let note = asked.note, asked.url != nil {
            // Processing does not touch a remark that becomes the summary.
            let wanted = Wanted(entry: entry.id, title: nil, tags: [], summary: note)
            _ = try follow(wanted, item: item, theirs: there, after: ItemEdit())
        }
        guard asked.title != nil || !asked.tags.isEmpty else { return }
        try connection.cached("UPDATE outbox SET is_unverified = 1 WHERE id = ?").bind(Int(entry.id)).run()
        awaited.insert(item)
        if !isUnsettled { try settled(item) }
    }

    /// The server has processed the item, as the copy has it now: creations of it are compared, and its edits may go.
    mutating func settled(_ item: String) throws(SQLiteFailure) {
        if let theirs = try serverFields(item) {
            for wanted in try unverified(item) {
                _ = try follow(wanted, item: item, theirs: theirs, after: ItemEdit())
            }
            try connection.cached("UPDATE outbox SET is_unverified = 0 WHERE item_id = ? AND is_unverified IS 1")
                .bind(item).run()
        }
        try connection.cached(
            """
            UPDATE outbox SET awaits_item = 0, next_attempt_at = NULL
            WHERE item_id = ? AND ended_at IS NULL AND awaits_item = 1 AND state = 'queued'
            """
        ).bind(item).run()
        try refreshLocalEdit(item)
        try advance(item)
    }

    /// What a creation asked for.
    private struct Wanted {
        var entry: Int64
        var title: String?
        /// At least these.
        var tags: [String]
        /// A remark to a URL that was there already.
        var summary: String?
    }

    private func unverified(_ item: String) throws(SQLiteFailure) -> [Wanted] {
        let rows = try connection.cached(
            "SELECT id, kind, payload FROM outbox WHERE item_id = ? AND is_unverified IS 1 ORDER BY id"
        ).bind(item)
        defer { rows.reset() }
        var wanted: [Wanted] = []
        while try rows.step() {
            guard let kind = rows.text(1).flatMap(OutboxEntry.Kind.init),
                case .create(let asked)? = OutboxEntry.Payload(kind: kind, json: rows.text(2))
            else { continue }
            wanted.append(Wanted(entry: rows.int64(0), title: asked.title, tags: asked.tags, summary: nil))
        }
        return wanted
    }

    /// The server's own fields, without what waits here.
    private func serverFields(_ item: String) throws(SQLiteFailure) -> ItemEdit? {
        let row = try connection.cached("SELECT title, summary, tags FROM item WHERE id = ? AND deleted_at IS NULL")
            .bind(item)
        defer { row.reset() }
        guard try row.step() else { return nil }
        return ItemEdit(title: row.text(0), summary: row.text(1), tags: Tags.parse(row.text(2)))
    }

    /// What later entries have set on the item already.
    private func deliveredWords(on item: String, after entry: Int64) throws(SQLiteFailure) -> ItemEdit {
        let rows = try connection.prepare(
            "SELECT kind, payload FROM outbox WHERE id > ?1 AND item_id = ?2 AND state = 'delivered' ORDER BY id"
        ).bind(Int(entry)).bind(item)
        var words = ItemEdit()
        while try rows.step() {
            guard let kind = rows.text(0).flatMap(OutboxEntry.Kind.init) else { continue }
            switch OutboxEntry.Payload(kind: kind, json: rows.text(1)) {
            case .create(let later)?: words.title = later.title ?? words.title
            case .edit(let edit)?: words = words.overlaid(by: edit)
            case .delete?, nil: break
            }
        }
        return words
    }

    /// Queues an edit with what the item lacks. Entry numbers decide which word is the later one. Tags are added to those
    /// that are there.
    ///
    /// - Returns: `title and tags follow as #3`. `nil` where nothing is lacking.
    private mutating func follow(
        _ wanted: Wanted, item: String, theirs: ItemEdit, after delivered: ItemEdit
    ) throws(SQLiteFailure) -> String? {
        let edits = try open(item).filter { $0.state.isWaiting }
        if edits.contains(where: { $0.kind == .delete }) { return nil }
        var expected = theirs
        var later = delivered
        for entry in edits {
            guard case .edit(var edit) = entry.payload else { continue }
            if entry.word > wanted.entry {
                // Tags of a later creation are added to ours, those of an edit take their place.
                if entry.follows != nil {
                    expected.tags = edit.tags ?? expected.tags
                    edit.tags = nil
                }
                later = later.overlaid(by: edit)
            } else {
                expected = expected.overlaid(by: edit)
            }
        }
        var edit = ItemEdit()
        if let title = wanted.title, later.title == nil, !ServerText.isSame(title, expected.title) {
            edit.title = title
        }
        let there = Tags.set(expected.tags ?? [])
        if later.tags == nil, !there.isSuperset(of: Tags.set(wanted.tags)) {
            edit.tags = there.union(Tags.set(wanted.tags)).map(\.text).sorted()
        }
        if let note = wanted.summary, later.summary == nil, !ServerText.isSame(note, expected.summary) {
            edit.summary = note
        }
        guard !edit.isEmpty else { return nil }
        var base = edit.sameFields(of: expected)
        // A remark becomes the summary of an item that has none. One that is there is not replaced unasked.
        base.summary = nil
        let names = edit.fieldNames
        let earlier = edits.last { $0.follows != nil && $0.state == .queued && $0.isUnsent && $0.attempts == 0 }
        if let earlier, earlier.word < wanted.entry, case .edit(let before) = earlier.payload {
            base = base.overlaid(by: earlier.base ?? ItemEdit())
            edit = before.overlaid(by: edit)
        }
        let entry = try insert(
            .edit, item: item, payload: .edit(edit), base: base, dueAt: nil, follows: wanted.entry
        )
        if let earlier, earlier.word < wanted.entry {
            try move(earlier.id, from: .queued, to: .superseded, supersededBy: entry)
        }
        let isOne = names == "title" || names == "remark"
        return "\(names) \(isOne ? "follows" : "follow") as #\(entry)"
    }

    // MARK: A server that fails at every edit

    /// When the next follow-up is tried, where the server failed at the last one.
    func followUpsDueAt() throws(SQLiteFailure) -> Timestamp? {
        let row = try connection.cached(
            """
            SELECT max(next_attempt_at) FROM outbox
            WHERE follows IS NOT NULL AND ended_at IS NULL AND state = 'queued' AND failures > 0 AND awaits_item = 0
            """)
        defer { row.reset() }
        return try row.step() ? row.timestamp(0) : nil
    }

    /// Releases are in use that fail at every edit: one follow-up is tried now and then, for all of them.
    func holdFollowUps(
        until at: Timestamp, after settlement: Settlement, failures: Int
    ) throws(SQLiteFailure) {
        try connection.cached(
            """
            UPDATE outbox SET next_attempt_at = max(next_attempt_at, ?2), failures = max(failures, ?3), error_code = ?4,
                error_message = ?5
            WHERE follows IS NOT NULL AND ended_at IS NULL AND state = 'queued' AND awaits_item = 0
                AND next_attempt_at IS NOT NULL AND id != ?1
            """
        ).bind(Int(settlement.entry)).bind(at).bind(failures).bind(settlement.error?.code.rawValue)
            .bind(settlement.error?.message).run()
    }

    /// The server takes edits: all follow-ups may go.
    func releaseFollowUps() throws(SQLiteFailure) {
        try connection.cached(
            """
            UPDATE outbox SET next_attempt_at = ?1, failures = 0, error_code = NULL, error_message = NULL
            WHERE follows IS NOT NULL AND ended_at IS NULL AND state = 'queued' AND awaits_item = 0 AND failures > 0
                AND next_attempt_at > ?1
            """
        ).bind(now).run()
    }
}

extension ItemEdit {
    /// `title and tags`
    fileprivate var fieldNames: String {
        let names = [title.map { _ in "title" }, tags.map { _ in "tags" }, summary.map { _ in "remark" }]
            .compactMap(\.self)
        guard let last = names.last, names.count > 1 else { return names.joined() }
        return names.dropLast().joined(separator: ", ") + " and " + last
    }
}
