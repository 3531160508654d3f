/// Where items are read from in the order of time: a part of a query. Some together are merged by SQLite, each of them in its own
/// order already, so that nothing is sorted as a whole and that a reader that has enough can stop.
struct ItemSource {
    /// What has a row for each item, under the name `source`.
    private var table: String
    /// The item's number in the index (`SearchTables`).
    private var row: String
    private var createdAt: String
    private var condition = "1"
    private var values: [String] = []
    /// Whether `table` has the item's document, under the name `document`.
    private var hasDocument = false

    /// All items, without the index.
    static let byTime = [
        ItemSource(
            table: "item AS source", row: "source.rowid", createdAt: "source.created_at",
            condition: "source.deleted_at IS NULL"),
        ItemSource(table: "local_item AS source", row: "-source.entry_id", createdAt: "source.created_at"),
    ]

    /// Those that have changed since they were indexed, and new ones, each once: few.
    static let due = ItemSource(
        table: """
            (SELECT search_due.row FROM search_state CROSS JOIN search_due WHERE search_due.row <= search_state.through
                UNION ALL SELECT item.rowid FROM search_state CROSS JOIN item WHERE item.rowid > search_state.through) AS source
            """,
        row: "source.row", createdAt: ShownRow.createdAt)

    /// Those of the index that may satisfy the filter, and what is due; all items where the filter has neither a tag nor a type.
    static func byIndex(_ filter: ItemFilter) -> [ItemSource] {
        let isCurrent = "NOT EXISTS (SELECT 1 FROM search_due WHERE search_due.row = document.row)"
        let listed: [ItemSource]
        if let tag = filter.tag {
            listed = ItemFilter.spellings(of: [tag]).map { tag in
                ItemSource(
                    table: "search_tag AS source CROSS JOIN search_document AS document USING (docid)",
                    row: "document.row", createdAt: "source.created_at",
                    condition: "source.tag = ? AND \(isCurrent)", values: [tag], hasDocument: true)
            }
        } else if let types = filter.types {
            listed = ItemFilter.spellings(of: types).map { type in
                ItemSource(
                    table: "main.search_document AS document INDEXED BY search_document_by_type", row: "document.row",
                    createdAt: "document.created_at", condition: "document.type = ? AND \(isCurrent)", values: [type],
                    hasDocument: true)
            }
        } else {
            return byTime
        }
        return listed + [due]
    }

    /// Its items that are shown, in no order.
    func select(_ columns: String) -> String {
        "SELECT \(columns) FROM \(table) \(ShownRow.join(row: row)) WHERE \(condition) AND \(ShownRow.isShown)"
    }

    /// Items of all these sources that satisfy a filter, the newest first, and those of one instant by id. What two sources have
    /// stands together.
    ///
    /// - Parameters:
    ///   - withDocument: Reads the number of the item's document too, which is NULL where there is none.
    /// - Returns: Columns docid, id, created_at, and `columns`.
    static func newest(
        _ sources: [ItemSource], _ filter: ItemFilter, withDocument: Bool, _ columns: String, _ connection: Connection
    ) throws -> Statement {
        let condition = filter.condition()
        let statement = try connection.prepare(sql(sources, condition.sql, withDocument: withDocument, columns))
        let range = [(filter.since ?? .earliest).description, filter.before?.description ?? "~"]
        for source in sources { statement.bind(source.values + range + condition.values) }
        return statement
    }

    static func sql(_ sources: [ItemSource], _ condition: String, withDocument: Bool, _ columns: String) -> String {
        let parts = sources.map { source in
            let join =
                withDocument && !source.hasDocument
                ? " LEFT JOIN search_document AS document ON document.row = \(source.row)" : ""
            return """
                SELECT \(withDocument ? "document.docid" : "NULL"), \(ShownRow.id), \(source.createdAt), \(columns)
                FROM \(source.table)\(join) \(ShownRow.join(row: source.row))
                WHERE \(source.condition) AND \(source.createdAt) >= ? AND \(source.createdAt) < ?
                    AND \(ShownRow.isShown)\(condition)
                """
        }
        return parts.joined(separator: " UNION ALL ") + " ORDER BY 3 DESC, 2"
    }
}
