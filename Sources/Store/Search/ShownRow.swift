/// The row that `timeline` shows for one item, as a join by its id, or by its number in the index. SQLite would go through the
/// whole of `timeline` for each, because that is a union.
enum ShownRow {
    static func join(id: String) -> String { join("item.id = \(id)", "made.id = \(id)") }

    /// - Parameter row: see `SearchTables`.
    static func join(row: String) -> String { join("item.rowid = \(row)", "made.entry_id = -(\(row))") }

    private static func join(_ isItem: String, _ isMade: String) -> String {
        """
        LEFT JOIN item ON \(isItem) AND item.deleted_at IS NULL
            LEFT JOIN local_item AS made ON \(isMade) AND NOT EXISTS (SELECT 1 FROM item AS known WHERE known.id = made.id)
            LEFT JOIN local_edit AS edit ON edit.item_id = coalesce(item.id, made.id)
        """
    }

    static let all = "JOIN item \(joinsOfDeleted)"

    /// With `item`, for what is not shown.
    static let joinsOfDeleted =
        "LEFT JOIN local_item AS made ON 0 LEFT JOIN local_edit AS edit ON edit.item_id = item.id"

    static let isShown = """
        (item.id IS NOT NULL OR made.id IS NOT NULL) AND coalesce(edit.is_deleted, 0) = 0
            AND (item.id IS NULL OR NOT EXISTS (SELECT 1 FROM held_item WHERE held_item.item_id = item.id))
        """

    static let id = "coalesce(item.id, made.id)"
    static let createdAt = "coalesce(item.created_at, made.created_at)"
    static let type = "coalesce(item.type, made.type)"
    static let title = "coalesce(edit.title, \(WrittenHere.shownTitle), made.title)"
    static let url = "coalesce(item.url, made.url)"
    static let summary = "coalesce(edit.summary, item.summary)"
    static let tags = "coalesce(edit.tags, item.tags, made.tags)"
    static let pending =
        "CASE WHEN item.id IS NULL THEN 'creation' WHEN edit.item_id IS NOT NULL THEN 'edit' END"
}
