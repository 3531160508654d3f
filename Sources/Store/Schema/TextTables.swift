/// Step 2: the texts of items, beside the items. A scan of the timeline does not read them.
enum TextTables {
    static let all = [marker, itemBody, textProblem, itemText, "DROP VIEW sync_state", syncState(where: isBehind)].map {
        $0 + ";"
    }

    /// Step 5: texts of items that the list lacks are not missing, and which rows say no version.
    static let claims = [
        "CREATE INDEX item_unversioned ON item (id) WHERE updated_at IS NULL",
        "DROP VIEW sync_state", syncState(where: isMissing),
    ].map { $0 + ";" }

    /// Whether the copy lacks the text of a row of `item`: it was never asked for, or when the row was of another time. An item
    /// that the server works on has no text yet.
    ///
    /// The condition of `item_text_due`, which a query repeats to be answered by it. So the index is the list of what is due,
    /// and SQLite keeps it true.
    static let isBehind = """
        text_for IS NOT coalesce(updated_at, created_at) AND status IS NOT 'pending'
            AND deleted_at IS NULL
        """

    /// Whether the text is to be asked for. An item that the list lacks is asked about first.
    static let isDue = "\(isBehind) AND missing_since IS NULL"

    /// Whether the text counts as missing. That of an item which a complete sweep did not see does not: it cannot be had.
    static let isMissing = """
        \(isBehind) AND coalesce(missing_since > (SELECT swept_at FROM copy), 1)
        """

    static let isTooLarge = """
        EXISTS (SELECT 1 FROM text_problem AS problem WHERE problem.item_id = item.id
            AND problem.kind = 'too_large' AND problem.row_version = coalesce(updated_at, created_at))
        """

    /// `text_for`: the `updated_at` that the item had when its text was asked for last, with success.
    private static let marker = """
        ALTER TABLE item ADD COLUMN text_for TEXT;
        CREATE INDEX item_text_due ON item (created_at) WHERE \(isBehind)
        """

    /// The texts. `version`: the server's `updated_at` of the item as the answer had it. Short columns stand first: the long
    /// ones are not read for them.
    private static let itemBody = """
        CREATE TABLE item_body (
            item_id TEXT PRIMARY KEY,
            version TEXT,
            fetched_at TEXT NOT NULL,
            is_transcription INTEGER NOT NULL DEFAULT 0 CHECK (is_transcription IN (0, 1)),
            metadata TEXT,
            content TEXT,
            transcription TEXT
        ) STRICT
        """

    /// Texts that could not be had. Each has its own wait, so that none delays the others. It counts for `row_version` alone.
    private static let textProblem = """
        CREATE TABLE text_problem (
            item_id TEXT PRIMARY KEY,
            kind TEXT NOT NULL CHECK (kind IN ('stale', 'failing', 'too_large')),
            row_version TEXT NOT NULL,
            failures INTEGER NOT NULL,
            next_at TEXT,
            size INTEGER,
            error_code TEXT NOT NULL,
            error_message TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """

    /// Small servers (dialect E) send the text with the timeline: it is stored with the item.
    private static let itemText = """
        CREATE VIEW item_text AS
            SELECT item_id, content, iif(is_transcription, content, transcription) AS transcription,
                \(member("author")) AS author, \(member("published_date")) AS published_at,
                \(member("word_count")) AS word_count, metadata, version, fetched_at
            FROM item_body
            UNION ALL
            SELECT id, content, NULL, NULL, NULL, NULL, NULL, updated_at, NULL
            FROM item
            WHERE content IS NOT NULL AND NOT EXISTS (SELECT 1 FROM item_body WHERE item_body.item_id = item.id)
        """

    /// Not by `json_extract`: SQLite 3.40 refuses that in a view to readers that do not trust the schema
    /// (https://sqlite.org/pragma.html#pragma_trusted_schema).
    private static func member(_ name: String) -> String {
        "(SELECT value FROM json_each(metadata) WHERE key = '\(name)')"
    }

    /// As before, with the texts.
    private static func syncState(where isMissing: String) -> String {
        """
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
                complete = 1 AND (dialect = 'E' OR NOT EXISTS (SELECT 1 FROM item WHERE \(isMissing))) AS texts_complete,
                CASE WHEN dialect = 'E' OR NOT EXISTS (SELECT 1 FROM item WHERE \(isMissing) AND NOT \(isTooLarge))
                    THEN edits_as_of END AS texts_as_of,
                CASE WHEN dialect = 'E' THEN 0 ELSE (SELECT count(*) FROM item WHERE \(isMissing)) END AS texts_missing
            FROM copy
        """
    }
}
