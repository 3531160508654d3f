import DevServer
import TestSupport
import Testing

/// What the running daemon tells of its requests: the status in sums, the log one by one.
@Suite struct RequestMetricsTests {
    @Test func theStatusCountsWhatTheServerHasSeen() async throws {
        let fixture = try DaemonFixture()
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        fixture.server.script(.answer(status: 503, headers: [:], body: "{}"), on: .health)
        #expect(try await fixture.control("ping").exit == .status(1))
        let figures = try #require(try await fixture.status().daemon?.requests)
        #expect(figures.map(\.endpoint) == figures.map(\.endpoint).sorted())
        for (endpoint, matcher) in [("GET /api/timeline", RequestMatcher.timeline), ("GET /api/auth/me", .account)] {
            let figure = try #require(figures.first { $0.endpoint == endpoint }, "\(figures)")
            #expect(figure.requests == fixture.server.requests(matcher).count && figure.failures == 0)
            #expect(figure.bytesSent > 100 * figure.requests && figure.bytesReceived > 0)
            #expect(figure.meanDuration > 0 && figure.longestDuration >= figure.meanDuration)
        }
        let health = try #require(figures.first { $0.endpoint == "GET /api/health" })
        #expect(health.requests == fixture.server.requests(.health).count && health.failures == 1)
        #expect(try await daemon.terminate() == .status(0))
        // They are of the daemon, and not of the file.
        #expect(try await fixture.status().daemon == nil)
    }

    @Test func eachRequestIsLoggedAtDebugAndAtNoOtherLevel() async throws {
        let fixture = try DaemonFixture()
        try fixture.configure("log_level = debug")
        let daemon = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        #expect(try await daemon.terminate() == .status(0))
        let lines = daemon.stderr.split(separator: "\n").filter {
            $0.contains("debug   http    GET /api/timeline?")
        }
        #expect(lines.count == fixture.server.requests(.timeline).count, "\(daemon.stderr)")
        for line in lines {
            #expect(line.contains(": 200, ") && line.contains(" ms, ") && line.contains(" B sent, "), "\(line)")
            #expect(line.split(separator: " ").last?.utf8.count == 36, "the id of the request: \(line)")
        }
        try fixture.configure("log_level = info")
        let quiet = try await fixture.startReady()
        try await fixture.waitUntilComplete()
        #expect(try await quiet.terminate() == .status(0))
        #expect(!quiet.stderr.contains("GET /api/timeline?"), "\(quiet.stderr)")
    }
}
