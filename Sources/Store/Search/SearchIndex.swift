package import PRSNLCore

/// How far the full-text index is: a part of the status.
package struct SearchState: Sendable, Equatable, Codable {
    private enum CodingKeys: CodingKey { case notIndexed, asOf, enabled, problem, progress }

    /// Items that were added or changed since they were indexed. Where rows of removed items left gaps, a little more.
    package var notIndexed = 0
    /// When there was nothing due last: what was committed by then is found.
    @Nullable package var asOf: Timestamp? = nil
    /// Whether the daemon keeps it up to date; `nil` where only the file was asked.
    @Nullable package var enabled: Bool? = nil
    /// Why it does not follow.
    @Nullable package var problem: UserFacingError? = nil
    /// How fast it follows, while there is much to do.
    @Nullable package var progress: Progress? = nil
    /// Whether changes are noted for it: not before the daemon works on it.
    var isBegun = false
    package var isCurrent: Bool { isBegun && notIndexed == 0 }
    /// Whether a list may take most of its items from it: what is due is read besides, and sorted.
    var servesLists: Bool { isBegun && notIndexed <= 1_000 }
}

// The full-text index is built in steps. Each is a transaction of its own that is short enough for a write to wait for.
extension Store {
    /// Time that documents of one step may take: while something waits for it, and while nothing does. Writing what they are
    /// made to takes a fourth of it more. A longer step makes fewer parts, and changes a page of the tables less often.
    private static let shortStep: Duration = .milliseconds(20), longStep: Duration = .milliseconds(100)
    /// Items for which the memory and the log are prepared.
    private static let many = 256
    /// Pages of 4 KiB that one step of a merge writes: some twenty milliseconds. Each step also writes a page of each part.
    private static let pagesOfMerge = 400
    /// Pages of an old index that one step removes.
    private static let pagesOfRemoval = 500
    /// Pages after which those that are in the log are copied back: 6 MiB.
    private static let pagesOfLog = 1_536
    /// Parts that a query has to look into, at the most: SQLite allows 2,000.
    private static let mostUnmerged = 40
    /// An index of which more than this is of old versions is built again.
    private static let mostStale = 16 << 20

    /// Does some of what is due.
    ///
    /// - Returns: False where there was nothing to do: everything that is committed can be found.
    /// - Throws: `disk_full` where the room that is left is for items and writes; `database_damaged` where the index, or the
    ///   file, is damaged.
    package func indexSome(now: Timestamp, uptime: @Sendable () -> Duration) throws(UserFacingError) -> Bool {
        if copiesBack() { return true }
        if try removesRetiredIndex() { return true }
        if try isOutdated() {
            try rebuildIndex()
            return true
        }
        var state = try searchState()
        if !state.isBegun {
            try write(ofIndex: true) { connection in try connection.execute(DocumentWriter.begin) }
            state = try searchState()
        }
        // Each step leaves a part of its own. To merge many at once rewrites each word once, and not again and again.
        if unmergedParts > 0, state.isCurrent || unmergedParts >= Self.mostUnmerged {
            if try mergeIndex() { return true }
            unmergedParts = 0
        }
        if state.isCurrent {
            prepareForBulk(false)
            return false
        }
        try requireTextRoom()
        prepareForBulk(state.notIndexed > Self.many)
        let parts = try write(ofIndex: true) { connection in
            let begin = uptime()
            let writer = try DocumentWriter(connection, pieceSize: pieceSize)
            try writer.index { uptime() - begin >= (isWaitedFor ? Self.shortStep : Self.longStep) }
            try writer.finish(now: now)
            pieceSize = writer.pieceSize
            return writer.parts
        }
        unmergedParts += max(1, parts)
        return true
    }

    /// To index many items reads them from all over the file.
    private func prepareForBulk(_ isBulk: Bool) {
        indexesInBulk = isBulk
        connection?.setCacheSize(isBulk ? 5 << 20 : nil)
    }

    /// Many items write a lot. The commit that fills the log would make a checkpoint, with its fsyncs, as a part of its step.
    /// As a step of its own, and of fewer pages, it lets a write pass before and after it.
    private func copiesBack() -> Bool {
        guard indexesInBulk, let connection, connection.pagesWritten() >= Self.pagesOfLog else { return false }
        connection.copyBack()
        return true
    }

    package func searchState() throws(UserFacingError) -> SearchState {
        try read { connection in try SearchState(connection) }
    }

    /// Merges parts of the index, a bounded number of pages at once. Not by FTS5's `optimize`, nor by a negative number, which
    /// begins as that does: on SQLite 3.40, `optimize` leaks a level each time, and corrupts an index before 2,000 rounds
    /// (measured). This way held for 240 cycles that were interrupted.
    ///
    /// - Returns: False where there is nothing to merge.
    private func mergeIndex() throws(UserFacingError) -> Bool {
        try write(ofIndex: true) { connection in
            let before = connection.totalChanges
            try connection.cached("INSERT INTO search_index (search_index, rank) VALUES ('merge', ?)")
                .bind(Self.pagesOfMerge).run()
            // "If the difference is less than 2, then the 'merge' command was a no-op"
            // (https://sqlite.org/fts5.html#the_merge_command).
            return connection.totalChanges - before >= 2
        }
    }

    // MARK: From the beginning

    /// Whether it is the index alone that is damaged. Then it can be built again from the items, which are sound.
    ///
    /// SQLite names the damage of a virtual table's own tables by a code of its own only while it reads them, so the rest of
    /// the file is looked at.
    package func isIndexDamaged() throws(UserFacingError) -> Bool {
        try read { connection in
            for table in ["item", "item_body", "outbox"] {
                guard try connection.text("PRAGMA quick_check(\(table))") == "ok" else { return false }
            }
            return true
        }
    }

    /// Builds the index again, from the items. The words of the old one are removed in steps, because they may be many.
    package func rebuildIndex() throws(UserFacingError) {
        try write { connection in
            try connection.execute("DROP VIEW IF EXISTS \(Views.itemSearch.name)")
            let data = try Self.data(of: ["search_index", Self.retired], connection)
            let isKept = data == ["search_index_data"]
            try connection.forgetVirtualTable("search_index", keepingDataOf: isKept ? Self.retired : nil)
            try SearchTables.recreate(connection)
            try connection.execute(Views.itemSearch.sql)
        }
        unmergedParts = 0
    }

    private static let retired = "search_index_retired"

    /// The tables of words that there are.
    private static func data(of indexes: [String], _ connection: Connection) throws -> [String] {
        let names = indexes.map { "'\($0)_data'" }.joined(separator: ", ")
        return try connection.cached("SELECT name FROM sqlite_schema WHERE name IN (\(names))").all { $0.text(0) }
    }

    /// - Returns: False where there is none.
    private func removesRetiredIndex() throws(UserFacingError) -> Bool {
        let found = try read { connection in try Self.data(of: [Self.retired], connection) }
        guard let data = found.first else { return false }
        try write(ofIndex: true) { connection in
            let removed = try connection.prepare(
                "DELETE FROM \(data) WHERE id IN (SELECT id FROM \(data) LIMIT \(Self.pagesOfRemoval))"
            ).run()
            if removed < Self.pagesOfRemoval { try connection.forgetVirtualTable(Self.retired) }
        }
        return true
    }

    /// Mostly stale, or made by another folding.
    private func isOutdated() throws(UserFacingError) -> Bool {
        try read { connection in
            try connection.cached(
                """
                SELECT 1 FROM search_state
                WHERE stale_size > \(Self.mostStale) AND stale_size * 2 > size OR folding IS NOT '\(Folding.version)'
                """
            ).hasRow()
        }
    }
}

extension SearchState {
    init(_ connection: Connection) throws {
        let row = try connection.cached(
            """
            SELECT through IS NOT NULL, (SELECT count(*) FROM search_due)
                    + (SELECT count(*) FROM search_document WHERE position IS NOT NULL),
                CASE WHEN through IS NULL THEN (SELECT count(*) FROM local_item) ELSE 0 END
                    + max(0, coalesce((SELECT max(rowid) FROM item), 0) - coalesce(through, 0)), as_of
            FROM search_state
            """)
        // Without its one row nothing is known.
        notIndexed = 1
        try row.rows { row in
            isBegun = row.int(0) == 1
            notIndexed = row.int(1) + row.int(2)
            asOf = row.timestamp(3)
        }
    }
}

extension StoreReader {
    /// So many documents are looked for by their words, which takes a second.
    private static let mostLookedFor = 20_000

    /// Compares the index with the items: each document's item, number, time, type and tags, and the words of its title.
    ///
    /// - Throws: `no_search_index`; `database_damaged`.
    package func checkIndex() throws(UserFacingError) -> (checked: Int, lost: Int, due: Int) {
        try readIndex { state in
            let (checked, unfound) = try lookForTitles()
            let isIndexed = "docid IN (SELECT id FROM search_index_docsize)"
            let wrong = try connection.integer(
                """
                SELECT count(*) FROM (\(FileCheck.wrongInIndex)
                    UNION ALL SELECT docid FROM search_document WHERE NOT \(isIndexed)
                    UNION ALL SELECT docid FROM search_piece WHERE NOT \(isIndexed))
                """)
            return (checked, max(unfound, Int(wrong)), state.notIndexed)
        }
    }

    private func lookForTitles() throws -> (checked: Int, lost: Int) {
        let samples = try connection.prepare(
            """
            SELECT document.docid, \(ShownRow.title)
            FROM search_document AS document \(ShownRow.join(row: "document.row"))
            WHERE document.docid % (SELECT 1 + count(*) / \(Self.mostLookedFor) FROM search_document) = 0
                AND \(SearchTables.isCurrent) AND \(ShownRow.isShown)
            """)
        let look = try connection.prepare("SELECT 1 FROM search_index WHERE search_index MATCH ? AND rowid = ?")
        var checked = 0
        var lost = 0
        var sample: String?
        try samples.rows { row in
            // The first piece of a title without end is not the whole of it.
            guard let title = row.text(1), title.utf8.count < SearchableRow.longestPiece, SearchText.hasWord(title)
            else { return }
            checked += 1
            let match = SearchQuery.Term(text: title, field: .title).match
            if try !look.bind(match).bind(row.int(0)).hasRow() { lost += 1 }
            sample = match
        }
        // Ranking reads other parts of the index than looking does.
        if let sample {
            _ = try connection.prepare(
                "SELECT rowid FROM search_index WHERE search_index MATCH ? ORDER BY rank LIMIT 1"
            ).bind(sample).hasRow()
        }
        return (checked, lost)
    }
}
