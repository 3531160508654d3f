import PRSNLCore

/// Where a change of the timeline comes from.
enum ChangeOrigin: String, Sendable {
    case server, here
}

/// Step 12: what has changed in `timeline`, and in the texts, in numbered rows. A row is written in the transaction of its
/// change. docs/schema.md describes the view `change`.
///
/// What an item was before a transaction is noted by triggers, and compared with what it is at the end of it: so a change is one
/// row, however many tables it takes, and whoever makes it. The triggers are the store's own (`TEMP`), and stand in no file.
enum ChangeLog {
    /// `epoch`: the id of this history. `items_before`: rows of `item` up to this number are of the first pull, and their first
    /// texts are no changes. NULL before the first pull has ended: nothing is noted.
    static let tables = [
        """
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
    ]

    /// Not by `json_group_array`, which SQLite 3.40 refuses as `json_extract` (`Views`).
    static let view = Views.View(
        name: "change",
        query: """
            SELECT seq, at, item_id, kind,
                '["' || (SELECT group_concat(key, '","') FROM json_each(coalesce(new, old))) || '"]' AS fields, old, new, origin
            FROM change_log
            ORDER BY seq
            """)

    /// Rows that are kept; and for so long.
    static let most = 100_000
    static let life: Duration = .seconds(30 * 86_400)
    /// Longer values are given by their size and hash.
    private static let longestValue = 16 << 10

    /// Of the timeline, without the text.
    private static let names = ItemColumn.all.map(\.name).filter { $0 != "id" && $0 != "content" } + ["pending"]

    /// The columns of a row of the timeline as one JSON object.
    private static func object(_ row: String) -> String { "SELECT json_object(\(members)) FROM (\(row))" }

    private static let members = names.map { name in
        "'\(name)', iif(length(CAST(\(name) AS BLOB)) > \(longestValue), text_mark(\(name), NULL), \(name))"
    }.joined(separator: ", ")

    /// What `timeline` shows of one item; no row where it does not.
    private static func shown(_ id: String) -> String {
        object(
            """
            \(Views.serverRow(of: id)) UNION ALL
            \(Views.creationRow(of: id)) AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = made.id)
            """)
    }

    /// Columns id, created_at, origin and the members of each item, the oldest first.
    static let present = """
        SELECT id, created_at, iif(pending IS 'creation', 'here', 'server'), json_patch('{}', json_object(\(members)))
        FROM timeline ORDER BY created_at, id
        """

    /// The members of one item.
    static let presentItem = shown("?1")

    private static func text(_ id: String) -> String {
        "SELECT text_mark(content, transcription) FROM item_text WHERE item_id = \(id)"
    }

    /// Notes once in a transaction what an item was. In a trigger, tables that are written have no name of a database before theirs
    /// (https://sqlite.org/lang_createtrigger.html).
    private static func note(
        _ id: String, isKnown: String = "EXISTS (SELECT 1 FROM item WHERE id = touched_id)", was: String? = nil
    ) -> String {
        """
        INSERT INTO touched SELECT touched_id, \(isKnown), (\(was ?? shown("touched_id")))
            FROM (SELECT \(id) AS touched_id) WHERE touched_id NOT IN (SELECT id FROM touched);
        """
    }

    private static func noteText(_ id: String, was: String? = nil) -> String {
        """
        INSERT INTO touched_text SELECT touched_id, (\(was ?? text("touched_id")))
            FROM (SELECT \(id) AS touched_id) WHERE touched_id NOT IN (SELECT id FROM touched_text);
        """
    }

    /// The first text of an item that came with the first pull is a part of that. So it costs nothing.
    private static let isOfNewItem = """
        EXISTS (SELECT 1 FROM item_body WHERE item_id = new.item_id)
            OR (SELECT rowid FROM item WHERE id = new.item_id) > (SELECT items_before FROM change_state)
        """

    private static func trigger(_ event: String, _ table: String, when condition: String? = nil, _ notes: String...)
        -> String
    {
        """
        CREATE TEMP TRIGGER "change: \(event.prefix(20)) \(table)" \(event) ON main.\(table)
        \(condition.map { "WHEN \($0)" } ?? "") BEGIN
            \(notes.joined(separator: "\n    "))
        END;

        """
    }

    /// - Parameter note: of an item's id.
    private static func triggers(_ table: String, id: String, _ note: (String) -> String) -> String {
        trigger("BEFORE INSERT", table, note("new.\(id)")) + trigger("BEFORE DELETE", table, note("old.\(id)"))
            + trigger("BEFORE UPDATE", table, note("old.\(id)"), note("new.\(id)"))
    }

    private static let begin: String = {
        let columns = (["id", "deleted_at"] + names.filter { $0 != "pending" }).joined(separator: ", ")
        // An item that is there already is not inserted, which only an AFTER trigger knows.
        let inserted = note("new.id", isKnown: "0", was: object(Views.creationRow(of: "touched_id")))
        return """
            CREATE TEMP TABLE touched (id TEXT PRIMARY KEY, was_known INTEGER, was TEXT) WITHOUT ROWID;
            CREATE TEMP TABLE touched_text (id TEXT PRIMARY KEY, was TEXT) WITHOUT ROWID;
            \(trigger("AFTER INSERT", "item", inserted, noteText("new.id", was: "NULL")))
            \(trigger("BEFORE DELETE", "item", note("old.id"), noteText("old.id")))
            \(trigger("BEFORE UPDATE OF \(columns)", "item", note("old.id"), note("new.id")))
            \(trigger("BEFORE UPDATE OF content", "item", noteText("new.id")))
            \(trigger("BEFORE INSERT", "item_body", when: isOfNewItem, noteText("new.item_id")))
            \(trigger("BEFORE DELETE", "item_body", noteText("old.item_id")))
            \(trigger("BEFORE UPDATE", "item_body", noteText("new.item_id")))
            \(triggers("local_item", id: "id") { note($0) })
            \(triggers("local_edit", id: "item_id") { note($0) })
            \(triggers("held_item", id: "item_id") { note($0) })
            """
    }()

    private static let hasTouched = "SELECT 1 FROM touched UNION ALL SELECT 1 FROM touched_text LIMIT 1"

    /// Begins to note changes, where the first pull has ended.
    ///
    /// - Returns: whether changes are noted from now on.
    static func start(_ connection: Connection) throws(SQLiteFailure) -> Bool {
        guard try connection.integer("SELECT items_before IS NOT NULL FROM change_state") == 1 else { return false }
        try connection.registerTextMark()
        // No files for what is empty again after each transaction.
        try connection.execute("PRAGMA temp_store = MEMORY")
        try connection.execute(begin)
        return true
    }

    /// Where the first pull has ended, it is one row.
    ///
    /// - Returns: how many rows were written.
    static func openIfComplete(_ connection: Connection) throws(SQLiteFailure) -> Int {
        let live = try connection.cached(
            "SELECT live FROM copy, change_state WHERE complete = 1 AND items_before IS NULL"
        ).first { $0.int(0) }
        guard let live else { return 0 }
        try connection.execute("UPDATE change_state SET items_before = coalesce((SELECT max(rowid) FROM item), 0)")
        let change = (id: String?.none, kind: "pulled", old: String?.none, new: String?.some(#"{"items":\#(live)}"#))
        try insert(connection, change, .server)
        return 1
    }

    /// What a transaction has changed, at its end.
    ///
    /// - Returns: how many rows were written.
    static func save(_ connection: Connection, _ origin: ChangeOrigin) throws(SQLiteFailure) -> Int {
        guard try connection.cached(hasTouched).hasRow() else { return 0 }
        let items = try connection.cached("SELECT id, was_known, was, (\(shown("touched.id"))) FROM touched")
            .all { (id: $0.text(0), wasKnown: $0.int(1) == 1, was: $0.text(2), new: $0.text(3)) }
        let texts = try connection.cached(
            """
            SELECT id, was, (\(text("touched_text.id"))) FROM touched_text
            WHERE EXISTS (\(Views.serverRow(of: "touched_text.id")) UNION ALL \(Views.creationRow(of: "touched_text.id")))
            """
        ).all { (id: $0.text(0), was: $0.text(1), new: $0.text(2)) }
        var changes: [Change] = []
        for item in items where item.was != item.new {
            let kind =
                item.was == nil ? (item.wasKnown ? "restored" : "added") : item.new == nil ? "deleted" : "edited"
            let (old, new) = try difference(connection, item.was, item.new)
            changes.append((item.id, kind, old, new))
        }
        for text in texts where text.was != text.new {
            changes.append((text.id, "text", text.was, text.new))
        }
        for change in changes { try insert(connection, change, origin) }
        try connection.execute("DELETE FROM touched; DELETE FROM touched_text")
        return changes.count
    }

    /// Members that are the same in both are left out, and, where there is one side only, those that are NULL.
    private static func difference(
        _ connection: Connection, _ old: String?, _ new: String?
    ) throws(SQLiteFailure) -> (String?, String?) {
        guard let old, let new else {
            func whole(_ json: String?) throws(SQLiteFailure) -> String? {
                guard let json else { return nil }
                return try connection.cached("SELECT json_patch('{}', ?)").bind(json).first { $0.text(0) } ?? nil
            }
            return (try whole(old), try whole(new))
        }
        return try connection.cached(
            """
            SELECT json_group_object(was.key, was.value), json_group_object(was.key, now.value)
            FROM json_each(?) AS was JOIN json_each(?) AS now USING (key) WHERE was.value IS NOT now.value
            """
        ).bind(old).bind(new).first { ($0.text(0), $0.text(1)) } ?? (nil, nil)
    }

    private typealias Change = (id: String?, kind: String, old: String?, new: String?)

    private static func insert(
        _ connection: Connection, _ change: Change, _ origin: ChangeOrigin
    ) throws(SQLiteFailure) {
        let now = TimeSource.system.now()
        try connection.cached(
            "INSERT INTO change_log (at, item_id, kind, origin, old, new) VALUES (?, ?, ?, ?, ?, ?)"
        ).bind(now).bind(change.id).bind(change.kind).bind(origin.rawValue).bind(change.old).bind(change.new).run()
        try trim(connection, now)
    }

    /// A few rows with each new one, and never the newest, whose number would be given again.
    private static func trim(_ connection: Connection, _ now: Timestamp) throws(SQLiteFailure) {
        try connection.cached(
            """
            DELETE FROM change_log WHERE seq IN (SELECT seq FROM change_log ORDER BY seq LIMIT 2)
                AND seq < (SELECT max(seq) FROM change_log)
                AND (seq <= (SELECT max(seq) FROM change_log) - ? OR at < ?)
            """
        ).bind(most).bind(now.advanced(by: .zero - life)).run()
    }

    /// Another history: places in the one before mean nothing any more.
    static func renew(_ connection: Connection) throws(SQLiteFailure) {
        try connection.execute("UPDATE change_state SET epoch = lower(hex(randomblob(8)))")
    }
}
