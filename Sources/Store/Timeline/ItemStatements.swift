import PRSNLCore

/// The statements that run once per item or page, prepared once (preparing one costs more than running it).
final class ItemStatements {
    let insertItem: Statement
    let updateItem: Statement
    let sameItem: Statement
    let reviveItem: Statement
    let absentItem: Statement
    let markMissing: Statement
    let deletedItem: Statement

    init(_ connection: Connection) throws(SQLiteFailure) {
        insertItem = try connection.prepare(
            """
            INSERT INTO item (id, created_at, updated_at, type, title, url, summary, content, tags, platform, category,
                thumbnail_url, duration, file_path, status, permalink, extra)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
            ON CONFLICT (id) DO NOTHING
            """)
        updateItem = try connection.prepare(
            """
            UPDATE item SET created_at = ?2, updated_at = ?3, type = ?4, title = ?5, url = ?6, summary = ?7,
                content = ?8, tags = ?9, platform = ?10, category = ?11, thumbnail_url = ?12, duration = ?13,
                file_path = ?14, status = ?15, permalink = ?16, extra = ?17
            WHERE id = ?1 AND (created_at IS NOT ?2 OR updated_at IS NOT ?3 OR type IS NOT ?4 OR title IS NOT ?5
                OR url IS NOT ?6 OR summary IS NOT ?7 OR content IS NOT ?8 OR tags IS NOT ?9 OR platform IS NOT ?10
                OR category IS NOT ?11 OR thumbnail_url IS NOT ?12 OR duration IS NOT ?13 OR file_path IS NOT ?14
                OR status IS NOT ?15 OR permalink IS NOT ?16 OR extra IS NOT ?17)
            """)
        sameItem = try connection.prepare(
            """
            SELECT 1 FROM item
            WHERE id = ?1 AND created_at IS ?2 AND updated_at IS ?3 AND type IS ?4 AND title IS ?5 AND url IS ?6
                AND summary IS ?7 AND content IS ?8 AND tags IS ?9 AND platform IS ?10 AND category IS ?11
                AND thumbnail_url IS ?12 AND duration IS ?13 AND file_path IS ?14 AND status IS ?15
                AND permalink IS ?16 AND extra IS ?17 AND deleted_at IS NULL AND missing_since IS NULL
            """)
        reviveItem = try connection.prepare(
            """
            UPDATE item SET deleted_at = NULL, missing_since = NULL, found_at = NULL
            WHERE id = ?1 AND (deleted_at IS NOT NULL OR missing_since IS NOT NULL)
            """)
        deletedItem = try connection.prepare("SELECT 1 FROM item WHERE id = ?1 AND deleted_at IS NOT NULL")
        absentItem = try connection.prepare(
            """
            SELECT 1 FROM item
            WHERE created_at BETWEEN ?1 AND ?2 AND deleted_at IS NULL AND missing_since IS NULL
                AND id NOT IN (SELECT value FROM json_each(?3))
            LIMIT 1
            """)
        markMissing = try connection.prepare(
            """
            UPDATE item SET missing_since = ?4
            WHERE created_at BETWEEN ?1 AND ?2 AND deleted_at IS NULL AND missing_since IS NULL
                AND id NOT IN (SELECT value FROM json_each(?3))
            """)
    }
}

extension Statement {
    /// Binds an item to parameters 1 to 17, in the order of the item statements.
    func bind(_ item: TimelineItem) -> Statement {
        reset()
        return bind(item.id).bind(item.createdAt).bind(item.updatedAt).bind(item.type).bind(item.title)
            .bind(item.url).bind(item.summary).bind(item.content).bind(item.tags).bind(item.platform)
            .bind(item.category).bind(item.thumbnailURL).bind(item.duration).bind(item.filePath).bind(item.status)
            .bind(item.permalink).bind(item.extra)
    }
}
