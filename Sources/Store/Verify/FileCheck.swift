import CSQLite
package import PRSNLCore

/// One thing that has to hold in the file, and what of it does not.
package struct Invariant: Sendable, Equatable, Codable {
    package var name: String
    /// What has to hold, in words.
    package var rule: String
    /// The first few exceptions.
    package var findings: [String]

    package var holds: Bool { findings.isEmpty }
}

/// What holds in a sound file at every moment, whichever process was killed and when.
enum FileCheck {
    struct Query {
        let name: String
        let rule: String
        let sql: String
    }

    /// A query of each gives what does not hold, in words. Of two, `StoreReader.check` has more than a query.
    static let queries = [
        Query(
            name: "integrity", rule: "SQLite finds the file sound",
            // Without a number: later versions (3.46) take it for a table's name here.
            sql: "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check != 'ok'"),
        Query(name: "schema", rule: "Tables, indexes, triggers and views are those of this release", sql: ""),
        Query(
            name: "rows", rule: "The single-row tables have one row",
            sql: ["copy", "search_state", "change_state"].map {
                "SELECT 'no row of \($0)' WHERE NOT EXISTS (SELECT 1 FROM \($0)) AND NOT EXISTS (SELECT 1 FROM sqlite_temp_schema WHERE name = '\($0)') UNION ALL "
            }.joined()
                + "SELECT 'epoch ' || epoch FROM change_state WHERE length(epoch) != 16 OR epoch GLOB '*[^0-9a-f]*'"),
        Query(name: "times", rule: "All times have the right form", sql: values(times, isNoTime)),
        Query(name: "json", rule: "All JSON columns are valid", sql: values(json, "NOT json_valid(value)")),
        Query(
            name: "items", rule: "The counters of items are right",
            sql: counters([
                ("live", "item WHERE deleted_at IS NULL"), ("deleted", "item WHERE deleted_at IS NOT NULL"),
                ("deletions_held", "held_deletion"),
            ])),
        Query(
            name: "timeline", rule: "The timeline shows each item once",
            sql: "SELECT 'item ' || id FROM timeline GROUP BY id HAVING count(*) > 1"),
        Query(
            name: "coverage", rule: "The intervals that were read are in order, and apart",
            sql: """
                SELECT from_time || ' to ' || to_time FROM coverage AS one WHERE from_time > to_time
                    OR EXISTS (SELECT 1 FROM coverage AS other
                        WHERE other.from_time > one.from_time AND other.from_time <= one.to_time)
                """),
        Query(
            name: "complete", rule: "What is complete has no gap",
            sql: """
                SELECT 'a gap before ' || from_time FROM (SELECT from_time, lag(to_time) OVER (ORDER BY from_time) AS before
                    FROM coverage), copy
                WHERE complete = 1 AND iif(before IS NULL, from_time > '\(Timestamp.earliest)',
                    \(microseconds("from_time")) > \(microseconds("before")) + 1)
                UNION ALL SELECT 'nothing was read' FROM copy WHERE complete = 1 AND NOT EXISTS (SELECT 1 FROM coverage)
                UNION ALL SELECT 'edits as of ' || coalesce(edits_as_of, 'no time') FROM copy WHERE edits_as_of
                    IS NOT iif(complete = 1, nullif((SELECT min(read_at) FROM coverage), '\(Timestamp.earliest)'), NULL)
                """),
        Query(
            name: "queue", rule: "The counters of the queue are right",
            sql: counters(
                [("waiting", "'queued', 'sending', 'unknown'"), ("unknown", "'unknown'"), ("parked", "'parked'")]
                    .map { ($0.0, "outbox WHERE state IN (\($0.1))") })),
        Query(
            name: "writes", rule: "Each write that waits has a next step, and each that was sent an attempt",
            sql: """
                SELECT '#' || id || ' has no next attempt' FROM outbox WHERE state = 'queued' AND next_attempt_at IS NULL
                    AND NOT EXISTS (SELECT 1 FROM outbox AS next WHERE next.item_id = outbox.item_id AND next.ended_at IS NULL
                        AND (next.next_attempt_at IS NOT NULL OR next.state IN ('sending', 'parked')))
                UNION ALL SELECT '#' || id || ' is ' || state || ', and has no attempt' FROM outbox
                    WHERE state IN ('sending', 'unknown')
                        AND NOT EXISTS (SELECT 1 FROM outbox_attempt WHERE entry_id = outbox.id AND purpose = 'send')
                UNION ALL SELECT 'an attempt of #' || entry_id || ', which is not there' FROM outbox_attempt
                    WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.id = entry_id)
                UNION ALL SELECT '#' || id || ' was sent ' || attempts || ' times, noted are ' || noted FROM
                    (SELECT id, attempts, (SELECT count(*) FROM outbox_attempt WHERE entry_id = outbox.id AND purpose = 'send')
                        AS noted FROM outbox) WHERE attempts NOT BETWEEN 0 AND noted
                """),
        Query(
            name: "local", rule: "Pending marks match the queue",
            sql: """
                SELECT 'edit of ' || item_id FROM local_edit WHERE NOT EXISTS (SELECT 1 FROM outbox
                    WHERE outbox.item_id = local_edit.item_id AND state IN ('queued', 'sending', 'unknown'))
                UNION ALL SELECT 'held ' || item_id FROM held_item WHERE NOT EXISTS (SELECT 1 FROM outbox
                    WHERE outbox.id = held_item.entry_id AND state IN ('sending', 'unknown'))
                    OR NOT EXISTS (SELECT 1 FROM item WHERE item.id = held_item.item_id)
                UNION ALL SELECT 'creation ' || id FROM local_item WHERE delivered_at IS NULL AND NOT EXISTS (SELECT 1 FROM outbox
                    WHERE outbox.id = entry_id AND kind IN ('capture', 'note') AND ended_at IS NULL)
                """),
        Query(
            name: "index", rule: "Each item of the timeline is in the full-text index, or waits for it",
            sql: wrongInIndex),
        Query(
            name: "texts", rule: "Each text is of an item",
            sql: """
                SELECT 'text of ' || item_id FROM item_body
                WHERE NOT EXISTS (SELECT 1 FROM item WHERE item.id = item_body.item_id)
                """),
        Query(
            name: "changes", rule: "The changes are numbered without a gap, and of known kinds",
            sql: """
                SELECT 'after #' || before FROM (SELECT seq, lag(seq) OVER (ORDER BY seq) AS before FROM change_log)
                WHERE seq != before + 1
                UNION ALL SELECT '#' || seq || ' ' || kind || ' ' || origin FROM change_log WHERE origin NOT IN ('server', 'here')
                    OR kind NOT IN ('added', 'edited', 'deleted', 'restored', 'text', 'pulled', 'identified')
                    OR (item_id IS NULL) != (kind = 'pulled')
                """),
        Query(name: "timeline_of_changes", rule: "The timeline shows what the last change of each item says", sql: ""),
    ]

    /// Also what lists are read from: the times, types and tags of items that have not changed since they were indexed.
    static let wrongInIndex = """
        SELECT 'item ' || \(ShownRow.id) FROM search_state, (SELECT rowid AS row FROM item
            UNION ALL SELECT -entry_id FROM local_item) AS one
            \(ShownRow.join(row: "one.row"))
        WHERE one.row <= through AND \(ShownRow.isShown)
            AND NOT EXISTS (SELECT 1 FROM search_document WHERE search_document.row = one.row)
            AND NOT EXISTS (SELECT 1 FROM search_due WHERE search_due.row = one.row)
        UNION ALL SELECT 'document ' || docid FROM search_document AS document \(ShownRow.join(row: "document.row"))
        WHERE \(SearchTables.isCurrent) AND NOT (\(ShownRow.isShown) AND document.created_at IS \(ShownRow.createdAt)
            AND document.type IS \(ShownRow.type) AND (document.tags IS NULL OR document.tags IS \(ShownRow.tags)))
        UNION ALL SELECT 'tag ' || tag || ' of document ' || docid FROM search_tag AS listed
            WHERE NOT EXISTS (SELECT 1 FROM search_document AS document, json_each(document.tags) AS one
                WHERE document.docid = listed.docid AND document.created_at = listed.created_at AND one.value = listed.tag)
        UNION ALL SELECT 'tag ' || one.value || ' of document ' || document.docid
            FROM search_document AS document, json_each(document.tags) AS one
            WHERE one.type = 'text' AND NOT EXISTS (SELECT 1 FROM search_tag AS listed WHERE listed.tag = one.value
                AND listed.created_at = document.created_at AND listed.docid = document.docid)
        UNION ALL SELECT 'piece ' || docid FROM search_piece WHERE document NOT IN (SELECT docid FROM search_document)
        """

    private static func counters(_ counters: [(name: String, rows: String)]) -> String {
        counters.map { name, rows in
            "SELECT '\(name): ' || \(name) || ', counted ' || found FROM (SELECT \(name), (SELECT count(*) FROM \(rows)) AS found FROM copy) WHERE \(name) != found"
        }.joined(separator: " UNION ALL ")
    }

    private static let times: KeyValuePairs = [
        "item": ["created_at", "updated_at", "deleted_at", "missing_since", "found_at"],
        "coverage": ["from_time", "to_time", "read_at"],
        "copy": ["new_as_of", "edits_as_of", "swept_at", "sweep_started_at"],
        "outbox": ["accepted_at", "ended_at", "next_attempt_at"], "local_item": ["created_at", "delivered_at"],
        "change_log": ["at"],
    ]
    private static let isNoTime = """
        value NOT GLOB '\("0000-00-00T00:00:00.000000Z".map { $0 == "0" ? "[0-9]" : "\($0)" }.joined())'
            OR julianday(substr(value, 1, 19)) IS NULL
        """
    private static let json: KeyValuePairs = [
        "item": ["tags", "extra"], "local_item": ["tags"], "local_edit": ["tags"],
        "outbox": ["payload", "base", "theirs", "evidence"], "change_log": ["old", "new"],
    ]

    /// - Parameter condition: of `value`.
    private static func values(_ columns: KeyValuePairs<String, [String]>, _ condition: String) -> String {
        columns.flatMap { table, names in
            names.map { "SELECT '\(table).\($0): ' || substr(\($0), 1, 60) AS found, \($0) AS value FROM \(table)" }
        }.map { "SELECT found FROM (\($0)) WHERE value IS NOT NULL AND (\(condition))" }.joined(
            separator: " UNION ALL ")
    }

    private static func microseconds(_ time: String) -> String {
        "(strftime('%s', substr(\(time), 1, 19)) * 1000000 + substr(\(time), 21, 6))"
    }

    static let lastChanges = """
        SELECT item_id, kind, new, max(seq) FROM (
            SELECT item_id, kind, iif(json_valid(new), new, NULL) AS new, seq FROM change_log
            WHERE item_id IS NOT NULL AND kind != 'text'
            UNION ALL SELECT json_extract(new, '$.id'), 'added', '{}', seq FROM change_log
            WHERE kind = 'identified' AND json_valid(new)
        ) GROUP BY item_id
        """
    static let mostFindings = 5
}

extension StoreReader {
    /// Looks at the file alone, in one transaction: a minute for a million items.
    package func check() throws(UserFacingError) -> [Invariant] {
        try readTogether {
            connection.removeDeadline()
            try connection.registerTextMark()
            var found: [Invariant] = []
            for query in FileCheck.queries {
                var invariant = Invariant(name: query.name, rule: query.rule, findings: [])
                do {
                    switch query.name {
                    case "schema": invariant.findings = Array(try foreignParts().prefix(FileCheck.mostFindings))
                    case "timeline_of_changes": invariant.findings = try contradictedChanges()
                    default:
                        invariant.findings = try connection.prepare(
                            "SELECT * FROM (\(query.sql)) LIMIT \(FileCheck.mostFindings)"
                        ).all { $0.text(0) ?? "NULL" }
                    }
                } catch let error as SQLiteFailure where [SQLITE_ERROR, SQLITE_CORRUPT].contains(error.primary) {
                    // What cannot even be asked for is a finding, too.
                    invariant.findings = [error.message]
                }
                found.append(invariant)
            }
            return found
        }
    }

    /// What a new file of this schema has and this one has not, or not so. A file of a former release has the index as that has
    /// made it until it is built again, and its views.
    private func foreignParts() throws -> [String] {
        let parts = """
            SELECT type || ' ' || name || char(10) || iif(name = 'search_index', '', sql) FROM sqlite_schema
            WHERE sql IS NOT NULL AND name NOT GLOB 'search_index_*' ORDER BY 1
            """
        let new = try Schema.current.empty(at: former?.version ?? Schema.current.version)
        if former == nil { for view in Views.all { try new.execute(view.sql) } }
        let present = Set(try connection.prepare(parts).all { $0.text(0) })
        return try new.prepare(parts).all { $0.text(0) }.filter { !present.contains($0) }
            .map { String($0.prefix { $0 != "\n" }) }
    }

    private func contradictedChanges() throws -> [String] {
        let shown = try connection.prepare(ChangeLog.shown)
        // Where a patch changes nothing, it is what there is. A patch leaves no NULL.
        let isSame = try connection.prepare(
            "SELECT json_patch(bare, ?2) = bare FROM (SELECT json_patch('{}', ?1) AS bare)")
        var findings: [String] = []
        try connection.prepare(FileCheck.lastChanges).rows(while: findings.count < FileCheck.mostFindings) {
            row throws in
            guard let id = row.text(0) else { return }
            let current = try shown.bind(id).first { $0.text(0) } ?? nil
            let isDeleted = ["deleted", "identified"].contains(row.text(1))
            if isDeleted == (current == nil) {
                guard let current, let new = row.text(2) else { return }
                if try isSame.bind(current).bind(new).first({ $0.int(0) }) == 1 { return }
            }
            findings.append("#\(row.int64(3)) \(row.text(1) ?? "") \(id)")
        }
        return findings
    }
}
