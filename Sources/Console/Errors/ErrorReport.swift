package import PRSNLCore

/// An error in JSON. docs/cli.md documents each member.
package struct ErrorReport: Sendable, Equatable, Codable, Error {
    package var code: String
    package var heading: String
    package var message: String
    @Nullable package var consequence: String? = nil
    package var recoverySuggestion: Advice
    @Nullable package var nextCommand: NextCommand? = nil

    package init(_ error: UserFacingError) {
        code = error.code.rawValue
        heading = error.heading
        message = error.message
        consequence = error.consequence
        recoverySuggestion = error.recoverySuggestion
        nextCommand = error.nextCommand
    }

    /// From a daemon. What its code stands for is suggested in place of commands that are not ours.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        code = try container.decode(String.self, forKey: .code)
        heading = try container.decode(String.self, forKey: .heading)
        message = try container.decode(String.self, forKey: .message)
        _consequence = try container.decode(Nullable<String>.self, forKey: .consequence)
        do {
            recoverySuggestion = try container.decode(Advice.self, forKey: .recoverySuggestion)
        } catch is ForeignCommand {
            recoverySuggestion = ErrorCode(rawValue: code)?.recoverySuggestion ?? ""
        }
        _nextCommand = try container.decode(Nullable<NextCommand>.self, forKey: .nextCommand)
    }

    /// What the code stands for; `nil` for a code of a newer daemon.
    package var knownCode: ErrorCode? { ErrorCode(rawValue: code) }

    /// The daemon's error as ours. A code of a newer daemon becomes `control_protocol`, its words stay.
    package var userFacing: UserFacingError {
        UserFacingError(
            knownCode ?? .controlProtocol, message, consequence: consequence, recoverySuggestion: recoverySuggestion,
            nextCommand: nextCommand)
    }
}

/// What a command prints with `--json` when it fails.
package struct FailureReport: Sendable, Equatable, Codable {
    package var schemaVersion = 1
    package var error: ErrorReport

    package init(_ error: UserFacingError) {
        self.error = ErrorReport(error)
    }

    package init(_ error: ErrorReport) {
        self.error = error
    }
}
