import PRSNLCore
import Testing

@testable import PRSNLClient

/// What the log and the status say of requests.
struct RequestMetricsTests {
    @Test func figuresAreSumsByEndpoint() async throws {
        let server = try ScriptedServer { request in
            request.target == "/api/health" ? .answer(503, [:], "busy") : .json(#"{"id":"a"}"#)
        }
        let figures = RequestMetrics()
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: server.url, credentials: .none),
            usage: { figures.note($0) })
        for _ in 0..<3 { _ = try await client.session().account() }
        _ = await client.ping()
        client.setOffline(true, ending: true)
        #expect(await apiError { () async throws(APIError) in try await client.session().account() } != nil)
        client.shutdown()
        let current = figures.current
        #expect(current.map(\.endpoint) == ["GET /api/auth/me", "GET /api/health"])
        let account = try #require(current.first)
        #expect(account.requests == 3 && account.failures == 0, "what was not sent is no request")
        #expect(account.bytesSent > 300 && account.bytesReceived > 150)
        #expect(account.meanDuration <= account.longestDuration && account.meanDuration > 0)
        #expect(current.last?.failures == 1)
    }

    @Test func repetitionsAndRedirectsCount() async throws {
        let server = try ScriptedServer { request in
            request.target == "/api/auth/me" ? .answer(307, ["Location": "/there"], "") : .answer(503, [:], "")
        }
        let test = try TestClient(server.url)
        #expect(await apiError { () async throws(APIError) in try await test.client.session().account() } != nil)
        let usage = try #require(test.usage.all.first)
        #expect(usage.attempts == 3 && usage.requests == 6 && usage.hasFailed)
    }

    @Test func aLineForEachRequestIsLoggedWithoutWhatAServerWrote() async throws {
        let server = try ScriptedServer { request in
            request.target.hasPrefix("/base/api/timeline")
                ? .answer(307, ["Location": "/hidden/place?token=fake-key"], "") : .json("{}")
        }
        let test = try TestClient(server.url + "/base", .apiKey("fake-key"))
        let error = await apiError { () async throws(APIError) in
            try await test.client.session().timeline(TimelineRequest(.page(2), limit: 20))
        }
        let lines = test.log.all
        #expect(lines.count == 2, "\(lines)")
        #expect(lines[0].hasPrefix("GET /base/api/timeline?page=2&limit=20: 307, "), "\(lines)")
        #expect(lines[1].hasPrefix("GET /base/api/timeline?page=2&limit=20 (redirected): 200, "), "\(lines)")
        #expect(lines[1].hasSuffix(" B received, request \(error?.requestID ?? "")"), "\(lines)")
        #expect(!lines.joined().contains("fake-key") && !lines.joined().contains("hidden"))
        server.stop()
        _ = await test.client.ping()
        #expect(test.log.all.last?.hasPrefix("GET /base/api/health: connect_failed, ") == true, "\(test.log.all)")
    }
}
