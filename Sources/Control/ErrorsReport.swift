public import PRSNLCore
public import Store

/// The errors that the daemon has met, grouped by code and endpoint: the JSON of `prsnlctl errors --json`.
public struct ErrorsReport: Sendable, Equatable, Codable {
    public struct Recurring: Sendable, Equatable, Codable {
        public var code: String
        public var endpoint: String
        /// The last one's words.
        public var message: String
        public var first: Timestamp
        public var last: Timestamp
        public var count: Int
        /// Something has succeeded since.
        public var isOver: Bool
        /// `null` for a code of a newer daemon.
        @Nullable public var recoverySuggestion: String? = nil
        @Nullable public var nextCommand: String? = nil

        enum CodingKeys: String, CodingKey {
            case code, endpoint, message, first, last, count
            case isOver = "is_over"
            case recoverySuggestion = "recovery_suggestion"
            case nextCommand = "next_command"
        }

        init(_ error: CopySummary.RecurringError) {
            code = error.code
            endpoint = error.endpoint
            message = error.message
            first = error.first
            last = error.last
            count = error.count
            isOver = error.isOver
            let known = ErrorCode(rawValue: error.code)
            recoverySuggestion = known?.recoverySuggestion
            nextCommand = known?.nextCommand
        }
    }

    public var schemaVersion = 1
    public var source: StatusReport.Source
    public var generatedAt: Timestamp
    /// How many were forgotten; `null` where nobody wanted that.
    @Nullable public var cleared: Int? = nil
    /// Those that go on first, each half with the newest first.
    public var errors: [Recurring]

    enum CodingKeys: String, CodingKey {
        case source, cleared, errors
        case schemaVersion = "schema_version"
        case generatedAt = "generated_at"
    }

    public init(
        _ errors: [CopySummary.RecurringError], cleared: Int? = nil, source: StatusReport.Source, now: Timestamp
    ) {
        self.source = source
        self.cleared = cleared
        generatedAt = now
        self.errors = errors.map(Recurring.init)
    }

    /// Of the file at a path, by anybody who may read it.
    public init(path: String, source: StatusReport.Source, now: Timestamp) throws(UserFacingError) {
        self.init(try StoreReader(path: path).recurringErrors(), source: source, now: now)
    }
}
