/// The file's schema. docs/schema.md describes the public part, which only grows within a major version.
struct Schema {
    /// "PRSN" in ASCII, in the header at offset 68 (https://sqlite.org/fileformat2.html#application_id).
    static let applicationID: UInt32 = 0x5052_534E

    static let current = Schema(
        steps: [
            Tables.all, TextTables.all, SearchTables.all, KnownItems.all, TextTables.claims, SearchTables.inPieces,
            CopyMarks.all, WishTables.all,
        ].map { $0.joined(separator: "\n") })

    /// The first with texts.
    static let versionWithTexts = 2
    /// The first with a full-text index as it is searched now.
    static let versionWithSearch = 6

    /// Step N takes the tables from `user_version` N - 1 to N. The first makes an empty file a copy. A step is never changed,
    /// released or not: files have taken it. A change of a table is a step of its own, and so is a change of a view, without
    /// statements.
    let steps: [String]

    var version: Int { steps.count }

    /// Takes the steps that the file lacks, and makes its views as they are now, in one transaction with the `user_version`:
    /// a kill leaves the file as it was.
    func apply(to connection: Connection) throws(SQLiteFailure) {
        let found = Int(try connection.integer("PRAGMA user_version"))
        guard found < version else { return }
        try connection.transaction { () throws(SQLiteFailure) in
            // Before the tables change: ALTER TABLE looks at the views.
            for view in Views.all { try connection.execute("DROP VIEW IF EXISTS \(view.name)") }
            for step in steps.dropFirst(found) { try connection.execute(step) }
            for view in Views.all { try connection.execute(view.sql) }
            try connection.execute("PRAGMA application_id = \(Self.applicationID)")
            try connection.execute("PRAGMA user_version = \(version)")
        }
    }
}

/// Step 7: by what a restored or copied file is noticed (`CopyMark`).
///
/// `mark`: the id that the file beside the database has too. `sends`: how many sends were begun, and how often it was marked.
enum CopyMarks {
    static let all = [
        "ALTER TABLE copy ADD COLUMN mark TEXT;", "ALTER TABLE copy ADD COLUMN sends INTEGER NOT NULL DEFAULT 0;",
    ]
}

/// Step 4: what the copy had when a write was sent, and the server's clock.
///
/// `server_ahead`: microseconds by which the server's clock was ahead of ours at `new_as_of`.
///
/// `items_before`: rows of `item` up to this number were there before the send, and are not its work. Numbers grow, and none is
/// given twice: rows stay where they are (VACUUM keeps the numbers of a table with an index), and the newest is never removed.
enum KnownItems {
    static let all = [
        "ALTER TABLE outbox_attempt ADD COLUMN items_before INTEGER;",
        "ALTER TABLE copy ADD COLUMN server_ahead INTEGER;",
    ]
}

/// Step 8: what was said of an item is found by its id, also after it was delivered (`Wish`).
enum WishTables {
    static let all = [itemIndex, openFollowUps]

    /// Of all entries, not only of the open ones. An entry that ends without a new item id costs the index nothing.
    private static let itemIndex = """
        DROP INDEX outbox_item;
        CREATE INDEX outbox_item ON outbox (item_id, id);
        """

    /// A creation stays unverified until its follow-up is delivered. Before, the follow-up alone knew what was asked for.
    private static let openFollowUps = """
        UPDATE outbox SET is_unverified = 1
        WHERE kind IN ('capture', 'note') AND state = 'delivered' AND item_id IN
            (SELECT item_id FROM outbox WHERE follows IS NOT NULL AND ended_at IS NULL);
        """
}
