import Testing

@testable import PRSNLClient

struct WireTraceTests {
    @Test(arguments: [
        ("X-API-Key: fake-key", "X-API-Key: …"), ("authorization: Bearer fake-key", "authorization: …"),
        ("h2h3 [authorization: Bearer fake-key]", "h2h3 [authorization: …"),
        ("Proxy-Authorization: Basic fake-key", "Proxy-Authorization: …"), ("Set-Cookie: s=fake-key", "Set-Cookie: …"),
        ("GET /api/timeline?limit=20 HTTP/1.1", "GET /api/timeline?limit=20 HTTP/1.1"),
    ])
    func credentialsAreRedacted(_ line: String, _ shown: String) {
        #expect(WireTrace.redacted(line) == shown)
    }

    @Test(arguments: [
        ("HTTP/1.1 401 key fake-key is wrong", "HTTP/1.1 401"), ("HTTP/2 200", "HTTP/2 200"),
        ("X-Error-Code: fake-key", "X-Error-Code: …"), ("www-authenticate: Bearer fake-key", "www-authenticate: …"),
        ("Content-Type: application/json", "Content-Type: application/json"),
        ("Retry-After: 5", "Retry-After: 5"), ("", ""),
    ])
    func ofAnAnswerOnlyWhatSaysLittleIsShown(_ line: String, _ shown: String) {
        #expect(WireTrace.received(line) == shown)
    }

    #if DEBUG
        @Test func theTraceShowsHeadersAndNeitherSecretsNorBodies() async throws {
            let server = try ScriptedServer(always: .json(#"{"title":"A secret thought"}"#))
            let lines = Recorder<String>()
            var options = CurlLoop.Options()
            options.trace = { lines.record($0) }
            let loop = CurlLoop(options: options)
            let outcome = await loop.perform(
                HTTPRequest(
                    method: "POST", url: server.url + "/api/capture",
                    headers: ["X-API-Key: fake-key", "Authorization: Bearer fake-key"],
                    body: Array("A secret thought".utf8), totalTimeout: .seconds(60), answerLimit: 1 << 20))
            #expect(throws: Never.self) { try outcome.result.get() }
            loop.stop()
            let trace = lines.all.joined(separator: "\n")
            #expect(trace.contains("> POST /api/capture HTTP/1.1"))
            #expect(trace.contains("> X-API-Key: …"))
            #expect(trace.contains("< HTTP/1.1 200"))
            #expect(trace.contains("> (16 bytes of body)"))
            #expect(!trace.contains("fake-key") && !trace.contains("secret"))
        }
    #endif
}
