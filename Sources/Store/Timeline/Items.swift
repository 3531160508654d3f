package import PRSNLCore

/// A column of an item. This is the one list of them: the statements that write items, the rows that are read, the view
/// `timeline`, the export and the step of `Schema` that makes a new column are made from it.
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
    /// The schema that the column came with; `nil` for those that each file has.
    var since: Int?
    let bind: @Sendable (TimelineItem, Statement) -> Void
    let read: @Sendable (inout TimelineItem, Statement, Int32) -> Void
    /// Whether the column of this number has the item's value.
    let isSame: @Sendable (TimelineItem, Statement, Int32) -> Bool

    static let all = [
        ItemColumn("id", in: [.creation, .file], get: { $0.id }, set: { _, _ in }),
        ItemColumn("created_at", in: [.creation, .file], get: { $0.createdAt }, set: { _, _ in }),
        ItemColumn("updated_at", in: [.file], get: { $0.updatedAt }, set: { $0.updatedAt = $1 }),
        ItemColumn("type", in: [.creation, .file], get: { $0.type }, set: { $0.type = $1 }),
        ItemColumn("title", in: [.edit, .creation, .file], get: { $0.title }, set: { $0.title = $1 }),
        ItemColumn("url", in: [.creation, .file], get: { $0.url }, set: { $0.url = $1 }),
        ItemColumn("summary", in: [.edit, .file], get: { $0.summary }, set: { $0.summary = $1 }),
        ItemColumn("content", in: [.creation, .file], get: { $0.content }, set: { $0.content = $1 }),
        ItemColumn("tags", in: [.edit, .creation, .file], get: { $0.tags }, set: { $0.tags = $1 }),
        ItemColumn("platform", in: [.file], get: { $0.platform }, set: { $0.platform = $1 }),
        ItemColumn("category", get: { $0.category }, set: { $0.category = $1 }),
        ItemColumn("thumbnail_url", get: { $0.thumbnailURL }, set: { $0.thumbnailURL = $1 }),
        ItemColumn("duration", get: { $0.duration }, set: { $0.duration = $1 }),
        ItemColumn("file_path", get: { $0.filePath }, set: { $0.filePath = $1 }),
        ItemColumn("status", in: [.file], get: { $0.status }, set: { $0.status = $1 }),
        ItemColumn("permalink", get: { $0.permalink }, set: { $0.permalink = $1 }),
        ItemColumn("extra", get: { $0.extra }, set: { $0.extra = $1 }),
    ]

    private init<Value: ColumnValue>(
        _ name: String, in places: Places = [], get: @escaping @Sendable (TimelineItem) -> Value?,
        set: @escaping @Sendable (inout TimelineItem, Value?) -> Void
    ) {
        (self.name, self.places) = (name, places)
        bind = { Value.bind(get($0), to: $1) }
        read = { set(&$0, Value.read($1, $2)) }
        isSame = { Value.isSame(get($0), $1, $2) }
    }

    // MARK: A new column

    /// A column of texts that the server has sent before, so that they stand in `extra`. It comes last in `all`.
    init(
        _ name: String, since schema: Int, in places: Places = [],
        get: @escaping @Sendable (TimelineItem) -> String?,
        set: @escaping @Sendable (inout TimelineItem, String?) -> Void
    ) {
        self.init(name, in: places, get: get, set: set)
        since = schema
    }

    /// Whether `extra` has a text of that name, as a column that the server has sent before there was a column for it.
    private static func isInExtra(_ name: String) -> String {
        "CASE WHEN json_valid(extra) THEN json_type(extra, '$.\(name)') END = 'text'"
    }

    /// As a text: in another object, SQLite would not quote it.
    private static func without(_ name: String, _ extra: String) -> String {
        "nullif(json_remove(\(extra), '$.\(name)') || '', '{}')"
    }

    /// Makes the column. Its values move out of `extra`, which for readers of the changes is an edit like any other.
    var step: String {
        let (value, rest) = ("json_extract(extra, '$.\(name)')", Self.without(name, "extra"))
        return """
            ALTER TABLE item ADD COLUMN \(name) TEXT;
            INSERT INTO change_log (at, item_id, kind, origin, old, new)
                SELECT strftime('%Y-%m-%dT%H:%M:%f000Z', 'now'), id, 'edited', '\(ChangeOrigin.server.rawValue)',
                    json_object('\(name)', NULL, 'extra', \(ChangeLog.kept("extra"))),
                    json_object('\(name)', \(ChangeLog.kept(value)), 'extra', \(ChangeLog.kept(rest)))
                FROM item WHERE \(Self.isInExtra(name)) AND \(Views.isShown)
                    AND (SELECT items_before FROM change_state) IS NOT NULL ORDER BY rowid;
            DELETE FROM change_log WHERE seq <= (SELECT max(seq) FROM change_log) - \(ChangeLog.most);
            UPDATE item SET \(name) = \(value), extra = \(rest) WHERE \(Self.isInExtra(name));
            """
    }

    /// The column of a row of `item` as the steps will have it, in a file that lacks some columns.
    func value(lacking columns: [String]) -> String {
        if name == "extra" {
            return columns.reduce(name) { "iif(\(Self.isInExtra($1)), \(Self.without($1, $0)), \($0))" }
        }
        return columns.contains(name) ? "iif(\(Self.isInExtra(name)), json_extract(extra, '$.\(name)'), NULL)" : name
    }

    // MARK: Columns of `timeline`

    /// From `item`, and from the `edit` of it that waits.
    static let ofServer = all.map { column in
        let name = column.name
        let value = name == "title" ? WrittenHere.shownTitle : "item.\(name)"
        return column.places.contains(.edit) ? "coalesce(edit.\(name), \(value)) AS \(name)" : value
    }.joined(separator: ", ")

    /// From `local_item AS made`, and from the `edit` of it that waits.
    static let ofCreation = all.map { column in
        let sources =
            (column.places.contains(.edit) ? ["edit"] : []) + (column.places.contains(.creation) ? ["made"] : [])
        let values = sources.map { "\($0).\(column.name)" }
        let value = values.count > 1 ? "coalesce(\(values.joined(separator: ", ")))" : values.first ?? "NULL"
        return "\(value) AS \(column.name)"
    }.joined(separator: ", ")
}

private protocol ColumnValue: Sendable {
    static func bind(_ value: Self?, to statement: Statement)
    static func read(_ row: Statement, _ column: Int32) -> Self?
    static func isSame(_ value: Self?, _ row: Statement, _ column: Int32) -> Bool
}

extension String: ColumnValue {
    fileprivate static func bind(_ value: Self?, to statement: Statement) { statement.bind(value) }
    fileprivate static func read(_ row: Statement, _ column: Int32) -> Self? { row.text(column) }
    fileprivate static func isSame(_ value: Self?, _ row: Statement, _ column: Int32) -> Bool { row.has(value, column) }
}

extension Timestamp: ColumnValue {
    fileprivate static func bind(_ value: Self?, to statement: Statement) { statement.bind(value) }
    fileprivate static func read(_ row: Statement, _ column: Int32) -> Self? { row.timestamp(column) }
    fileprivate static func isSame(_ value: Self?, _ row: Statement, _ column: Int32) -> Bool { row.has(value, column) }
}

extension Double: ColumnValue {
    fileprivate static func bind(_ value: Self?, to statement: Statement) { statement.bind(value) }
    fileprivate static func read(_ row: Statement, _ column: Int32) -> Self? {
        row.isNull(column) ? nil : row.double(column)
    }
    fileprivate static func isSame(_ value: Self?, _ row: Statement, _ column: Int32) -> Bool {
        read(row, column) == value
    }
}

extension [ItemColumn] {
    /// Those of a table, or of a view.
    func of(_ table: String) -> String { map { "\(table).\($0.name)" }.joined(separator: ", ") }
}

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
    /// The server's text is not here; this is what was sent to make the item.
    package var isAsWritten = false
    /// Why the text is not here, or is an older one.
    package var problem: TextProblem?
    /// `nil` for a live item.
    package var deletion: Deletion?
    /// A write of it that waits for a decision, the oldest.
    package var parked: Int64?

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

    func resolving<Answer>(
        _ prefix: String, isDeleted: Bool = false, _ body: (_ id: String) throws -> Answer
    ) throws(UserFacingError) -> Answer {
        try readTogether {
            try body(ItemPrefix(connection: connection, consequence: nil, isDeleted: isDeleted).resolve(prefix))
        }
    }

    private func shown(_ id: String) throws -> ShownItem {
        let found = try connection.prepare(
            "SELECT \(ItemColumn.all.of("timeline")), pending FROM timeline WHERE id = ?"
        ).bind(id).first { ShownItem($0, ItemColumn.all) }
        guard var shown = found else {
            let reason = try connection.creationHiding(id).map(OutboxEntry.mayHaveMadeIt) ?? "it waits to be deleted"
            throw UserFacingError(
                .itemUnknown, "The item \(id) is hidden: \(reason).",
                recoverySuggestion: "Look at `prsnlctl queue`.")
        }
        try addText(to: &shown)
        shown.parked = try connection.prepare(
            "SELECT id FROM outbox WHERE item_id = ? AND ended_at IS NULL AND state = 'parked' ORDER BY id LIMIT 1"
        ).bind(id).first { $0.int64(0) }
        return shown
    }

    func addText(to shown: inout ShownItem) throws {
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
        // A server shows a note at once, and its text only when it has worked on it, if ever.
        if shown.text.content == nil, shown.text.transcription == nil {
            shown.text.content =
                try connection.prepare("SELECT content FROM written_here WHERE item_id = ?").bind(shown.item.id)
                .first { $0.text(0) } ?? nil
            shown.isAsWritten = shown.text.content != nil
        }
        try connection.prepare(
            """
            SELECT problem.kind, problem.failures, problem.next_at, problem.size, problem.error_code,
                problem.error_message
            FROM item LEFT JOIN text_problem AS problem ON problem.item_id = item.id
                AND problem.row_version = coalesce(item.updated_at, item.created_at)
            WHERE item.id = ? AND text_for IS NOT coalesce(updated_at, created_at)
            """
        ).bind(shown.item.id).rows { row in
            shown.isOutdated = shown.fetchedAt != nil
            guard let kind = row.text(0).flatMap(TextProblem.Kind.init) else { return }
            shown.problem = TextProblem(
                kind: kind, failures: row.int(1), nextAt: row.timestamp(2), size: row.text(3) == nil ? nil : row.int(3),
                code: row.text(4).flatMap(ErrorCode.init) ?? .storeBug, message: row.text(5) ?? "")
        }
    }
}

/// Finds the item that a person means by the beginning of its id.
struct ItemPrefix {
    let connection: Connection
    /// What it means that there is no such item.
    var consequence: String? = "Nothing was queued."
    /// A deletion means what its person has captured, and never an item that the server had before that.
    var isForDeletion = false
    /// What is meant was deleted, or waits to be.
    var isDeleted = false

    private static let deleted =
        "(deleted_at IS NOT NULL OR id IN (SELECT item_id FROM local_edit WHERE is_deleted = 1))"
    private var condition: String { isDeleted ? Self.deleted : "deleted_at IS NULL" }

    /// Less of an id names no item: what people type by mistake is shorter, a number of the queue above all.
    private static let shortest = 4

    /// At most so many items are named to choose from.
    private static let named = 5

    /// - Returns: The whole id of the one live item that begins so.
    /// - Throws: `item_unknown`, `item_ambiguous`.
    func resolve(_ prefix: String) throws -> String {
        guard !prefix.isEmpty else { throw UserFacingError(.itemUnknown, "An empty id names no item.") }
        if try exists(prefix) { return prefix }
        if let bound = try boundID(of: prefix) { return bound }
        guard prefix.utf8.count >= Self.shortest else {
            throw unknown(
                "\(prefix) is not the id of an item, and too short for the beginning of one: give \(Self.shortest) characters or more.",
                try queueHint(prefix))
        }
        let found = try candidates(prefix)
        guard let first = found.first else {
            if isDeleted {
                throw unknown(
                    "No item with the id \(Self.short(prefix)) was deleted in the last 30 days.",
                    "Those that were: `prsnlctl list --deleted`.")
            }
            if try wasDeleted(prefix) {
                throw unknown(
                    "The item \(Self.short(prefix)) was deleted.",
                    "Look at it with `prsnlctl show \(prefix)`, or `prsnlctl restore \(prefix)`.")
            }
            throw unknown("The copy has no item with the id \(Self.short(prefix)).", try queueHint(prefix))
        }
        guard found.count == 1 else {
            throw UserFacingError(
                .itemAmbiguous,
                "\(found.count > Self.named ? "More than \(Self.named)" : "\(found.count)") items have ids that begin "
                    + "with \(Self.short(prefix)): \(found.prefix(Self.named).joined(separator: ", ")).",
                consequence: consequence)
        }
        return first
    }

    private func unknown(_ message: String, _ suggestion: Advice?) -> UserFacingError {
        UserFacingError(.itemUnknown, message, consequence: consequence, recoverySuggestion: suggestion)
    }

    /// What looks like the number of a write.
    private func queueHint(_ text: String) throws -> Advice? {
        let digits = text.hasPrefix("#") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.count <= 9, digits.utf8.allSatisfy({ (48...57).contains($0) }),
            try connection.cached("SELECT 1 FROM outbox WHERE id = ?").bind(Int(digits)).hasRow()
        else { return nil }
        return
            "If the write #\(digits) is meant: `prsnlctl queue show \(digits)`, or `prsnlctl queue drop \(digits)` to give it up."
    }

    private static func short(_ text: String) -> String { text.count > 80 ? text.prefix(80) + "…" : text }

    private func exists(_ id: String) throws -> Bool {
        try connection.cached(
            """
            SELECT 1 FROM item WHERE id = ?1 AND \(condition)
            UNION ALL SELECT 1 FROM local_item WHERE id = ?1 AND NOT ?2 LIMIT 1
            """
        ).bind(id).bind(isDeleted ? 1 : 0).hasRow()
    }

    private func wasDeleted(_ prefix: String) throws -> Bool {
        try connection.cached("SELECT 1 FROM item WHERE id >= ?1 AND id < ?2 AND deleted_at IS NOT NULL LIMIT 1")
            .bind(prefix).bind(prefix + "\u{10FFFF}").hasRow()
    }

    /// Local ids stay valid as aliases.
    private func boundID(of local: String) throws -> String? {
        guard local.hasPrefix(LocalID.prefix) else { return nil }
        // A creation has a `base` where its item was there before.
        let bound = try connection.prepare(
            """
            SELECT item_id, base IS NOT NULL FROM outbox
            WHERE local_id = ? AND state = 'delivered' AND item_id != local_id
            """
        ).bind(local).first { ($0.text(0), $0.int(1) == 1) }
        guard case (let id?, let wasThere)? = bound, try exists(id) else { return nil }
        guard isForDeletion, wasThere else { return id }
        throw unknown(
            "The URL of \(local) was on the server before you captured it.",
            "To delete that older item: `prsnlctl delete \(id)`.")
    }

    /// Ids are compared by bytes, so that those with a prefix lie between it and its successor.
    private func candidates(_ prefix: String) throws -> [String] {
        try connection.prepare(
            """
            SELECT id FROM item WHERE id >= ?1 AND id < ?2 AND \(condition)
            UNION SELECT id FROM local_item WHERE id >= ?1 AND id < ?2 AND NOT ?3
            ORDER BY id LIMIT \(Self.named + 1)
            """
        ).bind(prefix).bind(prefix + "\u{10FFFF}").bind(isDeleted ? 1 : 0).all { $0.text(0) }
    }
}

/// Ids of items that were made here, until the server gives them its own.
package enum LocalID {
    static let prefix = "local-"

    /// Whether the server has given the item no id yet, as far as is known here.
    package static func isLocal(_ id: String) -> Bool { id.hasPrefix(prefix) }

    static func make(at now: Timestamp) -> String { prefix + TimedUUID.make(at: now) }
}
