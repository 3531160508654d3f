package import PRSNLCore

/// What `undo` did with the last command that was accepted.
package struct UndoOutcome: Sendable, Equatable, Codable {
    /// The whole command.
    package var undone = false
    /// How many writes it has made; 0 where there is no command to take back.
    package var count = 0
    @Nullable package var acceptedAt: Timestamp? = nil
    /// Writes were given up since, by `queue drop`, or by `restore` of what was not deleted yet.
    package var droppedSince = false
    /// How many of them were taken back, and the first 50 of these, as they were before.
    package var taken = 0
    package var writes: [OutboxEntry.Status] = []
    /// The first 50 of the others: the server has them, or may have, or they are over otherwise.
    package var kept: [OutboxEntry.Status] = []
    /// Writes whose place they had taken, and that wait again; the first 50.
    package var revived: [Int64] = []
    /// Edits that were to follow captures that were sent, and are not sent any more; the first 50.
    package var withdrawn: [Int64] = []
    /// The commands that reverse what was sent, as far as there are such, for the first writes that were kept.
    package var offers: [NextCommand] = []

    package static let mostOffers = 5
}

extension Store {
    /// Takes back the writes of the last command, but for those that the server has, or may have.
    ///
    /// A command's writes are those with its key, or those of one transaction, by its time. What was given up, or taken back before, is passed over.
    package func undo(now: Timestamp) throws(UserFacingError) -> UndoOutcome {
        let (outcome, taken) = try moveEntries(now: now) { writer in
            var (outcome, taken) = try writer.undo()
            for write in outcome.kept.prefix(UndoOutcome.mostOffers) {
                outcome.offers += try writer.opposite(of: write.entry)
            }
            return (outcome, taken)
        }
        for id in taken { inFlight.noteSettled(id) }
        return outcome
    }
}

extension OutboxWriter {
    /// - Returns: What it has done, and all that was taken back.
    fileprivate mutating func undo() throws -> (UndoOutcome, Set<Int64>) {
        // What a later entry has taken the place of goes with that one, also where that was given up.
        let ids = try connection.prepare(
            """
            WITH last AS (SELECT coalesce(command, accepted_at) AS command FROM outbox WHERE follows IS NULL
                AND state != 'dropped' AND reason IS NOT 'taken_back'
                AND (state != 'superseded' OR superseded_by IS NULL) ORDER BY id DESC LIMIT 1)
            SELECT id FROM outbox, last WHERE follows IS NULL AND state != 'dropped' AND reason IS NOT 'taken_back'
                AND coalesce(outbox.command, accepted_at) = last.command ORDER BY id DESC
            """
        ).all { $0.int64(0) }
        var outcome = UndoOutcome(count: ids.count)
        if let last = ids.first {
            let row = try connection.prepare(
                """
                SELECT accepted_at, EXISTS (SELECT 1 FROM outbox AS other WHERE other.state = 'dropped'
                    AND other.reason IS NULL AND other.ended_at > outbox.accepted_at)
                FROM outbox WHERE id = ?
                """
            ).bind(Int(last)).first { ($0.timestamp(0), $0.int(1) == 1) }
            (outcome.acceptedAt, outcome.droppedSince) = row ?? (nil, false)
        }
        var tasks: [OutboxTask] = []
        for id in ids {
            guard let task = try OutboxTask.alone(id, connection) else { throw stale("#\(id) is gone") }
            tasks.append(task)
        }
        // The latest first: what takes the place of an entry has a higher number.
        var group: Set<Int64> = []
        let free = tasks.filter { $0.isTakenBack(with: group) && group.insert($0.entry.id).inserted }
        // Of an item that was there before.
        for task in tasks where task.entry.isOfKnownItem {
            let withdrawn = try withdrawFollowUp(of: task.entry)
            outcome.withdrawn += (withdrawn ?? []).prefix(Store.named - outcome.withdrawn.count)
            let edits = try followUps(of: task.entry)
            guard withdrawn != nil || !edits.isEmpty, !edits.contains(where: \.mayBeThere) else { continue }
            try change(task.entry.id) {
                ($0.reason, $0.remark) = (.takenBack, "was already there; what was to follow was taken back")
            }
            group.insert(task.entry.id)
        }
        outcome.taken = group.count
        outcome.undone = !ids.isEmpty && group.count == ids.count
        let taken = tasks.filter { group.contains($0.entry.id) }
        let kept = tasks.filter { !group.contains($0.entry.id) }
        outcome.writes = taken.suffix(Store.named).reversed().map(\.entry.shown)
        outcome.kept = kept.suffix(Store.named).reversed().map(\.entry.shown)
        guard let first = free.last?.entry.id else { return (outcome, group) }
        var replaced: [Int64: [Int64]] = [:]
        try connection.prepare("SELECT superseded_by, id FROM outbox WHERE superseded_by >= ? ORDER BY id")
            .bind(Int(first)).rows { replaced[$0.int64(0), default: []].append($0.int64(1)) }
        var items: [String] = []
        for task in free {
            let ended = (replaced[task.entry.id] ?? []).filter { !group.contains($0) }
            let old = try ended + self.replaced(by: task.entry).filter { !group.contains($0) }
            try takeBack(task.entry.id)
            if task.entry.kind.isCreation { try removeLocalItem(entry: task.entry.id) }
            for id in ended { try revive(id, item: task.entry.itemID) }
            outcome.revived += old.prefix(Store.named - outcome.revived.count)
            if items.last != task.entry.itemID { items.append(task.entry.itemID) }
        }
        for item in items {
            try followUp(item)
            try refreshLocalEdit(item)
            try advance(item)
        }
        return (outcome, group)
    }

    /// The commands that do the opposite of what the server took of a write.
    fileprivate func opposite(of id: Int64) throws -> [NextCommand] {
        // What the server had already, or had no more, was not this write's doing. `restore` takes no deletion without an answer.
        guard let entry = try OutboxTask.alone(id, connection)?.entry,
            entry.state == .delivered || entry.isPartlyTaken
                || entry.state.isWaiting && entry.mayBeThere && entry.kind != .delete,
            entry.reason != .wasGone, entry.kind != .edit || entry.attempts > 0
        else { return [] }
        var asked = ItemEdit()
        switch entry.payload {
        case .delete: return [NextCommand(["prsnlctl", "restore", entry.itemID])]
        case .create where !entry.isOfKnownItem: return [NextCommand(["prsnlctl", "delete", entry.itemID])]
        case .edit(let edit) where !entry.isOfKnownItem: asked = edit.without(entry.theirs ?? ItemEdit())
        case .create, .edit:
            for edit in try followUps(of: entry) where edit.mayBeThere {
                // What was in conflict, and was given up, was not sent.
                let unsent = edit.state == .dropped ? edit.theirs ?? ItemEdit() : ItemEdit()
                if case .edit(let fields) = edit.payload { asked = asked.overlaid(by: fields.without(unsent)) }
            }
        }
        let base = try entry.base ?? shown(before: entry)
        // An item whose other fields are known has no summary where none is.
        let hasKnownFields = base != nil && (!entry.isOfKnownItem || base?.tags != nil)
        var words = ["prsnlctl", "edit", entry.itemID]
        if let old = base?.title, let new = asked.title, old != new { words += ["--title", old] }
        if let old = base?.summary ?? (hasKnownFields ? "" : nil), let new = asked.summary, old != new {
            words += ["--summary", old]
        }
        if asked.tags != nil, let tags = base?.tags {
            words += tags.isEmpty ? ["--no-tags"] : tags.flatMap { ["--tag", $0] }
        }
        // Only what was not so before.
        let had = base?.tags.map(Tags.set)
        let (added, removed) = (asked.tagChange.added, asked.tagChange.removed)
        words += added.filter { had?.contains(ByteText($0)) != true }.flatMap { ["--remove-tag", $0] }
        words += removed.filter { had?.contains(ByteText($0)) != false }.flatMap { ["--add-tag", $0] }
        guard words.count > 3 else { return [] }
        // No edit is taken beside a deletion, and the rest of this one would still wait for a decision.
        let deletion = try open(entry.itemID).first { $0.kind == .delete && $0.state == .parked }?.id
        let given = [deletion, entry.isPartlyTaken ? id : nil].compactMap(\.self)
        return given.map { NextCommand(["prsnlctl", "queue", "drop", "\($0)"]) } + [NextCommand(words)]
    }

    /// What was seen of an item that was made here and had not been sent. `nil` for others.
    private func shown(before entry: OutboxEntry) throws -> ItemEdit? {
        let earlier = try ItemEntry.all(of: entry.itemID, connection).filter { $0.place < entry.id }
        let desired = Desired(earlier.map { Intent(number: $0.id, ask: $0.payload.ask) })
        return desired.madeItem.map { ItemEdit(title: $0.title, summary: desired.edit.summary, tags: $0.tags) }
    }

    mutating func takeBack(_ id: Int64) throws {
        try change(id) {
            ($0.state, $0.supersededBy, $0.reason, $0.remark) = (.dropped, nil, .takenBack, "taken back")
        }
    }

    /// What ended with a deletion of what was never sent is asked for again.
    ///
    /// - Parameter item: its item, which may have got another id since.
    mutating func revive(_ id: Int64, item: String) throws {
        let found = try connection.cached(
            "SELECT kind, payload, accepted_at FROM outbox WHERE id = ? AND state = 'superseded'"
        ).bind(Int(id)).first { row in
            (
                row.text(0).flatMap(OutboxEntry.Kind.init).flatMap { OutboxEntry.Payload(kind: $0, json: row.text(1)) },
                row.timestamp(2)
            )
        }
        guard let (payload, acceptedAt) = found else { return }
        try change(id) { standing in
            // A person decides about one of which that was not noted down.
            standing.state = standing.supersededFrom ?? (standing.attempts > 0 ? .parked : .queued)
            (standing.itemID, standing.remark) = (item, nil)
        }
        if case .create(let made)? = payload { try insertLocalItem(item, entry: id, made, at: acceptedAt) }
    }
}

extension OutboxEntry {
    /// An edit in conflict about some of its fields: the server has the others.
    fileprivate var isPartlyTaken: Bool { self.kind == .edit && self.state == .parked && theirs != nil }
}

extension OutboxTask {
    /// Whether the server has nothing of it: it would yet be sent, or never had to be, or goes with one of `group` that has taken its
    /// place.
    fileprivate func isTakenBack(with group: Set<Int64>) -> Bool {
        switch entry.state {
        case .queued, .parked: !maybeApplied
        case .unknown: !entry.mayBeThere
        // A deletion that was of no item left nothing undone.
        case .superseded:
            entry.attempts == 0
                && (entry.supersededBy.map(group.contains) ?? (entry.reason == nil))
        case .sending, .delivered, .dropped: false
        }
    }
}
