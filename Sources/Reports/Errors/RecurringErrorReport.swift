package import Console
package import PRSNLCore
import Store

/// An error that was met, counted with its like: in the status the last one, in `prsnlctl errors` all.
package struct RecurringErrorReport: Sendable, Equatable, Codable {
    package var code: String
    package var endpoint: String
    /// The last one's words.
    package var message: String
    package var first: Timestamp
    package var last: Timestamp
    package var count: Int
    /// Something has succeeded since.
    package var isOver: Bool
    /// `null` for a code of a newer daemon, and in place of commands that are not ours.
    @Nullable package var recoverySuggestion: Advice? = nil
    @Nullable package var nextCommand: NextCommand? = nil

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
