import DevServer
import PRSNLCore
import TestSupport
import Testing

/// What tests of writes ask of the server: what came in, what was applied, and faults that are the same for one seed.
@Suite struct AppliedWriteTests {
    private struct Connection {
        let client: RawClient
        let headers: [String: String]

        init(_ server: DevServer) throws {
            client = try RawClient(server)
            headers =
                server.configuration.dialect == .cursor
                ? ["Authorization": "Bearer \(server.issueToken())"] : ["X-API-Key": DevAccount.owner.apiKey]
        }

        func request(_ method: String, _ target: String, _ body: String? = nil) throws -> RawClient.Answer {
            try client.request(method, target, headers: headers, body: body)
        }
    }

    @Test func aCaptureIsKeptAsItCameInWhateverBecomesOfTheItem() throws {
        let server = try DevServer.start()
        let connection = try Connection(server)
        let body =
            #"{"url":"https://example.org/","title":"Mine","highlight":"A remark","tags":["b","a"],"#
            + #""content_type":"article","enable_summarization":true}"#
        #expect(try connection.request("POST", "/api/capture", body).status == 201)
        server.settle()
        let capture = try #require(server.captures.first)
        #expect(server.item(capture.id)?.title == "Scraped: https://example.org/")
        server.delete(capture.id)
        #expect(server.captures == [capture])
        #expect(capture.number == 1 && capture.url == "https://example.org/" && capture.title == "Mine")
        #expect(capture.highlight == "A remark" && capture.tags == ["b", "a"] && capture.content == nil)
        #expect(capture.type == "article" && capture.summarize && capture.owner == DevAccount.owner.id)
        #expect(server.appliedWrites == .init(created: 1), "what a test deletes is no write")
    }

    @Test func aHiddenItemsURLIsKnown() throws {
        var configuration = DevServer.Configuration()
        configuration.quirks.hidesCaptured = true
        let server = try DevServer.start(configuration)
        let connection = try Connection(server)
        let link = #"{"url":"https://example.org/","content_type":"link"}"#
        #expect(try connection.request("POST", "/api/capture", link).status == 201)
        #expect(server.items().isEmpty)
        #expect(try connection.request("POST", "/api/capture", link).status == 400)
        let check = try connection.request(
            "POST", "/api/capture/check-duplicate", #"{"url":"https://example.org/"}"#)
        #expect(try member("existing_item", "id", of: check.body) == server.captures.first?.id)
        // Another account's is another item; a deleted one's is free again.
        let id = try #require(server.captures.first?.id)
        #expect(try connection.request("DELETE", "/api/items/\(id)").status == 200)
        #expect(try connection.request("POST", "/api/capture", link).status == 201)
        #expect(server.appliedWrites == .init(created: 2, deleted: 1))
    }

    @Test(arguments: Dialect.allCases)
    func noFaultHidesAnAppliedWrite(_ dialect: Dialect) throws {
        var configuration = DevServer.Configuration(dialect: dialect)
        configuration.quirks.patchFails = false
        let server = try DevServer.start(configuration)
        let item = server.addNew()[0]
        let capture = dialect == .express ? "/api/items" : "/api/capture"
        let writes = [
            ("POST", capture, #"{"title":"T","content":"A note","content_type":"note"}"#),
            (dialect == .express ? "PUT" : "PATCH", "/api/items/\(item.id)", #"{"title":"New"}"#),
            ("DELETE", "/api/items/\(item.id)", nil),
        ]
        server.script(.closeAfterApplying, on: .change, times: .max)
        for (method, target, body) in writes {
            #expect(throws: RawClient.Closed.self) { try Connection(server).request(method, target, body) }
        }
        #expect(server.appliedWrites == .init(created: 1, updated: 1, deleted: 1))
        server.removeFaults()
        server.script(.closeBeforeAnswering, on: .change, times: .max)
        for (method, target, body) in writes {
            #expect(throws: RawClient.Closed.self) { try Connection(server).request(method, target, body) }
        }
        #expect(server.appliedWrites.total == 3)
        #expect(server.requests(.change).count == 6)
    }

    @Test func randomFaultsAreTheSameForTheSameSeedAndMeetWritesOnly() throws {
        var random = SeededRandom()
        let seed = random.next()
        func run() throws -> [String?] {
            var configuration = DevServer.Configuration()
            configuration.quirks.capturesPerMinute = nil
            let server = try DevServer.start(configuration)
            server.setRandomFault(probability: 0.5, seed: seed)
            for number in 0..<40 {
                let connection = try Connection(server)
                do {
                    _ = try connection.request("POST", "/api/capture", #"{"content":"\#(number)"}"#)
                } catch is RawClient.Closed {
                    continue  // one of the faults
                }
                #expect(try connection.request("GET", "/api/timeline").status == 200)
            }
            let faults = server.requests(.change).map(\.fault)
            #expect(server.randomFaultCount == faults.filter { $0 != nil }.count)
            #expect(server.appliedWrites.created == faults.filter { $0 != "closeBeforeAnswering" }.count)
            #expect(server.requests(.timeline).allSatisfy { $0.fault == nil })
            server.removeFaults()
            #expect(try Connection(server).request("POST", "/api/capture", #"{"content":"x"}"#).status == 201)
            return faults
        }
        let faults = try run()
        #expect(Set(faults).count > 1)
        #expect(try run() == faults)
    }

    @Test func aReleaseThatMarksCutTitlesDoesSo() throws {
        var configuration = DevServer.Configuration()
        configuration.quirks.marksCutTitles = true
        let server = try DevServer.start(configuration)
        let connection = try Connection(server)
        let text = String(repeating: "word ", count: 30)
        #expect(try connection.request("POST", "/api/capture", #"{"content":"\#(text)"}"#).status == 201)
        server.settle()
        let title = try #require(server.items().first?.title)
        #expect(title == String(text.prefix(80)).trimmingWhiteSpace() + "...")
        #expect(NoteTitle.isDerived(title, from: text))
    }

    @Test(arguments: [("PATCH", "/api/items/x"), ("POST", "/api/capture"), ("POST", "/api/capture/check-duplicate")])
    func theSmallServerHasNoRoutesOfTheOthers(_ method: String, _ target: String) throws {
        let server = try DevServer.start(.init(dialect: .express))
        let answer = try Connection(server).request(method, target, "{}")
        #expect(answer.status == 404)
        #expect(answer.headers["content-type"]?.hasPrefix("text/html") == true)
        #expect(answer.text.contains("Cannot \(method) \(target)"))
        #expect(answer.headers["date"] != nil)
    }
}
