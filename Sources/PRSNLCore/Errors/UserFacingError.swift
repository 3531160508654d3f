import Glibc

/// What a person is told when something fails: what happened, what it means for the data, what to do next.
///
/// Every module's own error converts to this one at its border. No field ever holds a secret, a body, or an item's title.
package struct UserFacingError: Error, Sendable, Equatable, CustomStringConvertible {
    package let code: ErrorCode
    /// What happened, with what and where: "Invalid or expired API key."
    package let message: String
    /// What it means for the copy and for writes: "The copy is unchanged." `nil` where there is nothing to say.
    package let consequence: String?
    /// What to do next, for people.
    package let recoverySuggestion: Advice
    /// A command that can be typed as it is, where there is one.
    package let nextCommand: NextCommand?
    /// The error below, as text for logs.
    package let cause: String?

    package init(
        _ code: ErrorCode, _ message: String, consequence: String? = nil, recoverySuggestion: Advice? = nil,
        nextCommand: NextCommand? = nil, cause: String? = nil
    ) {
        self.code = code
        self.message = message
        self.consequence = consequence
        self.recoverySuggestion = recoverySuggestion ?? code.recoverySuggestion
        self.nextCommand = nextCommand ?? code.nextCommand
        self.cause = cause
    }

    /// The heading for people, by the API contract.
    package var heading: String { code.heading }

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
