public import PRSNLCore
public import Store

/// The pulls that did something, the newest first: the JSON of `prsnlctl history --json`.
public struct HistoryReport: Sendable, Equatable, Codable {
    public struct Pull: Sendable, Equatable, Codable {
        public var id: Int64
        /// `backfill`, `head`, `sweep`, `pass`, `check`.
        public var kind: String
        public var startedAt: Timestamp
        @Nullable public var endedAt: Timestamp? = nil
        /// `running`, `complete`, `incomplete`, `failed`, `interrupted`.
        public var outcome: String
        public var requests: Int
        public var pages: Int
        public var added: Int
        public var changed: Int
        public var deleted: Int
        public var suspects: Int
        public var rejected: Int
        @Nullable public var errorCode: String? = nil

        enum CodingKeys: String, CodingKey {
            case id, kind, outcome, requests, pages, added, changed, deleted, suspects, rejected
            case startedAt = "started_at"
            case endedAt = "ended_at"
            case errorCode = "error_code"
        }
    }

    public var schemaVersion = 1
    public var source: StatusReport.Source
    public var pulls: [Pull]

    enum CodingKeys: String, CodingKey {
        case source, pulls
        case schemaVersion = "schema_version"
    }

    public init(_ records: [PullRecord], source: StatusReport.Source) {
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
