public import PRSNLCore
import Store

/// An error that was met, counted with its like: in the status the last one, in `prsnlctl errors` all.
public struct RecurringErrorReport: Sendable, Equatable, Codable {
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
