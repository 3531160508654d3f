package import PRSNLCore

extension CopySummary {
    /// The texts of items.
    package struct Texts: Sendable, Equatable {
        /// The copy has the text of every item that has one.
        package var isComplete = false
        /// Texts are complete as of this time (T3), but for those that are too large; `nil` while others are missing.
        package var asOf: Timestamp?
        /// Items whose text was fetched.
        package var present = 0
        /// Items whose text was not, or not since they changed. At most `mostCounted`.
        package var missing = 0
        package var tooLarge = 0
        /// Those that failed when they were asked for last, and what the newest failed with.
        package var failing = 0
        package var failure: (code: String, message: String)? {
            get { failureCode.map { ($0, failureMessage) } }
            set { (failureCode, failureMessage) = (newValue?.code, newValue?.message ?? "") }
        }
        private var failureCode: String?
        private var failureMessage = ""

        package init() {}

        /// More than this are not counted: that would take longer than all else of `prsnlctl status`.
        package static let mostCounted = 20_000
    }
}

extension CopySummary.Texts {
    /// `nil` for a file that a daemon without texts has made.
    init?(_ connection: Connection, _ copy: CopySummary) throws(SQLiteFailure) {
        guard copy.schemaVersion >= Schema.versionWithTexts else { return nil }
        self.init()
        guard copy.dialect != .express else {
            // They come with the timeline.
            (isComplete, asOf, present) = (copy.isComplete, copy.editsAsOf, copy.live)
            return
        }
        let row = try connection.prepare(
            """
            SELECT
                (SELECT count(*) FROM (SELECT 1 FROM item INDEXED BY item_text_due WHERE \(TextTables.isMissing)
                    LIMIT \(Self.mostCounted))),
                (SELECT count(*) FROM item WHERE status = 'pending' AND deleted_at IS NULL)
                    + (SELECT count(*) FROM item INDEXED BY item_missing
                        WHERE missing_since <= (SELECT swept_at FROM copy) AND \(TextTables.isBehind)),
                \(Self.problems("problem.kind = 'too_large'")), \(Self.problems("problem.kind != 'too_large'"))
            """)
        guard try row.step() else { return }
        missing = row.int(0)
        present = max(0, copy.live - row.int(1) - missing)
        tooLarge = row.int(2)
        failing = row.int(3)
        isComplete = copy.isComplete && missing == 0
        asOf = missing == tooLarge ? copy.editsAsOf : nil
        guard failing > 0 else { return }
        let newest = try connection.prepare(
            """
            SELECT substr(problem.error_code, 1, 100), substr(problem.error_message, 1, 2000)
            FROM text_problem AS problem CROSS JOIN item ON item.id = problem.item_id
            WHERE problem.kind != 'too_large' AND \(Self.isCurrent) ORDER BY item.created_at DESC LIMIT 1
            """)
        if try newest.step() { failure = (newest.text(0) ?? "", newest.text(1) ?? "") }
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
