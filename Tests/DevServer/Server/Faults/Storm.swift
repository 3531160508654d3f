import PRSNLCore

/// Random faults for any request, of the kinds that real servers and the proxies in front of them have shown.
struct Storm: Sendable {
    /// How many of the writes. Of the other requests a quarter of that.
    var rate: Double
    /// The longest that an INSERT is late.
    var slowest: Duration
    /// Item and tags are separate statements: on the FastAPI servers.
    let hasTagsApart: Bool
    private var random: ItemRandom

    init(_ plan: DevServer.StormPlan, dialect: Dialect) {
        rate = plan.rate
        hasTagsApart = dialect != .express
        slowest = plan.slowest
        random = ItemRandom(state: mix(plan.seed))
    }

    /// The fault for this request, if any.
    mutating func draw(_ request: LoggedRequest) -> Fault? {
        let isWrite = RequestMatcher.change.matches(request)
        let chance = Double(random.next() >> 11) / Double(1 << 53)
        guard chance < (isWrite ? rate : rate / 4) else { return nil }
        if isWrite { return write(isCapture: RequestMatcher.capture.matches(request)) }
        if request.path == "/api/timeline" { return page() }
        return question(request.path)
    }

    private mutating func write(isCapture: Bool) -> Fault {
        switch random.below(100) {
        case ..<32: .closeAfterApplying
        case ..<40: isCapture ? .storm(.slowInsert(time(upTo: slowest))) : .closeAfterApplying
        case ..<48: .storm(.lateAnswer(time(upTo: .milliseconds(400))))
        case ..<56: isCapture && hasTagsApart ? .storm(.halfInsert(tags: random.below(2))) : Self.unhandled(after: true)
        case ..<64: Self.unhandled(after: true)
        case ..<72: gateway(after: true)
        case ..<80: .closeBeforeAnswering
        case ..<86: gateway(after: false)
        case ..<92: Self.unhandled(after: false)
        case ..<95: .truncate(after: random.below(40))
        case ..<97: .delay(time(upTo: .milliseconds(300)))
        case ..<98: .stall
        case ..<99: .garbage
        default: .rateLimit(.seconds(1))
        }
    }

    private mutating func page() -> Fault {
        switch random.below(100) {
        case ..<40:
            .storm(.contradiction(StormFault.Contradiction.allCases[random.below(4)]))
        case ..<55: gateway(after: false)
        case ..<65: .closeBeforeAnswering
        case ..<75: .truncate(after: random.below(4_000))
        case ..<85: .delay(time(upTo: .milliseconds(300)))
        case ..<97:
            .answer(
                status: 500, headers: ["x-error-code": "INTERNAL_SERVER_ERROR"],
                body: #"{"detail":"Failed to retrieve timeline: [Errno 111] Connection refused"}"#)
        case ..<98: .stall
        case ..<99: .garbage
        default: .emptyObject
        }
    }

    private mutating func question(_ path: String) -> Fault {
        switch random.below(10) {
        case ..<3: .closeBeforeAnswering
        case ..<5: gateway(after: false)
        case ..<7: Self.unhandled(after: false)
        case ..<8 where path == "/api/capture/check-duplicate":
            random.below(2) == 0 ? .rateLimit(.seconds(1)) : .answer(status: 404, body: #"{"detail":"Not Found"}"#)
        default: .delay(time(upTo: .milliseconds(300)))
        }
    }

    private mutating func time(upTo longest: Duration) -> Duration {
        .milliseconds(20 + random.below(max(1, Int(longest.wholeMicroseconds / 1_000) - 20)))
    }

    /// What a proxy says of a server that it does not reach, or waits for no longer.
    private mutating func gateway(after: Bool) -> Fault {
        let bodies = [
            "<html><head><title>Bad Gateway</title></head><body>nginx</body></html>",
            #"{"error":"upstream request timeout"}"#, "no healthy upstream", "",
        ]
        let status = 502 + random.below(3)
        let body = random.pick(bodies)
        let headers = ["content-type": body.hasPrefix("{") ? "application/json" : "text/html"]
        return after
            ? .answerAfterApplying(status: status, headers: headers, body: body)
            : .answer(status: status, headers: headers, body: body)
    }

    private static func unhandled(after: Bool) -> Fault {
        let headers = ["x-error-code": "INTERNAL_SERVER_ERROR"]
        let body = #"{"detail":"Internal server error","code":"INTERNAL_SERVER_ERROR"}"#
        return after
            ? .answerAfterApplying(status: 500, headers: headers, body: body)
            : .answer(status: 500, headers: headers, body: body)
    }
}

// MARK: Slow INSERTs

/// A capture that is checked and not inserted yet.
struct LateInsert: Sendable {
    let number: Int
    var due: Timestamp
    let request: HTTPRequest
    /// Once it is inserted.
    var answer: HTTPResponse?
}

extension ServerState {
    /// Begins a slow INSERT, unless the server knows the URL by now: that it says at once.
    ///
    /// - Returns: its number. `nil` where the request is served as usual.
    mutating func beginLateInsert(_ request: HTTPRequest, after delay: Duration) -> Int? {
        var dummy = HTTPResponse()
        guard let account = account(for: request, &dummy), let value = try? JSONValue(request.body),
            case .object(let members) = value
        else { return nil }
        if items.dialect != .express, let url = members["url"]?.string,
            items.firstItem(url: url, owner: account.id) != nil
        {
            return nil
        }
        requestCount += 1
        lateInserts.append(LateInsert(number: requestCount, due: now.advanced(by: delay), request: request))
        return requestCount
    }

    /// Those whose time has come. Called before anything is answered, so that it is as if each was inserted on time.
    ///
    /// - Parameter number: one whose time has come by the clock of its connection.
    mutating func insertLate(_ number: Int? = nil) {
        guard !lateInserts.isEmpty else { return }
        let now = now
        for index in lateInserts.indices where lateInserts[index].answer == nil {
            guard lateInserts[index].due <= now || lateInserts[index].number == number else { continue }
            var response = HTTPResponse()
            let request = lateInserts[index].request
            items.journal?.begin(request)
            insertsDuplicates = true
            if items.dialect == .express {
                routeExpress(request, &response)
            } else {
                respondToCapture(request, &response)
            }
            insertsDuplicates = false
            lateInserts[index].answer = response
        }
        // Answers that no connection waits for any more.
        lateInserts.removeAll { $0.answer != nil && now.duration(since: $0.due) > .seconds(10) }
    }

    /// The answer to a slow INSERT, for the connection that has waited for it.
    mutating func answerOfLateInsert(_ number: Int) -> HTTPResponse {
        insertLate(number)
        guard let index = lateInserts.firstIndex(where: { $0.number == number }),
            let answer = lateInserts[index].answer
        else {
            var response = HTTPResponse()
            response.failUnhandled("Internal server error")
            return response
        }
        lateInserts.remove(at: index)
        return answer
    }
}
