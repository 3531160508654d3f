extension Schema {
    /// What keeps writes and copy true when requests, answers and processes are lost.
    static let migration6 = """
        -- Writes
        -- The name that its sender gave to a write: one that is asked for again is not written again.
        ALTER TABLE outbox ADD COLUMN request_key TEXT;
        CREATE UNIQUE INDEX outbox_request ON outbox (request_key) WHERE request_key IS NOT NULL;
        -- The copy
        -- When some of too many suspects were asked for by id, and found: the others wait as if they had been.
        ALTER TABLE copy ADD COLUMN suspects_sampled_at TEXT;

        -- The deletions that a person is asked about.
        CREATE TABLE held_deletion (
            item_id TEXT PRIMARY KEY
        ) STRICT, WITHOUT ROWID;

        -- Suspects for which asking by id fails: each waits by itself, and none holds up the others.
        CREATE TABLE unanswered_suspect (
            item_id TEXT PRIMARY KEY,
            failures INTEGER NOT NULL,
            next_at TEXT NOT NULL,
            error_message TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
