package import PRSNLCore

/// One request as the server saw it. Credentials are kept by kind only.
package struct LoggedRequest: Sendable, Equatable {
    package enum Authorization: Sendable, Equatable {
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
    package enum Token: Sendable, Equatable {
        /// There was none.
        case none
        case valid
        case expired
        /// A refresh token, which has no business in a header.
        case refresh
        case unknown
    }

    /// From 1, in order of arrival.
    package let number: Int
    /// From 1. Requests of one kept-alive connection share it.
    package let connection: Int
    package let receivedAt: Timestamp
    package let method: String
    /// Without query and prefix, percent-encoding resolved.
    package let path: String
    /// As it was sent, percent-encoded. Empty without one.
    package let query: String
    package let authorization: Authorization
    package let token: Token
    /// Headers by lower-case name, except the ones that hold credentials.
    package let headers: [String: String]
    /// The body's text (invalid UTF-8 repaired), empty for login requests.
    package let body: String
    package let bodySize: Int
    /// What was answered. `nil` while there is no answer, and where the connection was closed without one.
    package internal(set) var status: Int?
    /// The name of the fault that was applied.
    package internal(set) var fault: String?

    /// The value of a query parameter, decoded.
    package func parameter(_ name: String) -> String? { QueryText.value(of: name, in: query) }
}
