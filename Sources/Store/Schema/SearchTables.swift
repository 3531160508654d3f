/// Step 9: the full-text index, and what it is of. It is built in the background, and never in the transaction of a page:
/// indexing there would take a pull of 100,000 items ten seconds more.
///
/// - `search_index`: full text (https://sqlite.org/fts5.html). It has no copy of the texts (`content=''`). Old versions of a
///   document cannot be taken out of such an index, so a changed item gets a new document, and the old one has no row in
///   `search_document` any more. When these take up too much, the index is built again.
/// - `search_document`: which item a document is of, and what else is needed to list items quickly. Items are known by the
///   number of their row (`Row`): an index of ids in no order was more than half of what was written.
/// - `search_piece`: a long text is indexed in pieces, each of which is a document of its own. The pieces of items that have
///   more than one, the first among them, which is the item's document. `search_document.position`: bytes of the item's texts
///   that have a piece; NULL where all have.
/// - `search_due`: items that have changed since they were indexed. Triggers keep it, so that it is true for every writer, and
///   whenever the process ends.
/// - `search_state.through`: rows of `item` above it are new and not indexed yet. So a page's new items cost nothing. NULL
///   until the index is begun: with `search_index = no`, a change costs nothing either.
enum SearchTables {
    static let step = [removal] + tables
    static let index = [createIndex, configureIndex]

    /// Step 11: the index says by which folding it was made (`Folding`). The daemon makes another in place of one that has
    /// none, and of the one that came before.
    static let folding = ["ALTER TABLE search_state ADD COLUMN folding TEXT;"]

    /// Makes everything of the index again but for `search_index` itself, which is gone: so no damage of any part of it stays.
    static func recreate(_ connection: Connection) throws {
        let triggers = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'search_[a-z_]*'"
        for name in try connection.prepare(triggers).all({ $0.text(0) }) {
            try connection.execute("DROP TRIGGER \(name)")
        }
        for table in ["search_document", "search_piece", "search_tag", "search_due", "search_state"] {
            try connection.execute("DROP TABLE IF EXISTS \(table)")
        }
        try connection.execute((index + tables + folding).joined(separator: "\n"))
        try noteFolding(connection)
    }

    static func noteFolding(_ connection: Connection) throws {
        try connection.execute("UPDATE search_state SET folding = '\(Folding.version)'")
    }

    /// The number that stands for an item in the index: of its row in `item`; of its entry, and negative, in `local_item`.
    /// That of a removed row may be given again, so its document gets one that no row has until it is taken out.
    private static let noRow = "-100000000000000 - docid"

    /// What a document says of its item is true: that has not changed since.
    static let isCurrent = "NOT EXISTS (SELECT 1 FROM search_due WHERE search_due.row = document.row)"

    static let createIndex = """
        CREATE VIRTUAL TABLE search_index USING fts5(title, summary, content, transcription, tags, url,
            content='', \(tokenizer));
        """

    /// Into a table that has its columns.
    static func insertion(into table: String) -> String {
        "INSERT INTO \(table) (rowid, title, summary, content, transcription, tags, url) VALUES (?, ?, ?, ?, ?, ?, ?)"
    }

    static let tokenizer = "tokenize=\"unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'\""

    /// The vowel signs of the scripts of India are parts of words.
    static let tokenizerArguments = ["remove_diacritics", "2", "categories", "L* N* Co Mn Mc"]

    /// A word in a title says more about an item than one in its text. SQLite merges parts of the index by itself while it
    /// inserts, for as long as that takes: here it is done in steps (`Store.mergeIndex`).
    private static let configureIndex = """
        INSERT INTO search_index (search_index, rank) VALUES
            ('rank', 'bm25(10.0, 4.0, 1.0, 1.0, 8.0, 2.0)'),
            ('automerge', 0), ('crisismerge', 1000), ('usermerge', 16);
        """

    /// What there was before. The words that `search_index` has go when the daemon builds it again: see `folding`.
    private static let removal = """
        DROP TRIGGER IF EXISTS search_item_changed;
        DROP TRIGGER IF EXISTS search_item_removed;
        \(["item_body", "local_item", "local_edit", "held_item"].flatMap { table in
            ["insert", "update", "delete"].map { "DROP TRIGGER IF EXISTS search_\(table)_\($0);" }
        }.joined(separator: "\n"))
        \(["search_piece", "search_document", "search_tag", "search_due", "search_state"].map {
            "DROP TABLE IF EXISTS \($0);"
        }.joined(separator: "\n"))
        """

    private static let tables = [document, piece, tag, due, state, itemTriggers, otherTriggers]

    /// AUTOINCREMENT: the number of a document that is gone is never given again, because the index still has its words.
    private static let document = """
        CREATE TABLE search_document (
            docid INTEGER PRIMARY KEY AUTOINCREMENT,
            row INTEGER NOT NULL UNIQUE,
            type TEXT,
            created_at TEXT NOT NULL,
            tags TEXT,
            size INTEGER NOT NULL,
            position INTEGER
        ) STRICT;
        CREATE INDEX search_document_by_type ON search_document (type, created_at);
        CREATE INDEX search_document_unfinished ON search_document (docid) WHERE position IS NOT NULL;
        """

    private static let piece = """
        CREATE TABLE search_piece (
            docid INTEGER PRIMARY KEY,
            document INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX search_piece_by_document ON search_piece (document);
        """

    private static let tag = """
        CREATE TABLE search_tag (
            tag TEXT NOT NULL,
            created_at TEXT NOT NULL,
            docid INTEGER NOT NULL,
            PRIMARY KEY (tag, created_at, docid)
        ) STRICT, WITHOUT ROWID;
        """

    private static let due = """
        CREATE TABLE search_due (
            row INTEGER PRIMARY KEY
        ) STRICT;
        """

    /// One row. `size`, `stale_size`: bytes of text in the index, and those of documents that are gone. `attempt` and `attempts` are
    /// not used any more.
    private static let state = """
        CREATE TABLE search_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            through INTEGER,
            as_of TEXT,
            size INTEGER NOT NULL DEFAULT 0,
            stale_size INTEGER NOT NULL DEFAULT 0,
            attempt INTEGER,
            attempts INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        INSERT INTO search_state (id) VALUES (1);
        """

    /// A row that is removed may be the newest, and its number be given again.
    private static let itemTriggers = """
        CREATE TRIGGER search_item_changed AFTER UPDATE OF created_at, type, title, url, summary, content, tags, deleted_at
            ON item
        WHEN old.title IS NOT new.title OR old.tags IS NOT new.tags OR old.summary IS NOT new.summary
            OR old.url IS NOT new.url OR old.content IS NOT new.content OR old.type IS NOT new.type
            OR old.created_at IS NOT new.created_at OR (old.deleted_at IS NULL) != (new.deleted_at IS NULL)
        BEGIN
            \(mark("new.rowid"))
        END;
        CREATE TRIGGER search_item_removed AFTER DELETE ON item BEGIN
            INSERT INTO search_due SELECT \(noRow) FROM search_document WHERE row = old.rowid;
            UPDATE search_document SET row = \(noRow) WHERE row = old.rowid;
            UPDATE search_state SET through = coalesce((SELECT max(rowid) FROM item), 0)
                WHERE through > coalesce((SELECT max(rowid) FROM item), 0);
        END;
        """

    private static let otherTriggers =
        marking("item_body", "INSERT", rows("new.item_id")) + marking("item_body", "UPDATE", rows("new.item_id"))
        + marking("item_body", "DELETE", rows("old.item_id"))
        + marking("local_item", "INSERT", ["-new.entry_id"])
        + marking("local_item", "UPDATE", ["-old.entry_id", "-new.entry_id"])
        + marking("local_item", "DELETE", ["-old.entry_id"]) + marking("local_edit", "INSERT", rows("new.item_id"))
        + marking("local_edit", "UPDATE", rows("new.item_id")) + marking("local_edit", "DELETE", rows("old.item_id"))
        + marking("held_item", "INSERT", rows("new.item_id")) + marking("held_item", "DELETE", rows("old.item_id"))

    private static func rows(_ id: String) -> [String] {
        ["(SELECT rowid FROM item WHERE id = \(id))", "(SELECT -entry_id FROM local_item WHERE id = \(id))"]
    }

    /// Not by INSERT OR IGNORE: in a trigger, what the statement outside says about conflicts holds instead
    /// (https://sqlite.org/lang_createtrigger.html), and a write of a person would fail.
    static func mark(_ row: String) -> String {
        """
        INSERT INTO search_due SELECT changed FROM (SELECT \(row) AS changed)
            WHERE changed <= (SELECT through FROM search_state)
                AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
        """
    }

    private static func marking(_ table: String, _ change: String, _ rows: [String]) -> String {
        """
        CREATE TRIGGER search_\(table)_\(change.lowercased()) AFTER \(change) ON \(table) BEGIN
            \(rows.map(mark).joined(separator: "\n    "))
        END;

        """
    }
}
