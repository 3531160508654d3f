package import PRSNLCore
package import Reports

/// A login that prsnlctl has made, on its way to the daemon: the one request that carries a secret. It is never logged, and
/// the pair shows nothing of itself when it is printed.
package struct LoginHandover: Sendable, Equatable {
    /// Whose pair it is: a pair is never sent to another server.
    package var server: String
    package var pair: TokenPair
    /// As the server named it with the pair.
    package var account: AccountName

    /// Bytes of one member. A token is a header line to the server, which allows no more; names are cut by nobody, and
    /// need none of this.
    static let longestMember = 8_192

    package init(server: String, pair: TokenPair, account: AccountName) {
        self.server = server
        self.pair = pair
        self.account = account
    }

    /// The members beside `command`.
    var members: [String] {
        [
            ("server", server), ("access_token", pair.access), ("refresh_token", pair.refresh),
            ("account_id", account.id ?? ""), ("account_name", account.name ?? ""),
        ].map { "\"\($0)\":\(JSONText.string($1))" }
    }

    static let memberNames = ["server", "access_token", "refresh_token", "account_id", "account_name"]

    /// - Throws: what is missing or cannot be; never with any of the value.
    init(members: [String: String]) throws(ControlRequest.Refusal) {
        func member(_ name: String, isOptional: Bool = false) throws(ControlRequest.Refusal) -> String {
            let text = members[name] ?? ""
            guard isOptional || !text.isEmpty else { throw ControlRequest.Refusal(reason: "\(name) is missing") }
            guard text.utf8.count <= Self.longestMember else {
                throw ControlRequest.Refusal(reason: "\(name) is longer than \(Self.longestMember) bytes")
            }
            return text
        }
        server = try member("server")
        guard let pair = TokenPair(access: try member("access_token"), refresh: try member("refresh_token")) else {
            throw ControlRequest.Refusal(reason: "access_token or refresh_token is no token")
        }
        self.pair = pair
        let id = try member("account_id", isOptional: true)
        let name = try member("account_name", isOptional: true)
        account = AccountName(id: id.isEmpty ? nil : id, name: name.isEmpty ? nil : name)
    }
}

/// What a daemon says that would take a login.
package struct LoginReadiness: Sendable, Equatable, Codable {
    /// The server that it asks.
    package var server: String

    package init(server: String) { self.server = server }
}
