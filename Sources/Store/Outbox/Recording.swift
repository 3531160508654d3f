import PRSNLCore

extension OutboxWriter {
    func task(_ id: Int64) throws -> OutboxTask? { try OutboxTask.load(id, connection) }

    /// Makes of an entry, and of those that go along with it, what their outcome says.
    ///
    /// - Returns: What was delivered.
    mutating func record(_ record: WriteRecord) throws -> DeliveredWrite? {
        guard let task = try task(record.entry), task.entry.state == record.from else {
            // While it was looked up, a person has dropped it, or a newer write has taken its place.
            if record.from != .sending { return nil }
            throw stale("#\(record.entry) is not \(record.from.rawValue)")
        }
        var others: [Int64] = []
        let isAsBefore = try connection.cached("SELECT 1 FROM outbox WHERE id = ? AND state = ?")
        for id in record.others where try isAsBefore.bind(Int(id)).bind(record.from.rawValue).hasRow() {
            others.append(id)
        }
        for id in [record.entry] + others { try recordAttempt(record.attempt, of: id) }
        if case .delivered(let delivery, _) = record.outcome { return try deliver(task, others, record, delivery) }
        let kind = task.entry.kind
        let (item, outcome) = (task.entry.itemID, record.outcome)
        for id in [record.entry] + others { try update(id, kind, record) }
        if case .queued = outcome, !outcome.isFailure {
            if record.from == .sending, !outcome.isCounted {
                for id in [record.entry] + others { try uncount(id, record) }
            }
        } else if case .queued = outcome, task.entry.follows != nil, record.error?.code == .serverError,
            let at = record.dueAt
        {
            try holdFollowUps(until: at, after: record, failures: task.failures + 1)
        }
        if kind.isCreation { _ = try endUnsent(item) }
        if !outcome.isUnknown { try advance(item) }
        if kind == .edit || outcome.isParked { try refreshLocalEdit(item) }
        if record.from == .unknown || record.from == .sending, kind.isCreation, !outcome.isUnknown {
            try release(record.entry)
        }
        try noteFailing(record)
        return nil
    }

    /// A write that has failed again and again is an error that people see, and not only in its own entry.
    private func noteFailing(_ record: WriteRecord) throws {
        guard record.error != nil else { return }
        try connection.cached(
            """
            INSERT INTO recurring_error (code, endpoint, message, first_at, last_at, count)
            SELECT error_code, 'outbox (' || kind || ')', coalesce(error_message, ''), ?2, ?2, 1
            FROM outbox WHERE id = ?1 AND \(Tables.isFailing) AND error_code IS NOT NULL
            ON CONFLICT (code, endpoint)
                DO UPDATE SET message = excluded.message, last_at = ?2, count = count + 1, over = 0
            """
        ).bind(Int(record.entry)).bind(now).run()
    }

    /// A send that never reached the server, or that it refused for now, is not counted as an attempt. One that was not even
    /// begun leaves no trace.
    private mutating func uncount(_ id: Int64, _ record: WriteRecord) throws {
        try change(id) { $0.attempts -= 1 }
        guard case .queued(.stopped) = record.outcome else { return }
        try connection.cached(
            """
            DELETE FROM outbox_attempt
            WHERE entry_id = ?1 AND number = (SELECT max(number) FROM outbox_attempt WHERE entry_id = ?1)
            """
        ).bind(Int(id)).run()
    }

    private mutating func update(_ id: Int64, _ kind: OutboxEntry.Kind, _ record: WriteRecord) throws {
        let outcome = try outcome(for: id, of: record)
        // An undecidable one is kept with the evidence, so that a person can have it looked for again. A request without an answer may
        // be applied later, also where a lookup has not seen it yet: only creations are looked for twice.
        let isDoubted = outcome.isUnknown || outcome.isSettling || record.isUndecidable
        let error = outcome.state == record.outcome.state ? record.error : nil
        // Before a creation is sent again it is looked for once more, by what was there before its first send.
        let mayStillCome = try kind.isCreation && !outcome.isParked && (record.from == .unknown || hasUnknownSend(id))
        try change(id, from: record.from) { standing in
            standing.state = outcome.state
            standing.dueAt = id == record.entry ? record.dueAt : nil
            if outcome.isFailure { standing.failures += 1 }
            standing.isMaybeApplied = isDoubted || standing.isMaybeApplied && !kind.isCreation
            if !isDoubted, !mayStillCome { standing.evidence = nil }
            // What a person has decided about stays while the attempt is not over.
            if outcome.theirs != nil { standing.manual = nil }
            if outcome.theirs != nil || standing.manual == nil { standing.theirs = outcome.theirs?.fields.json }
            standing.remark = outcome.remark
            standing.setError(error?.code.rawValue, error?.message)
            standing.undecidedSince = outcome.undecidedSince?.server.written
            standing.undecidedHere = outcome.undecidedSince?.here
            standing.failedLookups = outcome.failedLookups
        }
    }

    private func hasUnknownSend(_ id: Int64) throws -> Bool {
        try connection.cached("SELECT 1 FROM outbox_attempt WHERE entry_id = ? AND \(OutboxAttempt.isUnknownSend)")
            .bind(Int(id)).hasRow()
    }

    /// A conflict is about some fields. All others are sent, also those of the same entry: it is parked when they are there.
    private func outcome(for id: Int64, of record: WriteRecord) throws -> WriteOutcome {
        guard case .parked(let reason) = record.outcome, case .edit(let own)? = try OutboxTask.own(id, connection)
        else { return record.outcome }
        switch reason {
        case .conflict(let theirs):
            let former = try conflict(of: id)
            let isRetried = former?.manual != nil
            // The server has the others.
            let left = isRetried ? former.map { own.only($0.theirs) } ?? own : own
            let held = isRetried ? ItemEdit() : former?.theirs ?? ItemEdit()
            let all = held.overlaid(by: left.sameFields(of: theirs))
            if all.isEmpty { return .queued(.apart()) }
            if left.without(all).isEmpty { return .parked(.conflict(theirs: all)) }
            var others = own.without(left)
            others.tagChange = TagChange()
            return .queued(.apart(held: all.overlaid(by: others)))
        case .tooManyTags where !record.others.isEmpty && own.tags == nil && own.tagChange.isEmpty:
            return .queued(.apart())
        default: return record.outcome
        }
    }

    /// What the server has, or had, in those fields of an entry that are in conflict, and what a person has decided.
    func conflict(of id: Int64) throws -> (theirs: ItemEdit, manual: OutboxTask.ManualDecision?)? {
        try connection.cached("SELECT theirs, by_hand FROM outbox WHERE id = ?").bind(Int(id)).first { row in
            ItemEdit(json: row.text(0)).map { ($0, row.text(1).flatMap(OutboxTask.ManualDecision.init)) }
        } ?? nil
    }

    /// The attempt that was begun with `sending`, or a new one for a lookup.
    private func recordAttempt(_ attempt: OutboxAttempt, of id: Int64) throws {
        if attempt.purpose == .lookup {
            try connection.cached(
                """
                INSERT INTO outbox_attempt (entry_id, number, purpose, started_at)
                SELECT ?1, coalesce(max(number), 0) + 1, 'look', ?2 FROM outbox_attempt WHERE entry_id = ?1
                """
            ).bind(Int(id)).bind(attempt.startedAt).run()
        }
        try connection.cached(
            """
            UPDATE outbox_attempt SET ended_at = ?2, verdict = ?3, error_code = ?4, status = ?5, request_id = ?6
            WHERE entry_id = ?1 AND number = (SELECT max(number) FROM outbox_attempt WHERE entry_id = ?1)
            """
        ).bind(Int(id)).bind(attempt.endedAt ?? now).bind(attempt.verdict).bind(attempt.errorCode)
            .bind(attempt.status).bind(attempt.requestID).run()
    }

    // MARK: Delivered

    private mutating func deliver(
        _ task: OutboxTask, _ others: [Int64], _ record: WriteRecord, _ delivery: WriteOutcome.Delivery
    ) throws -> DeliveredWrite? {
        let entry = task.entry
        let item = delivery.serverID ?? entry.itemID
        let covered = [entry.id] + others
        let last = covered.last { !task.overridden.contains($0) } ?? task.overridingEntry
        var ended: [Int64] = []
        for id in covered {
            if entry.kind == .edit, let conflict = try conflict(of: id), conflict.manual == nil {
                try park(id, record)
            } else if task.overridden.contains(id), !entry.kind.isCreation || id != entry.id {
                try move(id, from: record.from, to: .superseded, supersededBy: last)
            } else {
                try end(id, record, delivery, item: item)
                ended.append(id)
            }
        }
        var write = DeliveredWrite(item)
        switch entry.kind {
        case .capture, .note:
            let isTakenBack = delivery.there == nil ? false : try takeBackDeletion(of: entry, delivery.serverID)
            try bind(entry, to: delivery.serverID, there: delivery.there)
            if !others.isEmpty, case .create(let made) = record.payload { try show(made, as: item) }
            if let made = delivery.item { try insert(made) }
            // The small server answers with the item as it keeps it.
            guard delivery.serverID != nil, delivery.item == nil, !isTakenBack else { break }
            for id in ended { try noteUnverified(id, there: delivery.there, item: item, isMaking: true) }
            try followUp(item, known: delivery.there == nil ? nil : entry, seen: delivery.there)
        case .edit:
            write.fields = try applyEdit(item, record.payload, delivery)
            write.updatedAt = delivery.updatedAt
            try releaseFollowUps()
            for id in ended { try noteUnverified(id, item: item) }
            try endAnswered(item)
        case .delete:
            let replaced = try endReplaced(by: entry.id, of: item)
            try deleteMissing(item, as: Desired(replaced.map(\.intent)).edit)
            write.isDeletion = true
            try releaseCaptures()
        }
        try refreshLocalEdit(item)
        try advance(item)
        return write
    }

    private mutating func end(
        _ id: Int64, _ record: WriteRecord, _ delivery: WriteOutcome.Delivery, item: String
    ) throws {
        try change(id, from: record.from) { standing in
            (standing.state, standing.itemID) = (.delivered, item)
            // An earlier request without an answer may have deleted it.
            standing.reason = standing.isMaybeApplied ? nil : delivery.reason
            standing.remark = record.outcome.remark
            (standing.isMaybeApplied, standing.evidence, standing.theirs) = (false, nil, nil)
            standing.setError(nil, nil)
        }
    }

    /// The server has the other fields of it. A person decides about those in conflict.
    private mutating func park(_ id: Int64, _ record: WriteRecord) throws {
        let conflict = WriteOutcome.parked(.conflict(theirs: ItemEdit())).error
        try change(id, from: record.from) { standing in
            (standing.state, standing.isMaybeApplied, standing.remark) = (.parked, true, nil)
            standing.setError(conflict?.code.rawValue, conflict?.message)
        }
    }

    /// A person has deleted what was just captured, and it was on the server before: that item was not meant. The capture keeps
    /// its local id, so that nothing of it is asked for of the item.
    private mutating func takeBackDeletion(of capture: OutboxEntry, _ item: String?) throws -> Bool {
        let deletion = try open(capture.itemID).first { $0.kind == .delete && $0.state == .queued }
        guard let deletion else { return false }
        try endReplaced(by: deletion.id, of: capture.itemID)
        try move(
            deletion.id, from: .queued, to: .superseded, reason: .wasThere,
            remark: "not sent: the URL was there before you captured it"
                + (item.map { "; to delete that item: prsnlctl delete \($0)" } ?? ""))
        try change(capture.id) { $0.itemID = capture.itemID }
        return true
    }

    /// A creation of which the server certainly has nothing, and the deletion of its item behind it: nothing is left to send.
    mutating func endUnsent(_ item: String) throws -> Bool {
        let open = try open(item)
        guard let creation = open.first(where: { $0.kind.isCreation && $0.isUnsent }),
            let deletion = open.last(where: { $0.kind == .delete && $0.state == .queued })
        else { return false }
        for entry in open where entry.id != deletion.id {
            try move(entry.id, from: entry.state, to: .superseded, supersededBy: deletion.id)
        }
        try move(
            deletion.id, from: .queued, to: .superseded, remark: "nothing to send: the server never had the item")
        try removeLocalItem(entry: creation.id)
        try refreshLocalEdit(item)
        return true
    }

    /// A deletion that was carried out has taken the place of what was asked for before it.
    ///
    /// - Returns: what was to be sent, and not what a person was still to decide about.
    @discardableResult
    private mutating func endReplaced(by deletion: Int64, of item: String) throws -> [ItemEntry] {
        let replaced = try open(item).filter { $0.isReplaced(by: deletion) }
        for entry in replaced { try move(entry.id, from: entry.state, to: .superseded, supersededBy: deletion) }
        return replaced.filter { $0.state == .queued }
    }

    /// What waits behind a creation whose id on the server is not known.
    private mutating func parkOrphans(of local: String) throws {
        for entry in try open(local) where entry.state == .queued {
            try move(
                entry.id, from: .queued, to: .parked,
                remark: "the server has the item and does not say under which id: write to that one once it was pulled")
        }
        try refreshLocalEdit(local)
    }

    /// Turns the local id into the server's, for the item and everything that waits behind its creation.
    ///
    /// - Parameter there: What the server has in its fields, where the item was there before.
    private mutating func bind(_ entry: OutboxEntry, to serverID: String?, there: ItemEdit?) throws {
        try release(entry.id)
        guard let serverID else {
            // The server has it and does not say which it is: the next pull brings it, under the server's id.
            try parkOrphans(of: entry.itemID)
            return try removeLocalItem(entry: entry.id)
        }
        for waiting in try open(entry.itemID) {
            let seen = try there.flatMap { try self.seen(by: waiting, behind: entry, in: serverID, $0) }
            try change(waiting.id) { standing in
                standing.itemID = serverID
                if let seen { standing.base = seen.fields.json }
            }
        }
        // Nothing of what was there before was written here.
        if there != nil {
            try connection.cached("DELETE FROM local_item WHERE id = ? AND EXISTS (SELECT 1 FROM item WHERE id = ?)")
                .bind(entry.itemID).bind(serverID).run()
        }
        try connection.cached("DELETE FROM local_edit WHERE item_id = ?").bind(entry.itemID).run()
        try connection.cached("DELETE FROM held_item WHERE item_id = ?").bind(serverID).run()
        if try isLocal(serverID) {
            try connection.cached("DELETE FROM local_item WHERE id = ?").bind(entry.itemID).run()
            return
        }
        try connection.cached("UPDATE local_item SET id = ?2, delivered_at = ?3 WHERE id = ?1")
            .bind(entry.itemID).bind(serverID).bind(now).run()
        // A pull has brought it already.
        try connection.cached("DELETE FROM local_item WHERE id = ?1 AND EXISTS (SELECT 1 FROM item WHERE id = ?1)")
            .bind(serverID).run()
    }

    /// An edit of what was made here, which turns out to have been there before: its person has seen no summary. A title counts as with
    /// the capture itself. `nil` while the server works on the item, which may change each of them, and for a list of tags, because
    /// other captures from here may have brought those that are there.
    private func seen(
        by edit: ItemEntry, behind capture: OutboxEntry, in item: String, _ there: ItemEdit
    ) throws -> ItemEdit? {
        guard let fields = edit.edit, edit.base == nil, fields.tags == nil, try !isPending(item) else { return nil }
        let title = try self.title(of: item, at: capture.acceptedAt) ?? there.title
        return ItemEdit(title: fields.title == nil ? nil : title, summary: fields.summary == nil ? nil : "")
    }

    /// Until a pull brings it, the item is shown as it was sent: with the edits that went along.
    private func show(_ made: NewItem, as item: String) throws {
        try connection.cached("UPDATE local_item SET title = ?2, tags = ?3 WHERE id = ?1")
            .bind(item).bind(made.shownTitle).bind(Tags.json(made.tags)).run()
    }

    /// An item that a pull has brought already is as new as the answer to its creation, or newer.
    private mutating func insert(_ item: TimelineItem) throws {
        guard let statements else { return }
        deltas.live += try statements.insertItem.bind(item).run()
        try connection.cached("DELETE FROM local_item WHERE id = ?").bind(item.id).run()
    }

    /// The row gets what the server answered or, where its answer could not be read, what it was sent.
    ///
    /// - Returns: The fields that it has now.
    private func applyEdit(
        _ item: String, _ payload: OutboxEntry.Payload, _ delivery: WriteOutcome.Delivery
    ) throws -> ItemEdit {
        guard case .edit(let edit) = payload else { return ItemEdit() }
        let fields = edit.resolved(with: try shownTags(item)).overlaid(by: delivery.fields ?? ItemEdit())
        for table in ["item", "local_item"] {
            // A new item has no summary yet.
            let summary =
                table == "item" ? "summary = coalesce(?3, summary), updated_at = coalesce(?5, updated_at)," : ""
            try connection.cached(
                """
                UPDATE \(table) SET \(summary) title = coalesce(?2, title), tags = coalesce(?4, tags)
                WHERE id = ?1
                """
            ).bind(item).bind(fields.title).bind(fields.summary).bind(fields.tags.map(Tags.json))
                .bind(delivery.updatedAt).run()
        }
        return fields
    }

    /// A URL that the server refused because the item was still to be deleted may go now.
    private mutating func releaseCaptures() throws {
        let now = now
        let refused = try connection.cached(
            """
            SELECT id FROM outbox
            WHERE state = 'queued' AND kind = 'capture' AND error_code = 'conflict' AND next_attempt_at > ?1
            """
        ).bind(now)
        try change(each: refused) { ($0.dueAt, $0.failures) = (now, 0) }
    }

    /// - Parameter edit: of what its person saw, what the server never had: `restore` makes the item with it.
    private mutating func deleteMissing(_ item: String, as edit: ItemEdit) throws {
        let seen = edit.resolved(with: try shownTags(item))
        let deleted = try connection.cached(
            """
            UPDATE item SET deleted_at = ?2, missing_since = NULL, found_at = NULL,
                title = coalesce(?3, title), summary = coalesce(?4, summary), tags = coalesce(?5, tags)
            WHERE id = ?1 AND deleted_at IS NULL
            """
        ).bind(item).bind(now).bind(seen.title).bind(seen.summary).bind(seen.tags.map(Tags.json)).run()
        deltas.live -= deleted
        deltas.deleted += deleted
        try connection.cached("DELETE FROM local_item WHERE id = ?").bind(item).run()
        try change(
            each: try connection.cached("SELECT id FROM outbox WHERE item_id = ? AND is_unverified IS 1").bind(item)
        ) { $0.isUnverified = false }
    }

    /// Shows the items that were held back because they could have been this creation.
    func release(_ entry: Int64) throws {
        try connection.cached("DELETE FROM held_item WHERE entry_id = ?").bind(Int(entry)).run()
    }
}
