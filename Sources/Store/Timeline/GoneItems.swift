package import PRSNLCore

/// An item that was delivered from here and that the server does not have any more, though no deletion of it was sent from here.
/// Another client has deleted it, or the server was restored from an older backup: both look the same.
package struct GoneItem: Sendable, Equatable, Codable {
    package var itemID: String
    /// The capture or the note that made it.
    package var entry: Int64
    @Nullable package var deliveredAt: Timestamp? = nil

    /// Columns of `rows`.
    fileprivate static let columns = "item.id, item.deleted_at, made.id, made.ended_at"
    /// Tombstones, each with the delivered entry that made its item. A deletion that was ever sent may be why the item is gone.
    fileprivate static let rows = """
        item JOIN outbox AS made ON made.id = (SELECT max(id) FROM outbox
            WHERE item_id = item.id AND kind IN ('capture', 'note') AND state = 'delivered')
        WHERE item.deleted_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM outbox
            WHERE item_id = item.id AND kind = 'delete' AND (ended_at IS NULL OR attempts > 0))
        """
    /// Since the error was cleared last. No rows where nothing is noted.
    fileprivate static let noted = """
        \(rows) AND item.deleted_at >=
            (SELECT first_at FROM recurring_error WHERE code = '\(ErrorCode.captureGone.rawValue)' AND over = 0)
        ORDER BY item.deleted_at DESC, item.id
        """
}

/// Those that are still to be dealt with: neither captured again, nor taken note of by `errors --clear`.
package struct GoneItems: Sendable, Equatable, Codable {
    package var count: Int
    package var newest: GoneItem

    package init(count: Int, newest: GoneItem) { (self.count, self.newest) = (count, newest) }

    init?(_ connection: Connection) throws {
        let items = try connection.goneItems()
        guard let newest = items.first else { return nil }
        self.init(count: items.count, newest: newest)
    }

    /// What captures them again.
    package var restoring: NextCommand {
        NextCommand(["prsnlctl", "restore", count == 1 ? newest.itemID : "--gone"])
    }

    /// For readers of the table alone.
    fileprivate static let message = """
        Items that were delivered from here are not on the server any more. They were not deleted from here.
        """

    fileprivate var message: String {
        count == 1
            ? "#\(newest.entry) was delivered, and the server does not have its item any more. It was not deleted from here."
            : "\(Count.text(count, "item"))" + Self.message.dropFirst("Items".count)
    }
}

extension Connection {
    /// The latest first, at most `limit`: one is enough to know that there are some.
    fileprivate func goneItems(upTo limit: Int = .max) throws -> [GoneItem] {
        let entry = try prepare("SELECT state FROM outbox WHERE request_key = ?")
        var gone: [GoneItem] = []
        try prepare("SELECT \(GoneItem.columns) FROM \(GoneItem.noted)").rows(while: gone.count < limit) { row in
            guard let id = row.text(0) else { return }
            var state: String?
            for key in RequestKey.restoring(id, deletedAt: row.timestamp(1)) {
                state = try entry.bind(key.text).first { $0.text(0) }
                // The next one was used only where this one was given up.
                if state != OutboxEntry.State.dropped.rawValue { break }
            }
            guard state == nil else { return }
            gone.append(GoneItem(itemID: id, entry: row.int64(2), deliveredAt: row.timestamp(3)))
        }
        return gone
    }

    /// Whether there is one, without a look at the others.
    var hasGoneItems: Bool { get throws { try !goneItems(upTo: 1).isEmpty } }
}

extension Store {
    /// Of what was just deleted, notes what was delivered from here.
    static func noteGone(_ ids: [String], at now: Timestamp, _ connection: Connection) throws {
        let row = try connection.cached("SELECT 1 FROM \(GoneItem.rows) AND item.id = ?")
        var count = 0
        for id in ids where try row.bind(id).hasRow() { count += 1 }
        guard count > 0 else { return }
        try connection.cached(
            """
            INSERT INTO recurring_error (code, endpoint, message, first_at, last_at, count) VALUES (?1, ?2, ?3, ?4, ?4, ?5)
            ON CONFLICT (code, endpoint)
                DO UPDATE SET first_at = min(first_at, ?4), last_at = ?4, count = count + ?5, over = 0
            """
        ).bind(ErrorCode.captureGone.rawValue).bind("outbox (delivered)").bind(GoneItems.message).bind(now).bind(count)
            .run()
    }
}

extension StoreReader {
    /// The latest first.
    package func goneItems() throws(UserFacingError) -> [GoneItem] {
        try read { try connection.goneItems() }
    }
}

extension RecurringError {
    /// As the file has them now: they may have been captured again since.
    mutating func describe(_ gone: GoneItems?) {
        guard code == ErrorCode.captureGone.rawValue, !isOver else { return }
        isOver = gone == nil
        message = gone?.message ?? message
        nextCommand = gone?.restoring ?? nextCommand
    }
}
