import DevServer
import PRSNLCore
import Testing

@Suite struct CaptureTests {
    let clock = Clock(time: 1_800_000_000_000_000)
    let server: DevServer
    let client: RawClient
    let token: [String: String]

    init() throws {
        var configuration = DevServer.Configuration()
        let clock = clock
        configuration.now = { clock.now }
        server = try DevServer.start(configuration)
        client = try RawClient(server)
        token = ["Authorization": "Bearer \(server.issueToken())"]
    }

    private func capture(_ body: String, headers: [String: String]? = nil) throws -> RawClient.Answer {
        try client.request("POST", "/api/capture", headers: headers ?? token, body: body)
    }

    @Test func aNoteIsPendingAndThenProcessed() throws {
        let body =
            #"{"title":"Mine","content":"  First line of it\nmore\n","tags":["Work","ünclean"],"content_type":"note"}"#
        let answer = try capture(body)
        #expect(answer.status == 201)
        let id = try #require(try member("id", of: answer.body))
        #expect(
            answer.text
                == #"{"id":"\#(id)","status":"pending","message":"Item capture initiated","duplicate_info":null}"#)
        let pending = try client.page("", headers: token)
        #expect(pending.titles == ["Mine"])
        #expect(pending.statuses == ["pending"])
        #expect(pending.tags == [["work"]])
        #expect(try member("content", of: client.get("/api/items/\(id)", headers: token).body) == "null")
        #expect(server.unsettledIDs == [id])

        server.settle()
        let settled = try client.page("", headers: token)
        #expect(settled.titles == ["First line of it"])
        #expect(settled.statuses == ["completed"])
        #expect(
            try member("content", of: client.get("/api/items/\(id)", headers: token).body) == "First line of it\nmore")
    }

    @Test func capturesSettleByRequestsWhenTold() throws {
        var configuration = DevServer.Configuration()
        configuration.settling = .afterRequests(2)
        configuration.quirks.hidesCaptured = true
        let server = try DevServer.start(configuration)
        let token = ["Authorization": "Bearer \(server.issueToken())"]
        let client = try RawClient(server)
        let body = #"{"url":"https://example.org/a","content_type":"article"}"#
        #expect(try client.request("POST", "/api/capture", headers: token, body: body).status == 201)
        #expect(try client.page("").ids.isEmpty)
        let settled = try client.page("")
        #expect(settled.titles == ["Scraped: https://example.org/a"])
        #expect(settled.types == ["link"])
    }

    @Test func capturesSettleByTimeWhenTold() throws {
        var configuration = DevServer.Configuration()
        configuration.settling = .after(.seconds(3))
        let clock = clock
        configuration.now = { clock.now }
        let server = try DevServer.start(configuration)
        let token = ["Authorization": "Bearer \(server.issueToken())"]
        let client = try RawClient(server)
        _ = try client.request("POST", "/api/capture", headers: token, body: #"{"content":"A note of mine"}"#)
        #expect(try client.page("").statuses == ["pending"])
        clock.advance(by: .seconds(3))
        #expect(try client.page("").statuses == ["completed"])
    }

    @Test func theSameNoteTwiceIsTwoItemsButAURLIsRefused() throws {
        let note = #"{"content":"The same","content_type":"note"}"#
        #expect(try capture(note, headers: token.merging(["Idempotency-Key": "k"]) { $1 }).status == 201)
        #expect(try capture(note, headers: token.merging(["Idempotency-Key": "k"]) { $1 }).status == 201)
        #expect(server.itemCount == 2)
        #expect(server.requests(.capture).first?.headers["idempotency-key"] == "k")
        let link = #"{"url":"https://Example.org","title":"My title","content_type":"link"}"#
        #expect(try capture(link).status == 201)
        let again = try capture(link)
        #expect(again.status == 400)
        #expect(again.headers["x-error-code"] == "INVALID_INPUT")
        #expect(
            again.text
                == #"{"detail":"This URL already exists in your knowledge base. "#
                + #"Item: 'My title' (created 2027-01-15)"}"#
        )
        // Compared as text: another spelling is another item.
        #expect(try capture(#"{"url":"https://example.org/","content_type":"link"}"#).status == 201)
    }

    @Test func checkDuplicateNormalisesWhatItIsAsked() throws {
        func check(_ url: String) throws -> RawClient.Answer {
            try client.request(
                "POST", "/api/capture/check-duplicate", headers: token, body: #"{"url":"\#(url)"}"#)
        }
        #expect(try check("https://example.org").text == #"{"is_duplicate":false,"existing_item":null}"#)
        _ = try capture(#"{"url":"https://example.org","content_type":"link"}"#)
        #expect(try member("is_duplicate", of: check("https://example.org").body) == "false")
        _ = try capture(#"{"url":"https://example.org/","content_type":"link"}"#)
        let found = try check("https://EXAMPLE.org")
        #expect(try member("is_duplicate", of: found.body) == "true")
        #expect(try member("existing_item", "status", of: found.body) == "pending")
        #expect(
            try client.request("POST", "/api/capture/check-duplicate", body: #"{"url":"https://a.b/"}"#).status == 401)
    }

    static let twentyOneTags = #"{"content":"x","tags":[\#(String(repeating: #""a","#, count: 20))"a"]}"#

    @Test(arguments: [
        (#"{"content_type":"note"}"#, 400, "Either URL, content, or files must be provided."),
        (#"{"content":""}"#, 422, "string_too_short"),
        (#"{"content":"x","content_type":"poem"}"#, 422, "content_type"),
        (twentyOneTags, 422, "too_long"),
        (#"{"content":7}"#, 422, "string_type"),
        ("{", 422, "json_invalid"),
        ("[]", 422, "model_attributes_type"),
        (#"{"content":"a\u0000b"}"#, 500, "INTERNAL_SERVER_ERROR"),
        (#"{"content":"a\ud800b"}"#, 500, "INTERNAL_SERVER_ERROR"),
        (#"{"url":"https://example.org/auto"}"#, 500, "INTERNAL_SERVER_ERROR"),
        (#"{"url":"https://github.com/a/b"}"#, 201, "pending"),
    ])
    func bodiesAreCheckedAsTheRealServerDoes(body: String, status: Int, text: String) throws {
        let answer = try capture(body)
        #expect(answer.status == status)
        #expect(answer.text.contains(text))
    }

    @Test func longTextsAreEchoed() throws {
        let title = try capture(#"{"content":"x","title":"\#(String(repeating: "t", count: 501))"}"#)
        #expect(title.status == 422)
        #expect(try member("detail", "0", "type", of: title.body) == "string_too_long")
        #expect(try member("detail", "0", "ctx", "max_length", of: title.body) == "500")
        let content = try capture(#"{"content":"\#(String(repeating: "c", count: 50_001))"}"#)
        #expect(content.body.count > 50_000)
        #expect(try capture(#"{"content":"\#(String(repeating: "c", count: 50_000))"}"#).status == 201)
    }

    @Test func bodiesThatAreNoTextAreRefused() throws {
        try client.send(
            "POST", "/api/capture", headers: token.merging(["Content-Type": "application/json"]) { $1 },
            body: Array(#"{"content":""#.utf8) + [0xFF, 0xFE] + Array(#""}"#.utf8))
        let answer = try client.receive()
        #expect(answer.status == 400)
        #expect(answer.text == #"{"detail":"There was an error parsing the body"}"#)
        let form = try capture("content=x", headers: token.merging(["Content-Type": "text/plain"]) { $1 })
        #expect(form.status == 422)
    }

    @Test func writesNeedAValidToken() throws {
        let note = #"{"content":"x"}"#
        #expect(try capture(note, headers: [:]).text == #"{"detail":"Authentication required"}"#)
        server.expireTokens()
        let expired = try capture(note)
        #expect(expired.status == 401)
        #expect(expired.text == #"{"detail":"Token has expired"}"#)
        #expect(server.itemCount == 0)
    }

    @Test func theThirtyFirstCaptureOfAMinuteIsRefused() throws {
        for number in 1...30 { #expect(try capture(#"{"content":"note \#(number)"}"#).status == 201) }
        let refused = try capture(#"{"content":"one more"}"#)
        #expect(refused.status == 429)
        #expect(refused.headers["retry-after"] == "60")
        #expect(
            refused.text
                == #"{"error":"rate_limit_exceeded","message":"Rate limit exceeded: 30 per 1 minute","#
                + #""retry_after":null}"#
        )
        clock.advance(by: .seconds(60))
        #expect(try capture(#"{"content":"one more"}"#).status == 201)
    }

    @Test func editsFailOnTheCurrentReleaseAndWorkOnAHealthyOne() throws {
        let item = server.addNew()[0]
        let target = "/api/items/\(item.id)"
        #expect(try client.request("PATCH", target, headers: token, body: #"{"title":"B"}"#).status == 500)
        #expect(try client.request("PATCH", target, headers: token, body: #"{"title":""}"#).status == 422)
        server.setQuirks { $0.patchFails = false }
        let edited = try client.request("PATCH", target, headers: token, body: #"{"title":"B","tags":["x"]}"#)
        #expect(try member("title", of: edited.body) == "B")
        #expect(server.item(item.id)?.tags == ["x"])
        #expect(server.item(item.id)?.summary == item.summary)
        let unknown = "/api/items/22222222-2222-4222-8222-222222222222"
        #expect(try client.request("PATCH", unknown, headers: token, body: #"{"title":"B"}"#).status == 404)
    }

    @Test func deletingTwiceIs404() throws {
        let item = server.addNew()[0]
        let target = "/api/items/\(item.id)"
        let deleted = try client.request("DELETE", target, headers: token)
        #expect(deleted.text == #"{"message":"Item deleted successfully","id":"\#(item.id)"}"#)
        #expect(try client.request("DELETE", target, headers: token).status == 404)
        #expect(try client.request("DELETE", "/api/items/nonsense", headers: token).status == 500)
        #expect(server.item(item.id) == nil)
    }
}
