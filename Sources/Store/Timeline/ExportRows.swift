import CSQLite
package import PRSNLCore

/// What is told of each live item before its text is read: whether it has changed.
package struct ExportRow: Sendable {
    package let id: String
    package let createdAt: Timestamp
    /// Of all that an item's file is made from. Of a fetched text it has only the short columns, because no text changes
    /// without them.
    package let fingerprint: Fingerprint
}

/// What the copy is of.
package struct ExportOrigin: Sendable {
    /// `nil` until the daemon has reached its server.
    package var serverURL: String?
    package var accountID: String?
    /// Every interval of the timeline has been read. An item that is not in the copy is not on the server.
    package var isComplete = false
    /// The words of `--query`; `nil` where all items are exported.
    package var query: String?
    /// The ids that items had before the server gave them one, and those that it gave them.
    package var givenIDs: [(local: String, given: String)] = []

    package init() {}
}

/// For `prsnlctl export`. Each call is one short transaction: one that lasts as long as an export would keep the
/// write-ahead log from being emptied.
extension StoreReader {
    /// A scan of a million items on a slow disk.
    private static let scanPatience: Duration = .seconds(600)

    /// Another form of the files: all are written again.
    private static let form = "2"

    package func exportOrigin() throws(UserFacingError) -> ExportOrigin {
        try readTogether {
            connection.extendDeadline(to: Self.patience)
            var origin = ExportOrigin()
            try connection.prepare("SELECT server_url, account_id, complete FROM copy").rows { row in
                origin.serverURL = row.text(0)
                origin.accountID = row.text(1)
                origin.isComplete = row.int(2) == 1
            }
            try connection.prepare(
                "SELECT local_id, item_id FROM outbox WHERE local_id IS NOT NULL AND local_id != item_id ORDER BY id"
            ).rows { row in
                if let local = row.text(0), let id = row.text(1) { origin.givenIDs.append((local, id)) }
            }
            return origin
        }
    }

    /// Every item of `timeline`, in no certain order, without a long text being read.
    package func exportRows(_ body: (ExportRow) -> Void) throws(UserFacingError) {
        try readTogether {
            connection.extendDeadline(to: Self.scanPatience)
            try connection.prepare("SELECT \(Self.hashed) \(Self.source)").rows { row in
                guard let id = row.text(0), let createdAt = row.timestamp(1) else { return }
                body(ExportRow(id: id, createdAt: createdAt, fingerprint: Self.fingerprint(row)))
            }
        }
    }

    /// One item of `timeline` with its text, and the fingerprint of its row; `nil` where it is there no more.
    package func exportItem(
        _ id: String
    ) throws(UserFacingError) -> (shown: ShownItem, fingerprint: Fingerprint)? {
        try readTogether {
            connection.extendDeadline(to: Self.patience)
            return try connection.cached(
                """
                SELECT \(Self.hashed), coalesce(body.content, (SELECT content FROM written_here WHERE item_id = timeline.id)),
                    iif(body.is_transcription, body.content, body.transcription),
                    \(Self.member("author")), \(Self.member("published_date"))
                \(Self.source) WHERE timeline.id = ?1
                """
            ).bind(id).first { row in
                Self.shown(row).map { ($0, Self.fingerprint(row)) }
            }
        }
    }

    /// Whether the copy knows that an item was deleted, on the server or here. What it merely lacks may come yet.
    package func isKnownDeleted(_ id: String) throws(UserFacingError) -> Bool {
        try readTogether {
            connection.extendDeadline(to: Self.patience)
            return try connection.cached(
                """
                SELECT EXISTS (SELECT 1 FROM item WHERE id = ?1 AND deleted_at IS NOT NULL)
                    OR EXISTS (SELECT 1 FROM local_edit WHERE item_id = ?1 AND is_deleted = 1)
                """
            ).bind(id).first { $0.int(0) == 1 } ?? false
        }
    }

    // MARK: The row

    /// A member of the metadata, as the view `item_text` has it. What is no JSON, which only a stranger can have written, is no
    /// error.
    static func member(_ name: String) -> String {
        """
        (SELECT value FROM json_each(CASE WHEN json_valid(body.metadata) THEN body.metadata END)
            WHERE key = '\(name)')
        """
    }

    /// A change of another column touches no file.
    private static let fileColumns = ItemColumn.all.filter { $0.places.contains(.file) }
    /// What files are made from, before the texts. The columns of `item_body` stand before its texts on the disk, so that
    /// reading them reads no text.
    private static let hashed =
        fileColumns.of("timeline")
        + ", pending, body.version, body.fetched_at, body.is_transcription, body.metadata"
    private static let hashedColumns = Int32(fileColumns.count + 5)
    private static let source = "FROM timeline LEFT JOIN item_body AS body ON body.item_id = timeline.id"

    private static func fingerprint(_ row: Statement) -> Fingerprint {
        var fingerprint = Fingerprint(form)
        for column in 0..<hashedColumns { fingerprint.add(field: row.bytes(column)) }
        return fingerprint
    }

    private static func shown(_ row: Statement) -> ShownItem? {
        guard var shown = ShownItem(row, fileColumns) else { return nil }
        shown.text.content = row.text(hashedColumns) ?? shown.item.content
        shown.text.transcription = row.text(hashedColumns + 1)
        shown.author = row.text(hashedColumns + 2)
        shown.publishedAt = row.text(hashedColumns + 3)
        return shown
    }
}

/// For `prsnlctl export --format jsonl`: what the copy knows, an object of JSON a line.
extension StoreReader {
    /// Where the lines go on.
    package struct LinePosition: Sendable {
        fileprivate var isLocal = false
        fileprivate var id = ""

        package init() {}
    }

    /// Lines are read in groups of about so many bytes, each in a short transaction of its own.
    private static let groupSize = 1 << 20

    /// Appends the next group of lines: the items of `timeline`, then those that were made here, each in the order of their ids,
    /// and tombstones among them. So an item has one line, whatever the daemon does meanwhile.
    ///
    /// - Parameter chosen: the ids of which there are lines; `nil` for all.
    /// - Returns: how many lines they are, and where to go on; `nil` at the end.
    package func appendLines(
        after position: LinePosition, of chosen: Set<ByteText>?, to bytes: inout [UInt8]
    ) throws(UserFacingError) -> (count: Int, next: LinePosition?) {
        var position = position
        var count = 0
        let isOver = try readTogether {
            connection.extendDeadline(to: Self.patience)
            let rows = try connection.cached(position.isLocal ? Self.madeHere : Self.items).bind(position.id)
            let text = try connection.cached(Self.text)
            let start = bytes.count
            try rows.rows(while: bytes.count - start <= Self.groupSize) { row in
                let id = row.text(0) ?? ""
                // In a damaged index the next id may be an earlier one, again and again.
                guard ByteText(position.id) < ByteText(id) else {
                    throw SQLiteFailure(code: SQLITE_CORRUPT, message: "the ids are not in order", operation: "export")
                }
                position.id = id
                guard chosen?.contains(ByteText(id)) ?? true else { return }
                try Self.append(row, id, text, to: &bytes)
                count += 1
            }
            return bytes.count - start <= Self.groupSize
        }
        guard isOver else { return (count, position) }
        if position.isLocal { return (count, nil) }
        var next = LinePosition()
        next.isLocal = true
        return (count, next)
    }

    // MARK: The rows

    private static let lineColumns = ItemColumn.all.map(\.name) + ["pending", "deleted_at"]

    /// As the view `timeline` has them, and tombstones.
    private static let items = """
        SELECT \(ItemColumn.ofServer), CASE WHEN edit.item_id IS NOT NULL THEN 'edit' END, item.deleted_at
        FROM item LEFT JOIN local_edit AS edit ON edit.item_id = item.id AND item.deleted_at IS NULL
        WHERE item.id > ?1 AND coalesce(edit.is_deleted, 0) = 0
            AND (item.deleted_at IS NOT NULL
                OR NOT EXISTS (SELECT 1 FROM held_item WHERE held_item.item_id = item.id))
        ORDER BY item.id
        """

    private static let madeHere = """
        SELECT \(ItemColumn.ofCreation), 'creation', NULL
        FROM local_item AS made LEFT JOIN local_edit AS edit ON edit.item_id = made.id
        WHERE made.id > ?1 AND coalesce(edit.is_deleted, 0) = 0
            AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = made.id)
        ORDER BY made.id
        """

    private static let textColumns = [
        "content", "transcription", "author", "published_at", "word_count", "metadata", "version", "fetched_at",
    ]

    /// As the view `item_text` has it. Metadata that is no JSON is no error here.
    private static let text = """
        SELECT coalesce(content, \(written)), iif(is_transcription, content, transcription), \(member("author")),
            \(member("published_date")), \(member("word_count")), metadata, version, fetched_at
        FROM item_body AS body WHERE item_id = ?1
        UNION ALL
        SELECT content, NULL, NULL, NULL, NULL, NULL, updated_at, NULL FROM item
        WHERE id = ?1 AND content IS NOT NULL AND NOT EXISTS (SELECT 1 FROM item_body WHERE item_id = ?1)
        UNION ALL
        SELECT content, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM written_here
        WHERE item_id = ?1 AND content IS NOT NULL AND NOT EXISTS (SELECT 1 FROM item_body WHERE item_id = ?1)
        """
    private static let written = "(SELECT content FROM written_here WHERE item_id = ?1)"

    // MARK: The line

    private static let json: Set<String> = ["tags", "extra", "metadata"]

    private static func append(
        _ row: Statement, _ id: String, _ text: Statement, to bytes: inout [UInt8]
    ) throws {
        appendMembers(lineColumns, of: row, to: &bytes)
        bytes.append(contentsOf: ",\"text\":".utf8)
        var hasText = false
        try text.bind(id).rows(while: !hasText) { row in
            appendMembers(textColumns, of: row, to: &bytes)
            hasText = true
        }
        bytes.append(contentsOf: (hasText ? "}}\n" : "null}\n").utf8)
    }

    /// An object without its end.
    private static func appendMembers(_ names: [String], of row: Statement, to bytes: inout [UInt8]) {
        for (index, name) in names.enumerated() {
            bytes.append(contentsOf: "\(index == 0 ? "{" : ",")\"\(name)\":".utf8)
            appendValue(row, Int32(index), isJSON: json.contains(name), to: &bytes)
        }
    }

    private static func appendValue(_ row: Statement, _ column: Int32, isJSON: Bool, to bytes: inout [UInt8]) {
        if row.isNumber(column) {
            if row.isInteger(column), let digits = row.bytes(column) { return bytes.append(contentsOf: digits) }
            let number = row.double(column)
            return bytes.append(contentsOf: (number.isFinite ? "\(number)" : "null").utf8)
        }
        guard let value = row.bytes(column) else { return bytes.append(contentsOf: "null".utf8) }
        if isJSON, let json = JSONText.oneLine(Array(value)) { return bytes.append(contentsOf: json) }
        JSONText.appendString(String(decoding: value, as: UTF8.self), to: &bytes)
    }
}
