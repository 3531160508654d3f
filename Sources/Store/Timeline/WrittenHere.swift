/// What was written here of an item that was made here, while the server has not made a title and a text of it. A server that
/// still works on an item calls it "Untitled" and shows no text, and one whose worker is dead goes on so.
enum WrittenHere {
    /// Step 13. A creation that a pull has brought is taken out of `local_item`, and its words are kept here.
    static let tables = [
        """
        CREATE TABLE written_here (
            item_id TEXT PRIMARY KEY,
            title TEXT,
            content TEXT
        ) STRICT;
        CREATE TRIGGER written_here_arrived AFTER DELETE ON local_item WHEN old.delivered_at IS NOT NULL BEGIN
            INSERT OR REPLACE INTO written_here
                SELECT id, old.title, iif(content IS NULL, old.content, NULL) FROM item
                WHERE id = old.id AND coalesce(old.title, old.content) IS NOT NULL;
            \(SearchTables.mark("(SELECT rowid FROM item WHERE id = old.id)"))
        END;
        CREATE TRIGGER written_here_has_text AFTER INSERT ON item_body WHEN new.content IS NOT NULL BEGIN
            UPDATE written_here SET content = NULL WHERE item_id = new.item_id;
        END;
        CREATE TRIGGER written_here_removed AFTER DELETE ON item BEGIN
            DELETE FROM written_here WHERE item_id = old.id;
        END;
        """,
        // What arrived before: the newest creation of an item that has no text.
        """
        INSERT INTO written_here
            SELECT item_id, coalesce(made.title, substr(note, 1, instr(substr(note, 1, 100) || char(10), char(10)) - 1)), note
            FROM (SELECT item_id, outbox.title, CAST(iif(json_valid(payload), json_extract(payload, '$.note'), NULL) AS TEXT) AS note,
                    max(outbox.id)
                FROM outbox JOIN item ON item.id = item_id AND item.content IS NULL
                WHERE kind IN ('capture', 'note') AND state = 'delivered' GROUP BY item_id) AS made
            WHERE NOT EXISTS (SELECT 1 FROM item_body AS body WHERE body.item_id = made.item_id AND content IS NOT NULL);
        INSERT INTO search_due SELECT rowid FROM item WHERE id IN (SELECT item_id FROM written_here)
            AND rowid <= (SELECT through FROM search_state) AND rowid NOT IN (SELECT row FROM search_due);
        """,
    ]

    /// Unicode's White_Space (PropList.txt), and the two characters without a width.
    private static let blanks: [Int] =
        Array(0x09...0x0D) + [0x20, 0x85, 0xA0, 0x1680] + Array(0x2000...0x200B)
        + [0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF]
    private static let trimmed = "trim(item.title, char(\(blanks.map(String.init).joined(separator: ", "))))"

    /// The title that people see of a row of `item`. A placeholder of a server that still works on the item is no title, and
    /// neither is white space: then it is what was written here.
    static let shownTitle = """
        CASE WHEN \(trimmed) NOT IN ('', 'Untitled') THEN item.title
            ELSE coalesce((SELECT title FROM written_here WHERE item_id = item.id),
                CASE WHEN \(trimmed) != '' AND item.status IS NOT 'pending' THEN item.title END) END
        """

    /// The text of a row of `item`, where the server has none.
    static let content = "(SELECT content FROM written_here WHERE item_id = item.id)"
}
