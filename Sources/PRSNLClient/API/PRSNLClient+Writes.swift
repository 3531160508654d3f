package import PRSNLCore

// Writes, and the questions that are asked about them. A write is one attempt: what may have been applied is looked up
// before it is sent again, and an answer that cannot be read (`decodingError`) is an unknown outcome, not a refusal.
extension PRSNLClient {
    /// Creates an item.
    ///
    /// - Parameters:
    ///   - item: as `WriteDraft.checked` returned it.
    ///   - key: sent as `Idempotency-Key`.
    /// - Throws: `decodingError` for a 2xx without a readable id.
    package func create(
        _ item: NewItem, dialect: Dialect, key: String, onlyWith: Credentials? = nil, witness: CredentialsWitness? = nil
    ) async throws(APIError) -> CreatedItem {
        let path = dialect == .express ? "/api/items" : "/api/capture"
        let json = WriteBody.create(item, dialect: dialect)
        let (call, answer, requestID) = try await write(
            "POST", path, json: json, dialect: dialect, idempotencyKey: key, onlyWith: onlyWith, witness: witness)
        return try decode(call, answer, requestID) { body throws(APIError.DecodingCause) in
            try CreatedItem.read(body, dialect: dialect, requestID: requestID)
        }
    }

    /// Changes an item's fields.
    ///
    /// - Returns: the item as the server then has it.
    /// - Throws: `decodingError` for a 2xx that does not show the item: nothing says that the edit was applied.
    package func update(
        _ id: String, _ edit: ItemEdit, dialect: Dialect, key: String, onlyWith: Credentials? = nil,
        witness: CredentialsWitness? = nil
    ) async throws(APIError) -> ItemDetail {
        let method = dialect == .express ? "PUT" : "PATCH"
        let (call, answer, requestID) = try await write(
            method, try Self.itemPath(id, "\(method) /api/items/{id}"), json: WriteBody.update(edit), dialect: dialect,
            idempotencyKey: key,
            onlyWith: onlyWith, witness: witness, named: "\(method) /api/items/{id}")
        return try decode(call, answer, requestID) { body throws(APIError.DecodingCause) in
            try ItemDetail(try Self.object(body), of: id)
        }
    }

    /// Deletes an item. An item that is not there is an error here too (`isItemNotFound`).
    ///
    /// - Throws: `decodingError` for a 200 that does not say that it was done, or of what.
    package func delete(
        _ id: String, dialect: Dialect, key: String, onlyWith: Credentials? = nil, witness: CredentialsWitness? = nil
    ) async throws(APIError) {
        let (call, answer, requestID) = try await write(
            "DELETE", try Self.itemPath(id, "DELETE /api/items/{id}"), json: nil, dialect: dialect, idempotencyKey: key,
            onlyWith: onlyWith, witness: witness, named: "DELETE /api/items/{id}")
        if answer.saysNothing { return }
        try decode(call, answer, requestID) { body throws(APIError.DecodingCause) in
            let value = try Self.object(body)
            guard value["error"] == nil, value["detail"] == nil, value["message"] != nil || value["id"] != nil else {
                throw .unexpectedShape("the answer does not say that the item was deleted")
            }
        }
    }

    /// `POST /api/capture/check-duplicate`, dialect C: the item that the server has for a URL. The server normalises this
    /// URL but none of those that it compares it with, so `nil` does not prove that it has none.
    package func existing(url: String, witness: CredentialsWitness? = nil) async throws(APIError) -> ExistingItem? {
        // A question, but a POST: neither libcurl nor we repeat it.
        var call = Call("POST", "/api/capture/check-duplicate")
        call.dialect = .cursor
        call.body = WriteBody.question(url: url)
        call.witness = witness
        let (answer, requestID) = try await send(call)
        return try decode(call, answer, requestID) { body throws(APIError.DecodingCause) in
            try ExistingItem.read(try Self.object(body))
        }
    }

    /// `GET /api/items/{id}`; `nil` for a 404 of the item itself, any other 404 is an error. Servers may show a deleted
    /// item for half an hour.
    package func item(_ id: String, witness: CredentialsWitness? = nil) async throws(APIError) -> ItemDetail? {
        let endpoint = "GET /api/items/{id}"
        var call = Call("GET", try Self.itemPath(id, endpoint), named: endpoint)
        call.answerLimit = Self.largestItem
        call.witness = witness
        do throws(APIError) {
            let (answer, requestID) = try await send(call)
            return try decode(call, answer, requestID) { body throws(APIError.DecodingCause) in
                try ItemDetail(try Self.object(body), of: id)
            }
        } catch {
            if error.isItemNotFound { return nil }
            throw error
        }
    }

    /// An item with its whole text, in bytes.
    private static let largestItem = 16 << 20

    /// Whether `item` finds it.
    package func itemExists(_ id: String, witness: CredentialsWitness? = nil) async throws(APIError) -> Bool {
        try await item(id, witness: witness) != nil
    }

    /// - Throws: `invalidInput` for an id that is no segment of a path: whatever stands in between would take it for the
    ///   folder above, and `DELETE /api/items/..` for another request (RFC 3986, 6.2.2.3; percent-encoded dots too).
    private static func itemPath(_ id: String, _ endpoint: String) throws(APIError) -> String {
        guard !["", ".", ".."].contains(id) else {
            throw APIError(
                kind: .invalidInput(message: "the id \(JSONText.string(id)) cannot be a part of an address"),
                endpoint: endpoint, requestID: "none", mayHaveReachedServer: false)
        }
        return "/api/items/\(ServerURL.escaped(id))"
    }
}

extension HTTPAnswer {
    /// Only 204 may be empty: an empty 200 can come from anything in between, and then the write is lost.
    fileprivate var saysNothing: Bool { status == 204 }
}
