extension Schema {
    /// The outbox, the local changes that wait in it, and the views that lay them over the server's rows.
    static let migration2 = """
        ALTER TABLE copy ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE copy ADD COLUMN unknown INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE copy ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
        -- Seconds during which the server could be reached, over the file's life: the clock of the outbox's age limit.
        ALTER TABLE copy ADD COLUMN reachable_seconds REAL NOT NULL DEFAULT 0;

        -- Writes that were accepted, in order. The states are drawn in docs/outbox.md; AUTOINCREMENT, because people know
        -- entries by their number.
        CREATE TABLE outbox (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL CHECK (kind IN ('capture', 'note', 'edit', 'delete')),
            state TEXT NOT NULL
                CHECK (state IN ('queued', 'sending', 'unknown', 'delivered', 'parked', 'dropped', 'superseded')),
            item_id TEXT NOT NULL,
            local_id TEXT,
            payload TEXT NOT NULL,
            url TEXT,
            title TEXT,
            base TEXT,
            theirs TEXT,
            accepted_at TEXT NOT NULL,
            ended_at TEXT,
            next_attempt_at TEXT,
            attempts INTEGER NOT NULL DEFAULT 0,
            failures INTEGER NOT NULL DEFAULT 0,
            last_attempt_at TEXT,
            reachable_at REAL NOT NULL,
            superseded_by INTEGER,
            remark TEXT,
            error_code TEXT,
            error_message TEXT,
            idempotency_key TEXT NOT NULL,
            fingerprint TEXT,
            maybe_applied INTEGER NOT NULL DEFAULT 0 CHECK (maybe_applied IN (0, 1)),
            by_hand TEXT CHECK (by_hand IN ('retry', 'overwrite')),
            evidence TEXT,
            CHECK ((ended_at IS NULL) = (state IN ('queued', 'sending', 'unknown', 'parked'))),
            CHECK (next_attempt_at IS NULL OR state IN ('queued', 'unknown'))
        ) STRICT;
        CREATE INDEX outbox_due ON outbox (state, kind, next_attempt_at, id) WHERE next_attempt_at IS NOT NULL;
        -- Each index costs a page or two per move, so that there are only those that a move itself asks.
        CREATE INDEX outbox_open ON outbox (id) WHERE ended_at IS NULL;
        CREATE INDEX outbox_item ON outbox (item_id, id) WHERE ended_at IS NULL;
        -- Not WHERE state = 'unknown': a condition that a parameter is compared with makes SQLite prepare the statement anew
        -- whenever another value is bound to it.
        CREATE INDEX outbox_unknown ON outbox (fingerprint) WHERE maybe_applied IS 1;

        -- The requests that were made for an entry.
        CREATE TABLE outbox_attempt (
            entry_id INTEGER NOT NULL,
            number INTEGER NOT NULL,
            purpose TEXT NOT NULL CHECK (purpose IN ('send', 'look')),
            started_at TEXT NOT NULL,
            ended_at TEXT,
            verdict TEXT,
            error_code TEXT,
            status INTEGER,
            request_id TEXT,
            PRIMARY KEY (entry_id, number)
        ) STRICT, WITHOUT ROWID;

        -- Items that were created here and that no pull has brought yet.
        CREATE TABLE local_item (
            entry_id INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            created_at TEXT NOT NULL,
            type TEXT,
            title TEXT,
            url TEXT,
            content TEXT,
            tags TEXT,
            delivered_at TEXT
        ) STRICT;
        CREATE INDEX local_item_by_time ON local_item (created_at);
        CREATE INDEX local_item_delivered ON local_item (delivered_at) WHERE delivered_at IS NOT NULL;

        -- Edits and deletions that wait: what they make of the item.
        CREATE TABLE local_edit (
            item_id TEXT PRIMARY KEY,
            title TEXT,
            summary TEXT,
            tags TEXT,
            is_deleted INTEGER NOT NULL DEFAULT 0 CHECK (is_deleted IN (0, 1))
        ) STRICT, WITHOUT ROWID;

        -- New items of the server that may be a creation whose outcome is not known: shown once that is.
        CREATE TABLE held_item (
            item_id TEXT PRIMARY KEY,
            entry_id INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        DROP VIEW timeline;
        DROP VIEW item_tag;
        DROP VIEW sync_state;

        CREATE VIEW timeline AS
            SELECT item.id, item.created_at, item.updated_at, item.type, coalesce(edit.title, item.title) AS title,
                item.url, coalesce(edit.summary, item.summary) AS summary, item.content,
                coalesce(edit.tags, item.tags) AS tags, item.platform, item.category, item.thumbnail_url, item.duration,
                item.file_path, item.status, item.permalink, item.extra,
                CASE WHEN edit.item_id IS NOT NULL THEN 'edit' END AS pending
            FROM item LEFT JOIN local_edit AS edit ON edit.item_id = item.id
            WHERE item.deleted_at IS NULL AND coalesce(edit.is_deleted, 0) = 0
                AND NOT EXISTS (SELECT 1 FROM held_item WHERE held_item.item_id = item.id)
            UNION ALL
            SELECT made.id, made.created_at, NULL, made.type, coalesce(edit.title, made.title), made.url, edit.summary,
                made.content, coalesce(edit.tags, made.tags), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'creation'
            FROM local_item AS made LEFT JOIN local_edit AS edit ON edit.item_id = made.id
            WHERE coalesce(edit.is_deleted, 0) = 0 AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = made.id)
            ORDER BY created_at DESC, id;

        CREATE VIEW item_tag AS
            SELECT timeline.id AS item_id, tag.value AS tag
            FROM timeline, json_each(timeline.tags) AS tag;

        CREATE VIEW pending_write AS
            SELECT id, kind, state, item_id, url, title, payload,
                accepted_at, next_attempt_at, attempts, last_attempt_at, error_code, error_message
            FROM outbox
            WHERE ended_at IS NULL
            ORDER BY id;

        CREATE VIEW sync_state AS
            SELECT server_url, dialect, account_id, account_name,
                complete = 1 AND NOT EXISTS (SELECT 1 FROM crowded_instant)
                    AND NOT EXISTS (SELECT 1 FROM rejected_item) AS complete,
                new_as_of, edits_as_of, live, deleted,
                (SELECT count(*) FROM item WHERE missing_since IS NOT NULL) AS suspects,
                deletions_held,
                (SELECT count(*) FROM rejected_item) AS rejected,
                (SELECT count(*) FROM crowded_instant) AS crowded_instants,
                waiting, unknown, parked
            FROM copy;
        """
}
