import PRSNLCore

/// Where a change of the timeline comes from.
enum ChangeOrigin: String, Sendable {
    case server, here
}

/// Step 12: what has changed in `timeline`, and in the texts, in numbered rows. A row is written in the transaction of its
/// change (`ChangeNotes`). docs/schema.md describes the view `change`.
enum ChangeLog {
    /// `epoch`: the id of this history. `items_before`: rows of `item` up to this number are of the first pull, and their first
    /// texts are no changes. NULL before the first pull has ended: nothing is noted.
    static let tables = """
        CREATE TABLE change_log (
            seq INTEGER PRIMARY KEY,
            at TEXT NOT NULL,
            item_id TEXT,
            kind TEXT NOT NULL,
            origin TEXT NOT NULL,
            old TEXT,
            new TEXT
        ) STRICT;
        CREATE TABLE change_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            epoch TEXT NOT NULL,
            items_before INTEGER
        ) STRICT;
        INSERT INTO change_state (id, epoch) VALUES (1, lower(hex(randomblob(8))));
        """

    /// Not by `json_group_array`, which SQLite 3.40 refuses as `json_extract` (`Views`).
    static let view = Views.View(
        name: "change",
        query: """
            SELECT seq, at, item_id, kind,
                '["' || (SELECT group_concat(key, '","') FROM json_each(coalesce(new, old))) || '"]' AS fields, old, new, origin
            FROM change_log
            ORDER BY seq
            """)

    /// The rows that this program can have written, for readers. A prepared file has any number, and values that are not JSON.
    static let rows = """
        (SELECT *, iif(json_valid(old), old, NULL) AS was, iif(json_valid(new), new, NULL) AS becomes FROM change_log
            WHERE seq BETWEEN 1 AND \(ForeignNumber.largest))
        """

    /// Rows that are kept; and for so long.
    static let most = 100_000
    static let life: Duration = .seconds(30 * 86_400)
    /// Longer values are given by their size and hash.
    private static let longestValue = 16 << 10

    /// Of the timeline, without the text.
    static let names = ItemColumn.all.map(\.name).filter { $0 != "id" && $0 != "content" } + ["pending"]

    /// The columns of a row of the timeline as one JSON object.
    private static func object(_ row: String) -> String { "SELECT json_object(\(members)) FROM (\(row))" }

    private static let members = names.map { name in
        // Infinity is no JSON, and stands as a text. SQLite gives 15 digits by itself, and a number may have 17.
        name == "duration"
            ? "'duration', iif(abs(duration) < 9e999, json(printf('%!.17g', duration)), CAST(duration AS TEXT))"
            : "'\(name)', \(kept(name))"
    }.joined(separator: ", ")

    /// A value as it is kept.
    static func kept(_ value: String) -> String {
        "iif(length(CAST(\(value) AS BLOB)) > \(longestValue), text_mark(\(value), NULL), \(value))"
    }

    /// What `timeline` shows of one item (?1); no row where it does not.
    static let shown = object(
        """
        \(Views.serverRow(of: "?1")) UNION ALL
        \(Views.creationRow(of: "?1")) AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = made.id)
        """)

    /// What it showed before the server's row was there.
    static let created = object(Views.creationRow(of: "?1"))

    /// Columns id, created_at, origin, the members of each item and its title, the oldest first.
    static let present = """
        SELECT id, created_at, iif(pending IS 'creation', 'here', 'server'), json_patch('{}', json_object(\(members))), title
        FROM timeline ORDER BY created_at, id
        """

    /// Where the first pull has ended, it is one row.
    ///
    /// - Returns: how many rows were written.
    static func openIfComplete(_ connection: Connection) throws -> Int {
        let live = try connection.cached(
            "SELECT live FROM copy, change_state WHERE complete = 1 AND items_before IS NULL"
        ).first { $0.int(0) }
        guard let live else { return 0 }
        try connection.execute("UPDATE change_state SET items_before = coalesce((SELECT max(rowid) FROM item), 0)")
        let change = (id: String?.none, kind: "pulled", old: String?.none, new: String?.some(#"{"items":\#(live)}"#))
        try insert(connection, change, .server)
        return 1
    }

    typealias Change = (id: String?, kind: String, old: String?, new: String?)

    static func insert(
        _ connection: Connection, _ change: Change, _ origin: ChangeOrigin
    ) throws {
        let now = TimeSource.system.now()
        try connection.cached(
            "INSERT INTO change_log (at, item_id, kind, origin, old, new) VALUES (?, ?, ?, ?, ?, ?)"
        ).bind(now).bind(change.id).bind(change.kind).bind(origin.rawValue).bind(change.old).bind(change.new).run()
        // A few rows with each new one, and never the newest, whose number would be given again.
        try connection.cached(
            """
            DELETE FROM change_log WHERE seq <= (SELECT seq FROM change_log ORDER BY seq LIMIT 1 OFFSET 1)
                AND seq < (SELECT max(seq) FROM change_log)
                AND (seq <= (SELECT max(seq) FROM change_log) - ? OR at < ?)
            """
        ).bind(most).bind(now.advanced(by: .zero - life)).run()
    }

    /// Another history: places in the one before mean nothing any more.
    static func renew(_ connection: Connection) throws {
        try connection.execute("UPDATE change_state SET epoch = lower(hex(randomblob(8)))")
    }
}
