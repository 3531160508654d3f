package import PRSNLCore

// Logging in and out (dialect C). Renewing a login is `PRSNLClient+Renewal`.
extension PRSNLClient {
    /// `POST /api/auth/login`. The pair is returned and not used. The caller decides where it is stored.
    ///
    /// - Throws: `loginFailed` for a wrong address or password.
    package func login(
        email: String, password: String
    ) async throws(APIError) -> (pair: TokenPair, account: Account) {
        var call = Call("POST", "/api/auth/login")
        call.isAuthenticated = false
        call.secrets = [password]
        call.body = Array(
            "{\"email\":\(JSONText.string(email)),\"password\":\(JSONText.string(password))}".utf8)
        let answer: HTTPAnswer
        do throws(APIError) { answer = try await send(call) } catch {
            guard error.kind == .unauthorized, error.isPRSNLError else { throw error }
            var failure = error
            failure.kind = .loginFailed
            throw failure
        }
        return try decode(call, answer) { body throws(APIError.DecodingCause) in
            let value = try Self.object(body)
            guard let account = value["user"].flatMap(Account.init) else {
                throw .unexpectedShape("the answer to the login names no account")
            }
            return (try pair(value), account)
        }
    }

    /// Another client of the same server, for a login that is no longer the one in use here. It stores nothing.
    ///
    /// - Parameter limit: of each request.
    package func sibling(
        _ credentials: Credentials, atMost limit: Duration
    ) throws(UserFacingError) -> PRSNLClient {
        var configuration = configuration
        configuration.credentials = credentials
        configuration.connectTimeout = min(configuration.connectTimeout, limit)
        configuration.stallTimeout = min(configuration.stallTimeout, limit)
        configuration.totalTimeout = min(configuration.totalTimeout, limit)
        let sibling = try PRSNLClient(configuration: configuration, time: time, usage: usage, log: log)
        if memory.withLock(\.isOffline) { sibling.setOffline(true, ending: true) }
        return sibling
    }

    /// `POST /api/auth/logout`, with the login in use. The client goes on using it: `replaceCredentials` is the caller's.
    package func logout() async throws(APIError) {
        var call = Call("POST", "/api/auth/logout")
        call.dialect = .cursor
        _ = try await send(call)
    }

    /// The pair in the answer to a login or a renewal.
    func pair(_ value: JSONValue) throws(APIError.DecodingCause) -> TokenPair {
        let pair = try TokenPair(answer: value)
        let uptime = time.uptime()
        return memory.withLock { LoginState.measured(pair, $0.serverClock, uptime: uptime) }
    }
}

extension TokenPair {
    init(answer: JSONValue) throws(APIError.DecodingCause) {
        guard let access = answer["access_token"]?.text, let refresh = answer["refresh_token"]?.text else {
            throw .unexpectedShape("the answer holds no pair of tokens")
        }
        guard let pair = TokenPair(access: access, refresh: refresh) else {
            throw .unexpectedShape("a token in the answer is empty or cannot stand in a header")
        }
        self = pair
    }
}

extension Account {
    /// `nil` without an id.
    init?(_ user: JSONValue) {
        guard let id = user["id"]?.text, !id.isEmpty else { return nil }
        self.init(id: id, email: user["email"]?.text, name: user["name"]?.text)
    }
}
