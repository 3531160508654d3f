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
    /// `null` for a code of a newer daemon.
    @Nullable package var recoverySuggestion: String? = nil
    @Nullable package var nextCommand: String? = nil

    /// As `ErrorReport`.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(String.self, forKey: .code)
        endpoint = try container.decode(String.self, forKey: .endpoint)
        message = try container.decode(String.self, forKey: .message)
        first = try container.decode(Timestamp.self, forKey: .first)
        last = try container.decode(Timestamp.self, forKey: .last)
        count = try container.decode(Int.self, forKey: .count)
        isOver = try container.decode(Bool.self, forKey: .isOver)
        _recoverySuggestion = try container.decode(Nullable<String>.self, forKey: .recoverySuggestion)
        _nextCommand = try container.decode(Nullable<String>.self, forKey: .nextCommand)
        recoverySuggestion = recoverySuggestion.flatMap { ShellText.suggestsOurCommandsOnly($0) ? $0 : nil }
        nextCommand = nextCommand.flatMap { ShellText.isOneCommand($0) ? $0 : nil }
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
