public import PRSNLCore

/// One request as the server saw it. Credentials are kept by kind only.
public struct LoggedRequest: Sendable, Equatable {
    public enum Authorization: Sendable, Equatable {
        case none
        /// `X-API-Key`.
        case apiKey
        /// `Authorization: Bearer` with a token of three parts.
        case token
        /// `Authorization: Bearer` with anything else.
        case bearerKey
        /// Both headers.
        case both
        /// Another scheme.
        case other
    }

    /// What a login token was worth when the request arrived (dialect C).
    public enum Token: Sendable, Equatable {
        /// There was none.
        case none
        case valid
        case expired
        /// A refresh token, which has no business in a header.
        case refresh
        case unknown
    }

    /// From 1, in order of arrival.
    public let number: Int
    /// From 1; requests of one kept-alive connection share it.
    public let connection: Int
    public let receivedAt: Timestamp
    public let method: String
    /// Without query and prefix, percent-encoding resolved.
    public let path: String
    /// As it was sent, percent-encoded; empty without one.
    public let query: String
    public let authorization: Authorization
    public let token: Token
    /// Headers by lower-case name, except the ones that hold credentials.
    public let headers: [String: String]
    /// The body's text (invalid UTF-8 repaired), empty for login requests.
    public let body: String
    public let bodySize: Int
    /// What was answered; `nil` while there is no answer, and for ever where the connection was closed without one.
    public internal(set) var status: Int?
    /// The name of the fault that was applied.
    public internal(set) var fault: String?

    /// The value of a query parameter, decoded.
    public func parameter(_ name: String) -> String? { QueryText.value(of: name, in: query) }
}
