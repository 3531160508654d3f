package import Control
package import PRSNLCore

/// A login that prsnlctl has made, on its way to the daemon: the one request that carries a secret. It is never logged, and
/// the pair shows nothing of itself when it is printed.
package struct LoginRequest: ControlRequest {
    package typealias Answer = LoginReport
    package static let command = "login"

    /// Whose pair it is: a pair is never sent to another server.
    package let server: String
    package let pair: TokenPair
    /// As the server named it with the pair.
    package let account: AccountName
    package var isChange: Bool { true }

    /// Bytes of one member. A token is a header line to the server, which allows no more.
    static let longestMember = 8_192

    package init(server: String, pair: TokenPair, account: AccountName) {
        self.server = server
        self.pair = pair
        self.account = account
    }

    /// - Throws: what is missing or cannot be; never with any of the value.
    package init(_ members: RequestMembers) throws(RequestRefusal) {
        func member(_ name: String, isOptional: Bool = false) throws(RequestRefusal) -> String {
            let text = try members.text(name) ?? ""
            guard isOptional || !text.isEmpty else { throw RequestRefusal(reason: "\(name) is missing") }
            guard text.utf8.count <= Self.longestMember else {
                throw RequestRefusal(reason: "\(name) is longer than \(Self.longestMember) bytes")
            }
            return text
        }
        server = try member("server")
        let life = try members.number("access_life").map { Duration.seconds($0) }
        guard
            let pair = TokenPair(
                access: try member("access_token"), refresh: try member("refresh_token"), life: life)
        else {
            throw RequestRefusal(reason: "access_token or refresh_token is no token")
        }
        self.pair = pair
        let id = try member("account_id", isOptional: true)
        let name = try member("account_name", isOptional: true)
        account = AccountName(id: id.isEmpty ? nil : id, name: name.isEmpty ? nil : name)
    }

    package func write(to line: inout RequestLine) {
        line.add("server", server)
        line.add("access_token", pair.access)
        line.add("refresh_token", pair.refresh)
        if let life = pair.life { line.add("access_life", life.components.seconds) }
        line.add("account_id", account.id ?? "")
        line.add("account_name", account.name ?? "")
    }
}

/// Whether a login would be taken, before a password is typed.
package struct LoginCheckRequest: BareRequest {
    package typealias Answer = LoginReadiness
    package static let command = "login"
    package static let variant: String? = "check"
    /// Those who may not log in are to learn it now.
    package var isChange: Bool { true }

    package init() {}
}

/// What a daemon says that would take a login.
package struct LoginReadiness: ControlReply {
    package static let type = "login_ready"

    /// The server that it asks.
    package var server: String

    package init(server: String) { self.server = server }
}
