package import Console
package import PRSNLCore
package import Store

/// The errors that the daemon has met, grouped by code and endpoint: the JSON of `prsnlctl errors --json`.
package struct ErrorsReport: Sendable, Equatable, Codable {
    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var generatedAt: Timestamp
    /// How many were forgotten; `null` where nobody wanted that.
    @Nullable package var cleared: Int? = nil
    /// Those that go on first, each half with the newest first.
    package var errors: [RecurringErrorReport]

    enum CodingKeys: String, CodingKey {
        case source, cleared, errors
        case schemaVersion = "schema_version"
        case generatedAt = "generated_at"
    }

    package init(
        _ errors: [CopySummary.RecurringError], cleared: Int? = nil, source: StatusReport.Source, now: Timestamp
    ) {
        self.source = source
        self.cleared = cleared
        generatedAt = now
        self.errors = errors.map(RecurringErrorReport.init)
    }

    /// Of the file at a path, by anybody who may read it.
    package init(path: String, source: StatusReport.Source, now: Timestamp) throws(UserFacingError) {
        self.init(try StoreReader(path: path).recurringErrors(), source: source, now: now)
    }
}
