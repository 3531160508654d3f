/// Steps 3 and 6: the tables around the full-text index as they were before step 9 made them again (`SearchTables`).
enum FormerSearchTables {
    static let all = [
        index, SearchTables.configureIndex, document, tag, due, state, itemTriggers, textTriggers, localTriggers,
    ]

    static let inPieces = [
        """
        ALTER TABLE search_document ADD COLUMN position INTEGER;
        CREATE INDEX search_document_unfinished ON search_document (docid) WHERE position IS NOT NULL;
        CREATE TABLE search_piece (
            docid INTEGER PRIMARY KEY,
            document INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX search_piece_by_document ON search_piece (document);
        ALTER TABLE search_state ADD COLUMN attempt TEXT;
        ALTER TABLE search_state ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
        """
    ]

    private static let index = """
        CREATE VIRTUAL TABLE search_index USING fts5(title, summary, content, transcription, tags, url,
            content='', tokenize='unicode61 remove_diacritics 2');
        """

    private static let document = """
        CREATE TABLE search_document (
            docid INTEGER PRIMARY KEY AUTOINCREMENT,
            item_id TEXT NOT NULL UNIQUE,
            type TEXT,
            created_at TEXT NOT NULL,
            tags TEXT,
            size INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX search_document_by_time ON search_document (created_at);
        CREATE INDEX search_document_by_type ON search_document (type, created_at);
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
            item_id TEXT PRIMARY KEY
        ) STRICT, WITHOUT ROWID;
        INSERT INTO search_due SELECT id FROM local_item;
        """

    private static let state = """
        CREATE TABLE search_state (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            through INTEGER NOT NULL DEFAULT 0,
            as_of TEXT,
            size INTEGER NOT NULL DEFAULT 0,
            stale_size INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        INSERT INTO search_state (id) VALUES (1);
        """

    private static let itemTriggers = """
        CREATE TRIGGER search_item_changed AFTER UPDATE OF created_at, type, title, url, summary, content, tags, deleted_at
            ON item
        WHEN old.title IS NOT new.title OR old.tags IS NOT new.tags OR old.summary IS NOT new.summary
            OR old.url IS NOT new.url OR old.content IS NOT new.content OR old.type IS NOT new.type
            OR old.created_at IS NOT new.created_at OR (old.deleted_at IS NULL) != (new.deleted_at IS NULL)
        BEGIN
            \(mark("new.id"))
        END;
        CREATE TRIGGER search_item_removed AFTER DELETE ON item BEGIN
            \(mark("old.id"))
            UPDATE search_state SET through = coalesce((SELECT max(rowid) FROM item), 0)
                WHERE through > coalesce((SELECT max(rowid) FROM item), 0);
        END;
        """

    private static let textTriggers =
        marking("item_body", "INSERT", "new.item_id") + marking("item_body", "UPDATE", "new.item_id")
        + marking("item_body", "DELETE", "old.item_id")

    private static let localTriggers =
        marking("local_item", "INSERT", "new.id") + marking("local_item", "UPDATE", "old.id", "new.id")
        + marking("local_item", "DELETE", "old.id") + marking("local_edit", "INSERT", "new.item_id")
        + marking("local_edit", "UPDATE", "new.item_id") + marking("local_edit", "DELETE", "old.item_id")
        + marking("held_item", "INSERT", "new.item_id") + marking("held_item", "DELETE", "old.item_id")

    private static func mark(_ id: String) -> String {
        "INSERT INTO search_due SELECT \(id) WHERE NOT EXISTS (SELECT 1 FROM search_due WHERE item_id = \(id));"
    }

    private static func marking(_ table: String, _ change: String, _ ids: String...) -> String {
        """
        CREATE TRIGGER search_\(table)_\(change.lowercased()) AFTER \(change) ON \(table) BEGIN
            \(ids.map(mark).joined(separator: " "))
        END;

        """
    }
}
