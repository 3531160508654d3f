package import PRSNLCore

/// How an item was deleted, or is to be: `deletion` in the JSON of items.
package struct Deletion: Sendable, Equatable, Codable {
    /// `nil` while it waits here.
    @Nullable package var at: Timestamp? = nil
    /// `here` or `elsewhere`.
    package var by: String
    /// The write that has deleted it, or is to; `nil` where it was deleted elsewhere.
    @Nullable package var entry: Int64? = nil
    package var state: OutboxEntry.State? = nil
    /// Whether the server may have carried it out already.
    package var maybeApplied = false

    private enum CodingKeys: String, CodingKey { case at, by, entry }

    package init(at: Timestamp?, entry: Int64? = nil, state: OutboxEntry.State? = nil, maybeApplied: Bool = false) {
        by = entry == nil ? "elsewhere" : "here"
        (self.at, self.entry, self.state, self.maybeApplied) = (at, entry, state, maybeApplied)
    }

    /// `item`, with the write of this machine that concerns its deletion.
    fileprivate static let sources = """
        item LEFT JOIN outbox AS deletion ON deletion.id = (SELECT max(id) FROM outbox WHERE item_id = item.id
            AND kind = 'delete' AND state IN ('queued', 'sending', 'unknown', 'delivered')
            AND reason IS NULL)
        """
    fileprivate static let columns = "item.deleted_at, deletion.id, deletion.state, deletion.maybe_applied"

    fileprivate init(_ row: Statement, from first: Int32) {
        self.init(
            at: row.timestamp(first), entry: row.isNull(first + 1) ? nil : row.int64(first + 1),
            state: row.text(first + 2).flatMap(OutboxEntry.State.init), maybeApplied: row.int(first + 3) == 1)
    }
}

/// What was deleted in the last 30 days, and what waits to be: the items are still in the file, with their texts.
extension StoreReader {
    /// Those that wait first, then the latest.
    package func deletedItems(_ filter: ItemFilter, limit: Int) throws(UserFacingError) -> ItemList {
        try deletedItems(SearchQuery.Branch(filter: filter), limit: limit)
    }

    /// The index does not have them, so they are indexed in memory.
    func deletedItems(_ query: SearchQuery.Branch, limit: Int) throws(UserFacingError) -> ItemList {
        try readTogether {
            let condition = query.filter.condition()
            var items = try connection.prepare(
                """
                SELECT item.id, item.created_at, item.type, \(ShownRow.title), item.url, \(ShownRow.tags), NULL, \(Deletion.columns)
                FROM \(Deletion.sources) \(ShownRow.joinsOfDeleted)
                WHERE (item.deleted_at IS NOT NULL OR item.id IN (SELECT item_id FROM local_edit WHERE is_deleted = 1))
                    \(condition.sql)
                ORDER BY item.deleted_at IS NOT NULL, item.deleted_at DESC, item.id LIMIT ?
                """
            ).bind(condition.values).bind(query.isOfWords ? -1 : limit + 1).all { row -> ListedItem? in
                guard var item = ListedItem(row) else { return nil }
                item.deletion = Deletion(row, from: 7)
                return item
            }
            if query.isOfWords {
                try makeRoomForTexts()
                var found: [ListedItem] = []
                for start in stride(from: 0, to: items.count, by: 16) where found.count <= limit {
                    let some = Array(items[start..<min(start + 16, items.count)])
                    // Without a word that it has to have, there is nothing to match.
                    let match = query.isWithoutOnly ? query.unwantedMatch : query.match()
                    let places = Set(try places(of: match, amongTextsOf: some, atMost: 1 << 20))
                    found += some.indices.filter { places.contains($0) != query.isWithoutOnly }.map { some[$0] }
                }
                items = found
            }
            return ItemList(items: Array(items.prefix(limit)), hasMore: items.count > limit)
        }
    }

    /// The one whose id begins so.
    ///
    /// - Throws: `item_unknown`, `item_ambiguous`.
    package func deletedItem(_ prefix: String) throws(UserFacingError) -> ShownItem {
        try resolving(prefix, isDeleted: true) { id in
            let columns = ItemColumn.all.of("item")
            let found = try connection.prepare(
                "SELECT \(columns), NULL, \(Deletion.columns) FROM \(Deletion.sources) WHERE item.id = ?"
            ).bind(id).first { row -> ShownItem? in
                guard var shown = ShownItem(row, ItemColumn.all) else { return nil }
                shown.deletion = Deletion(row, from: Int32(ItemColumn.all.count + 1))
                return shown
            }
            guard var shown = found else { throw UserFacingError(.itemUnknown, "The item \(id) is gone.") }
            try addText(to: &shown)
            return shown
        }
    }

    package func isShown(_ id: String) throws(UserFacingError) -> Bool {
        try read {
            try connection.prepare("SELECT 1 FROM timeline WHERE id = ?").bind(id).hasRow()
        }
    }

    /// The write that was accepted with a key.
    package func entry(ofRequest key: RequestKey) throws(UserFacingError) -> OutboxEntry? {
        try read {
            try connection.prepare("SELECT \(OutboxEntry.columns) FROM outbox WHERE request_key = ?").bind(key.text)
                .first(OutboxEntry.init(row:))
        }
    }
}

extension RequestKey {
    /// Of the captures that restore a deleted item, the first one first: where the restored item is gone too, or its capture was given
    /// up, the next key is for another one. So a command that is given twice captures the item once.
    package static func restoring(_ item: String, deletedAt: Timestamp?) -> some Sequence<RequestKey> {
        // An id may be any text, and a key may not.
        let name = "restore-\(String(Fingerprint(item).value, radix: 16))-\(deletedAt?.microseconds ?? 0)"
        return (1...1_000).lazy.compactMap { RequestKey("\(name)-\($0)") }
    }
}
