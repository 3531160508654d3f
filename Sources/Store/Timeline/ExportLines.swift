import CSQLite
package import PRSNLCore

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
    /// - Returns: how many lines they are, and where to go on; `nil` at the end.
    package func appendLines(
        after position: LinePosition, to bytes: inout [UInt8]
    ) throws(UserFacingError) -> (count: Int, next: LinePosition?) {
        var position = position
        var count = 0
        let isOver = try readTogether { () throws(SQLiteFailure) in
            connection.extendDeadline(to: Self.patience)
            let hasTexts = try connection.integer("PRAGMA user_version") >= Schema.versionWithTexts
            let rows = try connection.cached(position.isLocal ? Self.madeHere : Self.items).bind(position.id)
            let text = try hasTexts ? connection.cached(Self.text) : nil
            let start = bytes.count
            try rows.rows(while: bytes.count - start <= Self.groupSize) { row throws(SQLiteFailure) in
                let id = row.text(0) ?? ""
                // In a damaged index the next id may be an earlier one, again and again.
                guard ByteText(position.id) < ByteText(id) else {
                    throw SQLiteFailure(code: SQLITE_CORRUPT, message: "the ids are not in order", operation: "export")
                }
                try Self.append(row, id, text, to: &bytes)
                position.id = id
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

    private static let columns = ItemColumn.all.map(\.name) + ["pending", "deleted_at"]

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
        SELECT content, iif(is_transcription, content, transcription), \(member("author")),
            \(member("published_date")), \(member("word_count")), metadata, version, fetched_at
        FROM item_body AS body WHERE item_id = ?1
        UNION ALL
        SELECT content, NULL, NULL, NULL, NULL, NULL, updated_at, NULL FROM item
        WHERE id = ?1 AND content IS NOT NULL AND NOT EXISTS (SELECT 1 FROM item_body WHERE item_id = ?1)
        """

    // MARK: The line

    private static let json: Set<String> = ["tags", "extra", "metadata"]

    private static func append(
        _ row: Statement, _ id: String, _ text: Statement?, to bytes: inout [UInt8]
    ) throws(SQLiteFailure) {
        appendMembers(columns, of: row, to: &bytes)
        bytes.append(contentsOf: ",\"text\":".utf8)
        var hasText = false
        try text?.bind(id).rows(while: !hasText) { row in
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
            if row.isInteger(column) { return bytes.append(contentsOf: String(row.int64(column)).utf8) }
            let number = row.double(column)
            return bytes.append(contentsOf: (number.isFinite ? "\(number)" : "null").utf8)
        }
        guard let value = row.bytes(column) else { return bytes.append(contentsOf: "null".utf8) }
        if isJSON, appendJSON(value, to: &bytes) { return }
        JSONText.appendString(String(decoding: value, as: UTF8.self), to: &bytes)
    }

    /// Stored JSON as it is, on one line. In valid JSON, line breaks are between the values only.
    ///
    /// - Returns: false, and nothing appended, for what is none.
    private static func appendJSON(_ value: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) -> Bool {
        let copy = Array(value)
        do {
            try JSONReader.read(copy) { reader in
                try reader.skip()
                try reader.end()
            }
        } catch {
            return false
        }
        guard String(validating: copy, as: UTF8.self) != nil else { return false }
        for byte in copy { bytes.append(byte == 0x0A || byte == 0x0D ? 0x20 : byte) }
        return true
    }
}
