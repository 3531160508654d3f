import PRSNLCore

extension ServerState {
    /// `GET /api/auth/me`: whom the server really sees.
    func respondToAccount(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        let account: DevAccount
        switch viewer(request) {
        case .account(let known): account = known
        case .testUser(let isExpired):
            if quirks.accountRefusesBadTokens {
                response.fail(401, isExpired ? "Token has expired" : "Could not validate credentials")
                return
            }
            account = configuration.testUser
        case .everyone, .refused:
            response.fail(401, "Authentication required", code: "AUTHENTICATION_FAILED")
            return
        }
        var object = JSONObjectWriter(&response.body)
        object.string("id", account.id, &response.body)
        object.string("email", account.email, &response.body)
        object.string("name", account.name, &response.body)
        object.time("created_at", account.createdAt, .offset, &response.body)
        object.bool("is_verified", true, &response.body)
        object.end(&response.body)
    }

    /// `POST /api/auth/login`
    mutating func respondToLogin(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        guard let body = MainBody(request, &response) else { return }
        for name in ["email", "password"] where body.members[name]?.string == nil {
            response.failValidation("missing", at: ["body", name], "Field required", input: "{}")
            return
        }
        guard
            let account = configuration.accounts.first(where: {
                $0.email == body.members["email"]?.string && $0.password == body.members["password"]?.string
            })
        else {
            response.fail(401, "Invalid email or password", code: "AUTHENTICATION_FAILED")
            return
        }
        let tokens = issueToken(for: account, lifetime: nil)
        let user =
            "{\"id\":\"\(account.id)\",\"email\":\(JSONText.string(account.email)),"
            + "\"name\":\(JSONText.string(account.name)),\"is_verified\":true}"
        response.set(
            200,
            #"{"access_token":"\#(tokens.access)","refresh_token":"\#(tokens.refresh)","token_type":"bearer","#
                + #""user":\#(user)}"#
        )
    }

    /// `POST /api/auth/refresh`: a new pair, and the old refresh token is worth nothing from then on.
    mutating func respondToRefresh(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        guard let body = MainBody(request, &response) else { return }
        guard let token = body.members["refresh_token"]?.string else {
            response.failValidation("missing", at: ["body", "refresh_token"], "Field required", input: "{}")
            return
        }
        guard let known = refreshTokens.removeValue(forKey: token), known.expiresAt > now else {
            response.fail(401, "Invalid or expired refresh token", code: "AUTHENTICATION_FAILED")
            return
        }
        items.journal?.spent(token)
        let tokens = issueToken(for: known.account, lifetime: nil)
        // The token's own `exp` says 30 minutes: this figure is wrong on the real server too.
        response.set(
            200,
            #"{"access_token":"\#(tokens.access)","refresh_token":"\#(tokens.refresh)","token_type":"bearer","#
                + #""expires_in":3600}"#
        )
    }

    /// `POST /api/auth/logout`
    mutating func respondToLogout(_ request: HTTPRequest, _ response: inout HTTPResponse) {
        if let token = request.bearer { accessTokens[token] = nil }
        response.set(200, #"{"message":"Successfully logged out"}"#)
    }
}
