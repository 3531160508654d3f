package import PRSNLCore

/// One thing that has to hold in the file, and what of it does not.
package struct Invariant: Sendable, Equatable, Codable {
    package var name: String
    /// What has to hold, in words.
    package var rule: String
    /// The first few exceptions.
    package var findings: [String]

    package init(name: String, rule: String, findings: [String]) {
        (self.name, self.rule, self.findings) = (name, rule, findings)
    }

    package var holds: Bool { findings.isEmpty }

    private enum CodingKeys: CodingKey { case name, rule, findings }
}

/// What holds in a sound file at every moment, whoever was killed and when.
enum FileCheck {
    /// A query of each gives what does not hold, in words.
    static let queries: [(name: String, rule: String, sql: String)] = [
        (
            "items", "The counters of items are right",
            """
            SELECT 'live: ' || live || ', counted ' || found FROM
                (SELECT live, (SELECT count(*) FROM item WHERE deleted_at IS NULL) AS found FROM copy) WHERE live != found
            UNION ALL SELECT 'deleted: ' || deleted || ', counted ' || found FROM
                (SELECT deleted, (SELECT count(*) FROM item WHERE deleted_at IS NOT NULL) AS found FROM copy)
                WHERE deleted != found
            """
        ),
        (
            "timeline", "The timeline shows each item once",
            "SELECT 'item ' || id FROM timeline GROUP BY id HAVING count(*) > 1"
        ),
        (
            "coverage", "The intervals that were read are in order, and apart",
            """
            SELECT from_time || ' to ' || to_time FROM coverage AS one WHERE from_time > to_time
                OR EXISTS (SELECT 1 FROM coverage AS other
                    WHERE other.from_time > one.from_time AND other.from_time <= one.to_time)
            """
        ),
        (
            "complete", "What is complete has no gap",
            """
            SELECT 'a gap before ' || from_time FROM (SELECT from_time, lag(to_time) OVER (ORDER BY from_time) AS before
                FROM coverage), copy
            WHERE complete = 1 AND before IS NULL AND from_time > '0001-01-02'
            UNION ALL SELECT 'nothing was read' FROM copy WHERE complete = 1 AND NOT EXISTS (SELECT 1 FROM coverage)
            """
        ),
        (
            "queue", "The counters of the queue are right",
            [("waiting", "'queued', 'sending', 'unknown'"), ("unknown", "'unknown'"), ("parked", "'parked'")].map {
                """
                SELECT '\($0.0): ' || \($0.0) || ', counted ' || found FROM (SELECT \($0.0),
                    (SELECT count(*) FROM outbox WHERE state IN (\($0.1))) AS found FROM copy) WHERE \($0.0) != found
                """
            }.joined(separator: " UNION ALL ")
        ),
        (
            "writes", "Each write that waits has a next step, and each that was sent an attempt",
            """
            SELECT '#' || id || ' has no next attempt' FROM outbox WHERE state = 'queued' AND next_attempt_at IS NULL
                AND NOT EXISTS (SELECT 1 FROM outbox AS earlier WHERE earlier.item_id = outbox.item_id
                    AND earlier.id < outbox.id AND earlier.ended_at IS NULL)
            UNION ALL SELECT '#' || id || ' is ' || state || ', and has no attempt' FROM outbox
                WHERE state IN ('sending', 'unknown')
                    AND NOT EXISTS (SELECT 1 FROM outbox_attempt WHERE entry_id = outbox.id AND purpose = 'send')
            UNION ALL SELECT 'an attempt of #' || entry_id || ', which is not there' FROM outbox_attempt
                WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.id = entry_id)
            """
        ),
        (
            "local", "What the timeline shows of writes belongs to writes that wait",
            """
            SELECT 'edit of ' || item_id FROM local_edit WHERE NOT EXISTS (SELECT 1 FROM outbox
                WHERE outbox.item_id = local_edit.item_id AND state IN ('queued', 'sending', 'unknown'))
            UNION ALL SELECT 'held ' || item_id FROM held_item WHERE NOT EXISTS (SELECT 1 FROM outbox
                WHERE outbox.id = held_item.entry_id AND state IN ('sending', 'unknown'))
            """
        ),
        (
            "index", "Each item is in the full-text index, or waits for it",
            """
            SELECT 'item ' || item.id FROM item, search_state WHERE deleted_at IS NULL AND item.rowid <= through
                AND NOT EXISTS (SELECT 1 FROM search_document WHERE search_document.row = item.rowid)
                AND NOT EXISTS (SELECT 1 FROM search_due WHERE search_due.row = item.rowid)
            UNION ALL SELECT 'document ' || docid FROM search_document WHERE search_document.row > 0
                AND NOT EXISTS (SELECT 1 FROM item WHERE item.rowid = search_document.row)
                AND NOT EXISTS (SELECT 1 FROM search_due WHERE search_due.row = search_document.row)
            """
        ),
        (
            "texts", "Each text is of an item",
            """
            SELECT 'text of ' || item_id FROM item_body
            WHERE NOT EXISTS (SELECT 1 FROM item WHERE item.id = item_body.item_id)
            """
        ),
        (
            "changes", "The changes are numbered without a hole",
            """
            SELECT 'after #' || before FROM (SELECT seq, lag(seq) OVER (ORDER BY seq) AS before FROM change_log)
            WHERE seq != before + 1
            """
        ),
    ]

    /// The last change of each item.
    static let lastChanges = """
        SELECT item_id, kind, new, max(seq) FROM change_log WHERE item_id IS NOT NULL AND kind != 'text' GROUP BY item_id
        """
    static let mostFindings = 5
}

extension StoreReader {
    /// Looks at the file alone, in one transaction: a minute for a million items.
    package func check() throws(UserFacingError) -> [Invariant] {
        try readTogether { () throws(SQLiteFailure) in
            connection.removeDeadline()
            try connection.registerTextMark()
            var found = [
                Invariant(
                    name: "integrity", rule: "SQLite finds the file sound",
                    findings: try connection.prepare("PRAGMA integrity_check(\(FileCheck.mostFindings))").all {
                        $0.text(0)
                    }.filter { $0 != "ok" })
            ]
            for (name, rule, sql) in FileCheck.queries {
                found.append(
                    Invariant(
                        name: name, rule: rule,
                        findings: try connection.prepare("SELECT * FROM (\(sql)) LIMIT \(FileCheck.mostFindings)").all {
                            $0.text(0) ?? "NULL"
                        }))
            }
            found.append(
                Invariant(
                    name: "timeline_of_changes", rule: "The timeline shows what the last change of each item says",
                    findings: try contradictedChanges()))
            return found
        }
    }

    private func contradictedChanges() throws(SQLiteFailure) -> [String] {
        let shown = try connection.prepare(ChangeLog.shown)
        // Where a patch changes nothing, it is what there is. A patch leaves no NULL.
        let isSame = try connection.prepare(
            "SELECT json_patch(bare, ?2) = bare FROM (SELECT json_patch('{}', ?1) AS bare)")
        var findings: [String] = []
        try connection.prepare(FileCheck.lastChanges).rows(while: findings.count < FileCheck.mostFindings) {
            row throws(SQLiteFailure) in
            guard let id = row.text(0) else { return }
            let current = try shown.bind(id).first { $0.text(0) } ?? nil
            let isDeleted = row.text(1) == "deleted"
            if isDeleted == (current == nil) {
                guard let current, let new = row.text(2) else { return }
                if try isSame.bind(current).bind(new).first({ $0.int(0) }) == 1 { return }
            }
            findings.append("#\(row.int64(3)) \(row.text(1) ?? "") \(id)")
        }
        return findings
    }
}
