import PRSNLCore

extension ServerState {
    /// Applies a request and writes its answer.
    mutating func respond(to request: HTTPRequest, response: inout HTTPResponse) {
        if request.path.hasPrefix("/__dev/") {
            items.journal?.begin(request)
            respondToDev(request, &response)
            return
        }
        if request.isOutsidePrefix {
            response.failHTML(404, "Not Found")
            return
        }
        insertLate()
        items.journal?.begin(nil)
        if request.path == "/api/timeline" { mutateIfDue() }
        settleDue()
        items.journal?.begin(request)
        switch items.dialect {
        case .cursor: routeMain(request, &response)
        case .page: routeMain(request, &response)
        case .express: routeExpress(request, &response)
        }
    }

    /// The FastAPI servers.
    private mutating func routeMain(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        let path = request.path
        if path != "/", path.hasSuffix("/"), Self.mainPaths.contains(String(path.dropLast())) {
            response.contentType = ""
            response.set(307, "")
            let query = request.query.isEmpty ? "" : "?\(request.query)"
            let host = request.headers["host"] ?? "127.0.0.1"
            let target = "http://\(host)\(configuration.pathPrefix)\(path.dropLast())\(query)"
            response.headers.append(("location", target))
            return
        }
        if path.hasPrefix("/api/items/") {
            respondToItem(String(path.dropFirst("/api/items/".count)), request, &response)
            return
        }
        switch (path, request.method) {
        case ("/api/health", "GET"): respondToHealth(&response)
        case ("/api/timeline", "GET"):
            if items.dialect == .cursor {
                respondToCursorTimeline(request, &response)
            } else {
                respondToPagedTimeline(request, &response)
            }
        case ("/api/capture", "POST"): respondToCapture(request, &response)
        case ("/api/capture/check-duplicate", "POST") where !quirks.lacksCheckDuplicate:
            respondToCheckDuplicate(request, &response)
        case ("/api/auth/me", "GET") where items.dialect == .cursor: respondToAccount(request, &response)
        case ("/api/auth/login", "POST") where items.dialect == .cursor: respondToLogin(request, &response)
        case ("/api/auth/refresh", "POST") where items.dialect == .cursor: respondToRefresh(request, &response)
        case ("/api/auth/logout", "POST") where items.dialect == .cursor: respondToLogout(request, &response)
        default:
            if Self.mainPaths.contains(path), items.dialect == .cursor || !path.hasPrefix("/api/auth/") {
                failMethod(
                    path == "/api/timeline" || path == "/api/health" || path == "/api/auth/me" ? "GET" : "POST",
                    &response)
            } else {
                response.fail(404, "Not Found")
            }
        }
    }

    private static let mainPaths: Set<String> = [
        "/api/health", "/api/timeline", "/api/capture", "/api/capture/check-duplicate", "/api/auth/me",
        "/api/auth/login",
        "/api/auth/refresh", "/api/auth/logout",
    ]

    /// FastAPI answers HEAD so too: a GET route does not take it.
    func failMethod(_ allowed: String, _ response: inout HTTPResponse) {
        response.fail(405, "Method Not Allowed")
        response.headers.append(("allow", allowed))
    }

    private func respondToHealth(_ response: inout HTTPResponse) {
        var time = now.description  // without a zone, as Python's naive times are printed
        time.removeLast()
        response.set(
            200, #"{"status":"healthy","timestamp":"\#(time)","version":"1.0.0","service":"prsnl-backend"}"#)
    }

    // MARK: Who asks

    /// What a server makes of the credentials of a request.
    enum Viewer {
        /// No credentials (dialect C): everyone's items.
        case everyone
        case account(DevAccount)
        /// Dialect C, expired, forged or unknown token: the built-in test user.
        case testUser(isExpired: Bool)
        /// Dialects P and E: no key, or a wrong one.
        case refused(hasKey: Bool)

        /// Whose items are shown. `nil` for everyone's.
        func owner(_ testUser: DevAccount) -> String? {
            switch self {
            case .everyone, .refused: nil
            case .account(let account): account.id
            case .testUser: testUser.id
            }
        }
    }

    func viewer(_ request: HTTPRequest) -> Viewer {
        items.dialect == .cursor ? tokenViewer(request) : keyViewer(request)
    }

    private func tokenViewer(_ request: HTTPRequest) -> Viewer {
        guard let token = request.bearer else { return .everyone }
        guard let known = accessTokens[token] else { return .testUser(isExpired: false) }
        return known.expiresAt > now ? .account(known.account) : .testUser(isExpired: true)
    }

    private func keyViewer(_ request: HTTPRequest) -> Viewer {
        var keys: [String] = []
        if let key = request.headers["x-api-key"], !quirks.bearerKeysOnly { keys.append(key) }
        if items.dialect == .page || quirks.bearerKeysOnly, let key = request.bearer { keys.append(key) }
        for key in keys {
            if let account = configuration.accounts.first(where: { $0.apiKey == key }) { return .account(account) }
        }
        if quirks.keysOptional, keys.isEmpty { return .everyone }
        return .refused(hasKey: !keys.isEmpty)
    }

    /// Answers 401 or 403 where a key is needed and not there.
    ///
    /// - Returns: whether it did.
    func refuses(_ viewer: Viewer, _ response: inout HTTPResponse) -> Bool {
        guard case .refused(let hasKey) = viewer else { return false }
        if items.dialect == .express {
            response.failExpress(hasKey ? 403 : 401, hasKey ? "Invalid API key" : "API key is required")
        } else {
            let message = hasKey ? "Invalid API key" : "API key is required"
            response.set(
                401, #"{"error":{"code":"AUTHENTICATION_FAILED","message":"\#(message)","details":null}}"#)
            response.headers.append(("x-error-code", "AUTHENTICATION_FAILED"))
        }
        return true
    }

    /// The account of a request that needs one. Answers 401 where it has none.
    func account(for request: HTTPRequest, _ response: inout HTTPResponse) -> DevAccount? {
        switch viewer(request) {
        case .account(let account): return account
        case .everyone where items.dialect != .cursor: return configuration.accounts.first
        case .everyone: response.fail(401, "Authentication required", code: "AUTHENTICATION_FAILED")
        case .testUser(isExpired: true): response.fail(401, "Token has expired", code: "AUTHENTICATION_FAILED")
        case .testUser:
            // The real server takes a refresh token for a login here. No client should send one.
            if let token = request.bearer, let known = refreshTokens[token] { return known.account }
            response.fail(401, "Could not validate credentials", code: "AUTHENTICATION_FAILED")
        case .refused(let hasKey): _ = refuses(.refused(hasKey: hasKey), &response)
        }
        return nil
    }
}
