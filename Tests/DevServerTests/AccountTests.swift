import DevServer
import PRSNLCore
import Synchronization
import Testing

@Suite struct AccountTests {
    private func server(_ configuration: DevServer.Configuration = .init()) throws -> DevServer {
        try DevServer.start(
            configuration,
            items: DevItem.generate(count: 3)
                + DevItem.generate(count: 2, seed: 2, owner: DevAccount.other.id)
                + DevItem.generate(count: 1, seed: 3, owner: DevAccount.testUser.id))
    }

    private func bearer(_ token: String) -> [String: String] { ["Authorization": "Bearer \(token)"] }

    @Test func whoeverAsksSeesWhatTheRealServerShows() throws {
        let server = try server()
        let client = try RawClient(server)
        let token = server.issueToken()
        #expect(token.split(separator: ".").count == 3)
        #expect(token.hasPrefix("eyJ"))
        #expect(try client.page("").ids.count == 6)
        #expect(try client.page("", headers: ["X-API-Key": DevAccount.owner.apiKey]).ids.count == 6)
        #expect(try client.page("", headers: bearer(token)).ids.count == 3)
        #expect(try client.page("", headers: bearer("eyJhbGciOiJIUzI1NiJ9.eyJ4IjoxfQ.forged")).ids.count == 1)
        #expect(try member("id", of: client.get("/api/auth/me", headers: bearer(token)).body) == DevAccount.owner.id)

        server.expireTokens()
        #expect(
            try client.page("", headers: bearer(token)).ids == server.items(owner: DevAccount.testUser.id).map(\.id))
        let me = try client.get("/api/auth/me", headers: bearer(token))
        #expect(try member("id", of: me.body) == DevAccount.testUser.id)
        #expect(try client.get("/api/auth/me").status == 401)
        server.setQuirks { $0.accountRefusesBadTokens = true }
        #expect(try client.get("/api/auth/me", headers: bearer(token)).text == #"{"detail":"Token has expired"}"#)
    }

    @Test func aTokenCanBecomeAnotherAccounts() throws {
        let server = try server()
        let token = server.issueToken()
        server.reassignTokens(to: .other)
        #expect(try RawClient(server).page("", headers: bearer(token)).ids.count == 2)
        let me = try server.get("/api/auth/me", headers: bearer(token))
        #expect(try member("id", of: me.body) == DevAccount.other.id)
    }

    @Test func tokensExpireByTheServersClock() throws {
        let clock = Clock(time: 1_800_000_000_000_000)
        var configuration = DevServer.Configuration()
        configuration.now = { clock.now }
        let server = try server(configuration)
        let token = server.issueToken()
        clock.advance(by: .seconds(1_799))
        #expect(try RawClient(server).page("", headers: bearer(token)).ids.count == 3)
        clock.advance(by: .seconds(2))
        #expect(try RawClient(server).page("", headers: bearer(token)).ids.count == 1)
    }

    @Test func aRefreshTokenIsWorthOnePair() throws {
        let server = try server()
        let client = try RawClient(server)
        let wrong = try client.request(
            "POST", "/api/auth/login", body: #"{"email":"owner@prsnl.example","password":"x"}"#)
        #expect(wrong.status == 401)
        #expect(wrong.text == #"{"detail":"Invalid email or password"}"#)
        let login = try client.request(
            "POST", "/api/auth/login",
            body: #"{"email":"owner@prsnl.example","password":"\#(DevAccount.owner.password)"}"#)
        #expect(try member("token_type", of: login.body) == "bearer")
        #expect(try member("user", "email", of: login.body) == "owner@prsnl.example")
        let access = try #require(try member("access_token", of: login.body))
        let refresh = try #require(try member("refresh_token", of: login.body))
        #expect(try client.page("", headers: bearer(access)).ids.count == 3)

        let body = #"{"refresh_token":"\#(refresh)"}"#
        let pair = try client.request("POST", "/api/auth/refresh", body: body)
        #expect(try member("expires_in", of: pair.body) == "3600")
        let again = try client.request("POST", "/api/auth/refresh", body: body)
        #expect(again.status == 401)
        #expect(again.text == #"{"detail":"Invalid or expired refresh token"}"#)
        let newer = try #require(try member("access_token", of: pair.body))
        #expect(try client.page("", headers: bearer(newer)).ids.count == 3)
        #expect(try client.request("POST", "/api/auth/logout", headers: bearer(newer)).status == 200)
        #expect(try client.page("", headers: bearer(newer)).ids.count == 1)
    }

    @Test func healthNeedsNoCredentials() throws {
        let health = try server().get("/api/health")
        #expect(health.status == 200)
        #expect(health.text.contains(/"status":"healthy","timestamp":"[0-9T:-]{19}\.[0-9]{6}","version"/))
    }

    @Test func itemsAreReadWithTheirContentAndOtherNames() throws {
        let server = try server()
        var note = DevItem(id: "11111111-1111-4111-8111-111111111111", createdAt: DevItem.generationStart, type: "note")
        note.content = "Text"
        note.status = "failed"
        server.add(note)
        let answer = try server.get("/api/items/\(note.id)")
        #expect(try member("content", of: answer.body) == "Text")
        #expect(try member("status", of: answer.body) == "completed")
        #expect(try member("created_at", of: answer.body) == "2025-01-01T00:00:00+00:00")
        #expect(try server.get("/api/items/42").status == 422)
    }
}

/// A wall clock that the test moves.
final class Clock: Sendable {
    private let time: Mutex<Timestamp>

    init(time: Int64) {
        self.time = Mutex(Timestamp(microseconds: time))
    }

    var now: Timestamp { time.withLock { $0 } }

    func advance(by duration: Duration) {
        time.withLock { $0 = $0.advanced(by: duration) }
    }
}
