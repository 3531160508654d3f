import DevServer
import PRSNLCore
import Synchronization
import Testing

@Suite struct FaultTests {
    let server: DevServer
    let token: [String: String]

    init() throws {
        server = try DevServer.start(items: DevItem.generate(count: 30))
        token = ["Authorization": "Bearer \(server.issueToken())"]
    }

    @Test func aFaultIsForSomeRequestsOfOneKind() throws {
        let fault = server.script(
            .answer(status: 503, headers: ["Retry-After": "7"], body: "busy"), on: .timeline, times: 2, skip: 1)
        let statuses = try (0..<4).map { _ in try server.get("/api/timeline").status }
        #expect(statuses == [200, 503, 503, 200])
        #expect(fault.appliedCount == 2)
        #expect(try server.get("/api/health").status == 200)
        #expect(server.requests(.timeline).map(\.fault) == [nil, "answer", "answer", nil])
        #expect(server.requests(.timeline).map(\.status) == [200, 503, 503, 200])
    }

    @Test func aHeldRequestGoesOnWhenReleased() async throws {
        let fault = server.script(.hold, on: .timeline, times: .max)
        let client = try RawClient(server)
        try client.send("GET", "/api/timeline?limit=1")
        let held = try await server.waitForRequest(.timeline)
        #expect(held.status == nil)
        #expect(try server.get("/api/health").status == 200)
        fault.release()
        #expect(try client.receive().status == 200)
        #expect(try server.get("/api/timeline").status == 200, "holds no more")
    }

    @Test func somethingHappensInTheMiddle() throws {
        let server = server
        server.script(.perform { server.deleteAll() }, on: .timeline, skip: 1)
        let client = try RawClient(server)
        #expect(try client.page("").ids.count == 20)
        #expect(try client.page("").ids.isEmpty)
    }

    @Test func aWriteIsAppliedOrNotWhenItsConnectionCloses() throws {
        server.script(.closeBeforeAnswering, on: .write)
        let first = try RawClient(server)
        try first.send("POST", "/api/capture", headers: json, body: Array(#"{"content":"one"}"#.utf8))
        #expect(try first.isClosedByServer())
        #expect(server.itemCount == 30)

        server.script(.closeAfterApplying, on: .write)
        let second = try RawClient(server)
        try second.send("POST", "/api/capture", headers: json, body: Array(#"{"content":"two"}"#.utf8))
        #expect(try second.isClosedByServer())
        #expect(server.itemCount == 31)

        server.script(.answerAfterApplying(status: 500, body: "{}"), on: .write)
        #expect(try server.once("POST", "/api/capture", headers: token, body: #"{"content":"three"}"#).status == 500)
        #expect(server.itemCount == 32)
    }

    @Test func aKeptAliveConnectionDiesWithTheNextRequestThatItApplies() throws {
        server.script(.dieKeptAlive, on: .timeline)
        let client = try RawClient(server)
        #expect(try client.get("/api/timeline").status == 200)
        try client.send("POST", "/api/capture", headers: json, body: Array(#"{"content":"applied"}"#.utf8))
        #expect(try client.isClosedByServer())
        #expect(server.itemCount == 31)
        #expect(server.requests(.capture).first?.status == nil)
    }

    private var json: [String: String] { token.merging(["Content-Type": "application/json"]) { $1 } }

    @Test func answersThatAreNotWhatWasAskedFor() throws {
        server.script(.garbage, on: .timeline)
        #expect(try server.get("/api/timeline").body.first == 0)
        server.script(.portal, on: .timeline)
        #expect(try server.get("/api/timeline").headers["content-type"] == "text/html; charset=utf-8")
        server.script(.emptyBody, on: .timeline)
        let empty = try server.get("/api/timeline")
        #expect(empty.status == 200)
        #expect(empty.body.isEmpty)
        server.script(.emptyObject, on: .timeline)
        #expect(try server.get("/api/timeline").text == "{}")
        server.script(.redirect(to: "https://elsewhere.example/api/timeline"), on: .timeline)
        let redirect = try server.get("/api/timeline")
        #expect(redirect.status == 302)
        #expect(redirect.headers["location"] == "https://elsewhere.example/api/timeline")
    }

    @Test func brokenTransfers() throws {
        server.script(.truncate(after: 100), on: .timeline)
        let cut = try server.get("/api/timeline")
        #expect(cut.isCutOff)
        #expect(cut.body.count == 100)

        server.script(.drip(bytes: 500, every: .milliseconds(1)), on: .timeline)
        let client = try RawClient(server)
        #expect(try client.page("?limit=5").ids.count == 5)
        #expect(try client.page("?limit=5").ids.count == 5, "the connection lives on")
    }

    @Test func hugeAnswers() throws {
        server.script(.huge(bytes: 3_000_000, gzip: false), on: .timeline)
        let plain = try server.get("/api/timeline")
        #expect(plain.body.count == 3_000_000)
        server.script(.huge(bytes: 40 << 20, gzip: true), on: .timeline)
        let packed = try server.get("/api/timeline")
        #expect(packed.headers["content-encoding"] == "gzip")
        #expect(packed.body.count < 1 << 20)
        #expect(packed.body.starts(with: [0x1F, 0x8B, 8]))
    }

    @Test func rateLimitsSayWhenInEveryForm() throws {
        let forms: [(Fault.RetryAfter, String?)] = [
            (.seconds(7), "7"), (.garbage, "soon"), (.none, nil), (.inBody(9), nil),
        ]
        for (form, header) in forms {
            server.script(.rateLimit(form), on: .timeline)
            let answer = try server.get("/api/timeline")
            #expect(answer.status == 429)
            #expect(answer.headers["retry-after"] == header)
            #expect(try member("retry_after", of: answer.body) == (form == .inBody(9) ? "9" : "null"))
        }
        server.script(.rateLimit(.date(.seconds(60))), on: .timeline)
        let date = try #require(try server.get("/api/timeline").headers["retry-after"])
        #expect(date.contains(/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} 20\d\d \d\d:\d\d:\d\d GMT$/))
    }

    @Test func theServerCanBeGoneAndBack() throws {
        let client = try RawClient(server)
        #expect(try client.get("/api/health").status == 200)
        server.refuseConnections()
        #expect(try client.isClosedByServer())
        #expect(throws: RawClient.Closed.self) { try RawClient(server) }
        try server.acceptConnections()
        #expect(try server.get("/api/health").status == 200)
        server.stop()
        #expect(throws: RawClient.Closed.self) { try RawClient(server) }
        #expect(server.items().count == 30, "the data can still be read")
    }

    @Test func theLogKeepsWhatAClientSentButNoCredentials() throws {
        let client = try RawClient(server)
        _ = try client.get("/api/timeline?limit=3&cursor=2025-01-01T00:00:00%2B00:00", headers: ["X-Request-Id": "r1"])
        _ = try client.get("/api/auth/me", headers: token)
        _ = try client.get("/api/health", headers: ["Authorization": "Bearer simple-key"])
        _ = try RawClient(server).get("/api/health", headers: ["X-API-Key": "k"])
        let log = server.requests()
        #expect(log.map(\.number) == [1, 2, 3, 4])
        #expect(log.map(\.connection) == [1, 1, 1, 2])
        #expect(log.map(\.authorization) == [.none, .token, .bearerKey, .apiKey])
        #expect(log[0].headers["x-request-id"] == "r1")
        #expect(log[0].parameter("cursor") == "2025-01-01T00:00:00+00:00")
        #expect(log.allSatisfy { $0.headers["authorization"] == nil && $0.headers["x-api-key"] == nil })
        #expect(server.requestCounts() == ["GET /api/timeline": 1, "GET /api/auth/me": 1, "GET /api/health": 2])
        server.clearLog()
        #expect(server.requests().isEmpty)
    }
}
