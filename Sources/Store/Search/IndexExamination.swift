package import PRSNLCore

extension StoreReader {
    /// So many documents are looked for by their words, which takes a second.
    private static let mostLookedFor = 20_000

    /// Compares the index with the items: each document's item, number, time, type and tags, and the words of its title.
    ///
    /// - Throws: `no_search_index`; `database_damaged`.
    package func checkIndex() throws(UserFacingError) -> (checked: Int, lost: Int, due: Int) {
        try readTogether { () throws(SQLiteFailure) -> Result<(checked: Int, lost: Int, due: Int), UserFacingError> in
            if let missing = try missingIndex() { return .failure(missing) }
            let (checked, unfound) = try lookForTitles()
            let due = try SearchState(connection).notIndexed
            var lost = max(unfound, try wrongDocuments())
            // New items have no document yet.
            if due == 0 {
                lost = max(
                    lost,
                    Int(
                        try connection.integer(
                            "SELECT count(*) FROM timeline WHERE id NOT IN (SELECT item_id FROM search_document)")))
            }
            return .success((checked, lost, due))
        }.get()
    }

    /// Items that have changed are not what their documents say.
    private static let isCurrent =
        "NOT EXISTS (SELECT 1 FROM search_due WHERE search_due.item_id = document.item_id)"

    private func lookForTitles() throws(SQLiteFailure) -> (checked: Int, lost: Int) {
        let samples = try connection.prepare(
            """
            SELECT document.docid, \(ShownRow.title)
            FROM search_document AS document \(ShownRow.join("document.item_id"))
            WHERE document.docid % (SELECT 1 + count(*) / \(Self.mostLookedFor) FROM search_document) = 0
                AND \(Self.isCurrent) AND \(ShownRow.isShown)
            """)
        let look = try connection.prepare("SELECT 1 FROM search_index WHERE search_index MATCH ? AND rowid = ?")
        var checked = 0
        var lost = 0
        var sample: String?
        try samples.rows { row throws(SQLiteFailure) in
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

    /// How many documents are of no item, or of another one; are not in the index; or have other tags than are listed.
    private func wrongDocuments() throws(SQLiteFailure) -> Int {
        let documents = try connection.integer(
            """
            SELECT count(*) FROM search_document AS document \(ShownRow.join("document.item_id"))
            WHERE document.docid NOT IN (SELECT id FROM search_index_docsize) OR \(Self.isCurrent) AND NOT (
                \(ShownRow.isShown) AND document.created_at IS \(ShownRow.createdAt) AND document.type IS \(ShownRow.type)
                    AND (document.tags IS NULL OR document.tags IS \(ShownRow.tags)))
            """)
        let pieces = try connection.integer(
            """
            SELECT count(*) FROM search_piece WHERE document NOT IN (SELECT docid FROM search_document)
                OR docid NOT IN (SELECT id FROM search_index_docsize)
            """)
        // Listed of a document, and listed at all.
        let wrongTags = try connection.prepare(
            """
            SELECT count(*), count(listed.docid), (SELECT count(*) FROM search_tag)
            FROM (SELECT DISTINCT docid, created_at, value FROM search_document, json_each(tags) WHERE json_each.type = 'text')
                AS tag LEFT JOIN search_tag AS listed
                ON listed.tag = tag.value AND listed.created_at = tag.created_at AND listed.docid = tag.docid
            """
        ).first { tags in max(tags.int(0), tags.int(2)) - tags.int(1) }
        return Int(documents + pieces) + (wrongTags ?? 0)
    }
}
