package import PRSNLCore

// What the replayer and the engine ask of the outbox, and what they note in it.
extension Store {
    /// Where entries stand, for a caller that waits for them. Entries that are gone are left out.
    package func outboxEntries(_ ids: [Int64]) throws(UserFacingError) -> [OutboxEntry] {
        try read { connection in try connection.entries(ids) }
    }

    /// Which of the entries are still to be sent or looked up.
    package func waiting(among ids: [Int64]) throws(UserFacingError) -> [Int64] {
        try read { connection in
            let row = try connection.cached(
                "SELECT 1 FROM outbox WHERE id = ? AND state IN ('queued', 'sending', 'unknown')")
            var waiting: [Int64] = []
            for id in ids where try row.bind(Int(id)).hasRow() { waiting.append(id) }
            return waiting
        }
    }

    /// Which of the ids belong to creations from here already.
    package func boundIDs(among ids: [String]) throws(UserFacingError) -> Set<ByteText> {
        try read { connection in
            guard !ids.isEmpty else { return [] }
            // Without an index: this is asked when an answer was lost, and the index would cost every delivery a page.
            let bound = try connection.prepare(
                """
                SELECT item_id FROM outbox
                WHERE item_id IN (SELECT value FROM json_each(?)) AND kind IN ('capture', 'note') AND state = 'delivered'
                """
            ).bind(JSONText.array(ids)).all { $0.text(0) }
            return Set(bound.map(ByteText.init))
        }
    }

    /// Which of the ids the copy had before the entry was sent, deleted ones included: they are not its work. Of sends whose
    /// outcome is not known, the first counts.
    package func knownIDs(among ids: [String], before entry: Int64) throws(UserFacingError) -> Set<ByteText> {
        try read { connection in
            let known = try connection.cached(
                """
                SELECT id FROM item WHERE id IN (SELECT value FROM json_each(?1))
                    AND rowid <= (SELECT min(items_before) FROM outbox_attempt WHERE entry_id = ?2 AND \(OutboxAttempt.isUnknownSend))
                """
            ).bind(JSONText.array(ids)).bind(Int(entry)).all { $0.text(0) }
            return Set(known.map(ByteText.init))
        }
    }

    /// Whether a pull has brought an item that may be this creation, and that no other entry has made, wherever it stands.
    package func hasReceived(_ creation: NewItem, for entry: Int64) throws(UserFacingError) -> Bool {
        try read { connection in
            try connection.prepare(
                """
                SELECT id, title, url, content FROM held_item JOIN item ON item.id = held_item.item_id
                WHERE entry_id = ? AND deleted_at IS NULL AND missing_since IS NULL AND NOT EXISTS (SELECT 1 FROM outbox
                    WHERE outbox.item_id = item.id AND kind IN ('capture', 'note') AND state = 'delivered')
                """
            ).bind(Int(entry)).all { row -> TimelineItem? in
                var item = TimelineItem(id: row.text(0) ?? "", createdAt: .earliest)
                (item.title, item.url, item.content) = (row.text(1), row.text(2), row.text(3))
                return ServerText.isPlaceholder(item.title) ? nil : item
            }.contains(where: creation.mayHaveBecome)
        }
    }

    /// The item of the copy that has exactly this URL, or the one that was made of it here.
    package func itemID(url: String) throws(UserFacingError) -> String? {
        try read { connection in
            try connection.prepare(
                """
                SELECT id FROM item WHERE url = ?1 AND deleted_at IS NULL
                UNION ALL SELECT id FROM local_item WHERE url = ?1 AND delivered_at IS NOT NULL LIMIT 1
                """
            ).bind(url).first { $0.text(0) }
        }
    }

    /// The base of an edit that was made before the server had processed the item. Until then its fields are not yet what the
    /// server makes of them.
    package func setBase(_ base: ItemEdit, of id: Int64, now: Timestamp) throws(UserFacingError) {
        try moveEntries(now: now) { writer in
            let settled = try writer.connection.prepare(
                """
                SELECT id FROM outbox WHERE id = ? AND base IS NULL
                    AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = outbox.item_id AND status = 'pending')
                    AND NOT EXISTS (SELECT 1 FROM local_item WHERE local_item.id = outbox.item_id)
                """
            ).bind(Int(id))
            try writer.change(each: settled) { $0.base = base.fields.json }
        }
    }

    /// A deletion of the item that is on its way, or was given up or parked since `limit` and may still be applied.
    package func openDeletion(of item: String, givenUpSince limit: Timestamp) throws(UserFacingError) -> Int64? {
        try read { connection in
            try connection.prepare(
                """
                SELECT min(id) FROM outbox WHERE item_id = ?1 AND kind = 'delete' AND (ended_at IS NULL AND state != 'parked'
                    OR state IN ('dropped', 'parked') AND maybe_applied = 1 AND last_attempt_at > ?2)
                """
            ).bind(item).bind(limit).first { $0.isNull(0) ? nil : $0.int64(0) }
        }
    }

    /// A creation as it was last sent without an answer.
    package func sentItem(of entry: Int64) throws(UserFacingError) -> NewItem? {
        try read { connection in
            if case .create(let item)? = try OutboxTask.sent(entry, connection) { return item }
            return nil
        }
    }

    /// When the entry was first sent with an unknown outcome, the attempt under way not counted.
    package func firstUnknownSend(of id: Int64) throws(UserFacingError) -> Timestamp? {
        try read { connection in
            try connection.prepare(
                """
                SELECT min(started_at) FROM outbox_attempt
                WHERE entry_id = ?1 AND \(OutboxAttempt.isUnknownSend)
                    AND NOT (EXISTS (SELECT 1 FROM outbox WHERE id = ?1 AND state = 'sending')
                        AND number = (SELECT max(number) FROM outbox_attempt WHERE entry_id = ?1))
                """
            ).bind(Int(id)).first { $0.timestamp(0) }
        }
    }

    /// Until when an earlier request of the item may still be applied, and undo what a later one has just done: a server may work
    /// on a request for minutes after it was given up. One request is applied once, so what was found to be done by the only
    /// one without an answer is settled. A deletion that was given up without an answer is such a request, too.
    ///
    /// - Parameter interval: for which a server works on a request that was given up.
    /// - Returns: `nil` where none can arrive any more.
    package func lateEnd(
        of task: OutboxTask, interval: Duration, now: Timestamp
    ) throws(UserFacingError) -> Timestamp? {
        try read { connection in
            // Of what is sent together, one row has the payload.
            var sends = try connection.cached(
                """
                SELECT coalesce(attempt.ended_at, started_at), verdict IS NULL OR verdict = 'look'
                    AND (status IS NULL OR status IN (502, 503, 504)), attempt.payload
                FROM outbox_attempt AS attempt JOIN outbox ON outbox.id = entry_id
                WHERE item_id = ? AND (kind = 'edit' AND attempt.payload IS NOT NULL OR kind = 'delete' AND purpose = 'send')
                ORDER BY started_at, entry_id, number
                """
            ).bind(task.entry.itemID).all { row in
                row.timestamp(0).map { (at: $0, isLost: row.int(1) == 1, carried: ItemEdit(json: row.text(2))) }
            }
            // The last one is the one that was answered, or has done what was found, if it has carried all that is wanted.
            if case .edit(let wanted) = task.entry.payload, !wanted.isEmpty, let last = sends.last, last.isLost,
                last.carried?.makes(wanted) == true
            {
                sends.removeLast()
            }
            // One at a time to come was sent before the clock was set back. It is waited for once: then the entry is due by a time
            // that was set with the clock.
            let hasWaited = task.entry.state == .queued
            let ends = sends.filter { $0.isLost && !(hasWaited && $0.at > now) }
                .map { min($0.at, now).advanced(by: interval) }
            return ends.max().flatMap { $0 > now ? $0 : nil }
        }
    }

    // MARK: Housekeeping

    /// Delivered creations that no pull has brought although one that began after the delivery has ended: the item may
    /// have been deleted elsewhere in between.
    package func missingCreations(
        deliveredBefore limit: Timestamp, now: Timestamp = .latest, most: Int = 50
    ) throws(UserFacingError) -> [String] {
        try read { connection in
            try connection.prepare(
                """
                SELECT id FROM local_item WHERE delivered_at < ?
                    AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = local_item.id)
                    AND NOT EXISTS
                        (SELECT 1 FROM unanswered_suspect WHERE item_id = local_item.id AND next_at > ?)
                ORDER BY delivered_at LIMIT ?
                """
            ).bind(limit).bind(now).bind(most).all { $0.text(0) }
        }
    }

    /// Removes entries that have been over since before `limit`, with their attempts. All that was said of an item stays as
    /// long as the server lacks some of it.
    package func purgeOutbox(endedBefore limit: Timestamp) throws(UserFacingError) {
        let old = """
            SELECT id FROM outbox WHERE ended_at < ? AND item_id NOT IN (
                SELECT item_id FROM outbox WHERE is_unverified IS 1
                    AND item_id IN (SELECT id FROM item WHERE deleted_at IS NULL UNION ALL SELECT id FROM local_item)
                UNION ALL SELECT item_id FROM outbox WHERE follows IS NOT NULL AND ended_at IS NULL)
            """
        guard try hasRow(old + " LIMIT 1", limit) else { return }
        try writeOutbox { connection in
            try connection.prepare("DELETE FROM outbox_attempt WHERE entry_id IN (\(old))").bind(limit).run()
            try connection.prepare("DELETE FROM outbox WHERE id IN (\(old))").bind(limit).run()
        }
    }
}

extension ItemEdit {
    /// Whether an item is as the other edit wants it once this one was applied.
    fileprivate func makes(_ wanted: ItemEdit) -> Bool {
        let whole = wanted.resolved(with: tags)
        let areTags = whole.tags.map { wanted in tags.map { Tags.areSame($0, wanted) } ?? false } ?? true
        return (whole.title == nil || whole.title == title) && (whole.summary == nil || whole.summary == summary)
            && areTags
    }
}

/// Which entries a list is of.
package enum OutboxFilter: String, Sendable, Codable {
    /// `queued`, `sending`, `unknown` and `parked`: everything that is not over.
    case open
    case all
    // Those in one state: see `OutboxEntry.State`.
    case queued, sending, unknown, delivered, parked, dropped, superseded
}

/// A part of the outbox, and how many entries the whole has.
package struct OutboxList: Sendable, Equatable {
    package var entries: [OutboxEntry]
    package var total: Int

    package init(entries: [OutboxEntry], total: Int) {
        self.entries = entries
        self.total = total
    }
}

extension StoreReader {
    /// The live item that a person would change by its id, or by the beginning of it: its whole id, title and tags.
    ///
    /// - Throws: `item_unknown`, `item_ambiguous`.
    package func itemToChange(_ prefix: String, isForDeletion: Bool = false) throws(UserFacingError) -> ListedItem {
        try read {
            let id = try ItemPrefix(connection: connection, isForDeletion: isForDeletion).resolve(prefix)
            let columns = "created_at, substr(title, 1, 500), tags"
            let found = try connection.cached(
                """
                SELECT \(columns) FROM timeline WHERE id = ?1
                UNION ALL SELECT \(columns) FROM item WHERE id = ?1 LIMIT 1
                """
            ).bind(id).first {
                let tags = Tags.parse($0.text(2)) ?? []
                return ListedItem(id: id, createdAt: $0.timestamp(0) ?? .earliest, title: $0.text(1), tags: tags)
            }
            return found ?? ListedItem(id: id)
        }
    }

    /// What people know items by: their titles, else their addresses. Also of those that were deleted.
    package func titles(of ids: [String]) throws(UserFacingError) -> [String?] {
        try read {
            let title = try connection.prepare(
                """
                SELECT substr(coalesce(\(WrittenHere.shownTitle), url), 1, 200) FROM item WHERE id = ?1
                UNION ALL SELECT substr(coalesce(title, url), 1, 200) FROM local_item WHERE id = ?1 LIMIT 1
                """)
            var titles: [String?] = []
            for id in ids { titles.append(try title.bind(id).first { $0.text(0) }) }
            return titles
        }
    }

    /// Entries in their order, the ended ones newest first.
    package func outbox(_ filter: OutboxFilter, limit: Int) throws(UserFacingError) -> OutboxList {
        try readTogether {
            let entries = try connection.prepare(
                """
                SELECT \(OutboxEntry.columns) FROM outbox
                \(filter.condition) ORDER BY id \(filter.isNewestFirst ? "DESC" : "ASC") LIMIT ?
                """
            ).bind(limit).all(OutboxEntry.init(row:))
            return OutboxList(entries: entries, total: Int(try connection.integer(filter.count)))
        }
    }

    /// Where entries stand. Entries that are gone are left out.
    package func outboxEntries(_ ids: [Int64]) throws(UserFacingError) -> [OutboxEntry] {
        try read { try connection.entries(ids) }
    }

    /// One entry, and every request that was made for it.
    ///
    /// - Throws: `entry_unknown`.
    package func outboxEntry(_ id: Int64) throws(UserFacingError) -> (entry: OutboxEntry, attempts: [OutboxAttempt]) {
        let found = try readTogether { () -> (OutboxEntry, [OutboxAttempt])? in
            let entry = try connection.prepare("SELECT \(OutboxEntry.columns) FROM outbox WHERE id = ?").bind(Int(id))
                .first(OutboxEntry.init(row:))
            guard let entry else { return nil }
            let attempts = try connection.prepare(
                """
                SELECT purpose, started_at, ended_at, verdict, error_code, status, request_id FROM outbox_attempt
                WHERE entry_id = ? ORDER BY number
                """
            ).bind(Int(id)).all { row -> OutboxAttempt? in
                guard let purpose = row.text(0).flatMap(OutboxAttempt.Purpose.init), let start = row.timestamp(1)
                else { return nil }
                return OutboxAttempt(
                    purpose: purpose, startedAt: start, endedAt: row.timestamp(2), verdict: row.text(3),
                    errorCode: row.text(4), status: row.isNull(5) ? nil : row.int(5), requestID: row.text(6))
            }
            return (entry, attempts)
        }
        guard let found else { throw Store.unknown(id) }
        return found
    }
}

extension Connection {
    fileprivate func entries(_ ids: [Int64]) throws -> [OutboxEntry] {
        let row = try cached("SELECT \(OutboxEntry.columns) FROM outbox WHERE id = ?")
        var entries: [OutboxEntry] = []
        for id in ids {
            if let entry = try row.bind(Int(id)).first(OutboxEntry.init(row:)) { entries.append(entry) }
        }
        return entries
    }
}

extension OutboxFilter {
    private var isOpen: Bool { [.open, .queued, .sending, .unknown, .parked].contains(self) }

    fileprivate var condition: String {
        switch self {
        case .open: "WHERE ended_at IS NULL"
        case .all: ""
        default: "WHERE state = '\(rawValue)'" + (isOpen ? " AND ended_at IS NULL" : "")
        }
    }

    /// From the counters where there is one: counting 100,000 rows takes milliseconds.
    fileprivate var count: String {
        switch self {
        case .open: "SELECT waiting + parked FROM copy"
        case .unknown, .parked: "SELECT \(rawValue) FROM copy"
        default: "SELECT count(*) FROM outbox \(condition)"
        }
    }

    fileprivate var isNewestFirst: Bool { !isOpen }
}
