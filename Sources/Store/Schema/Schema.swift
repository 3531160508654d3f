import PRSNLCore

/// The file's schema, as numbered migrations. docs/schema.md describes the public part; within a major version it only grows.
enum Schema {
    /// "PRSN" in ASCII, in the header at offset 68 (https://sqlite.org/fileformat2.html#application_id).
    static let applicationID: UInt32 = 0x5052_534E

    /// Migration N takes a file of `user_version` N - 1 to N.
    static let migrations = [migration1, migration2, migration3, migration4, migration5, migration6]
    static var version: Int { migrations.count }

    /// Columns of `item` that the server fills, in the order of the public view.
    static let itemColumns = [
        "created_at", "updated_at", "type", "title", "url", "summary", "content", "tags", "platform", "category",
        "thumbnail_url", "duration", "file_path", "status", "permalink", "extra",
    ]

    private static let migration1 = """
        -- One row: which timeline this is a copy of, and how good the copy is. Counters are kept here because counting a
        -- million rows takes a quarter of a second.
        CREATE TABLE copy (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            server_url TEXT,
            dialect TEXT CHECK (dialect IN ('C', 'P', 'E')),
            account_id TEXT,
            account_name TEXT,
            new_as_of TEXT,
            edits_as_of TEXT,
            complete INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
            sweep_started_at TEXT,
            swept_at TEXT,
            head_open INTEGER NOT NULL DEFAULT 0 CHECK (head_open IN (0, 1)),
            deletions_held INTEGER NOT NULL DEFAULT 0,
            live INTEGER NOT NULL DEFAULT 0,
            deleted INTEGER NOT NULL DEFAULT 0,
            stopped_cleanly INTEGER NOT NULL DEFAULT 1 CHECK (stopped_cleanly IN (0, 1))
        ) STRICT;
        INSERT INTO copy (id) VALUES (1);

        -- The server's items, and tombstones of those that it deleted (deleted_at). missing_since: the server's list lacks
        -- it, which is not yet proof. found_at: it was asked for by its id all the same, and found.
        CREATE TABLE item (
            id TEXT NOT NULL UNIQUE,
            created_at TEXT NOT NULL,
            updated_at TEXT,
            type TEXT,
            title TEXT,
            url TEXT,
            summary TEXT,
            content TEXT,
            tags TEXT,
            platform TEXT,
            category TEXT,
            thumbnail_url TEXT,
            duration REAL,
            file_path TEXT,
            status TEXT,
            permalink TEXT,
            extra TEXT,
            deleted_at TEXT,
            missing_since TEXT,
            found_at TEXT
        ) STRICT;
        CREATE INDEX item_by_time ON item (created_at) WHERE deleted_at IS NULL;
        CREATE INDEX item_missing ON item (missing_since) WHERE missing_since IS NOT NULL;
        CREATE INDEX item_pending ON item (created_at) WHERE status = 'pending';
        CREATE INDEX item_deleted ON item (deleted_at) WHERE deleted_at IS NOT NULL;

        -- Closed intervals of created_at that the copy holds completely.
        CREATE TABLE coverage (
            from_time TEXT PRIMARY KEY,
            to_time TEXT NOT NULL,
            read_at TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- Instants at which the server has at least as many items as fit on a page, so that some may be out of reach.
        CREATE TABLE crowded_instant (
            at TEXT PRIMARY KEY,
            seen INTEGER NOT NULL,
            read_at TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- Items that could not be read, as they came.
        CREATE TABLE rejected_item (
            raw TEXT PRIMARY KEY,
            item_id TEXT,
            reason TEXT NOT NULL,
            first_seen TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- Pulls that did something, the last 100 of each kind.
        CREATE TABLE pull (
            id INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            started_at TEXT NOT NULL,
            ended_at TEXT,
            outcome TEXT NOT NULL,
            requests INTEGER NOT NULL,
            pages INTEGER NOT NULL,
            added INTEGER NOT NULL,
            changed INTEGER NOT NULL,
            deleted INTEGER NOT NULL,
            suspects INTEGER NOT NULL,
            rejected INTEGER NOT NULL,
            error_code TEXT
        ) STRICT;

        -- Errors by code and endpoint.
        CREATE TABLE recurring_error (
            code TEXT NOT NULL,
            endpoint TEXT NOT NULL,
            message TEXT NOT NULL,
            first_at TEXT NOT NULL,
            last_at TEXT NOT NULL,
            count INTEGER NOT NULL,
            over INTEGER NOT NULL DEFAULT 0 CHECK (over IN (0, 1)),
            PRIMARY KEY (code, endpoint)
        ) STRICT, WITHOUT ROWID;

        CREATE VIEW timeline AS
            SELECT id, created_at, updated_at, type, title, url, summary, content, tags, platform, category,
                thumbnail_url, duration, file_path, status, permalink, extra
            FROM item
            WHERE deleted_at IS NULL
            ORDER BY created_at DESC, id;

        CREATE VIEW item_tag AS
            SELECT item.id AS item_id, tag.value AS tag
            FROM item, json_each(item.tags) AS tag
            WHERE item.deleted_at IS NULL;

        CREATE VIEW sync_state AS
            SELECT server_url, dialect, account_id, account_name,
                complete = 1 AND NOT EXISTS (SELECT 1 FROM crowded_instant)
                    AND NOT EXISTS (SELECT 1 FROM rejected_item) AS complete,
                new_as_of, edits_as_of, live, deleted,
                (SELECT count(*) FROM item WHERE missing_since IS NOT NULL) AS suspects,
                deletions_held,
                (SELECT count(*) FROM rejected_item) AS rejected,
                (SELECT count(*) FROM crowded_instant) AS crowded_instants
            FROM copy;
        """
}
