import PRSNLCore

extension ServerState {
    /// The small server.
    mutating func routeExpress(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        var path = request.path
        if path.count > 1, path.hasSuffix("/") { path.removeLast() }  // Express does not mind
        let isRead = request.method == "GET" || request.method == "HEAD"
        if path == "/api/health", isRead {
            response.set(200, #"{"status":"ok","timestamp":"\#(now.text(.milliseconds))"}"#)
            return
        }
        if path == "/api/timeline", isRead {
            respondToExpressTimeline(request, &response)
        } else if path == "/api/items", request.method == "POST" {
            createExpressItem(request, &response)
        } else if path.hasPrefix("/api/items/"), isRead || request.method == "PUT" || request.method == "DELETE" {
            respondToExpressItem(String(path.dropFirst("/api/items/".count)), request, &response)
        } else {
            response.failHTML(404, "Cannot \(request.method) \(request.path)")
        }
    }

    private mutating func respondToExpressItem(
        _ id: String, _ request: HTTPRequest, _ response: inout HTTPResponse
    ) {
        // The body is parsed before the key is checked.
        var members: [String: JSONValue] = [:]
        if request.method == "PUT" {
            guard let read = expressBody(request, &response) else { return }
            members = read
        }
        let viewer = viewer(request)
        if refuses(viewer, &response) { return }
        let owner = viewer.owner(configuration.testUser)
        guard let item = items.item(id), owner == nil || owner == item.owner else {
            response.failExpress(404, "Item not found")
            return
        }
        let style = ItemStyle(dialect: .express)
        switch request.method {
        case "PUT":
            _ = edit(id) { $0.apply(members) }
            appliedWrites.updated += 1
            items.item(id)?.appendTimelineJSON(to: &response.body, style: style)
        case "DELETE":
            items.remove(id)
            appliedWrites.deleted += 1
            response.status = 204
        default:
            items.countAccess(id, at: now)
            items.item(id)?.appendTimelineJSON(to: &response.body, style: style)
        }
    }

    private mutating func createExpressItem(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        guard let members = expressBody(request, &response) else { return }
        let viewer = viewer(request)
        if refuses(viewer, &response) { return }
        let title = members["title"]?.string ?? ""
        let content = members["content"]?.string ?? ""
        let url = members["url"]?.string ?? ""
        guard !title.isEmpty, !content.isEmpty || !url.isEmpty else {
            response.failExpress(400, "Title and either content or URL are required")
            return
        }
        captureCount += 1
        var random = ItemRandom(state: mix(UInt64(captureCount)) ^ 0xE49E_0000)
        var item = DevItem(
            id: random.uuid(), createdAt: unusedTime(), title: title, type: url.isEmpty ? "note" : "link",
            status: "active",
            owner: viewer.owner(configuration.testUser) ?? configuration.accounts.first?.id ?? DevAccount.owner.id)
        item.apply(members)
        if quirks.cleansURLs { item.url = item.url.map(Self.normalised) }
        if quirks.escapesText {
            (item.title, item.content) = (Self.escaped(item.title), item.content.map(Self.escaped))
        }
        items.add(item)
        var capture = DevServer.Capture(number: captureCount, id: item.id, owner: item.owner, receivedAt: now)
        capture.url = members["url"]?.string
        capture.title = members["title"]?.string
        capture.content = members["content"]?.string
        capture.tags = item.tags
        capture.type = members["itemType"]?.string
        capture.idempotencyKey = request.headers["idempotency-key"]
        created(capture)
        response.status = 201
        items.item(item.id)?.appendTimelineJSON(to: &response.body, style: ItemStyle(dialect: .express))
    }

    /// express.json(): 100 KB at most, errors as HTML. A body of another type is none.
    private func expressBody(_ request: HTTPRequest, _ response: inout HTTPResponse) -> [String: JSONValue]? {
        guard request.body.count <= 102_400 else {
            response.failHTML(413, "PayloadTooLargeError: request entity too large")
            return nil
        }
        guard request.headers["content-type"]?.lowercased().hasPrefix("application/json") ?? false else { return [:] }
        do {
            guard case .object(let members) = try JSONValue(request.body) else { return [:] }
            return members
        } catch {
            response.failHTML(400, "SyntaxError: Unexpected token in JSON at position 0")
            return nil
        }
    }
}

extension DevItem {
    /// Takes over what a write of the small server says.
    fileprivate mutating func apply(_ members: [String: JSONValue]) {
        if let text = members["title"]?.string { title = text }
        if let text = members["content"]?.string { content = text }
        if let text = members["url"]?.string, !text.isEmpty { url = text }
        if let text = members["summary"]?.string { summary = text }
        if let text = members["itemType"]?.string { type = text }
        if let text = members["status"]?.string { status = text }
        if case .array(let elements)? = members["tags"] { tags = elements.compactMap(\.string) }
    }
}
