package import Console
package import PRSNLCore
package import Store

/// The pulls that did something, the newest first: the JSON of `prsnlctl history --json`.
package struct HistoryReport: Sendable, Equatable, Codable {
    package struct Pull: Sendable, Equatable, Codable {
        package var id: Int64
        /// `backfill`, `head`, `sweep`, `pass`, `check`.
        package var kind: String
        package var startedAt: Timestamp
        @Nullable package var endedAt: Timestamp? = nil
        /// `running`, `complete`, `incomplete`, `failed`, `interrupted`.
        package var outcome: String
        package var requests: Int
        package var pages: Int
        package var added: Int
        package var changed: Int
        package var deleted: Int
        package var suspects: Int
        package var rejected: Int
        @Nullable package var errorCode: String? = nil

        enum CodingKeys: String, CodingKey {
            case id, kind, outcome, requests, pages, added, changed, deleted, suspects, rejected
            case startedAt = "started_at"
            case endedAt = "ended_at"
            case errorCode = "error_code"
        }
    }

    package var schemaVersion = 1
    package var source: StatusReport.Source
    package var pulls: [Pull]

    enum CodingKeys: String, CodingKey {
        case source, pulls
        case schemaVersion = "schema_version"
    }

    package init(_ records: [PullRecord], source: StatusReport.Source) {
        self.source = source
        pulls = records.map { record in
            Pull(
                id: record.id, kind: record.kind.rawValue, startedAt: record.startedAt, endedAt: record.endedAt,
                outcome: record.outcome.rawValue, requests: record.requests, pages: record.pages, added: record.added,
                changed: record.changed, deleted: record.deleted, suspects: record.suspects,
                rejected: record.rejected, errorCode: record.errorCode)
        }
    }
}
