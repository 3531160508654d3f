-- A copy as it was at schema 14. Written once, from the steps up to it, and not to be changed.
PRAGMA application_id = 1347572558;
PRAGMA user_version = 14;
CREATE TABLE copy (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    server_url TEXT,
    dialect TEXT CHECK (dialect IN ('C', 'P', 'E')),
    account_id TEXT,
    account_name TEXT,
    account_subject TEXT,
    bound_at TEXT,
    new_as_of TEXT,
    edits_as_of TEXT,
    complete INTEGER NOT NULL DEFAULT 0 CHECK (complete IN (0, 1)),
    sweep_started_at TEXT,
    swept_at TEXT,
    suspects_sampled_at TEXT,
    head_open INTEGER NOT NULL DEFAULT 0 CHECK (head_open IN (0, 1)),
    deletions_held INTEGER NOT NULL DEFAULT 0,
    live INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0,
    waiting INTEGER NOT NULL DEFAULT 0,
    unknown INTEGER NOT NULL DEFAULT 0,
    parked INTEGER NOT NULL DEFAULT 0,
    reachable_seconds REAL NOT NULL DEFAULT 0,
    stopped_cleanly INTEGER NOT NULL DEFAULT 1 CHECK (stopped_cleanly IN (0, 1))
, server_ahead INTEGER, mark TEXT, sends INTEGER NOT NULL DEFAULT 0) STRICT;
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
, text_for TEXT) STRICT;
CREATE TABLE coverage (
    from_time TEXT PRIMARY KEY,
    to_time TEXT NOT NULL,
    read_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE crowded_instant (
    at TEXT PRIMARY KEY,
    seen INTEGER NOT NULL,
    read_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE rejected_item (
    raw TEXT PRIMARY KEY,
    item_id TEXT,
    reason TEXT NOT NULL,
    first_seen TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE held_deletion (
    item_id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TABLE unanswered_suspect (
    item_id TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    next_at TEXT NOT NULL,
    error_message TEXT NOT NULL
) STRICT, WITHOUT ROWID;
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
    failed_looks INTEGER NOT NULL DEFAULT 0,
    last_attempt_at TEXT,
    reachable_at REAL NOT NULL,
    superseded_by INTEGER,
    follows INTEGER,
    remark TEXT,
    error_code TEXT,
    error_message TEXT,
    idempotency_key TEXT NOT NULL,
    request_key TEXT,
    fingerprint TEXT,
    maybe_applied INTEGER NOT NULL DEFAULT 0 CHECK (maybe_applied IN (0, 1)),
    awaits_item INTEGER NOT NULL DEFAULT 0 CHECK (awaits_item IN (0, 1)),
    is_unverified INTEGER NOT NULL DEFAULT 0 CHECK (is_unverified IN (0, 1)),
    by_hand TEXT CHECK (by_hand IN ('retry', 'overwrite')),
    evidence TEXT,
    undecided_since TEXT,
    undecided_here TEXT, superseded_from TEXT, command TEXT, is_withdrawn INTEGER NOT NULL DEFAULT 0 CHECK (is_withdrawn IN (0, 1)),
    CHECK ((ended_at IS NULL) = (state IN ('queued', 'sending', 'unknown', 'parked'))),
    CHECK (next_attempt_at IS NULL OR state IN ('queued', 'unknown'))
) STRICT;
CREATE TABLE outbox_attempt (
    entry_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    purpose TEXT NOT NULL CHECK (purpose IN ('send', 'look')),
    started_at TEXT NOT NULL,
    ended_at TEXT,
    verdict TEXT,
    error_code TEXT,
    status INTEGER,
    request_id TEXT, items_before INTEGER, payload TEXT,
    PRIMARY KEY (entry_id, number)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE local_edit (
    item_id TEXT PRIMARY KEY,
    title TEXT,
    summary TEXT,
    tags TEXT,
    is_deleted INTEGER NOT NULL DEFAULT 0 CHECK (is_deleted IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE TABLE held_item (
    item_id TEXT PRIMARY KEY,
    entry_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE connectivity_transition (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    state TEXT NOT NULL,
    error_code TEXT,
    reason TEXT
) STRICT;
CREATE TABLE item_body (
    item_id TEXT PRIMARY KEY,
    version TEXT,
    fetched_at TEXT NOT NULL,
    is_transcription INTEGER NOT NULL DEFAULT 0 CHECK (is_transcription IN (0, 1)),
    metadata TEXT,
    content TEXT,
    transcription TEXT
) STRICT;
CREATE TABLE text_problem (
    item_id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('stale', 'failing', 'too_large')),
    row_version TEXT NOT NULL,
    failures INTEGER NOT NULL,
    next_at TEXT,
    size INTEGER,
    error_code TEXT NOT NULL,
    error_message TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE search_index USING fts5(title, summary, content, transcription, tags, url,
    content='', tokenize='unicode61 remove_diacritics 2');
CREATE TABLE search_document (
    docid INTEGER PRIMARY KEY AUTOINCREMENT,
    row INTEGER NOT NULL UNIQUE,
    type TEXT,
    created_at TEXT NOT NULL,
    tags TEXT,
    size INTEGER NOT NULL,
    position INTEGER
) STRICT;
CREATE TABLE search_piece (
    docid INTEGER PRIMARY KEY,
    document INTEGER NOT NULL
) STRICT;
CREATE TABLE search_tag (
    tag TEXT NOT NULL,
    created_at TEXT NOT NULL,
    docid INTEGER NOT NULL,
    PRIMARY KEY (tag, created_at, docid)
) STRICT, WITHOUT ROWID;
CREATE TABLE search_due (
    row INTEGER PRIMARY KEY
) STRICT;
CREATE TABLE search_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    through INTEGER,
    as_of TEXT,
    size INTEGER NOT NULL DEFAULT 0,
    stale_size INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0
, folding TEXT) STRICT;
CREATE TABLE former_text (
    item_id TEXT NOT NULL,
    replaced_at TEXT NOT NULL,
    size INTEGER NOT NULL,
    version TEXT,
    content TEXT,
    transcription TEXT
) STRICT;
CREATE INDEX item_by_time ON item (created_at) WHERE deleted_at IS NULL;
CREATE INDEX item_missing ON item (missing_since) WHERE missing_since IS NOT NULL;
CREATE INDEX item_pending ON item (created_at) WHERE status = 'pending';
CREATE INDEX item_deleted ON item (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX outbox_due ON outbox (state, kind, next_attempt_at, id) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX outbox_open ON outbox (id) WHERE ended_at IS NULL;
CREATE INDEX outbox_item ON outbox (item_id, id);
CREATE INDEX outbox_unknown ON outbox (fingerprint) WHERE maybe_applied IS 1;
CREATE UNIQUE INDEX outbox_request ON outbox (request_key) WHERE request_key IS NOT NULL;
CREATE INDEX outbox_follow_ups ON outbox (next_attempt_at) WHERE follows IS NOT NULL AND ended_at IS NULL;
CREATE INDEX outbox_unverified ON outbox (item_id) WHERE is_unverified IS 1;
CREATE INDEX outbox_failing ON outbox (kind) WHERE ended_at IS NULL AND (failures >= 4 OR failed_looks >= 4
    OR state = 'queued' AND error_code IN ('unauthorized', 'forbidden', 'redirect_refused'));
CREATE INDEX local_item_by_time ON local_item (created_at);
CREATE INDEX local_item_delivered ON local_item (delivered_at) WHERE delivered_at IS NOT NULL;
CREATE INDEX item_text_due ON item (created_at) WHERE text_for IS NOT coalesce(updated_at, created_at) AND status IS NOT 'pending'
    AND deleted_at IS NULL;
CREATE INDEX item_unversioned ON item (id) WHERE updated_at IS NULL;
CREATE INDEX outbox_unsettled ON outbox (state) WHERE state = 'sending' OR state = 'unknown';
CREATE INDEX outbox_awaiting ON outbox (item_id) WHERE awaits_item IS 1;
CREATE INDEX search_document_by_type ON search_document (type, created_at);
CREATE INDEX search_document_unfinished ON search_document (docid) WHERE position IS NOT NULL;
CREATE INDEX search_piece_by_document ON search_piece (document);
CREATE INDEX former_text_of_item ON former_text (item_id, replaced_at);
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
INSERT INTO change_state (id, epoch, items_before) VALUES (1, '0123456789abcdef', 2);
INSERT INTO change_log (seq, at, item_id, kind, origin, old, new) VALUES (1, '2026-05-02T08:00:00.000000Z', NULL, 'pulled', 'server', NULL, '{"items":1}');
INSERT INTO former_text (item_id, replaced_at, size, version, content, transcription) VALUES ('item-1', '2026-05-02T08:00:00.000000Z', 14, NULL, 'A former text.', NULL);
INSERT INTO copy (id, server_url, dialect, account_id, account_name, account_subject, bound_at, new_as_of, edits_as_of, complete, sweep_started_at, swept_at, suspects_sampled_at, head_open, deletions_held, live, deleted, waiting, unknown, parked, reachable_seconds, stopped_cleanly, server_ahead, mark, sends) VALUES (1, 'https://timeline.example.org', 'C', '7', 'ada@example.org', NULL, '2026-05-01T08:00:00.000000Z', '2026-05-02T08:00:00.000000Z', '2026-05-02T08:00:00.000000Z', 1, NULL, NULL, NULL, 0, 0, 1, 1, 1, 0, 0, 60.0, 1, NULL, NULL, 0);
INSERT INTO item (id, created_at, updated_at, type, title, url, summary, content, tags, platform, category, thumbnail_url, duration, file_path, status, permalink, extra, deleted_at, missing_since, found_at, text_for) VALUES ('item-1', '2026-05-01T08:00:00.000000Z', '2026-05-01T08:00:00.000000Z', 'article', 'A title', 'https://example.org/1', 'A summary', NULL, '["a","b"]', 'web', NULL, NULL, NULL, NULL, 'completed', NULL, '{"k":1}', NULL, NULL, NULL, '2026-05-01T08:00:00.000000Z');
INSERT INTO item (id, created_at, updated_at, type, title, url, summary, content, tags, platform, category, thumbnail_url, duration, file_path, status, permalink, extra, deleted_at, missing_since, found_at, text_for) VALUES ('item-2', '2026-05-01T09:00:00.000000Z', NULL, NULL, 'Deleted', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-05-02T08:00:00.000000Z', NULL, NULL, NULL);
INSERT INTO coverage (from_time, to_time, read_at) VALUES ('0000-01-01T00:00:00.000000Z', '2026-05-02T08:00:00.000000Z', '2026-05-02T08:00:00.000000Z');
INSERT INTO outbox (id, kind, state, item_id, local_id, payload, url, title, base, theirs, accepted_at, ended_at, next_attempt_at, attempts, failures, failed_looks, last_attempt_at, reachable_at, superseded_by, follows, remark, error_code, error_message, idempotency_key, request_key, fingerprint, maybe_applied, awaits_item, is_unverified, by_hand, evidence, undecided_since, undecided_here) VALUES (1, 'note', 'queued', 'local-1', 'local-1', '{"note":"Buy milk","tags":["home"]}', NULL, NULL, NULL, NULL, '2026-05-02T08:00:00.000000Z', NULL, '2026-05-02T08:00:00.000000Z', 0, 0, 0, NULL, 60.0, NULL, NULL, NULL, NULL, NULL, '00112233445566778899aabbccddeeff', NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL);
INSERT INTO local_item (entry_id, id, created_at, type, title, url, content, tags, delivered_at) VALUES (1, 'local-1', '2026-05-02T08:00:00.000000Z', 'note', NULL, NULL, 'Buy milk', '["home"]', NULL);
INSERT INTO pull (id, kind, started_at, ended_at, outcome, requests, pages, added, changed, deleted, suspects, rejected, error_code) VALUES (1, 'backfill', '2026-05-01T08:00:00.000000Z', '2026-05-02T08:00:00.000000Z', 'complete', 2, 1, 2, 0, 1, 0, 0, NULL);
INSERT INTO recurring_error (code, endpoint, message, first_at, last_at, count, over) VALUES ('server_error', 'GET /api/timeline', 'Server error.', '2026-05-01T08:00:00.000000Z', '2026-05-02T08:00:00.000000Z', 3, 1);
INSERT INTO item_body (item_id, version, fetched_at, is_transcription, metadata, content, transcription) VALUES ('item-1', '2026-05-01T08:00:00.000000Z', '2026-05-02T08:00:00.000000Z', 0, '{"author":"Ada","word_count":3}', 'A long text', NULL);
INSERT INTO search_state (id, through, as_of, size, stale_size, attempt, attempts) VALUES (1, NULL, NULL, 0, 0, NULL, 0);
INSERT INTO outbox (id, kind, state, item_id, payload, title, accepted_at, ended_at, reachable_at, idempotency_key, follows) VALUES (2, 'edit', 'delivered', 'item-1', '{"title":"A title","add_tags":["work","later"]}', 'A title', '2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:01.000000Z', 0.0, 'key-2', 1);
CREATE VIEW timeline AS
SELECT item.id, item.created_at, item.updated_at, item.type, coalesce(edit.title, CASE WHEN trim(item.title, char(9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8203, 8232, 8233, 8239, 8287, 12288, 65279)) NOT IN ('', 'Untitled') THEN item.title
    ELSE coalesce((SELECT title FROM written_here WHERE item_id = item.id),
        CASE WHEN trim(item.title, char(9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8203, 8232, 8233, 8239, 8287, 12288, 65279)) != '' AND item.status IS NOT 'pending' THEN item.title END) END) AS title, item.url, coalesce(edit.summary, item.summary) AS summary, item.content, coalesce(edit.tags, item.tags) AS tags, item.platform, item.category, item.thumbnail_url, item.duration, item.file_path, item.status, item.permalink, item.extra, CASE WHEN edit.item_id IS NOT NULL THEN 'edit' END AS pending
FROM item LEFT JOIN local_edit AS edit ON edit.item_id = item.id
WHERE item.deleted_at IS NULL AND coalesce(edit.is_deleted, 0) = 0
    AND NOT EXISTS (SELECT 1 FROM held_item WHERE held_item.item_id = item.id)
UNION ALL
SELECT made.id AS id, made.created_at AS created_at, NULL AS updated_at, made.type AS type, coalesce(edit.title, made.title) AS title, made.url AS url, edit.summary AS summary, made.content AS content, coalesce(edit.tags, made.tags) AS tags, NULL AS platform, NULL AS category, NULL AS thumbnail_url, NULL AS duration, NULL AS file_path, NULL AS status, NULL AS permalink, NULL AS extra, 'creation' AS pending
FROM local_item AS made LEFT JOIN local_edit AS edit ON edit.item_id = made.id
WHERE coalesce(edit.is_deleted, 0) = 0 AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = made.id)
ORDER BY created_at DESC, id;
CREATE VIEW item_tag AS
SELECT timeline.id AS item_id, tag.value AS tag
FROM timeline, json_each(timeline.tags) AS tag;
CREATE VIEW item_text AS
SELECT item_id, content, iif(is_transcription, content, transcription) AS transcription,
    (SELECT value FROM json_each(metadata) WHERE key = 'author') AS author, (SELECT value FROM json_each(metadata) WHERE key = 'published_date') AS published_at,
    (SELECT value FROM json_each(metadata) WHERE key = 'word_count') AS word_count, metadata, version, fetched_at
FROM item_body
UNION ALL
SELECT id, content, NULL, NULL, NULL, NULL, NULL, updated_at, NULL
FROM item
WHERE content IS NOT NULL AND NOT EXISTS (SELECT 1 FROM item_body WHERE item_body.item_id = item.id);
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
    waiting, unknown, parked,
    complete = 1 AND (dialect = 'E'
        OR NOT EXISTS (SELECT 1 FROM item WHERE text_for IS NOT coalesce(updated_at, created_at) AND status IS NOT 'pending'
    AND deleted_at IS NULL AND coalesce(missing_since > (SELECT swept_at FROM copy), 1))) AS texts_complete,
    CASE WHEN dialect = 'E' OR NOT EXISTS
        (SELECT 1 FROM item WHERE text_for IS NOT coalesce(updated_at, created_at) AND status IS NOT 'pending'
    AND deleted_at IS NULL AND coalesce(missing_since > (SELECT swept_at FROM copy), 1) AND NOT EXISTS (SELECT 1 FROM text_problem AS problem WHERE problem.item_id = item.id
    AND problem.kind = 'too_large' AND problem.row_version = coalesce(updated_at, created_at)))
        THEN edits_as_of END AS texts_as_of,
    CASE WHEN dialect = 'E' THEN 0
        ELSE (SELECT count(*) FROM item WHERE text_for IS NOT coalesce(updated_at, created_at) AND status IS NOT 'pending'
    AND deleted_at IS NULL AND coalesce(missing_since > (SELECT swept_at FROM copy), 1)) END AS texts_missing
FROM copy;
CREATE VIEW connectivity_history AS
SELECT at, state, error_code, reason FROM connectivity_transition ORDER BY id DESC;
CREATE TRIGGER search_item_changed AFTER UPDATE OF created_at, type, title, url, summary, content, tags, deleted_at
    ON item
WHEN old.title IS NOT new.title OR old.tags IS NOT new.tags OR old.summary IS NOT new.summary
    OR old.url IS NOT new.url OR old.content IS NOT new.content OR old.type IS NOT new.type
    OR old.created_at IS NOT new.created_at OR (old.deleted_at IS NULL) != (new.deleted_at IS NULL)
BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT new.rowid AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_item_removed AFTER DELETE ON item BEGIN
    INSERT INTO search_due SELECT -100000000000000 - docid FROM search_document WHERE row = old.rowid;
    UPDATE search_document SET row = -100000000000000 - docid WHERE row = old.rowid;
    UPDATE search_state SET through = coalesce((SELECT max(rowid) FROM item), 0)
        WHERE through > coalesce((SELECT max(rowid) FROM item), 0);
END;
CREATE TRIGGER search_item_body_insert AFTER INSERT ON item_body BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT rowid FROM item WHERE id = new.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT -entry_id FROM local_item WHERE id = new.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_item_body_update AFTER UPDATE ON item_body BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT rowid FROM item WHERE id = new.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT -entry_id FROM local_item WHERE id = new.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_item_body_delete AFTER DELETE ON item_body BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT rowid FROM item WHERE id = old.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT -entry_id FROM local_item WHERE id = old.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_local_item_insert AFTER INSERT ON local_item BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT -new.entry_id AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_local_item_update AFTER UPDATE ON local_item BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT -old.entry_id AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
    INSERT INTO search_due SELECT changed FROM (SELECT -new.entry_id AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_local_item_delete AFTER DELETE ON local_item BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT -old.entry_id AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_local_edit_insert AFTER INSERT ON local_edit BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT rowid FROM item WHERE id = new.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT -entry_id FROM local_item WHERE id = new.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_local_edit_update AFTER UPDATE ON local_edit BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT rowid FROM item WHERE id = new.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT -entry_id FROM local_item WHERE id = new.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_local_edit_delete AFTER DELETE ON local_edit BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT rowid FROM item WHERE id = old.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT -entry_id FROM local_item WHERE id = old.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_held_item_insert AFTER INSERT ON held_item BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT rowid FROM item WHERE id = new.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT -entry_id FROM local_item WHERE id = new.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER search_held_item_delete AFTER DELETE ON held_item BEGIN
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT rowid FROM item WHERE id = old.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT -entry_id FROM local_item WHERE id = old.item_id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TABLE written_here (
    item_id TEXT PRIMARY KEY,
    title TEXT,
    content TEXT
) STRICT;
CREATE TRIGGER written_here_arrived AFTER DELETE ON local_item WHEN old.delivered_at IS NOT NULL BEGIN
    INSERT OR REPLACE INTO written_here
        SELECT id, old.title, iif(content IS NULL, old.content, NULL) FROM item
        WHERE id = old.id AND coalesce(old.title, old.content) IS NOT NULL;
    INSERT INTO search_due SELECT changed FROM (SELECT (SELECT rowid FROM item WHERE id = old.id) AS changed)
    WHERE changed <= (SELECT through FROM search_state)
        AND NOT EXISTS (SELECT 1 FROM search_due WHERE row = changed);
END;
CREATE TRIGGER written_here_has_text AFTER INSERT ON item_body WHEN new.content IS NOT NULL BEGIN
    UPDATE written_here SET content = NULL WHERE item_id = new.item_id;
END;
CREATE TRIGGER written_here_removed AFTER DELETE ON item BEGIN
    DELETE FROM written_here WHERE item_id = old.id;
END;
CREATE VIEW change AS
SELECT seq, at, item_id, kind,
    '["' || (SELECT group_concat(key, '","') FROM json_each(coalesce(new, old))) || '"]' AS fields, old, new, origin
FROM change_log
ORDER BY seq;
CREATE VIEW item_search AS
SELECT coalesce(item.id, made.id) AS id, coalesce(item.created_at, made.created_at) AS created_at, coalesce(item.type, made.type) AS type,
    coalesce(edit.title, CASE WHEN trim(item.title, char(9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8203, 8232, 8233, 8239, 8287, 12288, 65279)) NOT IN ('', 'Untitled') THEN item.title
    ELSE coalesce((SELECT title FROM written_here WHERE item_id = item.id),
        CASE WHEN trim(item.title, char(9, 10, 11, 12, 13, 32, 133, 160, 5760, 8192, 8193, 8194, 8195, 8196, 8197, 8198, 8199, 8200, 8201, 8202, 8203, 8232, 8233, 8239, 8287, 12288, 65279)) != '' AND item.status IS NOT 'pending' THEN item.title END) END, made.title) AS title, coalesce(item.url, made.url) AS url, search_index.rank AS rank,
    search_index.search_index AS words
FROM search_index JOIN search_document AS document ON document.docid = coalesce(
        (SELECT document FROM search_piece WHERE search_piece.docid = search_index.rowid),
        search_index.rowid)
    LEFT JOIN item ON item.rowid = document.row AND item.deleted_at IS NULL
    LEFT JOIN local_item AS made ON made.entry_id = -(document.row) AND NOT EXISTS (SELECT 1 FROM item AS known WHERE known.id = made.id)
    LEFT JOIN local_edit AS edit ON edit.item_id = coalesce(item.id, made.id)
WHERE (item.id IS NOT NULL OR made.id IS NOT NULL) AND coalesce(edit.is_deleted, 0) = 0
    AND (item.id IS NULL OR NOT EXISTS (SELECT 1 FROM held_item WHERE held_item.item_id = item.id));
