extension Schema {
    /// Since when the copy is of its server and account. Of older files, the oldest pull that they know of.
    static let migration5 = """
        ALTER TABLE copy ADD COLUMN bound_at TEXT;
        UPDATE copy SET bound_at = (SELECT min(started_at) FROM pull) WHERE server_url IS NOT NULL;
        """
}
