package import PRSNLCore

/// What is told of each live item before its text is read: whether it has changed.
package struct ExportRow: Sendable {
    package let id: String
    package let createdAt: Timestamp
    /// Of all that an item's file is made from. Of a fetched text it has only the short columns, because no text changes
    /// without them.
    package let fingerprint: Fingerprint
}

/// An item with its text, and the fingerprint of the row that it was read from.
package struct ExportItem: Sendable {
    package let shown: ShownItem
    package let fingerprint: Fingerprint
}

/// What the copy is of.
package struct ExportOrigin: Sendable {
    /// `nil` until the daemon has reached its server.
    package var serverURL: String?
    package var accountID: String?
    /// Every interval of the timeline has been read. An item that is not in the copy is not on the server.
    package var isComplete = false
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
    private static let form = "1"

    package func exportOrigin() throws(UserFacingError) -> ExportOrigin {
        try readTogether { () throws(SQLiteFailure) in
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
        try readTogether { () throws(SQLiteFailure) in
            connection.extendDeadline(to: Self.scanPatience)
            try connection.prepare(exportQuery(texts: "", isOfOne: false)).rows { row in
                guard let id = row.text(0), let createdAt = row.timestamp(1) else { return }
                body(ExportRow(id: id, createdAt: createdAt, fingerprint: Self.fingerprint(row)))
            }
        }
    }

    /// One item of `timeline` with its text; `nil` where it is there no more.
    package func exportItem(_ id: String) throws(UserFacingError) -> ExportItem? {
        try readTogether { () throws(SQLiteFailure) in
            connection.extendDeadline(to: Self.patience)
            return try connection.cached(
                exportQuery(
                    texts: """
                        , body.content, iif(body.is_transcription, body.content, body.transcription),
                            \(Self.member("author")), \(Self.member("published_date"))
                        """,
                    isOfOne: true)
            ).bind(id).first { row in
                Self.shown(row).map { ExportItem(shown: $0, fingerprint: Self.fingerprint(row)) }
            }
        }
    }

    /// Whether the copy knows that an item was deleted, on the server or here. What it merely lacks may come yet.
    package func isKnownDeleted(_ id: String) throws(UserFacingError) -> Bool {
        try readTogether { () throws(SQLiteFailure) in
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
    private static let columns = ItemColumn.all.filter { $0.places.contains(.file) }
    /// Before the texts: `columns`, `pending` and four of `item_body`.
    private static let hashedColumns = Int32(columns.count + 5)

    /// The columns that files are made from. Those of `item_body` stand before its texts on the disk, so that reading them
    /// reads no text.
    private func exportQuery(texts: String, isOfOne: Bool) throws(SQLiteFailure) -> String {
        let hasTexts = try connection.integer("PRAGMA user_version") >= Schema.versionWithTexts
        return """
            SELECT \(Self.columns.of("timeline")), pending, body.version, body.fetched_at, body.is_transcription, body.metadata \(texts)
            FROM timeline LEFT JOIN \(hasTexts ? "item_body" : Self.noTexts) AS body ON body.item_id = timeline.id
            \(isOfOne ? "WHERE timeline.id = ?1" : "")
            """
    }

    /// In a file that an older daemon has made.
    private static let noTexts = """
        (SELECT NULL AS item_id, NULL AS version, NULL AS fetched_at, NULL AS is_transcription, NULL AS metadata,
            NULL AS content, NULL AS transcription WHERE 0)
        """

    private static func fingerprint(_ row: Statement) -> Fingerprint {
        var fingerprint = Fingerprint(form)
        for column in 0..<hashedColumns { fingerprint.add(field: row.bytes(column)) }
        return fingerprint
    }

    private static func shown(_ row: Statement) -> ShownItem? {
        guard var shown = ShownItem(row, columns) else { return nil }
        shown.text.content = row.text(hashedColumns) ?? shown.item.content
        shown.text.transcription = row.text(hashedColumns + 1)
        shown.author = row.text(hashedColumns + 2)
        shown.publishedAt = row.text(hashedColumns + 3)
        return shown
    }
}
