import PRSNLCore

extension ServerState {
    /// `/api/items/{id}` on dialects C and P.
    mutating func respondToItem(_ id: String, _ request: HTTPRequest, _ response: inout HTTPResponse) {
        switch request.method {
        case "GET": readItem(id, request, &response)
        case "PATCH": updateItem(id, request, &response)
        case "DELETE": deleteItem(id, request, &response)
        default: failMethod("GET, PATCH, DELETE", &response)
        }
    }

    private mutating func readItem(_ id: String, _ request: HTTPRequest, _ response: inout HTTPResponse) {
        if quirks.lacksItemDetail {
            response.fail(404, "Not Found")
            return
        }
        let viewer = viewer(request)
        if refuses(viewer, &response) { return }
        if failsUnlessUUID(id, &response) { return }
        let kept = keptAnswer(id)
        guard let item = kept ?? items.item(id) ?? cached[ByteText(id)], shows(item, to: viewer) else {
            failUnknownItem(id, &response)
            return
        }
        if kept == nil, quirks.itemCache != nil {
            keptAnswers[ByteText(id)] = KeptAnswer(item: item, at: now)
        }
        item.appendDetailJSON(
            to: &response.body, texts: texts(of: item), lacksUpdatedAt: quirks.detailLacksUpdatedAt)
    }

    /// The item as a cache in front of the server has it, while that is young enough.
    private func keptAnswer(_ id: String) -> DevItem? {
        guard let lifetime = quirks.itemCache, let kept = keptAnswers[ByteText(id)] else { return nil }
        return now.duration(since: kept.at) < lifetime ? kept.item : nil
    }

    private func shows(_ item: DevItem, to viewer: Viewer) -> Bool {
        guard quirks.hidesOthersItems, let owner = viewer.owner(configuration.testUser) else { return true }
        return item.owner == owner
    }

    private mutating func updateItem(_ id: String, _ request: HTTPRequest, _ response: inout HTTPResponse) {
        guard let account = account(for: request, &response) else { return }
        if failsUnlessUUID(id, &response) { return }
        guard let body = MainBody(request, &response) else { return }
        var isValid = true
        let title = body.text("title", in: 1...500, &response, isValid: &isValid)
        let summary = body.text("summary", in: 0...5_000, &response, isValid: &isValid)
        let tags = body.tags(&response, isValid: &isValid)
        guard isValid else { return }
        if quirks.patchFails, items.dialect == .cursor {
            response.failUnhandled(#"Failed to update item: column "category" of relation "items" does not exist"#)
            return
        }
        guard let item = items.item(id), item.owner == account.id else {
            failUnknownItem(id, &response)
            return
        }
        _ = edit(id, updatesRow: title != nil || summary != nil) { item in
            if let title { item.title = title }
            if let summary { item.summary = summary }
            if let tags { item.tags = tags }
        }
        appliedWrites.updated += 1
        keptAnswers[ByteText(id)] = nil
        guard let edited = items.item(id) else { return }
        edited.appendDetailJSON(to: &response.body, texts: texts(of: edited))
    }

    private mutating func deleteItem(_ id: String, _ request: HTTPRequest, _ response: inout HTTPResponse) {
        guard let account = account(for: request, &response) else { return }
        guard id.isUUID else {
            response.failUnhandled("Failed to delete item")
            return
        }
        guard items.item(id)?.owner == account.id else {
            failUnknownItem(id, &response)
            return
        }
        items.remove(id)
        appliedWrites.deleted += 1
        response.set(200, #"{"message":"Item deleted successfully","id":"\#(id)"}"#)
    }

    private func failUnknownItem(_ id: String, _ response: inout HTTPResponse) {
        response.fail(404, "Item with ID \(id) not found", code: "ITEM_NOT_FOUND")
    }

    private func failsUnlessUUID(_ id: String, _ response: inout HTTPResponse) -> Bool {
        if id.isUUID { return false }
        response.failValidation(
            "uuid_parsing", at: ["path", "item_id"], "Input should be a valid UUID, invalid character",
            input: JSONText.string(id), context: #"{"error":"invalid character"}"#)
        return true
    }
}

extension String {
    /// Eight, four, four, four and twelve hexadecimal digits.
    var isUUID: Bool {
        let parts = split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
            && parts.allSatisfy { $0.allSatisfy { $0.isASCII && $0.isHexDigit } }
    }
}
