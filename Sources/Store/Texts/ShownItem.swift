package import PRSNLCore

/// One item with its text, as a person reads it: with the local changes that wait.
package struct ShownItem: Sendable, Equatable {
    package var item: TimelineItem
    /// `creation` or `edit`, where something of it is not on the server yet.
    package var pending: String?
    package var text = ItemText(id: "")
    /// When the text was fetched; `nil` where it was not, or came with the timeline.
    package var fetchedAt: Timestamp?
    package var author: String?
    package var publishedAt: String?
    package var wordCount: Int?
    /// The server has changed the item since.
    package var isOutdated = false
    /// Why the text is not here, or is an older one.
    package var problem: TextProblem?

    package init(item: TimelineItem) {
        self.item = item
    }

    /// - Parameter columns: What the row begins with. `pending` follows.
    init?(_ row: Statement, _ columns: [ItemColumn]) {
        guard let id = row.text(0), let createdAt = row.timestamp(1) else { return nil }
        item = TimelineItem(id: id, createdAt: createdAt)
        for (number, column) in columns.enumerated() { column.read(&item, row, Int32(number)) }
        pending = row.text(Int32(columns.count))
        text.id = id
        text.content = item.content
    }
}

extension StoreReader {
    /// The live item whose id begins so.
    ///
    /// - Throws: `item_unknown`, `item_ambiguous`.
    package func item(_ prefix: String) throws(UserFacingError) -> ShownItem {
        try resolving(prefix) { try shown($0) }
    }

    /// The id of the live item whose id begins so.
    ///
    /// - Throws: `item_unknown`, `item_ambiguous`.
    package func itemID(_ prefix: String) throws(UserFacingError) -> String { try resolving(prefix) { $0 } }

    private func resolving<Answer>(
        _ prefix: String, _ body: (_ id: String) throws -> Answer
    ) throws(UserFacingError) -> Answer {
        try readTogether { () throws(SQLiteFailure) -> Result<Answer, UserFacingError> in
            do {
                return .success(try body(ItemPrefix(connection: connection, consequence: nil).resolve(prefix)))
            } catch let error as UserFacingError {
                return .failure(error)
            } catch let error as SQLiteFailure {
                throw error
            } catch {
                return .failure(UserFacingError(.storeBug, "The item could not be read.", cause: "\(error)"))
            }
        }.get()
    }

    private func shown(_ id: String) throws -> ShownItem {
        let found = try connection.prepare(
            "SELECT \(ItemColumn.all.of("timeline")), pending FROM timeline WHERE id = ?"
        ).bind(id).first { ShownItem($0, ItemColumn.all) }
        guard var shown = found else {
            throw UserFacingError(
                .itemUnknown, "The item \(id) waits to be deleted.", recoverySuggestion: "Look at `prsnlctl queue`.")
        }
        if try connection.integer("PRAGMA user_version") >= Schema.versionWithTexts { try addText(to: &shown) }
        return shown
    }

    private func addText(to shown: inout ShownItem) throws(SQLiteFailure) {
        try connection.prepare(
            """
            SELECT content, transcription, metadata, version, fetched_at, author, published_at, word_count
            FROM item_text WHERE item_id = ?
            """
        ).bind(shown.item.id).rows { row in
            shown.text.content = row.text("content") ?? shown.text.content
            shown.text.transcription = row.text("transcription")
            shown.text.metadata = row.text("metadata")
            shown.text.updatedAt = row.timestamp("version")
            shown.fetchedAt = row.timestamp("fetched_at")
            shown.author = row.text("author")
            shown.publishedAt = row.text("published_at")
            shown.wordCount = row.text("word_count") == nil ? nil : row.int("word_count")
        }
        try connection.prepare(
            """
            SELECT problem.kind, problem.failures, problem.next_at, problem.size, problem.error_code,
                problem.error_message
            FROM item LEFT JOIN text_problem AS problem ON problem.item_id = item.id
                AND problem.row_version = coalesce(item.updated_at, item.created_at)
            WHERE item.id = ? AND \(TextTables.isBehind)
            """
        ).bind(shown.item.id).rows { row in
            shown.isOutdated = shown.fetchedAt != nil
            guard let kind = row.text(0).flatMap(TextProblem.Kind.init) else { return }
            shown.problem = TextProblem(
                kind, failures: row.int(1), nextAt: row.timestamp(2), size: row.text(3) == nil ? nil : row.int(3),
                code: row.text(4).flatMap(ErrorCode.init) ?? .storeBug, message: row.text(5) ?? "")
        }
    }
}
