import PRSNLCore

/// What can be found of an item, as `timeline` and `item_text` show it.
struct SearchableRow {
    /// Parameter 1: the id.
    static let sql = """
        SELECT \(ShownRow.createdAt), \(ShownRow.type), \(ShownRow.title), \(ShownRow.summary),
            coalesce(body.content, item.content, made.content), body.transcription, \(ShownRow.tags), \(ShownRow.url)
        FROM (SELECT 1) \(ShownRow.join("?1")) LEFT JOIN item_body AS body ON body.item_id = ?1
        WHERE \(ShownRow.isShown)
        """

    var createdAt: String
    var type: String?
    var title: String?
    var summary: String?
    var content: String?
    var transcription: String?
    var tags: String?
    var url: String?

    /// - Returns: `nil` where `timeline` does not show the item.
    init?(_ statement: Statement, id: String) throws(SQLiteFailure) {
        defer { statement.reset() }
        guard try statement.reset().bind(id).step(), let createdAt = statement.text(0) else { return nil }
        self.createdAt = createdAt
        type = statement.text(1)
        title = statement.text(2)
        summary = statement.text(3)
        content = statement.text(4)
        transcription = statement.text(5)
        tags = statement.text(6)
        url = statement.text(7)
    }

    /// The columns of the index. Of tags, the JSON around them is no word.
    var words: [String?] {
        [title, summary, content, transcription, Tags.parse(tags)?.joined(separator: " , "), url]
    }

    /// Bytes of text.
    var size: Int { [title, summary, content, transcription, tags, url].reduce(0) { $0 + ($1?.utf8.count ?? 0) } }
}
