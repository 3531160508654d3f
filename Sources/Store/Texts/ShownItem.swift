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

    /// What `init(_:id:createdAt:)` reads, of the view `timeline`.
    static let columns = """
        timeline.id, created_at, updated_at, type, title, url, summary, timeline.content, tags, platform, status, pending
        """

    init(_ row: Statement, id: String, createdAt: Timestamp) {
        item = TimelineItem(id: id, createdAt: createdAt)
        item.updatedAt = row.timestamp(2)
        item.type = row.text(3)
        item.title = row.text(4)
        item.url = row.text(5)
        item.summary = row.text(6)
        item.content = row.text(7)
        item.tags = row.text(8)
        item.platform = row.text(9)
        item.status = row.text(10)
        pending = row.text(11)
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
        let row = try connection.prepare(
            """
            SELECT \(ShownItem.columns), category, thumbnail_url, duration, file_path, permalink, extra
            FROM timeline WHERE id = ?
            """
        ).bind(id)
        guard try row.step(), let createdAt = row.timestamp(1) else {
            throw UserFacingError(
                .itemUnknown, "The item \(id) waits to be deleted.", recoverySuggestion: "Look at `prsnlctl queue`.")
        }
        var shown = ShownItem(row, id: id, createdAt: createdAt)
        shown.item.category = row.text(12)
        shown.item.thumbnailURL = row.text(13)
        shown.item.duration = row.text(14) == nil ? nil : row.double(14)
        shown.item.filePath = row.text(15)
        shown.item.permalink = row.text(16)
        shown.item.extra = row.text(17)
        if try connection.integer("PRAGMA user_version") >= Schema.versionWithTexts { try addText(to: &shown) }
        return shown
    }

    private func addText(to shown: inout ShownItem) throws(SQLiteFailure) {
        let row = try connection.prepare(
            """
            SELECT content, transcription, metadata, version, fetched_at, author, published_at, word_count
            FROM item_text WHERE item_id = ?
            """
        ).bind(shown.item.id)
        if try row.step() {
            shown.text.content = row.text(0) ?? shown.text.content
            shown.text.transcription = row.text(1)
            shown.text.metadata = row.text(2)
            shown.text.updatedAt = row.timestamp(3)
            shown.fetchedAt = row.timestamp(4)
            shown.author = row.text(5)
            shown.publishedAt = row.text(6)
            shown.wordCount = row.text(7) == nil ? nil : row.int(7)
        }
        let due = try connection.prepare(
            """
            SELECT problem.kind, problem.failures, problem.next_at, problem.size, problem.error_code,
                problem.error_message
            FROM item LEFT JOIN text_problem AS problem ON problem.item_id = item.id
                AND problem.row_version = coalesce(item.updated_at, item.created_at)
            WHERE item.id = ? AND \(TextTables.isBehind)
            """
        ).bind(shown.item.id)
        guard try due.step() else { return }
        shown.isOutdated = shown.fetchedAt != nil
        guard let kind = due.text(0).flatMap(TextProblem.Kind.init) else { return }
        shown.problem = TextProblem(
            kind, failures: due.int(1), nextAt: due.timestamp(2), size: due.text(3) == nil ? nil : due.int(3),
            code: due.text(4).flatMap(ErrorCode.init) ?? .storeBug, message: due.text(5) ?? "")
    }
}
