extension Schema {
    /// When the server could be used, and why not.
    static let migration3 = """
        CREATE TABLE connectivity_transition (
            id INTEGER PRIMARY KEY,
            at TEXT NOT NULL,
            state TEXT NOT NULL,
            error_code TEXT,
            reason TEXT
        ) STRICT;

        CREATE VIEW connectivity_history AS
            SELECT at, state, error_code, reason FROM connectivity_transition ORDER BY id DESC;
        """
}
