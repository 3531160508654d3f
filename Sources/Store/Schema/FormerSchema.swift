/// What a file of an earlier schema lacks, made in the memory of its reader: so each query is written for the present schema alone.
///
/// Only the steps of `Schema` say since when there is a table or a column. A table that came later is an empty one, and a table
/// that got a column later is a view that has the column's default in its place. SQLite looks for a name in TEMP first
/// (https://sqlite.org/lang_naming.html). The views of the file read the file alone, so they are made again, too.
struct FormerSchema {
    let version: Int
    /// What the file lacks: `item_body` for a table, `item.text_for` for a column.
    private var missing: Set<String> = []
    private var views: [String] = []
    private var tables: [String] = []

    /// - Returns: `nil` for a file of the present schema.
    init?(of connection: Connection) throws {
        version = Int(try connection.integer("PRAGMA user_version"))
        guard version < Schema.current.version else { return nil }
        let old = try Self.tables(at: version)
        for (name, table) in try Self.tables(at: Schema.current.version) {
            guard let known = old[name] else {
                missing.insert(name)
                tables.append(name)
                try connection.execute(
                    table.sql.replacing("CREATE TABLE", with: "CREATE TEMP TABLE", maxReplacements: 1))
                continue
            }
            let added = table.columns.filter { column in !known.columns.contains { $0.name == column.name } }
            if added.isEmpty { continue }
            missing.formUnion(added.map { "\(name).\($0.name)" })
            let columns = table.columns.map { column in
                missing.contains("\(name).\(column.name)") ? "\(column.absent) AS \(column.name)" : column.name
            }
            let row = table.sql.contains("WITHOUT ROWID") ? [] : ["rowid"]
            try makeView(name, "SELECT \((row + columns).joined(separator: ", ")) FROM main.\(name)", connection)
        }
        for view in Views.all { try makeView(view.name, view.query, connection) }
    }

    private mutating func makeView(_ name: String, _ query: String, _ connection: Connection) throws {
        views.append(name)
        try connection.execute("CREATE TEMP VIEW \(name) AS \(query)")
    }

    /// - Parameter part: a table, or `table.column`.
    func lacks(_ part: String) -> Bool {
        missing.contains(part) || missing.contains(String(part.prefix { $0 != "." }))
    }

    /// The daemon has taken the steps meanwhile.
    func remove(from connection: Connection) throws {
        for name in views { try connection.execute("DROP VIEW temp.\(name)") }
        for name in tables { try connection.execute("DROP TABLE temp.\(name)") }
    }

    private typealias Table = (sql: String, columns: [(name: String, absent: String)])

    /// The tables that the steps make, but for the full-text index, which no reader asks of such a file.
    private static func tables(at version: Int) throws -> [String: Table] {
        let memory = try Schema.current.empty(at: version)
        var tables: [String: Table] = [:]
        try memory.prepare(
            """
            SELECT made.name, made.sql, part.name, coalesce(part.dflt_value, 'NULL')
            FROM sqlite_schema AS made, pragma_table_info(made.name) AS part
            WHERE made.type = 'table' AND made.sql LIKE 'CREATE TABLE%' AND made.name NOT GLOB 'search_index*'
                AND made.name NOT GLOB 'sqlite_*' ORDER BY made.rowid, part.cid
            """
        ).rows { row in
            guard let name = row.text(0), let sql = row.text(1), let column = row.text(2) else { return }
            tables[name, default: (sql, [])].columns.append((column, row.text(3) ?? "NULL"))
        }
        return tables
    }
}
