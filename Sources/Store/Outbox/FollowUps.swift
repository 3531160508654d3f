import PRSNLCore

// What was asked for and the server does not have: it follows as an edit, once the server has processed the item.
//
// The main server gives a link the title of its page and a note the title of its first line, not the one that was asked for, and may
// insert an item without its tags. So what was delivered is compared with the processed item, as a pull shows it.
extension OutboxWriter {
    /// An item that the server still works on after this long is taken as it is: such items stay `pending` for good.
    static let settlingPatience: Duration = .seconds(3_600)

    /// Whether the server still works on the item, as far as the copy knows. It counts as if it did where no pull has brought
    /// the item yet, and where the server's time is not known. What was made here within the hour is not old because the server's
    /// clock has leapt.
    func isUnsettled(_ item: String) throws -> Bool {
        try connection.cached(
            """
            SELECT 1 FROM item WHERE id = ?1 AND status = 'pending' AND deleted_at IS NULL
                AND (created_at > ?2 OR EXISTS (SELECT 1 FROM outbox WHERE item_id = ?1 AND kind IN ('capture', 'note')
                    AND state = 'delivered' AND ended_at BETWEEN ?3 AND ?4))
            UNION ALL SELECT 1 FROM local_item WHERE id = ?1 AND delivered_at IS NOT NULL LIMIT 1
            """
        ).bind(item).bind((serverNow ?? .earliest).advanced(by: .zero - Self.settlingPatience).written)
            .bind(now.advanced(by: .zero - Self.settlingPatience)).bind(now).hasRow()
    }

    /// Whether no pull has shown the item as processed, however old it is. Its row may be as old as that.
    func isPending(_ item: String) throws -> Bool {
        try connection.cached(
            """
            SELECT 1 FROM item WHERE id = ?1 AND status = 'pending' AND deleted_at IS NULL
            UNION ALL SELECT 1 FROM local_item WHERE id = ?1 LIMIT 1
            """
        ).bind(item).hasRow()
    }

    /// After a write was delivered: whether the server has all that it asked for is still to be seen.
    ///
    /// - Parameters:
    ///   - there: where its creation found the item there: what the server had in its fields.
    ///   - isMaking: Of an edit that went along with the creation of its item.
    mutating func noteUnverified(
        _ id: Int64, there: ItemEdit? = nil, item: String, isMaking: Bool = false
    ) throws {
        let isUnverified: Bool
        switch try OutboxTask.own(id, connection) {
        case .create(let asked)?:
            let hasRemark = there != nil && asked.url != nil && asked.note != nil
            isUnverified = asked.title != nil || !asked.tags.isEmpty || hasRemark
        // Processing, which is not over, may replace what it has set.
        case .edit(let edit)?:
            let isText = edit.title != nil || edit.summary != nil
            isUnverified = isMaking ? true : isText ? try isPending(item) : false
        case .delete?, nil: return
        }
        guard isUnverified || there != nil else { return }
        if isUnverified { awaited.insert(item) }
        try change(id) { standing in
            standing.isUnverified = isUnverified
            if let there { (standing.base, standing.reason) = (there.fields.json, .wasThere) }
        }
    }

    /// What a delivered write asked for and the server lacks is not asked for any more.
    ///
    /// - Returns: The edits that were to bring it, and are over. `nil` where there was nothing to withdraw.
    mutating func withdrawFollowUp(of entry: OutboxEntry) throws -> [Int64]? {
        let wasUnverified = try connection.cached("SELECT 1 FROM outbox WHERE id = ? AND is_unverified = 1")
            .bind(Int(entry.id)).hasRow()
        let following = try open(entry.itemID).filter { edit in
            edit.follows == entry.id && (edit.state == .queued || edit.state == .parked) && !edit.isSettling
        }
        guard wasUnverified || !following.isEmpty else { return nil }
        try change(entry.id) { ($0.isUnverified, $0.isWithdrawn) = (false, true) }
        for edit in following { try takeBack(edit.id) }
        try refreshLocalEdit(entry.itemID)
        try advance(entry.itemID)
        return following.map(\.id)
    }

    /// What follows an entry as edits, or has done so.
    func followUps(of entry: OutboxEntry) throws -> [OutboxEntry] {
        try connection.cached("SELECT \(OutboxEntry.columns) FROM outbox WHERE item_id = ? AND follows = ? ORDER BY id")
            .bind(entry.itemID).bind(Int(entry.id)).all(OutboxEntry.init(row:))
    }

    /// The server has processed the item, as the copy has it now: its edits may go.
    mutating func settled(_ item: String) throws {
        for entry in try open(item) where entry.state == .queued {
            try change(entry.id) { if $0.awaitsItem { ($0.dueAt, $0.awaitsItem) = (nil, false) } }
        }
        try followUp(item, isProcessed: true)
        try refreshLocalEdit(item)
        try advance(item)
    }

    /// The server's own fields, without what waits here.
    func serverFields(_ item: String) throws -> ItemEdit? {
        try connection.cached("SELECT title, summary, tags FROM item WHERE id = ? AND deleted_at IS NULL")
            .bind(item).first { ItemEdit(title: $0.text(0), summary: $0.text(1), tags: Tags.parse($0.text(2))) }
    }

    /// The tags of an item, without those that wait. `nil` where it has none that can be read.
    func shownTags(_ item: String) throws -> [String]? {
        try connection.cached(
            """
            SELECT tags FROM item WHERE id = ?1 AND deleted_at IS NULL
            UNION ALL SELECT tags FROM local_item WHERE id = ?1 LIMIT 1
            """
        ).bind(item).first { Tags.parse($0.text(0)) }
    }

    /// What was asked for and the server lacks, now that it has processed the item, is asked for once more: as an edit with the place
    /// of the entry that has asked for it, so that what was said later still counts.
    ///
    /// - Parameters:
    ///   - known: a capture that was delivered, whose item was there before. What follows is shown as waiting at once, also where that
    ///     item is in process.
    ///   - seen: What is known of the server's fields besides the item's row.
    ///   - isProcessed: A page has just shown the item, and the server works on it no more.
    mutating func followUp(
        _ item: String, known: OutboxEntry? = nil, seen: ItemEdit? = nil, isProcessed: Bool = false
    ) throws {
        guard try connection.cached("SELECT 1 FROM outbox WHERE item_id = ? AND is_unverified IS 1").bind(item).hasRow()
        else { return }
        let delivered = try delivered(of: item)
        // What it may lack is open still.
        let words = delivered.map { Intent(number: $0.id, ask: $0.ask, isDelivered: !$0.isUnverified) }
        let unverified = words.filter { !$0.isDelivered }.map(\.number)
        guard !unverified.isEmpty else { return }
        let open = try open(item)
        guard !open.contains(where: { $0.kind == .delete && $0.state.isWaiting }) else { return }
        // A request without an answer may yet change what is there as it was asked for.
        let mayChange = open.contains { $0.kind == .edit && $0.maybeApplied }
        let isRowOld = isProcessed ? false : seen == nil ? try isPending(item) : try isUnsettled(item)
        if isRowOld { awaited.insert(item) }
        guard let theirs = isRowOld ? seen : try serverFields(item)?.overlaid(by: seen ?? ItemEdit()) else {
            return
        }
        // Each by itself: what a later one asks for and the server does not have takes nothing from an earlier one.
        var lacking: [Int64: ItemEdit] = [:]
        for word in unverified.reversed() where !isRowOld || word == known?.id {
            let desired = Desired(words.filter { $0.isDelivered || lacking[$0.number]?.isEmpty ?? ($0.number == word) })
            lacking[word] = desired.lacking(of: word, in: theirs)
        }
        for entry in delivered {
            let word = entry.id
            guard var edit = lacking[word] else { continue }
            // What is there as it was asked for may yet be replaced by the processing.
            if isRowOld, edit.isEmpty { continue }
            if isRowOld || mayChange && word == known?.id {
                edit = Desired(words.filter { $0.isDelivered || $0.number == word }).lacking(of: word, in: ItemEdit())
            }
            try change(word) { $0.isUnverified = false }
            guard !edit.isEmpty else { continue }
            // What the processing makes of title and tags is not known yet. Else a title that is changed elsewhere meanwhile is a
            // conflict. A remark becomes the summary of an item that has none, and is asked about where there is one.
            var base = ItemEdit(title: edit.title == nil ? nil : theirs.title, tags: theirs.tags)
            if let known, edit.title != nil { base.title = try title(of: item, at: known.acceptedAt) ?? theirs.title }
            if !entry.kind.isCreation, edit.summary != nil { base.summary = theirs.summary ?? "" }
            var parts = [(edit, base as ItemEdit?)]
            if isRowOld {
                parts = [(ItemEdit(title: edit.title, tagChange: edit.tagChange), nil)]
                if edit.summary != nil { parts.append((ItemEdit(summary: edit.summary), ItemEdit())) }
            }
            for (edit, base) in parts where !edit.isEmpty {
                _ = try insert(.edit, item: item, payload: .edit(edit), base: base, dueAt: nil, follows: entry.place)
            }
        }
    }

    /// The title that the copy had at a time. What the server's processing has replaced since does not count. `nil` where it had no
    /// such item.
    func title(of item: String, at time: Timestamp) throws -> String? {
        let former =
            try connection.cached(
                """
                SELECT json_extract(old, '$.title') FROM change_log
                WHERE item_id = ? AND at >= ? AND kind = 'edited' AND json_extract(new, '$.title') IS NOT NULL
                    AND json_extract(old, '$.status') IS NOT 'pending' ORDER BY seq LIMIT 1
                """
            ).bind(item).bind(time).first { $0.text(0) } ?? nil
        return try former ?? serverFields(item)?.title
    }

    /// A question is over where a later edit has decided it.
    mutating func endAnswered(_ item: String) throws {
        let parked = try open(item).filter { $0.kind == .edit && $0.state == .parked }
        for entry in parked {
            let later = try delivered(of: item, after: entry.place)
                .map { Intent(number: $0.id, ask: $0.ask, isDelivered: true) }
            var asked = entry.intent
            if let edit = entry.edit, let theirs = try conflict(of: entry.id)?.theirs {
                asked.ask = .edit(edit.only(theirs))
            }
            guard let last = later.last, !Desired([asked] + later).wants(entry.id) else { continue }
            try move(entry.id, from: .parked, to: .superseded, supersededBy: last.number)
        }
    }

    /// What the server was sent of an item.
    private func delivered(of item: String, after place: Int64 = 0) throws -> [ItemEntry] {
        try ItemEntry.all(of: item, connection).filter { $0.state == .delivered && $0.place > place }
    }

    // MARK: A server that fails at every edit

    /// When the next follow-up is tried, where the server failed at the last one.
    func followUpsDueAt() throws -> Timestamp? {
        try connection.cached(
            """
            SELECT max(next_attempt_at) FROM outbox
            WHERE follows IS NOT NULL AND ended_at IS NULL AND state = 'queued' AND failures > 0 AND awaits_item = 0
            """
        ).first { $0.timestamp(0) }
    }

    /// Releases are in use that fail at every edit: one follow-up is tried now and then, for all of them.
    mutating func holdFollowUps(
        until at: Timestamp, after record: WriteRecord, failures: Int
    ) throws {
        let others = try connection.cached(
            "SELECT id FROM outbox WHERE \(Self.isTimedFollowUp) AND id != ?"
        ).bind(Int(record.entry))
        try change(each: others) { other in
            other.dueAt = max(other.dueAt ?? at, at)
            other.failures = max(other.failures, failures)
            other.setError(record.error?.code.rawValue, record.error?.message)
        }
    }

    /// The server takes edits: all follow-ups may go.
    mutating func releaseFollowUps() throws {
        let now = now
        let held = try connection.cached(
            "SELECT id FROM outbox WHERE \(Self.isTimedFollowUp) AND failures > 0 AND next_attempt_at > ?"
        ).bind(now)
        try change(each: held) { held in
            (held.dueAt, held.failures) = (now, 0)
            held.setError(nil, nil)
        }
    }

    private static let isTimedFollowUp = """
        follows IS NOT NULL AND ended_at IS NULL AND state = 'queued' AND awaits_item = 0 AND next_attempt_at IS NOT NULL
        """
}
