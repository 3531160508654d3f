package import PRSNLCore

extension CopySummary {
    /// The texts of items.
    package struct Texts: Sendable, Equatable, Codable {
        /// The copy has the text of every item that has one.
        package var complete = false
        /// Texts are complete as of this time (T3), but for those that are too large; `nil` while others are missing.
        @Nullable package var asOf: Timestamp? = nil
        /// Items whose text was fetched.
        package var present = 0
        /// Items whose text was not, or not since they changed. At most `mostCounted`.
        package var missing = 0
        package var tooLarge = 0
        /// Those that failed when they were asked for last, and what the newest failed with.
        package var failing = 0
        @Nullable package var failure: UserFacingError? = nil
        /// What keeps all of them away, else `failure`. Only a running daemon knows the former.
        @Nullable package var problem: UserFacingError? = nil
        /// Whether the daemon copies them; `nil` where only the file was asked.
        @Nullable package var enabled: Bool? = nil

        package init() {}

        /// More than this are not counted: that would take longer than all else of `prsnlctl status`.
        package static let mostCounted = 20_000
    }
}

extension CopySummary.Texts {
    /// `nil` for a file that a daemon without texts has made.
    init?(_ connection: Connection, _ summary: CopySummary) throws(SQLiteFailure) {
        let copy = summary.copy
        guard summary.file.schemaVersion >= Schema.versionWithTexts else { return nil }
        self.init()
        guard summary.server.dialect != .express else {
            // They come with the timeline.
            (complete, asOf, present) = (copy.complete, copy.editsAsOf, copy.live)
            return
        }
        try connection.prepare(
            """
            SELECT
                (SELECT count(*) FROM (SELECT 1 FROM item INDEXED BY item_text_due WHERE \(TextTables.isMissing)
                    LIMIT \(Self.mostCounted))),
                (SELECT count(*) FROM item WHERE status = 'pending' AND deleted_at IS NULL)
                    + (SELECT count(*) FROM item INDEXED BY item_missing
                        WHERE missing_since <= (SELECT swept_at FROM copy) AND \(TextTables.isBehind)),
                \(Self.problems("problem.kind = 'too_large'")), \(Self.problems("problem.kind != 'too_large'"))
            """
        ).rows { row in
            missing = row.int(0)
            present = max(0, copy.live - row.int(1) - missing)
            tooLarge = row.int(2)
            failing = row.int(3)
            complete = copy.complete && missing == 0
            asOf = missing == tooLarge ? copy.editsAsOf : nil
        }
        guard failing > 0 else { return }
        failure = try connection.prepare(
            """
            SELECT substr(problem.error_code, 1, 100), substr(problem.error_message, 1, 2000)
            FROM text_problem AS problem CROSS JOIN item ON item.id = problem.item_id
            WHERE problem.kind != 'too_large' AND \(Self.isCurrent) ORDER BY item.created_at DESC LIMIT 1
            """
        ).first { UserFacingError($0.text(0).flatMap(ErrorCode.init) ?? .storeBug, $0.text(1) ?? "") }
        problem = failure
    }

    private static let isCurrent =
        "problem.row_version = coalesce(item.updated_at, item.created_at) AND \(TextTables.isMissing)"

    /// `CROSS JOIN` keeps SQLite from beginning with the items, of which a million may be due.
    private static func problems(_ condition: String) -> String {
        """
        (SELECT count(*) FROM text_problem AS problem CROSS JOIN item ON item.id = problem.item_id
            WHERE \(condition) AND \(isCurrent))
        """
    }
}
