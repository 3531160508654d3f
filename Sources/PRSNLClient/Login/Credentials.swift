package import PRSNLCore

/// What the daemon shows to the server to be let in.
package enum Credentials: Sendable, Equatable {
    case none
    /// Sent as `X-API-Key`, and only where that is answered 401, once as `Authorization: Bearer`.
    case apiKey(String)
    /// A JWT, sent as `Authorization: Bearer`.
    case loginToken(String)
    /// A login that renews itself: the access token is sent as `Authorization: Bearer`, the refresh token never is.
    case login(TokenPair)

    /// Reads the text of a key file: one line with an API key or a login token, told apart by form.
    ///
    /// - Throws: `key_file_invalid`. The text never appears in the error.
    package static func parse(_ text: String) throws(UserFacingError) -> Credentials {
        let lines = text.split(whereSeparator: \.isNewline).map { String($0).trimmingSpaces() }.filter { !$0.isEmpty }
        guard let key = lines.first else { throw UserFacingError(.keyFileInvalid, "The key file is empty.") }
        guard lines.count == 1 else {
            throw UserFacingError(.keyFileInvalid, "The key file has more than one line with text.")
        }
        // It goes into a header line: nothing that could end the line, and nothing that a proxy would change.
        guard key.utf8.count <= 8_192, key.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw UserFacingError(
                .keyFileInvalid,
                "The key file holds a space, a character that is not ASCII, or more than 8,192 characters.")
        }
        return AccessToken(key) == nil ? .apiKey(key) : .loginToken(key)
    }

    /// Whom the server gave the token to, by its own word; `nil` where there is none.
    package var subject: String? {
        switch self {
        case .none, .apiKey: nil
        case .loginToken(let token): AccessToken(token)?.subject
        case .login(let pair): AccessToken(pair.access)?.subject
        }
    }

    /// Whether they are an account's own, so that the server can say whose.
    package var isLogin: Bool {
        switch self {
        case .none, .apiKey: false
        case .loginToken, .login: true
        }
    }
}

/// Nothing that prints values shows a key or a token.
extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        switch self {
        case .none: "no credentials"
        case .apiKey: "an API key"
        case .loginToken: "a login token"
        case .login: "a login"
        }
    }

    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [], displayStyle: .enum) }
}

extension Credentials {
    /// The texts that must appear in no error and no log line.
    var secrets: [String] {
        switch self {
        case .none: []
        case .apiKey(let text), .loginToken(let text): [text]
        case .login(let pair): [pair.access, pair.refresh]
        }
    }
}
