extension Schema {
    /// What keeps writes and copy true when requests, answers and processes are lost.
    static let migration6 = """
        -- Writes
        -- The name that its sender gave to a write: one that is asked for again is not written again.
        ALTER TABLE outbox ADD COLUMN request_key TEXT;
        CREATE UNIQUE INDEX outbox_request ON outbox (request_key) WHERE request_key IS NOT NULL;

        -- When a look first could not find what was sent: by the server's clock, and by this machine's.
        ALTER TABLE outbox ADD COLUMN undecided_since TEXT;
        ALTER TABLE outbox ADD COLUMN undecided_here TEXT;
        -- Looks in a row that failed, for their backoff.
        ALTER TABLE outbox ADD COLUMN failed_looks INTEGER NOT NULL DEFAULT 0;
        -- Of an edit that carries what a creation asked for and the server did not take: the creation.
        ALTER TABLE outbox ADD COLUMN follows INTEGER;
        -- Of an edit: 1 while it waits until the server has processed its item.
        ALTER TABLE outbox ADD COLUMN awaits_item INTEGER NOT NULL DEFAULT 0 CHECK (awaits_item IN (0, 1));
        -- Of a delivered creation: 1 until its title and tags were compared with the processed item.
        ALTER TABLE outbox ADD COLUMN is_unverified INTEGER NOT NULL DEFAULT 0 CHECK (is_unverified IN (0, 1));
        CREATE INDEX outbox_follow_ups ON outbox (next_attempt_at) WHERE follows IS NOT NULL AND ended_at IS NULL;
        CREATE INDEX outbox_unverified ON outbox (item_id) WHERE is_unverified IS 1;
        -- Writes that have failed again and again, or were refused.
        CREATE INDEX outbox_failing ON outbox (kind)
            WHERE ended_at IS NULL AND (failures >= 4 OR failed_looks >= 4
                OR state = 'queued' AND error_code IN ('unauthorized', 'forbidden', 'redirect_refused'));

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
