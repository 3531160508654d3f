package import PRSNLCore

/// What became of one draft.
package enum Acceptance: Sendable, Equatable {
    case accepted(AcceptedWrite)
    /// `item_unknown`, `item_ambiguous`, `conflict`, `write_invalid`: nothing was queued for it.
    case refused(UserFacingError)
}

package struct AcceptedWrite: Sendable, Equatable {
    package var entry: Int64
    /// `queued`, or `superseded` where nothing has to be sent: the server never had the item.
    package var state: OutboxEntry.State
    package var kind: OutboxEntry.Kind
    package var itemID: String
    /// The very same write was waiting already (a second delete). Nothing new was queued.
    package var wasQueued = false
    /// Entries that end with this deletion.
    package var supersedes: [Int64] = []
    /// The entry of the same item that is sent first.
    package var behind: Int64?
}

extension Store {
    /// Accepts writes: when it returns, the accepted ones are on the disk (fsync), in one transaction. One whose key the
    /// outbox knows is not accepted again: its entry is the answer, as it stands now.
    ///
    /// - Throws: Where nothing was accepted at all: `disk_full`, `disk_error`, `database_replaced`, `database_busy`, ….
    ///
    /// - Parameter command: the key of the command, where it needs several of these.
    package func accept(
        _ requests: [WriteRequest], command: RequestKey? = nil, now: Timestamp
    ) throws(UserFacingError) -> [Acceptance] {
        let dialect = binding.dialect
        let results = try moveEntries(now: now) { writer in
            writer.command = command?.text
            var results: [Acceptance] = []
            results.reserveCapacity(requests.count)
            for request in requests {
                do {
                    // First of all: what was accepted once is not judged again by what has changed since.
                    if let known = try writer.accepted(request) {
                        results.append(.accepted(known))
                        continue
                    }
                    let draft = try request.draft.checked(dialect: dialect)
                    results.append(.accepted(try writer.accept(draft, key: request.key)))
                } catch let error as UserFacingError {
                    results.append(.refused(error))
                }
            }
            CrashPoint.beforeAccept.reach()
            return results
        }
        CrashPoint.afterAccept.reach()
        // The path is looked at once more: what went into a file that is gone by now was not accepted.
        try checkIdentity()
        return results
    }

    /// Accepts writes that are never asked for again.
    package func accept(_ drafts: [WriteDraft], now: Timestamp) throws(UserFacingError) -> [Acceptance] {
        try accept(drafts.map { WriteRequest($0) }, now: now)
    }
}

extension OutboxWriter {
    /// - Throws: `UserFacingError` where this write is refused, and then nothing of it was written. Else `SQLiteFailure`.
    mutating func accept(_ draft: WriteDraft, key: RequestKey?) throws -> AcceptedWrite {
        switch draft {
        case .create(let item): return try create(item, key: key)
        case .edit(let prefix, let edit):
            let item = try made(by: prefix) ?? ItemPrefix(connection: connection).resolve(prefix)
            return try self.edit(item, edit, key: key)
        case .delete(let prefix):
            return try delete(try ItemPrefix(connection: connection, isForDeletion: true).resolve(prefix), key: key)
        }
    }

    /// The item that a creation has made, by that one's key: `key:KEY`. So an edit can go along with it in one transaction.
    private func made(by name: String) throws -> String? {
        guard name.hasPrefix("key:") else { return nil }
        return try connection.cached(
            "SELECT item_id FROM outbox WHERE request_key = ? AND kind IN ('capture', 'note')"
        ).bind(String(name.dropFirst(4))).first { $0.text(0) } ?? nil
    }

    private mutating func create(
        _ item: NewItem, key: RequestKey?
    ) throws -> AcceptedWrite {
        let kind: OutboxEntry.Kind = item.url == nil ? .note : .capture
        let id = LocalID.make(at: now)
        let entry = try insert(
            kind, item: id, localID: id, payload: .create(item), dueAt: now, requestKey: key)
        try insertLocalItem(id, entry: entry, item)
        return AcceptedWrite(
            entry: entry, state: .queued, kind: kind, itemID: id)
    }

    // MARK: Edits

    private mutating func edit(
        _ item: String, _ edit: ItemEdit, key: RequestKey?
    ) throws -> AcceptedWrite {
        let open = try open(item)
        if let deletion = open.first(where: { $0.kind == .delete }) {
            throw UserFacingError(
                .conflict, "The item \(item) is to be deleted by #\(deletion.id).", consequence: "Nothing was queued.",
                recoverySuggestion: "Drop the deletion first: `prsnlctl queue drop \(deletion.id)`.")
        }
        let shown = try shownFields(item)
        var edit = edit
        // The server may have the URL of a capture, with tags that no one here has seen: such a list is a change of what was seen.
        if LocalID.isLocal(item), let list = edit.tags, let seen = shown?.tags, !(list + seen).isEmpty {
            edit.tags = nil
            edit.tagChange = TagChange(added: list, removed: seen.filter { !Tags.set(list).contains(ByteText($0)) })
        }
        if !edit.tagChange.added.isEmpty { try Tags.checkCount(edit.resolved(with: shown?.tags).tags ?? []) }
        // While the item is only here, or in process there, its fields are not yet what the server makes of them.
        let isPending = try isPending(item)
        let seen = isPending ? nil : shown.map { edit.seen(in: $0) }
        // Else `advance` gives a time to the one that goes first.
        let isDue = try open.isEmpty && (!isPending || !isUnsettled(item))
        let entry = try insert(
            .edit, item: item, payload: .edit(edit), base: seen, dueAt: isDue ? now : nil, requestKey: key)
        // What is sent is another item now.
        if let creation = open.first, creation.kind.isCreation, creation.state == .parked, creation.isUnsent,
            edit.goesAlong(with: creation.kind)
        {
            try unpark(creation.id, to: .queued, manual: nil, isCreation: true)
        }
        // One that waits only to be compared again goes along with it.
        for other in open where other.kind == .edit && other.isSettling {
            try change(other.id) { if !$0.awaitsItem { $0.dueAt = nil } }
        }
        try refreshLocalEdit(item)
        if !isDue { try advance(item) }
        return AcceptedWrite(
            entry: entry, state: .queued, kind: .edit, itemID: item,
            behind: open.filter { $0.kind != .edit || $0.state.isWaiting }.map(\.id).max())
    }

    /// The fields as people see them: the server's, with what waits here.
    private func shownFields(_ item: String) throws -> ItemEdit? {
        try connection.cached(
            """
            SELECT coalesce(edit.title, item.title), coalesce(edit.summary, item.summary), coalesce(edit.tags, item.tags)
            FROM (SELECT id, title, summary, tags FROM item WHERE id = ?1 AND deleted_at IS NULL
                UNION ALL SELECT id, title, NULL, tags FROM local_item WHERE id = ?1) AS item
            LEFT JOIN local_edit AS edit ON edit.item_id = item.id LIMIT 1
            """
        ).bind(item).first { ItemEdit(title: $0.text(0), summary: $0.text(1), tags: Tags.parse($0.text(2))) }
    }

    // MARK: Deletions

    private mutating func delete(_ item: String, key: RequestKey?) throws -> AcceptedWrite {
        // The creation would be sent again after it, or go with it: it depends on which comes first.
        if let creation = try connection.creationHiding(item) {
            throw UserFacingError(
                .conflict, "The item \(item) is hidden: \(OutboxEntry.mayHaveMadeIt(creation)).",
                consequence: "Nothing was queued.",
                recoverySuggestion: """
                    Wait for that, or delete what `prsnlctl queue show \(creation)` names as its item.
                    """)
        }
        let open = try open(item)
        if let waiting = open.first(where: { $0.kind == .delete && $0.state.isWaiting }) {
            return AcceptedWrite(
                entry: waiting.id, state: waiting.state, kind: .delete, itemID: item, wasQueued: true)
        }
        let entry = try insert(.delete, item: item, payload: .delete, dueAt: nil, requestKey: key)
        if try endUnsent(item) {
            return AcceptedWrite(
                entry: entry, state: .superseded, kind: .delete, itemID: item, supersedes: open.map(\.id))
        }
        try refreshLocalEdit(item)
        try advance(item)
        let replaced = open.filter { $0.isReplaced(by: entry) }.map(\.id)
        return AcceptedWrite(
            entry: entry, state: .queued, kind: .delete, itemID: item, supersedes: replaced,
            behind: open.last { !replaced.contains($0.id) }?.id)
    }
}

// A request that is made again, because its answer was lost.
extension OutboxWriter {
    /// What was accepted of an earlier request with the same key. `nil` where there was none, or where its entry has been
    /// over for so long that it was removed.
    ///
    /// - Throws: `conflict` where the key belongs to another write: it would otherwise be lost in silence.
    func accepted(_ request: WriteRequest) throws -> AcceptedWrite? {
        guard let key = request.key else { return nil }
        let known = try connection.cached("SELECT \(OutboxEntry.columns) FROM outbox WHERE request_key = ?")
            .bind(key.text).first(OutboxEntry.init(row:))
        guard let entry = known else { return nil }
        guard entry.isMade(of: request.draft) else {
            throw UserFacingError(
                .conflict, "The key \(key.text) belongs to #\(entry.id), which is another write.",
                consequence: "Nothing was queued.", recoverySuggestion: "Choose a new key for each write.")
        }
        return AcceptedWrite(
            entry: entry.id, state: entry.state, kind: entry.kind, itemID: entry.itemID,
            supersedes: try superseded(by: entry), behind: entry.behind)
    }

    private func superseded(by entry: OutboxEntry) throws -> [Int64] {
        guard entry.kind == .delete else { return [] }
        return try connection.prepare("SELECT id FROM outbox WHERE superseded_by = ? ORDER BY id").bind(Int(entry.id))
            .all { $0.int64(0) } + replaced(by: entry)
    }
}

extension ItemEdit {
    /// What a person who asks for it saw in its fields: of a change of tags, which of them were there.
    fileprivate func seen(in shown: ItemEdit) -> ItemEdit {
        var seen = sameFields(of: shown)
        if !tagChange.isEmpty { seen.tags = shown.tags }
        return seen
    }
}

extension OutboxEntry {
    /// Whether it was accepted from this draft: repeated tags were removed on the way.
    fileprivate func isMade(of draft: WriteDraft) -> Bool {
        switch (draft, payload) {
        case (.create(let wanted), .create(let made)): return made.isMade(of: wanted)
        case (.edit(_, var wanted), .edit(let made)):
            // It was a list (`edit`).
            if let list = wanted.tags, made.tags == nil {
                (wanted.tags, wanted.tagChange) = (nil, TagChange(added: list, removed: made.tagChange.removed))
            }
            return made.contains(wanted) && wanted.contains(made)
        case (.delete, .delete): return true
        default: return false
        }
    }
}
