public import PRSNLCore

/// The PRSNL HTTP API over libcurl: three dialects, one set of models, one error type.
public final class PRSNLClient: Sendable {
    /// - Throws: `UserFacingError` for a URL that cannot be used (`bad_server_url`, `insecure_server_url`).
    public init(
        configuration: ClientConfiguration, time: TimeSource = .system, seed: UInt64? = nil,
        usage: (@Sendable (RequestUsage) -> Void)? = nil, log: @escaping LogHandler = { _, _, _ in }
    ) throws(UserFacingError) {
    }

    /// Reads one page. The dialect of the envelope is in the answer; a request in dialect C's form is understood by all.
    public func timeline(_ request: TimelineRequest) async throws(APIError) -> TimelinePage { TimelinePage() }

    /// Whether `GET /api/items/{id}` finds the item: true for 200, false for 404 with `ITEM_NOT_FOUND` (C) or the small
    /// server's "Item not found"; any other 404 is an error.
    public func itemExists(_ id: String) async throws(APIError) -> Bool { false }

    /// `GET /api/auth/me`: the account that the server really sees.
    public func account() async throws(APIError) -> Account { Account(id: "") }

    /// `GET /api/health` without credentials: throws unless it is PRSNL's JSON.
    public func health() async throws(APIError) {}

    /// Ends every request with `cancelled`, closes the connections and the thread.
    public func shutdown() {}
}
