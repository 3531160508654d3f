package import PRSNLCore

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
        let (answer, requestID) = try await write(call, json, dialect, key)
        return try client.decode(call, answer, requestID) { body throws(APIError.DecodingCause) in
            try CreatedItem.read(body, dialect: dialect, requestID: requestID)
        }
    }

    /// Changes an item's fields.
    ///
    /// - Returns: the item as the server then has it.
    /// - Throws: `decodingError` for a 2xx that does not show the item: nothing says that the edit was applied.
    package func update(
        _ id: String, _ edit: ItemEdit, dialect: Dialect, key: String
    ) async throws(APIError) -> ItemDetail {
        let method = dialect == .express ? "PUT" : "PATCH"
        let endpoint = "\(method) /api/items/{id}"
        let call = Call(method, try Call.itemPath(id, endpoint), named: endpoint)
        let (answer, requestID) = try await write(call, WriteBody.update(edit), dialect, key)
        return try client.decode(call, answer, requestID) { body throws(APIError.DecodingCause) in
            try ItemDetail(try PRSNLClient.object(body), of: id)
        }
    }

    /// Deletes an item. An item that is not there is an error here too (`isItemNotFound`).
    ///
    /// - Throws: `decodingError` for a 200 that does not say that it was done, or of what.
    package func delete(_ id: String, dialect: Dialect, key: String) async throws(APIError) {
        let endpoint = "DELETE /api/items/{id}"
        let call = Call("DELETE", try Call.itemPath(id, endpoint), named: endpoint)
        let (answer, requestID) = try await write(call, nil, dialect, key)
        // Only 204 may be empty: an empty 200 can come from anything in between, and then the write is lost.
        if answer.status == 204 { return }
        try client.decode(call, answer, requestID) { body throws(APIError.DecodingCause) in
            let value = try PRSNLClient.object(body)
            guard value["error"] == nil, value["detail"] == nil, value["message"] != nil || value["id"] != nil else {
                throw .unexpectedShape("the answer does not say that the item was deleted")
            }
        }
    }

    /// - Parameter key: sent though no server of today knows it. A later one may.
    func write(
        _ call: Call, _ json: [UInt8]?, _ dialect: Dialect?, _ key: String
    ) async throws(APIError) -> (answer: HTTPAnswer, requestID: String) {
        var call = call
        call.dialect = dialect
        call.body = json
        call.headers.append("Idempotency-Key: \(key)")
        return try await send(call)
    }
}
