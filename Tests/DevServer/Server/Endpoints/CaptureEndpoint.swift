import PRSNLCore

extension ServerState {
    static let contentTypes: Set<String> = [
        "auto", "document", "video", "article", "tutorial", "image", "note", "link", "development", "github_repo",
        "github_document",
    ]

    /// `POST /api/capture`
    mutating func respondToCapture(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        guard let account = account(for: request, &response), let body = MainBody(request, &response) else { return }
        var isValid = true
        let url = body.text("url", in: 1...2_048, &response, isValid: &isValid)
        let title = body.text("title", in: 1...500, &response, isValid: &isValid)
        let content = body.text("content", in: 1...50_000, &response, isValid: &isValid)
        let highlight = body.text("highlight", in: 0...1_000, &response, isValid: &isValid)
        let type = body.text("content_type", in: 0...100, &response, isValid: &isValid)
        let tags = body.tags(&response, isValid: &isValid)
        guard isValid else { return }
        if let type, !Self.contentTypes.contains(type) {
            response.failValidation(
                "value_error", at: ["body", "content_type"], "Value error, Invalid content type",
                input: JSONText.string(type))
            return
        }
        if isRateLimited(&response) { return }
        guard url != nil || content != nil else {
            response.fail(400, "Either URL, content, or files must be provided.", code: "INVALID_INPUT")
            return
        }
        if !insertsDuplicates, let url, let existing = items.firstItem(url: url, owner: account.id) {
            let day = existing.createdAt.description.prefix(10)
            response.fail(
                400,
                "This URL already exists in your knowledge base. Item: '\(existing.title)' (created \(day))",
                code: "INVALID_INPUT")
            return
        }
        if quirks.autoTypeFails, let url, type ?? "auto" == "auto", !url.contains("github.com") {
            response.failUnhandled("Internal server error")
            return
        }
        captureCount += 1
        var capture = DevServer.Capture(number: captureCount, id: "", owner: account.id, receivedAt: now)
        capture.url = quirks.cleansURLs ? url.map(Self.normalised) : url
        capture.title = quirks.escapesText ? title.map(Self.escaped) : title
        capture.content = quirks.escapesText ? content.map(Self.escaped) : content
        capture.highlight = highlight
        capture.tags = tags ?? []
        capture.type = type
        capture.summarize = body.members["enable_summarization"] == .bool(true)
        capture.idempotencyKey = request.headers["idempotency-key"]
        let id = apply(&capture)
        response.set(
            201, #"{"id":"\#(id)","status":"pending","message":"Item capture initiated","duplicate_info":null}"#)
    }

    /// A fixed window that begins with its first capture: a minute on real servers.
    private mutating func isRateLimited(_ response: inout HTTPResponse) -> Bool {
        guard let limit = quirks.capturesPerMinute, items.dialect == .cursor else { return false }
        let now = now
        if captureWindowStart.map({ now.duration(since: $0) >= quirks.captureWindow }) ?? true {
            captureWindowStart = now
            capturesInWindow = 0
        }
        capturesInWindow += 1
        guard capturesInWindow > limit else { return false }
        response.set(
            429,
            #"{"error":"rate_limit_exceeded","message":"Rate limit exceeded: \#(limit) per 1 minute","#
                + #""retry_after":null}"#
        )
        response.headers.append(("retry-after", "\(quirks.captureWindow.components.seconds)"))
        return true
    }

    /// - Returns: the new item's id, also put into the capture.
    private mutating func apply(_ capture: inout DevServer.Capture) -> String {
        var random = ItemRandom(state: mix(UInt64(capture.number)) ^ 0xCA97_0000)
        let type = capture.type == "auto" ? nil : capture.type
        capture.id = random.uuid()
        var item = DevItem(
            id: capture.id, createdAt: unusedTime(),
            title: quirks.untitledWhilePending
                ? "Untitled" : capture.title ?? capture.url ?? capture.content.map(NoteTitle.derived) ?? "Untitled",
            type: type ?? (capture.url == nil ? "note" : "link"), status: "pending", tags: capture.tags,
            owner: capture.owner)
        item.url = capture.url
        item.hiddenContent = capture.content
        item.permalink = "/items/\(item.id)"
        items.add(item, hidden: quirks.hidesCaptured)
        created(capture)
        var entry = Unsettled(id: item.id, number: capture.number)
        switch configuration.settling {
        case .onCommand: break
        case .afterRequests(let count): entry.dueRequest = timelineRequestCount + count
        case .after(let delay): entry.dueTime = item.createdAt.advanced(by: delay)
        }
        unsettled.append(entry)
        return item.id
    }

    /// `POST /api/capture/check-duplicate`: normalises the URL that it is asked about, but not the ones it knows.
    mutating func respondToCheckDuplicate(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        guard let account = account(for: request, &response), let body = MainBody(request, &response) else { return }
        guard let url = body.members["url"]?.string else {
            response.failValidation(
                "missing", at: ["body", "url"], "Field required", input: JSONValue.object(body.members).text)
            return
        }
        guard let item = items.firstItem(url: Self.normalised(url), owner: account.id) else {
            response.set(200, #"{"is_duplicate":false,"existing_item":null}"#)
            return
        }
        response.set(200, #"{"is_duplicate":true,"existing_item":"#)
        var object = JSONObjectWriter(&response.body)
        object.string("id", item.id, &response.body)
        object.string("title", item.title, &response.body)
        object.time("created_at", item.createdAt, .offset, &response.body)
        object.string("status", item.status, &response.body)
        object.string("summary", item.summary, &response.body)
        object.end(&response.body)
        response.body.append(UInt8(ascii: "}"))
    }

    static func escaped(_ text: String) -> String { text.replacing("&", with: "&amp;") }

    /// A bare host gains a slash. Scheme and host become lower case.
    static func normalised(_ url: String) -> String {
        let url = url.prefix { $0 != "#" }
        guard let schemeEnd = url.range(of: "://") else { return String(url) }
        let rest = url[schemeEnd.upperBound...]
        let hostEnd = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let tail = rest[hostEnd...]
        return url[..<schemeEnd.upperBound].lowercased() + rest[..<hostEnd].lowercased()
            + (tail.hasPrefix("/") ? tail : "/" + tail)
    }
}

extension StringProtocol {
    /// The first place of a text.
    func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
