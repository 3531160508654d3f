package import PRSNLCore
import Synchronization

/// Requests that all show the server the same credentials, or, before the first answer, one login and its renewals.
///
/// A login may be renewed or replaced between any two requests, and within one. So what is in use now says nothing about an
/// answer from before. A session pins what its first answer was given to, and sends nothing else from then on: a renewal or
/// a replaced login ends it with `APIError.Kind.sessionEnded`. So one proof, asked for in the session, covers all that was
/// read in it. Nothing is sent under a login that has replaced the one which the session began with.
package final class ClientSession: Sendable {
    let client: PRSNLClient
    /// What the client used when the session began.
    package let first: Credentials
    /// Whom the server gave them to, by their own word.
    package let subject: String?
    private let generation: UInt64
    private let pinned = Mutex<Credentials?>(nil)
    /// A read waits in place for what a 429 asks. Else its caller does, who can say so.
    let waitsForRateLimit: Bool

    init(_ client: PRSNLClient, waitsForRateLimit: Bool) {
        self.client = client
        self.waitsForRateLimit = waitsForRateLimit
        (first, subject, generation) = client.memory.withLock { ($0.credentials, $0.subject, $0.generation) }
    }

    /// What the session shows to the server; `nil` before its first answer.
    package var credentials: Credentials? { pinned.withLock { $0 } }

    /// Whether the client still uses what the session has pinned.
    package var isCurrent: Bool { credentials.map { $0 == client.credentials } ?? true }

    /// Pins what the session began with, where no answer has pinned anything yet.
    package func pin() { pinned.withLock { $0 = $0 ?? first } }

    /// - Throws: `sessionEnded` where something else is pinned than would be shown, or another login has come.
    func require(_ shown: Credentials, for call: Call) throws(APIError) {
        let isSameLogin = client.memory.withLock { $0.generation == generation }
        guard isSameLogin, credentials == nil || credentials == shown else {
            throw .sessionEnded(call, mayHaveReachedServer: false)
        }
    }

    /// The server has answered a request that showed these.
    func note(_ shown: Credentials, for call: Call) throws(APIError) {
        let first = pinned.withLock { pinned in
            pinned = pinned ?? shown
            return pinned
        }
        if first != shown { throw .sessionEnded(call, mayHaveReachedServer: true) }
    }

    func send(_ call: Call) async throws(APIError) -> HTTPAnswer {
        var call = call
        call.session = self
        return try await client.send(call)
    }

    // MARK: Reads

    /// Reads one page. The dialect of the envelope is in the answer. All dialects understand a request in dialect C's form.
    package func timeline(_ request: TimelineRequest) async throws(APIError) -> TimelinePage {
        var call = Call("GET", "/api/timeline", query: request.query)
        // In memory are the answer, what is read out of it, and the page that is committed meanwhile.
        call.answerLimit = client.configuration.maximumAnswerSize / 2
        if let etag = request.etag { call.headers.append("If-None-Match: \(etag)") }
        var answer = try await send(call)
        if let age = answer.age, age > 0 {
            throw APIError(
                kind: .decodingError(.stale(seconds: age)), endpoint: call.endpoint, status: answer.status,
                requestID: answer.requestID, mayHaveReachedServer: true)
        }
        if answer.status == 304 {
            var page = TimelinePage()
            page.notModified = true
            page.etag = answer.etag ?? request.etag
            page.dialect = client.dialect
            return page
        }
        var page = try client.decode(call, answer) { body throws(APIError.DecodingCause) in
            try TimelinePage.Decoder.decode(body, limit: request.limit)
        }
        page.etag = answer.etag
        page.bytes = answer.body.count
        client.recycle(&answer.body)
        if let dialect = page.dialect { client.remember(dialect) }
        return page
    }

    /// `GET /api/auth/me`: the account that the server really sees.
    package func account() async throws(APIError) -> Account {
        let call = Call("GET", "/api/auth/me")
        let answer = try await send(call)
        return try client.decode(call, answer) { body throws(APIError.DecodingCause) in
            guard let account = Account(try PRSNLClient.object(body)) else {
                throw .unexpectedShape("the account has no id")
            }
            return account
        }
    }

    /// `GET /api/items/{id}`; `nil` for a 404 of the item itself. Any other 404 is an error. Servers may show a deleted item
    /// for half an hour.
    package func item(_ id: String) async throws(APIError) -> ItemDetail? {
        try await item(id, limit: Self.largestItem) { body throws(APIError.DecodingCause) in
            try ItemDetail(try PRSNLClient.object(body), of: id)
        }
    }

    /// An item with its whole text, in bytes.
    private static let largestItem = 16 << 20

    /// As `item`, but the text alone, without the cost of the other members, and asked for once.
    ///
    /// - Parameters:
    ///   - limit: of the answer, in bytes, decompressed. A longer one is refused with `answerTooLarge`.
    ///   - mayExceed: `limit` counts even where it is above the client's own.
    package func text(of id: String, limit: Int, mayExceed: Bool = false) async throws(APIError) -> ItemText? {
        try await item(id, limit: limit, mayExceed: mayExceed, isSentOnce: true) {
            body throws(APIError.DecodingCause) in
            try ItemTextDecoder.decode(body, of: id)
        }
    }

    private func item<Value>(
        _ id: String, limit: Int, mayExceed: Bool = false, isSentOnce: Bool = false,
        _ read: ([UInt8]) throws(APIError.DecodingCause) -> Value
    ) async throws(APIError) -> Value? {
        let endpoint = "GET /api/items/{id}"
        var call = Call("GET", try Call.itemPath(id, endpoint), named: endpoint)
        call.answerLimit = limit
        call.mayExceedLimit = mayExceed
        call.isSentOnce = isSentOnce
        do throws(APIError) {
            var answer = try await send(call)
            let value = try client.decode(call, answer, read)
            client.recycle(&answer.body)
            return value
        } catch {
            if error.isItemNotFound { return nil }
            throw error
        }
    }

    package func itemExists(_ id: String) async throws(APIError) -> Bool { try await item(id) != nil }

    /// `POST /api/capture/check-duplicate`, dialect C: the item that the server has for a URL. The server normalises this
    /// URL but none of those that it compares it with, so `nil` does not prove that it has none.
    package func existing(url: String) async throws(APIError) -> ExistingItem? {
        // A question, but a POST: neither libcurl nor we repeat it.
        var call = Call("POST", "/api/capture/check-duplicate")
        call.dialect = .cursor
        call.body = WriteBody.question(url: url)
        let answer = try await send(call)
        return try client.decode(call, answer) { body throws(APIError.DecodingCause) in
            try ExistingItem.read(try PRSNLClient.object(body))
        }
    }
}

extension PRSNLClient {
    /// A session that pins the credentials with its first answer.
    package func session(waitsForRateLimit: Bool = true) -> ClientSession {
        ClientSession(self, waitsForRateLimit: waitsForRateLimit)
    }
}

extension APIError {
    fileprivate static func sessionEnded(_ call: Call, mayHaveReachedServer: Bool) -> APIError {
        APIError(
            kind: .sessionEnded, endpoint: call.endpoint, requestID: "", mayHaveReachedServer: mayHaveReachedServer,
            detail: "the login has changed since the session began")
    }
}

// Each write is one attempt. One that may have been applied is looked up before it is sent again, and an answer that cannot
// be read (`decodingError`) is an unknown outcome, not a refusal.
extension ClientSession {
    /// Creates an item.
    ///
    /// - Parameters:
    ///   - item: as `WriteDraft.checked` returned it.
    ///   - key: sent as `Idempotency-Key`.
    /// - Throws: `decodingError` for a 2xx without a readable id.
    package func create(_ item: NewItem, dialect: Dialect, key: String) async throws(APIError) -> CreatedItem {
        let call = Call("POST", dialect == .express ? "/api/items" : "/api/capture")
        let json = WriteBody.create(item, dialect: dialect)
        let answer = try await write(call, json, dialect, key)
        return try client.decode(call, answer) { body throws(APIError.DecodingCause) in
            try CreatedItem.read(body, dialect: dialect, requestID: answer.requestID)
        }
    }

    /// Changes an item's fields.
    ///
    /// - Returns: the item as the server then has it, and what was sent as `X-Request-ID`.
    /// - Throws: `decodingError` for a 2xx that does not show the item: nothing says that the edit was applied.
    package func update(
        _ id: String, _ edit: ItemEdit, dialect: Dialect, key: String
    ) async throws(APIError) -> (item: ItemDetail, requestID: String) {
        let method = dialect == .express ? "PUT" : "PATCH"
        let endpoint = "\(method) /api/items/{id}"
        let call = Call(method, try Call.itemPath(id, endpoint), named: endpoint)
        let answer = try await write(call, WriteBody.update(edit), dialect, key)
        let item = try client.decode(call, answer) { body throws(APIError.DecodingCause) in
            try ItemDetail(try PRSNLClient.object(body), of: id)
        }
        return (item, answer.requestID)
    }

    /// Deletes an item. An item that is not there is an error here too (`isItemNotFound`).
    ///
    /// - Returns: what was sent as `X-Request-ID`.
    /// - Throws: `decodingError` for a 200 that does not say that it was done, or of what.
    @discardableResult
    package func delete(_ id: String, dialect: Dialect, key: String) async throws(APIError) -> String {
        let endpoint = "DELETE /api/items/{id}"
        let call = Call("DELETE", try Call.itemPath(id, endpoint), named: endpoint)
        let answer = try await write(call, nil, dialect, key)
        // Only 204 may be empty: an empty 200 can come from anything in between, and then the write is lost.
        if answer.status == 204 { return answer.requestID }
        return try client.decode(call, answer) { body throws(APIError.DecodingCause) in
            let value = try PRSNLClient.object(body)
            guard value["error"] == nil, value["detail"] == nil, value["message"] != nil || value["id"] != nil else {
                throw .unexpectedShape("the answer does not say that the item was deleted")
            }
            return answer.requestID
        }
    }

    /// - Parameter key: sent though no server of today knows it. A later one may.
    func write(
        _ call: Call, _ json: [UInt8]?, _ dialect: Dialect?, _ key: String
    ) async throws(APIError) -> HTTPAnswer {
        var call = call
        call.dialect = dialect
        call.body = json
        call.headers.append("Idempotency-Key: \(key)")
        return try await send(call)
    }
}
