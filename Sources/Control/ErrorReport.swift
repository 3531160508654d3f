public import PRSNLCore

/// An error in JSON. docs/cli.md documents each member.
public struct ErrorReport: Sendable, Equatable, Codable, Error {
    public var code: String
    public var heading: String
    public var message: String
    @Nullable public var consequence: String? = nil
    public var recoverySuggestion: String
    @Nullable public var nextCommand: String? = nil

    enum CodingKeys: String, CodingKey {
        case code, heading, message, consequence
        case recoverySuggestion = "recovery_suggestion"
        case nextCommand = "next_command"
    }

    public init(_ error: UserFacingError) {
        code = error.code.rawValue
        heading = error.heading
        message = error.message
        consequence = error.consequence
        recoverySuggestion = error.recoverySuggestion
        nextCommand = error.nextCommand
    }

    /// From a daemon, perhaps one that was taken over: what a person is to type is one of our commands, or nothing.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(String.self, forKey: .code)
        heading = try container.decode(String.self, forKey: .heading)
        message = try container.decode(String.self, forKey: .message)
        _consequence = try container.decode(Nullable<String>.self, forKey: .consequence)
        let suggestion = try container.decode(String.self, forKey: .recoverySuggestion)
        recoverySuggestion =
            ShellText.suggestsOurCommandsOnly(suggestion)
            ? suggestion : ErrorCode(rawValue: code)?.recoverySuggestion ?? ""
        _nextCommand = try container.decode(Nullable<String>.self, forKey: .nextCommand)
        nextCommand = nextCommand.flatMap { ShellText.isOneCommand($0) ? $0 : nil }
    }

    /// What the code stands for; `nil` for a code of a newer daemon.
    public var knownCode: ErrorCode? { ErrorCode(rawValue: code) }
}

/// What a command prints with `--json` when it fails.
public struct FailureReport: Sendable, Equatable, Codable {
    public var schemaVersion = 1
    public var error: ErrorReport

    enum CodingKeys: String, CodingKey {
        case schemaVersion = "schema_version"
        case error
    }

    public init(_ error: UserFacingError) {
        self.error = ErrorReport(error)
    }

    public init(_ error: ErrorReport) {
        self.error = error
    }
}
