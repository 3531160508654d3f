import Glibc

/// What a person is told when something fails: what happened, what it means for the data, what to do next.
///
/// Every module's own error converts to this one at its border. No field ever holds a secret, a body, or an item's title.
package struct UserFacingError: Error, Sendable, Equatable, CustomStringConvertible {
    package let code: ErrorCode
    /// The code as JSON and the file have it. Where this program does not know it, because a newer one wrote it, `code` is another.
    package let codeName: String
    /// For people, by the API contract.
    package let heading: String
    /// What happened, with what and where: "Invalid or expired API key."
    package var message: String
    /// What it means for the copy and for writes: "The copy is unchanged." `nil` where there is nothing to say.
    @Nullable package var consequence: String?
    /// What to do next, for people.
    package let recoverySuggestion: Advice
    /// A command that can be typed as it is, where there is one.
    @Nullable package private(set) var nextCommand: NextCommand?
    /// The error below, as text for logs.
    package let cause: String?

    package init(
        _ code: ErrorCode, _ message: String, consequence: String? = nil, recoverySuggestion: Advice? = nil,
        nextCommand: NextCommand? = nil, cause: String? = nil, codeName: String? = nil
    ) {
        self.code = code
        self.codeName = codeName ?? code.rawValue
        heading = code.heading
        self.message = message
        self.consequence = consequence
        self.recoverySuggestion = recoverySuggestion ?? code.recoverySuggestion
        self.nextCommand = nextCommand ?? code.nextCommand
        self.cause = cause
    }

    /// The same failure, where more is known of what happened, what it means and what helps.
    package func with(
        _ message: String? = nil, consequence: String? = nil, suggestion: Advice? = nil, next: NextCommand? = nil
    ) -> UserFacingError {
        UserFacingError(
            code, message ?? self.message, consequence: consequence ?? self.consequence,
            recoverySuggestion: suggestion ?? recoverySuggestion, nextCommand: next ?? nextCommand, cause: cause,
            codeName: codeName)
    }

    /// The next command, where the suggestion does not name it.
    package var otherCommand: NextCommand? {
        nextCommand.flatMap { recoverySuggestion.commands.contains($0) ? nil : $0 }
    }

    /// One line: message, consequence, what to do.
    package var inFull: Advice { "\(message)\(consequence.map { " \($0)" } ?? "") \(recoverySuggestion)" }

    package var description: String { inFull.description }

    /// Ends the program with this as its one message: it was refused what it cannot do without.
    package func endProgram() -> Never {
        var line = "\(self)\n"
        line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
        _exit(1)
    }
}

/// Converts at a module's border, exhaustively.
package protocol UserFacing: Error {
    var userFacing: UserFacingError { get }
}

extension UserFacingError: UserFacing {
    package var userFacing: UserFacingError { self }
}

/// In JSON; docs/cli.md documents each member. The cause is for the log alone.
extension UserFacingError: Codable {
    private enum CodingKeys: String, CodingKey {
        case codeName = "code"
        case heading, message, consequence, recoverySuggestion, nextCommand
    }

    /// From a daemon. A code that a newer one has becomes `control_protocol`, and its words stay. What its code stands for is
    /// suggested in place of commands that are not ours.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        codeName = try container.decode(String.self, forKey: .codeName)
        let known = ErrorCode(rawValue: codeName)
        code = known ?? .controlProtocol
        heading = try container.decode(String.self, forKey: .heading)
        message = try container.decode(String.self, forKey: .message)
        _consequence = try container.decode(Nullable<String>.self, forKey: .consequence)
        do {
            recoverySuggestion = try container.decode(Advice.self, forKey: .recoverySuggestion)
        } catch is ForeignCommand {
            recoverySuggestion = known?.recoverySuggestion ?? ""
        }
        _nextCommand = try container.decode(Nullable<NextCommand>.self, forKey: .nextCommand)
        cause = nil
    }
}
