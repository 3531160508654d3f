package import PRSNLCore

/// An error in JSON. docs/cli.md documents each member.
package struct ErrorReport: Sendable, Equatable, Codable, Error {
    package var code: String
    package var heading: String
    package var message: String
    @Nullable package var consequence: String? = nil
    package var recoverySuggestion: String
    @Nullable package var nextCommand: String? = nil

    package init(_ error: UserFacingError) {
        code = error.code.rawValue
        heading = error.heading
        message = error.message
        consequence = error.consequence
        recoverySuggestion = error.recoverySuggestion
        nextCommand = error.nextCommand
    }

    /// From a daemon, perhaps one that was taken over: what a person is to type is one of our commands, or nothing.
    package init(from decoder: any Decoder) throws {
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

extension ErrorReport {
    package mutating func fit(_ unit: ServiceUnit) {
        recoverySuggestion = unit.fit(sentence: recoverySuggestion)
        nextCommand = nextCommand.flatMap(unit.fit)
    }
}

extension FailureReport {
    package func fitted(to unit: ServiceUnit) -> Self {
        var report = self
        report.error.fit(unit)
        return report
    }
}
