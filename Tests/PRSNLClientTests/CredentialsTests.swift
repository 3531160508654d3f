import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

struct CredentialsTests {
    /// {"alg":"HS256"} . {"sub":"u"} . "fake signature"
    static let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ1In0.ZmFrZSBzaWduYXR1cmU"

    @Test func aLoginTokenIsToldFromAKeyByItsForm() throws {
        #expect(try Credentials.parse("\n \(Self.token)\r\n\n") == .loginToken(Self.token))
        for key in ["fake-key-1", "a.b.c", "eyJhbGciOiJIUzI1NiJ9.e30", "ZmFrZQ.e30.e30", "..", "\(Self.token).x"] {
            #expect(try Credentials.parse(key) == .apiKey(key), "\(key)")
        }
    }

    @Test(arguments: [
        "", " \n\n", "fake-a\nfake-b", "two words", "späße", "nul\0", String(repeating: "x", count: 8_193),
    ])
    func aKeyFileOfAnotherFormIsRefusedWithoutShowingIt(_ text: String) {
        let error = thrown(UserFacingError.self) { try Credentials.parse(text) }
        #expect(error?.code == .keyFileInvalid)
        for word in ["fake-a", "two words", "späße", "xxx"] { #expect(error?.description.contains(word) == false) }
    }

    @Test func noPrintingOfCredentialsShowsThem() throws {
        let pair = try #require(TokenPair(access: "fake-secret-a", refresh: "fake-secret-r"))
        for credentials in [Credentials.apiKey("fake-secret-k"), .loginToken("fake-secret-t"), .login(pair)] {
            let configuration = ClientConfiguration(serverURL: "https://prsnl.example.org", credentials: credentials)
            var text = "\(credentials) \(String(reflecting: credentials)) \(configuration)"
            dump(configuration, to: &text)
            #expect(!text.contains("fake-secret"), "\(text)")
        }
    }

    private func keyServer(accepts header: String) throws -> ScriptedServer {
        try ScriptedServer { request in
            request.headers[header] != nil ? .json(#"{"id":"a"}"#) : .json(#"{"error":"no"}"#, status: 401)
        }
    }

    @Test func aKeyGoesIntoItsOwnHeader() async throws {
        let server = try keyServer(accepts: "x-api-key")
        let test = try TestClient(server.url, .apiKey("fake-key"))
        _ = try await test.client.session().account()
        #expect(server.requests.map { $0.headers["x-api-key"] } == ["fake-key"])
        #expect(server.requests.map { $0.headers["authorization"] } == [nil])
    }

    @Test func aRefusedKeyIsTriedOnceAsBearerAndWhatWorkedIsRemembered() async throws {
        let server = try keyServer(accepts: "authorization")
        let test = try TestClient(server.url, .apiKey("fake-key"))
        _ = try await test.client.session().account()
        _ = try await test.client.session().account()
        #expect(server.requests.map { $0.headers["authorization"] } == [nil, "Bearer fake-key", "Bearer fake-key"])
        #expect(server.requests.map { $0.headers["x-api-key"] } == ["fake-key", nil, nil])
        #expect(test.usage.all.map(\.attempts) == [1, 1])
    }

    @Test func aKeyThatIsRefusedBothWaysIsAskedTwiceEachTime() async throws {
        let server = try keyServer(accepts: "x-nothing")
        let test = try TestClient(server.url, .apiKey("fake-key"))
        for _ in 0..<2 {
            let error = await apiError { () async throws(APIError) in try await test.client.session().account() }
            #expect(error?.kind == .unauthorized)
        }
        #expect(server.requests.map { $0.headers["x-api-key"] } == ["fake-key", nil, "fake-key", nil])
    }

    @Test func theCursorDialectNeverGetsAKeyAsBearer() async throws {
        let server = try ScriptedServer { request in
            request.target.hasPrefix("/api/timeline")
                ? .json(#"{"items":[],"next_cursor":null}"#) : .json(#"{"detail":"no"}"#, status: 401)
        }
        let test = try TestClient(server.url, .apiKey("fake-key"))
        _ = try await test.client.session().timeline(TimelineRequest(.page(1), limit: 1))
        #expect(test.client.dialect == .cursor)
        #expect(
            await apiError { () async throws(APIError) in try await test.client.session().account() }?.kind
                == .unauthorized)
        #expect(server.requests.allSatisfy { $0.headers["authorization"] == nil })
    }

    @Test func aLoginTokenIsBearerAndNothingElse() async throws {
        let server = try keyServer(accepts: "x-api-key")
        let test = try TestClient(server.url, .loginToken(Self.token))
        #expect(
            await apiError { () async throws(APIError) in try await test.client.session().account() }?.kind
                == .unauthorized)
        #expect(server.requests.map { $0.headers["authorization"] } == ["Bearer \(Self.token)"])
        #expect(server.requests.map { $0.headers["x-api-key"] } == [nil])
    }

    @Test func healthIsAskedWithoutCredentials() async throws {
        let server = try ScriptedServer(always: .json(#"{"status":"healthy"}"#))
        let test = try TestClient(server.url, .apiKey("fake-key"))
        try await test.client.health()
        #expect(server.requests[0].headers["x-api-key"] == nil && server.requests[0].headers["authorization"] == nil)
        #expect(server.requests[0].headers["user-agent"] == "prsnld")
    }

    @Test(arguments: [
        "bad key 'fake-key-123'", "bad key fake-key-123", "bad token Bearer fake-key-123.", "fake-key-123fake-key-123",
    ])
    func noSecretIsInAnErrorOrALogLine(_ echo: String) async throws {
        let server = try ScriptedServer(always: .json(#"{"detail":"\#(echo)"}"#, status: 503))
        let test = try TestClient(server.url, .apiKey("fake-key-123"))
        let error = try #require(
            await apiError { () async throws(APIError) in try await test.client.session().account() })
        #expect(!"\(error) \(error.userFacing) \(test.log.all) \(test.usage.all)".contains("fake-key-123"))
    }
}
