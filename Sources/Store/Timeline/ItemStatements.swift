import PRSNLCore

/// A column of an item. This is the one list of them: the statements that write items, the rows that are read, the view
/// `timeline` and the export are made from it. A column is made by a step of `Schema`.
struct ItemColumn: Sendable {
    /// Who else has the column.
    struct Places: OptionSet {
        let rawValue: Int
        /// `local_edit`: an edit that waits.
        static let edit = Places(rawValue: 1)
        /// `local_item`: an item that was made here.
        static let creation = Places(rawValue: 2)
        /// The files of an export: its change writes the file again.
        static let file = Places(rawValue: 4)
    }

    let name: String
    let places: Places
    let bind: @Sendable (TimelineItem, Statement) -> Void
    /// From the column of this number.
    let read: @Sendable (inout TimelineItem, Statement, Int32) -> Void

    static let all = [
        ItemColumn("id", [.creation, .file], { $1.bind($0.id) }),
        ItemColumn("created_at", [.creation, .file], { $1.bind($0.createdAt) }),
        ItemColumn("updated_at", [.file], { $1.bind($0.updatedAt) }, { $0.updatedAt = $1.timestamp($2) }),
        ItemColumn("type", [.creation, .file], { $1.bind($0.type) }, { $0.type = $1.text($2) }),
        ItemColumn("title", [.edit, .creation, .file], { $1.bind($0.title) }, { $0.title = $1.text($2) }),
        ItemColumn("url", [.creation, .file], { $1.bind($0.url) }, { $0.url = $1.text($2) }),
        ItemColumn("summary", [.edit, .file], { $1.bind($0.summary) }, { $0.summary = $1.text($2) }),
        ItemColumn("content", [.creation, .file], { $1.bind($0.content) }, { $0.content = $1.text($2) }),
        ItemColumn("tags", [.edit, .creation, .file], { $1.bind($0.tags) }, { $0.tags = $1.text($2) }),
        ItemColumn("platform", [.file], { $1.bind($0.platform) }, { $0.platform = $1.text($2) }),
        ItemColumn("category", [], { $1.bind($0.category) }, { $0.category = $1.text($2) }),
        ItemColumn("thumbnail_url", [], { $1.bind($0.thumbnailURL) }, { $0.thumbnailURL = $1.text($2) }),
        ItemColumn("duration", [], { $1.bind($0.duration) }, { $0.duration = $1.isNull($2) ? nil : $1.double($2) }),
        ItemColumn("file_path", [], { $1.bind($0.filePath) }, { $0.filePath = $1.text($2) }),
        ItemColumn("status", [.file], { $1.bind($0.status) }, { $0.status = $1.text($2) }),
        ItemColumn("permalink", [], { $1.bind($0.permalink) }, { $0.permalink = $1.text($2) }),
        ItemColumn("extra", [], { $1.bind($0.extra) }, { $0.extra = $1.text($2) }),
    ]

    /// - Parameter read: Nothing for what an item is made with.
    private init(
        _ name: String, _ places: Places, _ bind: @escaping @Sendable (TimelineItem, Statement) -> Void,
        _ read: @escaping @Sendable (inout TimelineItem, Statement, Int32) -> Void = { _, _, _ in }
    ) {
        (self.name, self.places, self.bind, self.read) = (name, places, bind, read)
    }

    // MARK: Columns of `timeline`

    /// From `item`, and from the `edit` of it that waits.
    static let ofServer = all.map { column in
        let name = column.name
        return column.places.contains(.edit) ? "coalesce(edit.\(name), item.\(name)) AS \(name)" : "item.\(name)"
    }.joined(separator: ", ")

    /// From `local_item AS made`, and from the `edit` of it that waits.
    static let ofCreation = all.map { column in
        let sources =
            (column.places.contains(.edit) ? ["edit"] : []) + (column.places.contains(.creation) ? ["made"] : [])
        let values = sources.map { "\($0).\(column.name)" }
        return values.count > 1 ? "coalesce(\(values.joined(separator: ", ")))" : values.first ?? "NULL"
    }.joined(separator: ", ")
}

extension [ItemColumn] {
    /// Those of a table, or of a view.
    func of(_ table: String) -> String { map { "\(table).\($0.name)" }.joined(separator: ", ") }
}

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
        // Parameters 1 and up, in the order of the columns. The first is the id.
        let columns = ItemColumn.all.enumerated().map { (name: $1.name, parameter: "?\($0 + 1)") }
        func list(_ separator: String, _ make: (_ name: String, _ parameter: String) -> String) -> String {
            columns.dropFirst().map { make($0.name, $0.parameter) }.joined(separator: separator)
        }
        insertItem = try connection.prepare(
            """
            INSERT INTO item (id, \(list(", ") { name, _ in name })) VALUES (?1, \(list(", ") { $1 }))
            ON CONFLICT (id) DO NOTHING
            """)
        updateItem = try connection.prepare(
            """
            UPDATE item SET \(list(", ") { "\($0) = \($1)" })
            WHERE id = ?1 AND (\(list(" OR ") { "\($0) IS NOT \($1)" }))
            """)
        sameItem = try connection.prepare(
            """
            SELECT 1 FROM item
            WHERE id = ?1 AND \(list(" AND ") { "\($0) IS \($1)" }) AND deleted_at IS NULL AND missing_since IS NULL
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
    /// Binds an item to parameters 1 and up, as the item statements have them.
    func bind(_ item: TimelineItem) -> Statement {
        for column in ItemColumn.all { column.bind(item, self) }
        return self
    }
}
