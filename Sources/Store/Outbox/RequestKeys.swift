import PRSNLCore

// A request that is made again, because its answer was lost.
extension OutboxWriter {
    /// What was accepted of an earlier request with the same key; `nil` where there was none, or where its entry has been
    /// over for so long that it was removed.
    ///
    /// - Throws: `conflict` where the key belongs to another write: it would otherwise be lost in silence.
    func accepted(_ request: WriteRequest) throws -> AcceptedWrite? {
        guard let key = request.key else { return nil }
        let row = try connection.cached("SELECT \(OutboxEntry.columns) FROM outbox WHERE request_key = ?")
            .bind(key.text)
        defer { row.reset() }
        guard try row.step(), let entry = OutboxEntry(row: row) else { return nil }
        guard entry.isMade(of: request.draft) else {
            throw UserFacingError(
                .conflict, "The key \(key.text) belongs to #\(entry.id), which is another write.",
                consequence: "Nothing was queued.", recoverySuggestion: "Choose a new key for each write.")
        }
        return AcceptedWrite(
            entry: entry.id, state: entry.state, kind: entry.kind, itemID: entry.itemID, wasQueued: false,
            supersedes: try superseded(by: entry.id, request.draft), behind: entry.behind)
    }

    /// Without an index: of creations, of which there are many at once, nothing is asked.
    private func superseded(by entry: Int64, _ draft: WriteDraft) throws(SQLiteFailure) -> [Int64] {
        if case .create = draft { return [] }
        let rows = try connection.prepare("SELECT id FROM outbox WHERE superseded_by = ? ORDER BY id").bind(Int(entry))
        var ids: [Int64] = []
        while try rows.step() { ids.append(rows.int64(0)) }
        return ids
    }
}

extension OutboxEntry {
    /// Whether it can have been accepted from this draft. An edit may have become a part of another write.
    fileprivate func isMade(of draft: WriteDraft) -> Bool {
        switch (draft, payload) {
        case (.create(let wanted), .create(let made)): made.isMade(of: wanted)
        case (.edit(_, let wanted), .edit(let made)): made.contains(wanted)
        // An edit of what was not sent yet changes what is to be sent.
        case (.edit(_, let wanted), .create(let made)): ItemEdit(title: made.title, tags: made.tags).contains(wanted)
        case (.delete, .delete): true
        default: false
        }
    }
}
