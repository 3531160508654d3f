import PRSNLCore

extension ServerState {
    // MARK: Dialect C

    mutating func respondToCursorTimeline(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        guard let limit = validLimit(request, &response) else { return }
        var before: Int64?
        if let text = request.parameter("cursor"), !text.isEmpty {
            guard let time = Timestamp(text) else {
                response.failUnhandledTimeline("400: Invalid cursor format.")
                return
            }
            before = time.microseconds
        }
        if quirks.timelineIsEndless { return respondWithoutEnd(before: before, limit: limit, &response) }
        let timeline = items.timeline(owner: viewer(request).owner(configuration.testUser))
        var slots = timeline.page(before: before, limit: limit, choice: quirks.tieChoice)
        if quirks.repeatsAnItem, let first = slots.first {
            slots.insert(first, at: min(2, slots.count))
            if slots.count > limit { slots.removeLast() }
        }
        var cursor = slots.count == limit ? slots.last.map(time(of:)) : nil
        falsify(&slots, &cursor, limit: limit, timeline)
        appendItems(slots, to: &response)
        response.body.append(contentsOf: ",\"next_cursor\":".utf8)
        if let cursor {
            response.body.append(UInt8(ascii: "\""))
            response.body.append(Timestamp(microseconds: cursor), .offset)
            response.body.append(UInt8(ascii: "\""))
        } else {
            response.body.append(contentsOf: "null".utf8)
        }
        response.body.append(UInt8(ascii: "}"))
    }

    private func respondWithoutEnd(before: Int64?, limit: Int, _ response: inout HTTPResponse) {
        let newest: Int64 = 1_767_225_600_000_000
        let first = max(0, newest - (before ?? newest + 1) + 1)
        let rows = (first..<first + Int64(limit)).map { number in
            let id = "00000000-0000-4000-8000-\(100_000_000_000 + number % quirks.endlessItems)"
            let time = Timestamp(microseconds: newest - number)
            return #"{"id":"\#(id)","title":"Again","createdAt":"\#(time)"}"#
        }
        let cursor = Timestamp(microseconds: newest - first - Int64(limit) + 1)
        response.body.append(
            contentsOf: #"{"items":[\#(rows.joined(separator: ","))],"next_cursor":"\#(cursor)"}"#.utf8)
    }

    /// The `limit` of dialects C and P: 1 to 100, 20 by default, else 422.
    private func validLimit(_ request: HTTPRequest, _ response: inout HTTPResponse) -> Int? {
        guard let text = request.parameter("limit") else { return 20 }
        let location = ["query", "limit"]
        let input = JSONText.string(text)
        guard let limit = Int(text) else {
            let message = "Input should be a valid integer, unable to parse string as an integer"
            response.failValidation("int_parsing", at: location, message, input: input)
            return nil
        }
        if limit < 1 {
            let message = "Input should be greater than or equal to 1"
            response.failValidation("greater_than_equal", at: location, message, input: input, context: #"{"ge":1}"#)
            return nil
        }
        if limit > 100 {
            let message = "Input should be less than or equal to 100"
            response.failValidation("less_than_equal", at: location, message, input: input, context: #"{"le":100}"#)
            return nil
        }
        return limit
    }

    // MARK: Dialects P and E

    mutating func respondToPagedTimeline(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        let viewer = viewer(request)
        if refuses(viewer, &response) { return }
        guard let limit = validLimit(request, &response) else { return }
        let page = max(1, request.parameter("page").flatMap(Int.init) ?? 1)
        let total = appendPage(page, limit: limit, owner: viewer.owner(configuration.testUser), to: &response)
        response.body.append(contentsOf: ",\"total\":\(total),\"page\":\(page),\"pageSize\":\(limit)}".utf8)
    }

    mutating func respondToExpressTimeline(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        let viewer = viewer(request)
        if refuses(viewer, &response) { return }
        let limit = request.parameter("limit").flatMap(Self.parseInt) ?? 10
        let page = request.parameter("page").flatMap(Self.parseInt) ?? 1
        let total = appendPage(page, limit: limit, owner: viewer.owner(configuration.testUser), to: &response)
        response.body.append(contentsOf: ",\"totalResults\":\(total)}".utf8)
        guard quirks.etags else { return }
        let tag = "W/\"\(String(response.body.count, radix: 16))-\(String(Self.hash(response.body), radix: 16))\""
        response.headers.append(("etag", tag))
        if request.headers["if-none-match"] == tag {
            response.status = 304
            response.body.removeAll(keepingCapacity: true)
        }
    }

    /// JavaScript's `parseInt(x) || default`: leading digits count. 0, junk, and here also negative numbers do not.
    private static func parseInt(_ text: String) -> Int? {
        Int(text.prefix { $0.isASCII && $0.isNumber }).flatMap { $0 > 0 ? $0 : nil }
    }

    /// FNV-1a over eight bytes at a time: an etag, not a signature.
    private static func hash(_ bytes: [UInt8]) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        bytes.withUnsafeBytes { raw in
            for offset in stride(from: 0, to: raw.count - raw.count % 8, by: 8) {
                hash = (hash ^ raw.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 0x100_0000_01B3
            }
            for byte in raw[(raw.count - raw.count % 8)...] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        return hash
    }

    /// - Returns: how many items there are in all.
    private mutating func appendPage(_ page: Int, limit: Int, owner: String?, to response: inout HTTPResponse) -> Int {
        if pageLie == .emptyEnd {
            pageLie = nil
            appendItems([], to: &response)
            return 0
        }
        let timeline = items.timeline(owner: owner)
        let (offset, overflow) = (quirks.ignoresPage ? 0 : page - 1).multipliedReportingOverflow(by: limit)
        appendItems(overflow ? [] : timeline.page(from: offset, limit: limit), to: &response)
        return timeline.count
    }

    // MARK: All

    var itemStyle: ItemStyle {
        ItemStyle(
            dialect: items.dialect, saysItemType: quirks.saysItemType, lacksUpdatedAt: quirks.timelineLacksUpdatedAt)
    }

    /// `{"items":[…]`
    private mutating func appendItems(_ slots: [Int32], to response: inout HTTPResponse) {
        var style = itemStyle
        if quirks.shufflesTags { style.tagRotation = timelineRequestCount }
        response.body.reserveCapacity(slots.count * 1_024 + 128)
        response.body.append(contentsOf: "{\"items\":[".utf8)
        for (index, slot) in slots.enumerated() {
            if index > 0 { response.body.append(UInt8(ascii: ",")) }
            items.render(slot: slot, into: &response.body, style: style)
        }
        response.body.append(UInt8(ascii: "]"))
    }
}

extension HTTPResponse {
    fileprivate mutating func failUnhandledTimeline(_ reason: String) {
        fail(500, "Failed to retrieve timeline: \(reason)", code: "INTERNAL_SERVER_ERROR")
    }
}
