import PRSNLCore

/// One call of the API, before it is sent: what stays the same over retries, redirects and forms of credentials.
struct Call: Sendable {
    var method: String
    /// From the server's base on, percent-encoded.
    var path: String
    /// Percent-encoded, without the question mark.
    var query: String
    var headers: [String] = []
    /// JSON.
    var body: [UInt8]?
    var isAuthenticated = true
    /// Holds it to one set of credentials.
    var session: ClientSession?
    /// What its body holds and no error and no log line may show.
    var secrets: [String] = []
    /// Asks whether the server is there: once, over a connection and with a name resolution of its own, with little patience,
    /// and even while the network is said to be away.
    var isProbe = false
    /// A longer answer, decompressed, is refused. Accounts and writes have some hundred bytes.
    var answerLimit = 1 << 20
    /// Sent once, although it is a GET: who asks has a schedule of its own.
    var isSentOnce = false
    /// Also where that is more than the client's own limit.
    var mayExceedLimit = false
    /// Where the caller knows it, and no timeline has told the client yet: which form of credentials may be tried.
    var dialect: Dialect?
    /// "GET /api/items/{id}": for people and for grouping errors; never with ids or a query.
    var endpoint: String

    init(_ method: String, _ path: String, query: String = "", named endpoint: String? = nil) {
        self.method = method
        self.path = path
        self.query = query
        self.endpoint = endpoint ?? "\(method) \(path)"
    }

    /// - Throws: `invalidInput` for an id that is no segment of a path: whatever stands in between would take it for the
    ///   folder above, and `DELETE /api/items/..` for another request (RFC 3986, 6.2.2.3; percent-encoded dots too).
    static func itemPath(_ id: String, _ endpoint: String) throws(APIError) -> String {
        guard !["", ".", ".."].contains(id) else {
            throw APIError(
                kind: .invalidInput(message: "the id \(JSONText.string(id)) cannot be a part of an address"),
                endpoint: endpoint, requestID: "none", mayHaveReachedServer: false)
        }
        return "/api/items/\(ServerURL.escaped(id))"
    }
}

extension TimelineRequest {
    /// In the form that the position's dialect understands. `page=1` is also understood by dialect C, which ignores it.
    var query: String {
        switch position {
        case .before(nil): "limit=\(limit)"
        case .before(let time?):
            // Items say `Z` and cursors say `+00:00`, whose `+` must be encoded: a raw one arrives as a space.
            "limit=\(limit)&cursor=\(ServerURL.escaped(String(time.description.dropLast()) + "+00:00"))"
        case .page(let number): "page=\(number)&limit=\(limit)"
        }
    }
}
