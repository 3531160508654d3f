extension Schema {
    /// What keeps writes and copy true when requests, answers and processes are lost.
    static let migration6 = """
        -- Writes
        -- The name that its sender gave to a write: one that is asked for again is not written again.
        ALTER TABLE outbox ADD COLUMN request_key TEXT;
        CREATE UNIQUE INDEX outbox_request ON outbox (request_key) WHERE request_key IS NOT NULL;
        -- The copy
        """
}
