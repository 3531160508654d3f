import DevServer
import PRSNLCore
import TestSupport
import Testing

@Suite struct StormTests {
    private let clock = Clock(time: 1_800_000_000_000_000)
    private let server: DevServer
    private let client: RawClient
    private let token: [String: String]

    init() throws {
        var configuration = DevServer.Configuration()
        let clock = clock
        configuration.now = { clock.now }
        server = try DevServer.start(configuration)
        client = try RawClient(server)
        token = ["Authorization": "Bearer \(server.issueToken())", "Content-Type": "application/json"]
    }

    @Test func aSlowInsertHappensThoughItsClientIsGone() async throws {
        server.script(.storm(.slowInsert(.seconds(600))), on: .capture)
        var impatient: RawClient? = try RawClient(server)
        try impatient?.send("POST", "/api/capture", headers: token, body: Array(#"{"content":"A slow note"}"#.utf8))
        try await server.waitForRequest(.capture)
        impatient = nil
        #expect(try client.page("", headers: token).ids.isEmpty)
        clock.advance(by: .seconds(600))
        #expect(try client.page("", headers: token).ids.count == 1)
    }

    @Test func aSlowInsertDoesNotLookAgainAtWhatIsThere() async throws {
        server.script(.storm(.slowInsert(.milliseconds(500))), on: .capture)
        var other = DevItem(id: "00000000-0000-4000-8000-000000000001", createdAt: clock.now)
        other.url = "https://example.org/a"
        let body = #"{"url":"https://example.org/a","content_type":"link"}"#
        let slow = try RawClient(server)
        try slow.send("POST", "/api/capture", headers: token, body: Array(body.utf8))
        try await server.waitForRequest(.capture)
        server.add(other)
        #expect(try slow.receive().status == 201)
        #expect(server.items().map(\.url) == [other.url, other.url])
        #expect(try client.request("POST", "/api/capture", headers: token, body: body).status == 400)
    }

    @Test func aHalfInsertLeavesTheItemWithoutItsTags() throws {
        server.script(.storm(.halfInsert(tags: 1)), on: .capture)
        let body = #"{"content":"A note of mine","tags":["a","b"]}"#
        #expect(try client.request("POST", "/api/capture", headers: token, body: body).status == 500)
        #expect(server.items().map(\.tags) == [["a"]])
    }

    @Test func aLateAnswerIsOfWhatWasAppliedAtOnce() throws {
        server.script(.storm(.lateAnswer(.milliseconds(20))), on: .capture)
        #expect(try client.request("POST", "/api/capture", headers: token, body: #"{"content":"Note"}"#).status == 201)
        #expect(server.itemCount == 1)
    }

    @Test(arguments: StormFault.Contradiction.allCases)
    func pagesContradictThemselves(_ kind: StormFault.Contradiction) throws {
        server.addNew(count: 6)
        server.script(.storm(.contradiction(kind)), on: .timeline)
        let page = try client.page("?limit=4", headers: token)
        let right = try client.page("?limit=4", headers: token)
        #expect(right.ids.count == 4 && right.cursor != nil)
        #expect(page.ids != right.ids || page.cursor != right.cursor)
    }

    /// The same seed and the same requests, the same faults.
    @Test func aSeedRepeatsTheFaults() throws {
        func statuses() throws -> [Int] {
            var configuration = DevServer.Configuration()
            configuration.storm = .init(seed: 7, rate: 1)
            let server = try DevServer.start(configuration)
            return try (0..<40).map { _ in
                do {
                    return try RawClient(server).get("/api/auth/me").status
                } catch is RawClient.Closed {
                    return 0
                }
            }
        }
        let first = try statuses()
        #expect(Set(first).count > 2)
        #expect(try statuses() == first)
    }
}
