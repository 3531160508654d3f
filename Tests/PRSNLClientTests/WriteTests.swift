import PRSNLCore
import Synchronization
import Testing

@testable import PRSNLClient

/// A write is started once at most, whatever happens to its connection.
struct WriteTests {
    static let body = Array(#"{"title":"T"}"#.utf8)

    @Test(arguments: ["POST", "PATCH", "PUT", "DELETE"])
    func aWriteOnADeadConnectionIsNotRepeated(_ method: String) async throws {
        let server = try ScriptedServer { request in
            request.method == "GET" ? .json(#"{"status":"ok"}"#) : .closed
        }
        let test = try TestClient(server.url)
        try await test.client.health()
        let error = await apiError { () async throws(APIError) in
            try await test.client.write(
                method, "/api/items/7", json: method == "DELETE" ? nil : Self.body, idempotencyKey: "k",
                named: "\(method) /api/items/{id}")
        }
        #expect(error?.kind == .networkError(.cutOff))
        #expect(error?.mayHaveReachedServer == true)
        #expect(error?.endpoint == "\(method) /api/items/{id}")
        let writes = server.requests.filter { $0.method != "GET" }
        #expect(writes.map(\.method) == [method], "libcurl would have sent it twice")
        #expect(writes.map(\.connection) == [1], "on the connection of the first request")
        #expect(
            error?.userFacing.consequence
                == "The server may have applied it, so it is looked up before it is sent again.")
    }

    /// The control for the test above: the same loss, where repeating is harmless.
    @Test func aReadOnADeadConnectionIsRepeatedByLibcurl() async throws {
        let server = try ScriptedServer { request in
            request.target == "/api/health" || request.connection > 1
                ? .json(#"{"status":"ok","id":"a"}"#) : .closed
        }
        let test = try TestClient(server.url)
        try await test.client.health()
        #expect(try await test.client.session().account().id == "a")
        #expect(server.requests.map(\.connection) == [1, 1, 2])
        #expect(test.usage.all.last?.attempts == 1)
    }

    @Test func aWriteSendsItsBodyAndKeyOnce() async throws {
        let server = try ScriptedServer(always: .json(#"{"id":"x"}"#, status: 201))
        let test = try TestClient(server.url, .loginToken("not.a.token"))
        let sent = try await test.client.write("POST", "/api/capture", json: Self.body, idempotencyKey: "key-1")
        #expect(sent.status == 201)
        let request = try #require(server.requests.first)
        #expect(request.method == "POST" && request.target == "/api/capture")
        #expect(request.body == #"{"title":"T"}"#)
        #expect(request.headers["idempotency-key"] == "key-1")
        #expect(request.headers["content-type"] == "application/json")
        #expect(request.headers["authorization"] == "Bearer not.a.token")
        #expect(request.headers["expect"] == nil)
    }

    @Test(arguments: [429, 503])
    func aWriteIsNotRetriedInPlace(_ status: Int) async throws {
        let server = try ScriptedServer(always: .json("{}", status: status, headers: ["Retry-After": "1"]))
        let test = try TestClient(server.url)
        let error = await apiError { () async throws(APIError) in
            try await test.client.write("POST", "/api/capture", json: Self.body, idempotencyKey: "k")
        }
        #expect(error?.status == status)
        #expect(server.requests.count == 1)
        #expect(test.time.waits.isEmpty)
    }

    @Test func aWriteWithoutAServerCertainlyDidNotArrive() async throws {
        let server = try ScriptedServer(always: .closed)
        let url = server.url
        server.stop()
        let test = try TestClient(url)
        let error = await apiError { () async throws(APIError) in
            try await test.client.write("POST", "/api/capture", json: Self.body, idempotencyKey: "k")
        }
        #expect(error?.kind == .networkError(.connectFailed))
        #expect(error?.mayHaveReachedServer == false)
        #expect(error?.userFacing.consequence == "The server did not receive it.")
    }

    /// What became of a request, in words that are true of that kind of request.
    @Test(arguments: [
        ("POST /api/capture", "The server may have applied it, so it is looked up before it is sent again."),
        ("PATCH /api/items/{id}", "The server may have applied it, so it is looked up before it is sent again."),
        ("DELETE /api/items/{id}", "The server may have applied it, so it is looked up before it is sent again."),
        ("GET /api/timeline", "The copy stays as it is."), ("GET /api/health", nil),
        ("POST /api/capture/check-duplicate", nil),
        ("POST /api/auth/login", "No login was made."), ("POST /api/auth/logout", nil),
    ])
    func onlyAWriteIsSaidToBeLookedUp(endpoint: String, consequence: String?) {
        for kind in [APIError.Kind.networkError(.cutOff), .decodingError(.empty)] {
            let error = APIError(kind: kind, endpoint: endpoint, requestID: "r", mayHaveReachedServer: true)
            #expect(error.userFacing.consequence == consequence)
        }
    }

    @Test func aDeletionThatIsSentAgainUnaskedIsSaidToBe() {
        let failed = APIError(
            kind: .serverError(message: ""), endpoint: "DELETE /api/items/{id}", status: 500, requestID: "r",
            mayHaveReachedServer: true)
        #expect(failed.userFacing.consequence == "The server may have applied it; it is sent again.")
    }

    @Test func aWriteIsNotRedirected() async throws {
        let server = try ScriptedServer(always: .answer(307, ["Location": "/elsewhere"], ""))
        let test = try TestClient(server.url)
        let error = await apiError { () async throws(APIError) in
            try await test.client.write("POST", "/api/capture", json: Self.body, idempotencyKey: "k")
        }
        #expect(error?.kind == .networkError(.redirectRefused(to: server.url)))
        #expect(error?.userFacing.consequence == "The server did not apply it.")
        #expect(server.requests.count == 1)
    }

    /// The handle that sent a write is used again for reads and for other writes.
    @Test func methodsDoNotLeakFromOneRequestIntoTheNext() async throws {
        let server = try ScriptedServer(always: .json(#"{"id":"a"}"#))
        let test = try TestClient(server.url)
        for method in ["POST", "GET", "DELETE", "GET", "PATCH", "POST", "GET"] {
            if method == "GET" {
                _ = try await test.client.session().account()
            } else {
                let json = method == "DELETE" ? nil : Self.body
                _ = try await test.client.write(method, "/api/items/7", json: json, idempotencyKey: "k")
            }
        }
        #expect(server.requests.map(\.method) == ["POST", "GET", "DELETE", "GET", "PATCH", "POST", "GET"])
        #expect(server.requests.map(\.body.isEmpty) == [false, true, true, true, false, false, true])
        #expect(server.requests.map(\.connection) == [1, 1, 1, 1, 1, 1, 1])
    }
}
