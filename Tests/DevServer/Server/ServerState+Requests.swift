import PRSNLCore

extension ServerState {
    /// Logs a request as it arrives, and finds the fault for it.
    mutating func admit(_ request: HTTPRequest, connection: Int) -> Admission {
        requestCount += 1
        var admission = Admission(number: requestCount)
        let isDev = request.path.hasPrefix("/__dev/")
        var logged = loggedRequest(request, number: requestCount, connection: connection)
        if !isDev {
            endpointCounts[Self.endpoint(request), default: 0] += 1
            if let index = scriptIndex(for: logged) {
                script[index].applied += 1
                admission.fault = script[index].fault
                admission.faultNumber = script[index].number
            } else if randomFault != nil, RequestMatcher.change.matches(logged) {
                admission.fault = randomFault?.draw()
            } else if let fault = storm?.draw(logged) {
                admission.fault = fault
                items.journal?.fault(fault.name, of: request)
            }
        }
        logged.fault = admission.fault?.name
        if configuration.requestLogLimit > 0, !isDev {
            if log.count >= configuration.requestLogLimit { log.removeFirst(max(1, log.count / 2)) }
            log.append(logged)
        }
        if configuration.log != nil { admission.logged = logged }
        if request.path == "/api/timeline" {
            timelineRequestCount += 1
            switch configuration.pageCost {
            case .none: break
            case .fixed(let cost): admission.cost = cost
            case .perItem(let cost): admission.cost = cost * items.count
            }
        }
        return admission
    }

    /// Notes the answer.
    mutating func answered(_ number: Int, status: Int) {
        // Nearly always the last one or close to it.
        var index = log.count - 1
        while index >= 0, log[index].number > number { index -= 1 }
        if index >= 0, log[index].number == number { log[index].status = status }
    }

    private mutating func scriptIndex(for request: LoggedRequest) -> Int? {
        for index in script.indices where script[index].times > 0 && script[index].matcher.matches(request) {
            if script[index].skip > 0 {
                script[index].skip -= 1
                continue
            }
            if script[index].times != .max { script[index].times -= 1 }
            return index
        }
        return nil
    }

    private func loggedRequest(_ request: HTTPRequest, number: Int, connection: Int) -> LoggedRequest {
        var headers = request.headers
        headers["authorization"] = nil
        headers["x-api-key"] = nil
        let isSecret = request.path.hasPrefix("/api/auth/")
        return LoggedRequest(
            number: number, connection: connection, receivedAt: now, method: request.method, path: request.path,
            query: request.query, authorization: request.authorization, token: tokenWorth(request), headers: headers,
            body: isSecret || request.body.isEmpty ? "" : String(decoding: request.body, as: UTF8.self),
            bodySize: request.body.count)
    }

    private func tokenWorth(_ request: HTTPRequest) -> LoggedRequest.Token {
        guard items.dialect == .cursor, let token = request.bearer else { return .none }
        if let known = accessTokens[token] { return known.expiresAt > now ? .valid : .expired }
        return refreshTokens[token] == nil ? .unknown : .refresh
    }

    private static func endpoint(_ request: HTTPRequest) -> String {
        guard request.path.hasPrefix("/api/items/") else { return "\(request.method) \(request.path)" }
        return "\(request.method) /api/items/{id}"
    }
}
