import PRSNLCore

/// `/__dev/`: what a shell script may ask of the server, by query parameters.
extension ServerState {
    mutating func respondToDev(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        let name = request.path.dropFirst("/__dev/".count)
        let owner = request.parameter("owner") ?? configuration.accounts.first?.id ?? DevAccount.owner.id
        switch (request.method, name) {
        case ("GET", "items"): respondWithItems(owner: owner == "*" ? nil : owner, &response)
        case ("GET", "items.tsv"):
            response.contentType = "text/tab-separated-values"
            response.set(200, items.tabSeparated(owner: owner == "*" ? nil : owner))
        case ("GET", "requests"): respondWithCounts(&response)
        case ("GET", "writes"):
            let writes = appliedWrites
            response.set(
                200,
                #"{"created":\#(writes.created),"updated":\#(writes.updated),"deleted":\#(writes.deleted)}"# + "\n")
        case ("GET", "captures"): respondWithCaptures(&response)
        case ("GET", "text"): respondWithText(request, &response)
        case ("POST", "add"): addItems(request, owner: owner, &response)
        case ("POST", "edit"), ("POST", "delete"), ("POST", "hide"), ("POST", "show"):
            changeItems(String(name), request, owner: owner, &response)
        case ("POST", "settle"):
            settleAll()
            response.set(200, "{}\n")
        case ("POST", "expire-tokens"):
            expireTokens()
            response.set(200, "{}\n")
        case ("POST", "clear-cache"):
            clearCache()
            response.set(200, "{}\n")
        case ("POST", "clock"):
            guard let ahead = request.parameter("ahead").flatMap(Double.init) else {
                response.fail(400, "ahead: not a number")
                return
            }
            setClock(ahead: .microseconds(Int64(ahead * 1_000_000)))
            response.set(200, "{}\n")
        case ("POST", "restore"):
            restoreBackup(size: request.parameter("size").flatMap(Int.init) ?? .max)
            response.set(200, "{}\n")
        case ("POST", "quirks"): changeQuirks(request, &response)
        case ("POST", "fault"): scriptFault(request, &response)
        case ("POST", "random-fault"):
            let probability = request.parameter("probability").flatMap(Double.init) ?? 0
            randomFault =
                probability <= 0
                ? nil
                : RandomFault(
                    probability: probability, seed: request.parameter("seed").flatMap(UInt64.init) ?? 1,
                    kinds: Fault.lostWrites)
            response.set(200, "{}\n")
        case ("POST", "storm"):
            let rate = request.parameter("rate").flatMap(Double.init) ?? 0
            let slow = request.parameter("slow").flatMap(Int64.init) ?? 800
            let seed = request.parameter("seed").flatMap(UInt64.init) ?? 1
            let plan = DevServer.StormPlan(seed: seed, rate: rate, slowest: .milliseconds(slow))
            storm = rate <= 0 ? nil : Storm(plan, dialect: items.dialect)
            response.set(200, "{}\n")
        case ("POST", "clear-faults"):
            storm = nil
            for index in script.indices { script[index].times = 0 }
            randomFault = nil
            response.set(200, "{}\n")
        default: response.fail(404, "no such thing: \(request.method) \(request.path)")
        }
    }

    private mutating func changeQuirks(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        if let limit = request.parameter("capture-limit").flatMap(Int.init) {
            quirks.capturesPerMinute = limit == 0 ? nil : limit
        }
        if let seconds = request.parameter("capture-window").flatMap(Int.init) {
            quirks.captureWindow = .seconds(seconds)
        }
        if let seconds = request.parameter("item-cache").flatMap(Double.init) {
            quirks.itemCache = .milliseconds(Int64(seconds * 1_000))
        }
        if let text = request.parameter("hide-versions") { quirks.detailLacksUpdatedAt = text == "1" }
        response.set(200, "{}\n")
    }

    private func respondWithItems(owner: String?, _ response: inout HTTPResponse) {
        response.contentType = "application/x-ndjson"
        let style = ItemStyle(dialect: items.dialect)
        for item in items.items(owner: owner) {
            item.appendTimelineJSON(to: &response.body, style: style)
            response.body.append(UInt8(ascii: "\n"))
        }
    }

    private func respondWithCaptures(_ response: inout HTTPResponse) {
        response.contentType = "application/x-ndjson"
        for capture in captures {
            var object = JSONObjectWriter(&response.body)
            object.string("id", capture.id, &response.body)
            object.string("url", capture.url, &response.body)
            object.string("title", capture.title, &response.body)
            object.string("content", capture.content, &response.body)
            object.string("highlight", capture.highlight, &response.body)
            object.strings("tags", capture.tags, &response.body)
            object.string("content_type", capture.type, &response.body)
            object.string("idempotency_key", capture.idempotencyKey, &response.body)
            object.end(&response.body)
            response.body.append(UInt8(ascii: "\n"))
        }
    }

    /// 204 for an item that has no text.
    private func respondWithText(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        let id = request.parameter("id")
        let text: String?
        if let id, let version = request.parameter("version").flatMap(Int64.init) {
            // Whether or not the item is there, or has a text of its own: a judge asks about versions that are over.
            text = configuration.texts?.text(of: DevItem(id: id, createdAt: Timestamp(microseconds: version)))
        } else if let item = id.flatMap({ items.item($0) }) {
            text = texts(of: item).content
        } else {
            response.fail(404, "no such item")
            return
        }
        response.contentType = "text/plain; charset=utf-8"
        if let text { response.set(200, text) } else { response.set(204, "") }
    }

    private func respondWithCounts(_ response: inout HTTPResponse) {
        let counts = endpointCounts.sorted { $0.key < $1.key }.map { "\(JSONText.string($0.key)):\($0.value)" }
        let total = endpointCounts.values.reduce(0, +)
        response.set(200, "{\"total\":\(total),\"endpoints\":{\(counts.joined(separator: ","))}}\n")
    }

    private mutating func addItems(_ request: HTTPRequest, owner: String, _ response: inout HTTPResponse) {
        let count = request.parameter("count").flatMap(Int.init) ?? 1
        var time: Timestamp?
        if let text = request.parameter("at") {
            time = Timestamp(text)
            if time == nil {
                response.fail(400, "at: not a time")
                return
            }
        }
        var ids: [String] = []
        for _ in 0..<count {
            let item = addNewItem(owner: owner)
            if let time { items.change(item.id) { $0.createdAt = time } }
            ids.append(item.id)
        }
        respondWithIDs(ids, &response)
    }

    /// The items that `id` names, or `count` of them from the `index`-th newest on.
    private mutating func changeItems(
        _ verb: String, _ request: HTTPRequest, owner: String, _ response: inout HTTPResponse
    ) {
        var ids: [String] = []
        if let id = request.parameter("id") {
            ids = items.item(id) == nil ? [] : [id]
        } else if let index = request.parameter("index").flatMap(Int.init), index >= 0 {
            let count = request.parameter("count").flatMap(Int.init) ?? 1
            ids = items.timeline(owner: owner).page(from: index, limit: max(1, count)).compactMap {
                items.item(slot: $0)?.id
            }
        }
        guard !ids.isEmpty else {
            response.fail(404, "no such item")
            return
        }
        for id in ids {
            switch verb {
            case "edit":
                let title = request.parameter("title")
                let content = request.parameter("content")
                let status = request.parameter("status")
                _ = edit(id, updatesRow: true) { item in
                    if title != nil || content == nil { item.title = title ?? "Edited: \(item.title)" }
                    if let content { item.setText(content) }
                    if let status { item.status = status }
                }
            case "delete":
                if let item = items.remove(id), request.parameter("cached") == "1" { cached[ByteText(id)] = item }
            default: items.change(id, hidden: verb == "hide")
            }
        }
        respondWithIDs(ids, &response)
    }

    private func respondWithIDs(_ ids: [String], _ response: inout HTTPResponse) {
        response.set(200, "{\"ids\":[\(ids.map(JSONText.string).joined(separator: ","))]}\n")
    }

    private mutating func scriptFault(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        guard let fault = Fault(request) else {
            response.fail(400, "unknown kind of fault")
            return
        }
        let times = request.parameter("times").flatMap(Int.init) ?? 1
        let path = request.parameter("path") ?? "/api/timeline"
        let method = request.parameter("method")
        scriptCount += 1
        script.append(
            Script(
                number: scriptCount, fault: fault,
                matcher: path.hasSuffix("*")
                    ? .path(prefix: String(path.dropLast()), method: method) : .path(path, method: method),
                skip: request.parameter("skip").flatMap(Int.init) ?? 0, times: times == 0 ? .max : times))
        response.set(200, "{\"fault\":\(scriptCount)}\n")
    }
}

extension DevItem {
    /// Of a video the transcription too.
    fileprivate mutating func setText(_ text: String) {
        content = text
        if type == "video" { transcription = text }
    }
}

extension Fault {
    /// From the query of `POST /__dev/fault`.
    fileprivate init?(_ request: HTTPRequest) {
        func number(_ name: String, _ standard: Int) -> Int { request.parameter(name).flatMap(Int.init) ?? standard }
        switch request.parameter("kind") {
        case "status": self = .answer(status: number("status", 503), body: request.parameter("body") ?? "")
        case "rate-limit": self = .rateLimit(.seconds(number("seconds", 1)))
        case "portal": self = .portal
        case "garbage": self = .garbage
        case "empty": self = .emptyBody
        case "empty-object": self = .emptyObject
        case "close": self = .closeBeforeAnswering
        case "close-after": self = .closeAfterApplying
        case "error-after":
            self = .answerAfterApplying(status: number("status", 500), body: request.parameter("body") ?? "")
        case "die": self = .dieKeptAlive
        case "truncate": self = .truncate(after: number("bytes", 100))
        case "delay": self = .delay(.milliseconds(number("ms", 1_000)))
        case "stall": self = .stall
        case "lie":
            guard let lie = request.parameter("lie").flatMap(PageLie.init) else { return nil }
            self = .lie(lie)
        case "aged": self = .aged(.seconds(number("seconds", 60)))
        case "redirect": self = .redirect(to: request.parameter("to") ?? "/")
        default: return nil
        }
    }
}

extension ItemTable {
    /// `ID<TAB>CREATED<TAB>UPDATED` lines with times of full width, newest first.
    func tabSeparated(owner: String?) -> String {
        var text = ""
        for item in items(owner: owner) { text += "\(item.id)\t\(item.createdAt)\t\(item.updatedAt)\n" }
        return text
    }
}

extension DevServer {
    /// The visible items as `ID<TAB>CREATED<TAB>UPDATED` lines, newest first.
    package func tabSeparatedItems(owner: String? = nil) -> String {
        shared.state.withLock { $0.items.tabSeparated(owner: owner) }
    }
}
