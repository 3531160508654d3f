import Glibc
package import PRSNLCore

package struct DueText: Sendable, Equatable {
    package var id: String
    package var createdAt: Timestamp
    /// When the item was changed last, as its row says it: what the text is asked for.
    package var rowVersion: Timestamp
    /// How often asking for it has failed in a row.
    package var failures = 0
    /// The server still works on it, so that its text may change without a new version.
    package var isPending = false
    /// It does so for longer than a day: what it has is asked for as that of other items.
    package var isStuck = false
    /// The copy has the text of this version: an answer was newer than the row was then.
    package var isStored = false
    /// The row says when the item was changed last. Else `rowVersion` is the time of its creation.
    package var rowHasVersion = true
    /// When an answer about this row was stored last that may have come out of a cache, where nothing else tells its age.
    package var doubtedAt: Timestamp?
}

extension Timestamp {
    /// Whether both are one time, where one of them may have been cut to milliseconds.
    package func isSame(as other: Timestamp) -> Bool {
        if self == other { return true }
        guard microseconds % 1_000 == 0 || other.microseconds % 1_000 == 0 else { return false }
        return microseconds / 1_000 == other.microseconds / 1_000
    }
}

/// What became of one question for a text.
package struct TextAnswer: Sendable, Equatable {
    package enum Outcome: Sendable, Equatable {
        /// - Parameter doubt: It is stored as what it is, and asked for again: it may not be the text that the row is of.
        case text(ItemText, doubt: TextProblem? = nil)
        /// The copy had it already.
        case known
        /// It could not be had.
        case problem(TextProblem)
    }

    package var due: DueText
    package var outcome: Outcome

    package init(_ due: DueText, _ outcome: Outcome) {
        self.due = due
        self.outcome = outcome
    }

    /// Bytes of memory, about.
    package var size: Int { if case .text(let text, _) = outcome { text.size } else { 0 } }

    /// The server's list may show the item otherwise by now, or not at all.
    package var doubtsRow: Bool {
        switch outcome {
        case .text(let text, let doubt): doubt != nil && due.rowHasVersion && text.updatedAt != nil
        case .problem(let problem): problem.code == .textNotFound && problem.kind == .failing
        case .known: false
        }
    }
}

package struct TextProblem: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The answer was of another time than the item's row, or of no time: out of a cache, or newer than the list.
        case stale
        case failing
        /// It has more bytes than `text_max_size`, or the answer more than `max_answer_size`.
        case tooLarge = "too_large"
    }

    package var kind: Kind
    package var failures: Int
    /// When it is asked for again; `nil`: not before the item changes, or the limit.
    package var nextAt: Timestamp?
    /// Of one that is too large: more bytes than these.
    package var size: Int?
    package var code: ErrorCode
    package var message: String

}

extension TextProblem {
    /// After those that were met before.
    package init(_ kind: Kind, of due: DueText, nextAt: Timestamp?, code: ErrorCode, message: String) {
        self.init(kind: kind, failures: due.failures + 1, nextAt: nextAt, code: code, message: message)
    }
}

// The texts of items: which are due, and what became of asking for them. The file alone says what is due, so that a text is
// neither forgotten nor fetched twice, whenever the process ends.
extension Store {
    private static let version = TextTables.version
    private static let due = """
        FROM item INDEXED BY item_text_due
            LEFT JOIN text_problem AS problem ON problem.item_id = item.id AND problem.row_version = \(version)
        WHERE \(TextTables.isDue)
        """
    /// Those that were asked for in vain, and those of them that the server still works on.
    private static let asked = """
        FROM text_problem AS problem CROSS JOIN item ON item.id = problem.item_id AND problem.row_version = \(version)
        WHERE (\(TextTables.isDue) OR \(TextTables.isPending))
        """
    private static let columns = """
        item.id, item.created_at, \(version), problem.failures,
        EXISTS (SELECT 1 FROM item_body AS body WHERE body.item_id = item.id AND body.version = item.updated_at),
        item.updated_at IS NOT NULL,
        CASE problem.kind WHEN 'stale'
            THEN (SELECT fetched_at FROM item_body AS body
                WHERE body.item_id = item.id AND (body.version IS NULL OR item.updated_at IS NULL)) END,
        item.status IS 'pending'
        """
    private static func patience(_ now: Timestamp) -> Timestamp { now.advanced(by: .zero - TextTables.patience) }

    /// The items whose text is due, the newest first. Those that were never asked for go before those that have failed, which
    /// could else keep all others waiting.
    ///
    /// - Parameter oldest: the other way round.
    package func dueTexts(now: Timestamp, limit: Int, oldest: Bool = false) throws(UserFacingError) -> [DueText] {
        try read { connection in
            let order = "item.created_at \(oldest ? "ASC" : "DESC")"
            let sources = [
                ("\(Self.due) AND problem.item_id IS NULL", now),
                ("\(TextTables.unasked) AND \(Self.version) < ?1", Self.patience(now)),
                ("\(Self.asked) AND problem.next_at <= ?1", now),
            ]
            var due: [DueText] = []
            for (source, time) in sources where due.count < limit {
                let rows = try connection.cached("SELECT \(Self.columns) \(source) ORDER BY \(order) LIMIT ?2")
                due += try Self.texts(rows.bind(time).bind(limit - due.count))
            }
            return due
        }
    }

    private static func texts(_ rows: Statement) throws -> [DueText] {
        try rows.all { row in
            guard let id = row.text(0), let created = row.timestamp(1), let version = row.timestamp(2) else {
                return nil
            }
            var text = DueText(id: id, createdAt: created, rowVersion: version, failures: row.int(3))
            text.isStored = row.int(4) != 0
            text.rowHasVersion = row.int(5) != 0
            text.doubtedAt = row.timestamp(6)
            text.isStuck = row.int(7) != 0
            return text
        }
    }

    /// When the next text is due: `earliest` for now, `nil` where none will be by itself.
    package func nextText(now: Timestamp) throws(UserFacingError) -> Timestamp? {
        guard binding.dialect != .express else { return nil }
        return try read { connection in
            let any = try connection.cached(
                "SELECT 1 \(Self.due) AND (problem.item_id IS NULL OR problem.next_at <= ?) LIMIT 1"
            ).bind(now)
            if try any.hasRow() { return .earliest }
            let stuck = try connection.cached("SELECT 1 \(TextTables.unasked) AND \(Self.version) < ? LIMIT 1")
            if try stuck.bind(Self.patience(now)).hasRow() { return .earliest }
            return try connection.cached("SELECT min(problem.next_at) \(Self.asked)").first { $0.timestamp(0) }
        }
    }

    /// How many texts are missing for another reason than their size.
    package func failingTexts() throws(UserFacingError) -> Int {
        try integer(
            """
            SELECT count(*) FROM text_problem AS problem CROSS JOIN item ON item.id = problem.item_id
                AND problem.row_version = \(Self.version)
            WHERE problem.kind != 'too_large' AND \(TextTables.isMissing)
            """)
    }

    /// How many texts are missing, those that are too large among them.
    package func missingTexts() throws(UserFacingError) -> Int {
        guard binding.dialect != .express else { return 0 }
        return try integer("SELECT count(*) FROM item INDEXED BY item_text_due WHERE \(TextTables.isMissing)")
    }

    /// Whether all texts are here but for those that are too large.
    package func textsAreComplete() throws(UserFacingError) -> Bool {
        guard binding.dialect != .express else { return true }
        return try !hasRow(
            """
            SELECT 1 FROM item INDEXED BY item_text_due
            WHERE \(TextTables.isMissing) AND NOT \(TextTables.isTooLarge) LIMIT 1
            """)
    }

    package func hasTexts() throws(UserFacingError) -> Bool {
        try hasRow("SELECT 1 FROM item_body LIMIT 1")
    }

    /// One live item of the copy, whether its text is due or not; `nil` where there is none.
    package func textQuestion(of id: String, now: Timestamp = .earliest) throws(UserFacingError) -> DueText? {
        try read { connection in
            try connection.prepare(
                "SELECT id, created_at, \(Self.version), status, updated_at FROM item WHERE id = ? AND deleted_at IS NULL"
            ).bind(id).first { row in
                guard let id = row.text(0), let created = row.timestamp(1), let version = row.timestamp(2) else {
                    return nil
                }
                var due = DueText(id: id, createdAt: created, rowVersion: version)
                due.isPending = row.text(3) == TimelineItem.pendingStatus
                due.isStuck = due.isPending && version < Self.patience(now)
                due.rowHasVersion = row.text(4) != nil
                return due
            }
        }
    }

    /// The limits may be others than before: what was above one of them, and may not be any more, is due again.
    package func forgetTooLarge(text: Int, answer: Int) throws(UserFacingError) {
        let condition = """
            FROM text_problem
            WHERE kind = 'too_large' AND size < CASE error_code WHEN '\(ErrorCode.answerTooLarge.rawValue)' THEN ?2 ELSE ?1 END
            """
        guard try hasRow("SELECT 1 \(condition) LIMIT 1", text, answer) else { return }
        try run("DELETE \(condition)", text, answer)
    }

    /// A sweep has read all rows. Of those that say no time of their last change, it cannot tell whether their text is another
    /// one: it is asked for again.
    package func forgetUnversionedTexts() throws(UserFacingError) {
        let isUnversioned = "FROM item INDEXED BY item_unversioned WHERE updated_at IS NULL"
        guard try hasRow("SELECT 1 \(isUnversioned) LIMIT 1"), binding.dialect != .express else { return }
        try write { connection in
            try connection.execute(
                """
                UPDATE item INDEXED BY item_unversioned SET text_for = NULL
                    WHERE updated_at IS NULL AND text_for IS NOT NULL;
                DELETE FROM text_problem WHERE kind = 'stale' AND item_id IN (SELECT id \(isUnversioned));
                """)
        }
    }

    /// The text of an item, where the copy has it of this very version: it is as good as asking the server.
    package func content(of id: String, version: Timestamp?) throws(UserFacingError) -> String? {
        guard let version else { return nil }
        return try read { connection in
            try connection.prepare("SELECT content FROM item_body WHERE item_id = ? AND version = ?").bind(id)
                .bind(version).first { $0.text(0) }
        }
    }

    /// A person wants what has failed to be tried now.
    package func hastenTexts(now: Timestamp) throws(UserFacingError) {
        guard try hasRow("SELECT 1 FROM text_problem WHERE next_at > ? LIMIT 1", now) else { return }
        // A size that a cache may have said is asked for when no cache has it any more.
        try run("UPDATE text_problem SET next_at = ?1 WHERE next_at > ?1 AND kind != 'too_large'", now)
    }

    // MARK: Writing

    /// What texts leave free, for the timeline and for writes: people's writes always find a place.
    package static let textReserve = 48 << 20

    /// Writes answers, each text together with the version that it is of, in one transaction.
    ///
    /// - Parameter formerSize: bytes that texts which were replaced may have together (`FormerTexts`).
    /// - Returns: the pull's row, with the texts that were stored counted as added.
    /// - Throws: `disk_full` where less than `textReserve` bytes would be left.
    package func commit(
        _ answers: [TextAnswer], now: Timestamp, record: PullRecord, formerSize: Int = 0
    ) throws(UserFacingError) -> PullRecord {
        try requireTextRoom(answers.reduce(0) { $0 + $1.size })
        var record = record
        try write { connection in
            let marks = try connection.prepare("UPDATE item SET text_for = ? WHERE id = ? AND text_for IS NOT ?1")
            let heals = try connection.prepare("DELETE FROM text_problem WHERE item_id = ?")
            for answer in answers {
                let due = answer.due
                switch answer.outcome {
                case .text(let text, let doubt):
                    try FormerTexts.keep(due.id, replacedBy: text, at: now, limit: formerSize, connection)
                    guard try Self.store(text, of: due, at: now, connection) else { continue }
                    if let doubt {
                        try marks.bind(nil as Timestamp?).bind(due.id).run()
                        try Self.save(doubt, of: due, connection)
                    } else {
                        if !due.isPending || due.isStuck { try marks.bind(due.rowVersion).bind(due.id).run() }
                        try heals.bind(due.id).run()
                    }
                    record.added += 1
                case .known: try marks.bind(due.rowVersion).bind(due.id).run()
                case .problem(let problem): try Self.save(problem, of: due, connection)
                }
            }
            record = try Self.save(record, connection)
        }
        return record
    }

    /// As the row says it, where the answer has the same time with fewer digits. NULL where the answer has none.
    private static func version(of text: ItemText, _ due: DueText) -> Timestamp? {
        text.updatedAt.map { $0.isSame(as: due.rowVersion) ? due.rowVersion : $0 }
    }

    /// - Returns: False where there is no such item any more: it was deleted, and its tombstone removed, in between.
    private static func store(
        _ text: ItemText, of due: DueText, at now: Timestamp, _ connection: Connection
    ) throws -> Bool {
        guard try connection.cached("SELECT 1 FROM item WHERE id = ?").bind(due.id).hasRow() else { return false }
        try connection.cached(
            """
            INSERT OR REPLACE INTO item_body
                (item_id, version, fetched_at, is_transcription, metadata, content, transcription)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """
        ).bind(due.id).bind(Self.version(of: text, due)).bind(now).bind(text.transcriptionIsContent ? 1 : 0)
            .bind(text.metadata)
            // They may be long.
            .borrowing(text.content) { try $0.borrowing(text.transcription) { try $0.run() } }
        return true
    }

    private static func save(
        _ problem: TextProblem, of due: DueText, _ connection: Connection
    ) throws {
        try connection.prepare(
            """
            INSERT OR REPLACE INTO text_problem
                (item_id, kind, row_version, failures, next_at, size, error_code, error_message)
            SELECT id, ?, ?, ?, ?, ?, ?, ? FROM item WHERE id = ?
            """
        ).bind(problem.kind.rawValue).bind(due.rowVersion).bind(problem.failures).bind(problem.nextAt)
            .bind(problem.size).bind(problem.code.rawValue).bind(problem.message).bind(due.id).run()
    }

    /// Texts are the first to be left out when the disk, or the database, becomes full.
    ///
    /// - Parameter size: bytes that are to be written.
    package func requireTextRoom(_ size: Int = 0) throws(UserFacingError) {
        try requireRoom(leaving: largestSize / 16 + size)
        var disk = statvfs()
        // Some file systems count no blocks.
        guard statvfs(path, &disk) == 0, disk.f_blocks > 0 else { return }
        let free = Int(clamping: UInt64(disk.f_bavail) &* UInt64(disk.f_frsize))
        // What is written goes through the log first.
        let needed = Self.textReserve + 2 * size
        guard free < needed else { return }
        throw UserFacingError(
            .diskFull, "Only \(free >> 20) MiB are free on the disk of \(path); \((needed >> 20) + 1) MiB are needed.",
            consequence: "No more texts are fetched or indexed. New items and writes go on while there is room.")
    }
}
