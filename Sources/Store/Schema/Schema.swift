/// The file's schema. docs/schema.md describes the public part, which only grows within a major version.
struct Schema: Sendable {
    /// "PRSN" in ASCII, in the header at offset 68 (https://sqlite.org/fileformat2.html#application_id).
    static let applicationID: UInt32 = 0x5052_534E

    /// Task-local, so that a test can invent the next one.
    @TaskLocal static var current = Schema(
        steps: [
            Tables.all, TextTables.all, SearchTables.index, [knownItems], TextTables.claims, [], [copyMarks],
            [endedWrites], [openingIndexes] + SearchTables.step, [tagChanges, FormerTexts.table],
            SearchTables.folding, [ChangeLog.tables], WrittenHere.tables, [sentPayloads], [editTimes], [endReasons],
            [deletions],
        ].map { $0.joined(separator: "\n") }, columns: ItemColumn.all)

    /// Step N takes the tables from `user_version` N - 1 to N. The first makes an empty file a copy. A step is never changed,
    /// released or not: files have taken it. A change of a table is a step of its own, and so is a change of a view, without
    /// statements. Of what step 9 makes again, step 3 makes the index alone, and step 6 nothing.
    private(set) var steps: [String]

    /// - Parameter columns: each new one is in the step that it says, which may be after the last of `steps`.
    init(steps: [String], columns: [ItemColumn] = []) {
        self.steps = steps
        for column in columns {
            guard let version = column.since else { continue }
            while self.steps.count < version { self.steps.append("") }
            self.steps[version - 1] += column.step
        }
    }

    var version: Int { steps.count }

    /// Takes the steps that the file lacks, and makes its views as they are now, in one transaction with the `user_version`:
    /// a kill leaves the file as it was.
    func apply(to connection: Connection) throws {
        let found = Int(try connection.integer("PRAGMA user_version"))
        guard found < version else { return }
        try connection.transaction {
            // Before the tables change: ALTER TABLE looks at the views.
            for view in Views.all { try connection.execute("DROP VIEW IF EXISTS \(view.name)") }
            try takeSteps(found..<version, connection)
            if found == 0 { try SearchTables.noteFolding(connection) }
            for view in Views.all { try connection.execute(view.sql) }
            try connection.execute("PRAGMA application_id = \(Self.applicationID)")
            try connection.execute("PRAGMA user_version = \(version)")
        }
    }

    private func takeSteps(_ numbers: Range<Int>, _ connection: Connection) throws {
        // For `ItemColumn.step`.
        try connection.registerTextMark()
        for step in steps[numbers] { try connection.execute(step) }
    }

    /// An empty database in memory as it was at a version, without its views, which were others then.
    func empty(at version: Int) throws -> Connection {
        let memory = try Connection(path: ":memory:", mode: .readWrite)
        try takeSteps(0..<version, memory)
        return memory
    }
}

// The steps after the first tables, each with its reason.
extension Schema {
    /// Step 4: what the copy had when a write was sent, and the server's clock.
    ///
    /// `server_ahead`: microseconds by which the server's clock was ahead of ours at `new_as_of`.
    ///
    /// `items_before`: rows of `item` up to this number were there before the send, and are not its work. Numbers grow, and none is
    /// given twice: rows stay where they are (VACUUM keeps the numbers of a table with an index), and the newest is never removed.
    static let knownItems = """
        ALTER TABLE outbox_attempt ADD COLUMN items_before INTEGER;
        ALTER TABLE copy ADD COLUMN server_ahead INTEGER;
        """

    /// Step 7: by what a restored or copied file is noticed (`CopyMark`).
    ///
    /// `mark`: the id that the file beside the database has too. `sends`: how many sends were begun, and how often it was marked.
    static let copyMarks = """
        ALTER TABLE copy ADD COLUMN mark TEXT;
        ALTER TABLE copy ADD COLUMN sends INTEGER NOT NULL DEFAULT 0;
        """

    /// Step 8: what was said of an item is found by its id, also after it was delivered (`followUp`).
    /// Of all entries, not only of the open ones. An entry that ends without a new item id costs the index nothing.
    static let endedWrites = """
        DROP INDEX outbox_item;
        CREATE INDEX outbox_item ON outbox (item_id, id);
        """

    /// Step 9: what is asked of the outbox each time that it is opened, however much waits in it (`InFlightWrites`,
    /// `markSendingUnknown`). Both indexes are of one page, mostly, which each send of an entry writes.
    static let openingIndexes = """
        CREATE INDEX outbox_unsettled ON outbox (state) WHERE state = 'sending' OR state = 'unknown';
        CREATE INDEX outbox_awaiting ON outbox (item_id) WHERE awaits_item IS 1;
        """

    /// Step 10: an edit says which tags it adds. Before, `tags` of a follow-up meant that, and of every other edit all tags.
    ///
    /// `superseded_from`, `superseded_due_at`: what an entry was before another took its place, so that it can be that again.
    static let tagChanges = """
        UPDATE outbox SET payload = json_remove(json_set(payload, '$.add_tags', json_extract(payload, '$.tags')), '$.tags')
        WHERE follows IS NOT NULL AND json_type(payload, '$.tags') = 'array';
        ALTER TABLE outbox ADD COLUMN superseded_from TEXT;
        ALTER TABLE outbox ADD COLUMN superseded_due_at TEXT;
        """

    /// Step 14: what people asked for stays as it was accepted, and each send says what it has carried.
    ///
    /// `command`: the key of the command that the entry belongs to; NULL where its transaction is the command. `payload`: what was
    /// sent, where that is not the entry's own payload. `is_withdrawn`: 1 for a delivered entry whose words are not wanted any more.
    /// Edits whose place a later one had taken wait again, and are sent with it.
    static let sentPayloads = """
        ALTER TABLE outbox ADD COLUMN command TEXT;
        ALTER TABLE outbox ADD COLUMN is_withdrawn INTEGER NOT NULL DEFAULT 0 CHECK (is_withdrawn IN (0, 1));
        ALTER TABLE outbox_attempt ADD COLUMN payload TEXT;
        UPDATE outbox SET state = 'queued', ended_at = NULL, superseded_by = NULL, superseded_from = NULL
        WHERE kind = 'edit' AND follows IS NULL AND state = 'superseded' AND superseded_from = 'queued'
            AND superseded_by IN (SELECT id FROM outbox WHERE kind = 'edit' AND follows IS NULL AND state = 'queued'
                AND attempts = 0);
        UPDATE copy SET waiting = (SELECT count(*) FROM outbox WHERE state IN ('queued', 'sending', 'unknown'));
        ALTER TABLE outbox DROP COLUMN superseded_due_at;
        """

    /// Step 15: of edits that wait for one item, the first has the time of all. Step 14 has left some without one.
    static let editTimes = """
        UPDATE outbox SET (next_attempt_at, awaits_item)
            = (SELECT coalesce(min(next_attempt_at), outbox.accepted_at), max(awaits_item) FROM outbox AS other
                WHERE other.item_id = outbox.item_id AND other.kind = 'edit' AND other.state = 'queued')
        WHERE kind = 'edit' AND state = 'queued' AND follows IS NULL AND next_attempt_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM outbox AS other WHERE other.item_id = outbox.item_id AND other.ended_at IS NULL
                AND (other.kind != 'edit' OR other.state IN ('sending', 'unknown')
                    OR other.state = 'queued' AND other.follows IS NULL AND other.id < outbox.id));
        UPDATE outbox SET next_attempt_at = NULL, awaits_item = 0
        WHERE kind = 'edit' AND state = 'queued' AND next_attempt_at IS NOT NULL AND EXISTS (SELECT 1 FROM outbox AS earlier
            WHERE earlier.item_id = outbox.item_id AND earlier.id < outbox.id AND earlier.kind = 'edit'
                AND earlier.state = 'queued' AND earlier.next_attempt_at IS NOT NULL);
        """

    /// Step 16: `reason`, why an entry has ended as it did, where anything depends on it (`OutboxEntry.Reason`).
    static let endReasons = """
        ALTER TABLE outbox ADD COLUMN reason TEXT;
        UPDATE outbox SET reason = iif(kind = 'delete' AND state = 'superseded', 'was_there',
            iif(state = 'dropped', 'taken_back', 'was_gone'))
        WHERE state = 'dropped' AND remark = 'taken back' OR kind = 'delete' AND (state = 'delivered'
            AND remark = 'was already gone' OR remark GLOB 'not sent: the URL was there before you captured it*');
        """

    /// Step 17: what is asked for before a deletion ends with that one, and not before. Where the deletion is given up, it is sent.
    static let deletions = """
        UPDATE outbox SET state = coalesce(superseded_from, iif(attempts > 0, 'parked', 'queued')), ended_at = NULL,
            item_id = (SELECT item_id FROM outbox AS deletion WHERE deletion.id = outbox.superseded_by),
            superseded_by = NULL, superseded_from = NULL
        WHERE state = 'superseded' AND kind IN ('edit', 'delete')
            AND superseded_by IN (SELECT id FROM outbox WHERE kind = 'delete' AND ended_at IS NULL);
        UPDATE copy SET waiting = (SELECT count(*) FROM outbox WHERE state IN ('queued', 'sending', 'unknown')),
            parked = (SELECT count(*) FROM outbox WHERE state = 'parked');
        """
}

/// The views, which are what readers are meant to use (docs/schema.md), as they are now. `Schema.apply` makes them again after
/// each change of the tables.
enum Views {
    struct View {
        var name: String
        var query: String

        var sql: String { "CREATE VIEW \(name) AS\n\(query);" }
    }

    static let all = [
        timeline, itemTag, itemText, itemSearch, pendingWrite, syncState, connectivityHistory, ChangeLog.view,
    ]

    /// The server's items, with the local changes that wait in the outbox laid over them.
    private static let timeline = View(
        name: "timeline",
        query: """
            \(serverRow())
            UNION ALL
            \(creationRow()) AND NOT EXISTS (SELECT 1 FROM item WHERE item.id = made.id)
            ORDER BY created_at DESC, id
            """)

    /// - Parameter id: Of one item only: a view is a union, and SQLite would go through all of it.
    static func serverRow(of id: String? = nil) -> String {
        """
        SELECT \(ItemColumn.ofServer), CASE WHEN edit.item_id IS NOT NULL THEN 'edit' END AS pending
        FROM item LEFT JOIN local_edit AS edit ON edit.item_id = item.id
        WHERE \(id.map { "item.id = \($0) AND " } ?? "")item.deleted_at IS NULL AND coalesce(edit.is_deleted, 0) = 0
            AND NOT EXISTS (SELECT 1 FROM held_item WHERE held_item.item_id = item.id)
        """
    }

    /// Whether `timeline` has a row of `item`, for a step, which has no views.
    static let isShown = """
        deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM held_item WHERE held_item.item_id = item.id)
            AND NOT EXISTS (SELECT 1 FROM local_edit WHERE local_edit.item_id = item.id AND is_deleted = 1)
        """

    /// Whether or not the server has it too.
    static func creationRow(of id: String? = nil) -> String {
        """
        SELECT \(ItemColumn.ofCreation), 'creation' AS pending
        FROM local_item AS made LEFT JOIN local_edit AS edit ON edit.item_id = made.id
        WHERE \(id.map { "made.id = \($0) AND " } ?? "")coalesce(edit.is_deleted, 0) = 0
        """
    }

    private static let itemTag = View(
        name: "item_tag",
        query: """
            SELECT timeline.id AS item_id, tag.value AS tag
            FROM timeline, json_each(timeline.tags) AS tag
            """)

    /// Small servers (dialect E) send the text with the timeline: it is stored with the item.
    private static let itemText = View(
        name: "item_text",
        query: """
            SELECT item_id, content, iif(is_transcription, content, transcription) AS transcription,
                \(member("author")) AS author, \(member("published_date")) AS published_at,
                \(member("word_count")) AS word_count, metadata, version, fetched_at
            FROM item_body
            UNION ALL
            SELECT id, content, NULL, NULL, NULL, NULL, NULL, updated_at, NULL
            FROM item
            WHERE content IS NOT NULL AND NOT EXISTS (SELECT 1 FROM item_body WHERE item_body.item_id = item.id)
            """)

    /// Not by `json_extract`: SQLite 3.40 refuses that in a view to readers that do not trust the schema
    /// (https://sqlite.org/pragma.html#pragma_trusted_schema).
    private static func member(_ name: String) -> String {
        "(SELECT value FROM json_each(metadata) WHERE key = '\(name)')"
    }

    /// What is found. A view cannot be searched by `MATCH` but through a column that is the index itself: `words`.
    static let itemSearch = View(
        name: "item_search",
        query: """
            SELECT \(ShownRow.id) AS id, \(ShownRow.createdAt) AS created_at, \(ShownRow.type) AS type,
                \(ShownRow.title) AS title, \(ShownRow.url) AS url, search_index.rank AS rank,
                search_index.search_index AS words
            FROM search_index JOIN search_document AS document ON document.docid = coalesce(
                    (SELECT document FROM search_piece WHERE search_piece.docid = search_index.rowid),
                    search_index.rowid)
                \(ShownRow.join(row: "document.row"))
            WHERE \(ShownRow.isShown)
            """)

    private static let pendingWrite = View(
        name: "pending_write",
        query: """
            SELECT id, kind, state, item_id, url, title, payload,
                accepted_at, next_attempt_at, attempts, last_attempt_at, error_code, error_message
            FROM outbox
            WHERE ended_at IS NULL
            ORDER BY id
            """)

    private static let syncState = View(
        name: "sync_state",
        query: """
            SELECT server_url, dialect, account_id, account_name,
                complete = 1 AND NOT EXISTS (SELECT 1 FROM crowded_instant)
                    AND NOT EXISTS (SELECT 1 FROM rejected_item) AS complete,
                new_as_of, edits_as_of, live, deleted,
                (SELECT count(*) FROM item WHERE missing_since IS NOT NULL) AS suspects,
                deletions_held,
                (SELECT count(*) FROM rejected_item) AS rejected,
                (SELECT count(*) FROM crowded_instant) AS crowded_instants,
                waiting, unknown, parked,
                complete = 1 AND (dialect = 'E'
                    OR NOT EXISTS (SELECT 1 FROM item WHERE \(TextTables.isMissing))) AS texts_complete,
                CASE WHEN dialect = 'E' OR NOT EXISTS
                    (SELECT 1 FROM item WHERE \(TextTables.isMissing) AND NOT \(TextTables.isTooLarge))
                    THEN edits_as_of END AS texts_as_of,
                CASE WHEN dialect = 'E' THEN 0
                    ELSE (SELECT count(*) FROM item WHERE \(TextTables.isMissing)) END AS texts_missing
            FROM copy
            """)

    private static let connectivityHistory = View(
        name: "connectivity_history",
        query: "SELECT at, state, error_code, reason FROM connectivity_transition ORDER BY id DESC")
}
