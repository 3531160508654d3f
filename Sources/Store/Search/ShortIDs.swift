package import PRSNLCore

extension StoreReader {
    /// As much of each id as tells it from all others, and eight characters at least.
    package func shortIDs(_ ids: [String]) throws(UserFacingError) -> [String] {
        try read { () throws(SQLiteFailure) in
            let neighbours = try connection.prepare(
                """
                SELECT (SELECT max(id) FROM item WHERE id < ?1), (SELECT min(id) FROM item WHERE id > ?1),
                    (SELECT max(id) FROM local_item WHERE id < ?1), (SELECT min(id) FROM local_item WHERE id > ?1)
                """)
            var short: [String] = []
            for id in ids {
                neighbours.reset().bind(id)
                guard try neighbours.step() else { continue }
                let shared = (0..<4).compactMap { neighbours.text($0) }.map { Self.sharedLength($0, id) }.max() ?? 0
                short.append(String(String.UnicodeScalarView(id.unicodeScalars.prefix(max(8, shared + 1)))))
            }
            return short
        }
    }

    private static func sharedLength(_ left: String, _ right: String) -> Int {
        zip(left.unicodeScalars, right.unicodeScalars).prefix { $0 == $1 }.count
    }

    /// Items whose ids begin so, the newest first: what a shell offers while a person types.
    package func items(withPrefix prefix: String, limit: Int) throws(UserFacingError) -> [ListedItem] {
        guard !prefix.isEmpty else { return try list(ItemFilter(), limit: limit).items }
        return try read { () throws(SQLiteFailure) in
            let rows = try connection.prepare(
                """
                SELECT \(ShownRow.id), \(ShownRow.createdAt), \(ShownRow.type), \(ShownRow.title), \(ShownRow.url),
                    \(ShownRow.tags), \(ShownRow.pending)
                FROM (SELECT id FROM item WHERE id >= ?1 AND id < ?2 UNION SELECT id FROM local_item WHERE id >= ?1 AND id < ?2
                    LIMIT 1000) AS known \(ShownRow.join("known.id"))
                WHERE \(ShownRow.isShown) ORDER BY 2 DESC LIMIT ?3
                """
            ).bind(prefix).bind(prefix + "\u{10FFFF}").bind(limit)
            var items: [ListedItem] = []
            while try rows.step() {
                if let item = ListedItem(rows) { items.append(item) }
            }
            return items
        }
    }

    /// The server's address of an item's page, for items without an address of their own.
    package func serverURL() throws(UserFacingError) -> String? {
        try read { () throws(SQLiteFailure) in try connection.text("SELECT server_url FROM copy") }
    }
}
