/// The views, which are what readers are meant to use (docs/schema.md).
enum Views {
    static let all = [timeline, itemTag, pendingWrite, syncState, connectivityHistory]

    /// The server's items, with the local changes that wait in the outbox laid over them.
    private static let timeline = """
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
        """

    private static let itemTag = """
        CREATE VIEW item_tag AS
            SELECT timeline.id AS item_id, tag.value AS tag
            FROM timeline, json_each(timeline.tags) AS tag;
        """

    private static let pendingWrite = """
        CREATE VIEW pending_write AS
            SELECT id, kind, state, item_id, url, title, payload,
                accepted_at, next_attempt_at, attempts, last_attempt_at, error_code, error_message
            FROM outbox
            WHERE ended_at IS NULL
            ORDER BY id;
        """

    private static let syncState = """
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

    private static let connectivityHistory = """
        CREATE VIEW connectivity_history AS
            SELECT at, state, error_code, reason FROM connectivity_transition ORDER BY id DESC;
        """
}
