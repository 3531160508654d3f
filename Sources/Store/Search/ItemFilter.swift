package import PRSNLCore

/// Which items are meant, besides their words.
package struct ItemFilter: Sendable, Equatable {
    /// All of them.
    package var tags: [String] = []
    /// Any of them.
    package var types: [String] = []
    package var platforms: [String] = []
    package var withoutTags: [String] = []
    package var withoutTypes: [String] = []
    package var withoutPlatforms: [String] = []
    /// Created at this time or later.
    package var since: Timestamp?
    /// Created earlier than this.
    package var before: Timestamp?

    package init() {}

    package var isEmpty: Bool { self == ItemFilter() }
}

extension ItemFilter {
    /// A condition on the row that `timeline` shows.
    struct Condition {
        var sql: String
        var values: [String]
    }

    /// - Parameters: the columns, or what stands for them.
    func condition(
        tags tagColumn: String = ShownRow.tags, type: String = ShownRow.type, platform: String = "item.platform",
        createdAt: String = ShownRow.createdAt
    ) -> Condition {
        var parts: [String] = []
        var values: [String] = []
        func add(_ part: String, _ value: String) {
            parts.append(part)
            values.append(value)
        }
        let hasTag = "EXISTS (SELECT 1 FROM json_each(\(tagColumn)) WHERE value IN (SELECT value FROM json_each(?)))"
        for tag in tags { add(hasTag, Self.spellings([tag])) }
        if !withoutTags.isEmpty { add("NOT " + hasTag, Self.spellings(withoutTags)) }
        let isAny = "IN (SELECT value FROM json_each(?))"
        if !types.isEmpty { add("\(type) \(isAny)", Self.spellings(types)) }
        if !withoutTypes.isEmpty { add("coalesce(\(type), '') NOT \(isAny)", Self.spellings(withoutTypes)) }
        if !platforms.isEmpty { add("\(platform) \(isAny)", Self.spellings(platforms)) }
        if !withoutPlatforms.isEmpty {
            add("coalesce(\(platform), '') NOT \(isAny)", Self.spellings(withoutPlatforms))
        }
        if let since { add("\(createdAt) >= ?", since.description) }
        if let before { add("\(createdAt) < ?", before.description) }
        return Condition(sql: parts.map { " AND " + $0 }.joined(), values: values)
    }

    /// The main server's tags and types are in lower case, and people type capitals.
    static func spellings(_ words: [String]) -> String {
        JSONText.array(words.flatMap { [$0, $0.lowercased()] })
    }

    /// The documents that may be meant, the newest first, read from one index without the items themselves.
    func documents(_ connection: Connection) throws(SQLiteFailure) -> Statement {
        let range = "created_at >= ? AND created_at < ?"
        let rows: Statement
        if let tag = tags.first {
            rows = try connection.prepare(
                """
                SELECT docid FROM search_tag WHERE tag IN (SELECT value FROM json_each(?)) AND \(range)
                ORDER BY created_at DESC
                """
            ).bind(Self.spellings([tag]))
        } else if !types.isEmpty {
            rows = try connection.prepare(
                """
                SELECT docid FROM search_document INDEXED BY search_document_by_type
                WHERE type IN (SELECT value FROM json_each(?)) AND \(range) ORDER BY created_at DESC
                """
            ).bind(Self.spellings(types))
        } else {
            rows = try connection.prepare(
                """
                SELECT docid FROM search_document INDEXED BY search_document_by_time WHERE \(range)
                ORDER BY created_at DESC
                """)
        }
        return rows.bind((since ?? .earliest).description).bind(before?.description ?? "~")
    }
}

extension Statement {
    @discardableResult
    func bind(_ values: [String]) -> Statement {
        for value in values { bind(value) }
        return self
    }
}
