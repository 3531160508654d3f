import DevServer
import PRSNLCore
import Testing

@Suite struct PagedTimelineTests {
    let key = ["X-API-Key": DevAccount.owner.apiKey]

    @Test func dialectPPagesByNumber() throws {
        let server = try DevServer.start(.init(dialect: .page), items: DevItem.generate(count: 45))
        let client = try RawClient(server)
        var ids: [String] = []
        for number in 1...4 {
            let page = try client.page("?page=\(number)&limit=20", headers: key)
            #expect(page.total == 45)
            #expect(page.names == ["items", "total", "page", "pageSize"])
            ids += page.ids
        }
        #expect(ids == server.items().map(\.id))
        #expect(try client.get("/api/timeline", headers: key).text.contains("\"item_type\":"))
        #expect(try client.get("/api/timeline?limit=101", headers: key).status == 422)
    }

    @Test func dialectPTakesTheKeyInEitherHeaderOrOnlyAsBearer() throws {
        let server = try DevServer.start(.init(dialect: .page), items: DevItem.generate(count: 1))
        let bearer = ["Authorization": "Bearer \(DevAccount.owner.apiKey)"]
        #expect(try server.get("/api/timeline").status == 401)
        #expect(try server.get("/api/timeline", headers: ["X-API-Key": "wrong"]).status == 401)
        #expect(try server.get("/api/timeline", headers: key).status == 200)
        #expect(try server.get("/api/timeline", headers: bearer).status == 200)
        server.setQuirks { $0.bearerKeysOnly = true }
        #expect(try server.get("/api/timeline", headers: key).status == 401)
        #expect(try server.get("/api/timeline", headers: bearer).status == 200)
        #expect(try server.get("/api/auth/me", headers: bearer).status == 404)
    }

    @Test func changesShiftThePages() throws {
        let server = try DevServer.start(.init(dialect: .page), items: DevItem.generate(count: 40))
        let items = server.items()
        for item in items[..<5] { server.delete(item.id) }
        let page = try RawClient(server).page("?page=2&limit=20", headers: key)
        #expect(page.ids == items[25...].map(\.id))
        server.setQuirks { $0.ignoresPage = true }
        #expect(try RawClient(server).page("?page=2&limit=20", headers: key).ids == items[5..<25].map(\.id))
    }

    @Test func dialectEOrdersByUpdateAndTakesAnyLimit() throws {
        let server = try DevServer.start(.init(dialect: .express), items: DevItem.generate(count: 300))
        let client = try RawClient(server)
        let items = server.items()
        #expect(items == items.sorted { $0.updatedAt > $1.updatedAt })
        #expect(try client.page("?limit=100000", headers: key).ids == items.map(\.id))
        #expect(try client.page("?limit=0", headers: key).ids.count == 10)
        #expect(try client.page("?limit=junk", headers: key).ids.count == 10)
        #expect(try client.page("?limit=7abc", headers: key).total == 300)
        #expect(try client.page("?page=31", headers: key).ids.isEmpty)
        server.edit(items[200].id) { $0.title = "Moved to the top" }
        #expect(try client.page("", headers: key).ids.first == items[200].id)
        let text = try client.get("/api/timeline?limit=1", headers: key).text
        #expect(text.contains(#""totalResults":300}"#))
        #expect(text.contains(/"createdAt":"[0-9T:-]{19}\.[0-9]{3}Z"/))
    }

    @Test func dialectERefusesWithItsOwnWords() throws {
        let server = try DevServer.start(.init(dialect: .express), items: DevItem.generate(count: 1))
        let none = try server.get("/api/timeline")
        #expect(none.status == 401)
        #expect(none.text == #"{"error":"API key is required"}"#)
        let wrong = try server.get("/api/timeline", headers: ["X-API-Key": "wrong"])
        #expect(wrong.status == 403)
        #expect(wrong.text == #"{"error":"Invalid API key"}"#)
        #expect(try server.get("/api/items/nope", headers: key).text == #"{"error":"Item not found"}"#)
        let unknown = try server.get("/api/nope")
        #expect(unknown.status == 404)
        #expect(unknown.headers["content-type"] == "text/html; charset=utf-8")
        #expect(unknown.text.contains("<pre>Cannot GET /api/nope</pre>"))
        #expect(try server.get("/api/health").text.hasPrefix(#"{"status":"ok","timestamp":""#))
    }

    @Test func dialectEAnswersWeakEtags() throws {
        let server = try DevServer.start(.init(dialect: .express), items: DevItem.generate(count: 30))
        let client = try RawClient(server)
        let first = try client.get("/api/timeline?limit=30", headers: key)
        let tag = try #require(first.headers["etag"])
        #expect(tag.hasPrefix("W/\""))
        let again = try client.get(
            "/api/timeline?limit=30", headers: key.merging(["If-None-Match": tag]) { $1 })
        #expect(again.status == 304)
        // A fetch counts itself, which changes the answer but no time in it.
        let item = server.items()[4]
        #expect(try client.get("/api/items/\(item.id)", headers: key).status == 200)
        #expect(server.item(item.id)?.accessCount == item.accessCount + 1)
        #expect(server.item(item.id)?.updatedAt == item.updatedAt)
        let changed = try client.get(
            "/api/timeline?limit=30", headers: key.merging(["If-None-Match": tag]) { $1 })
        #expect(changed.status == 200)
    }

    @Test func dialectEWrites() throws {
        let server = try DevServer.start(.init(dialect: .express))
        let client = try RawClient(server)
        #expect(try client.request("POST", "/api/capture", headers: key, body: "{}").status == 404)
        let incomplete = try client.request("POST", "/api/items", headers: key, body: #"{"title":"T"}"#)
        #expect(incomplete.text == #"{"error":"Title and either content or URL are required"}"#)
        let created = try client.request(
            "POST", "/api/items", headers: key, body: #"{"title":"T","content":"C","tags":["a"],"itemType":"note"}"#)
        #expect(created.status == 201)
        let id = try #require(try member("id", of: created.body))
        #expect(try client.request("PATCH", "/api/items/\(id)", headers: key, body: "{}").status == 404)
        let put = try client.request("PUT", "/api/items/\(id)", headers: key, body: #"{"title":"U"}"#)
        #expect(try member("title", of: put.body) == "U")
        let broken = try client.request("POST", "/api/items", headers: key, body: "{")
        #expect(broken.status == 400)
        #expect(broken.headers["content-type"]?.hasPrefix("text/html") == true)
        let large = #"{"title":"\#(String(repeating: "x", count: 103_000))"}"#
        #expect(try client.request("POST", "/api/items", headers: key, body: large).status == 413)
        let deleted = try client.request("DELETE", "/api/items/\(id)", headers: key)
        #expect(deleted.status == 204)
        #expect(deleted.body.isEmpty)
        #expect(try client.request("DELETE", "/api/items/\(id)", headers: key).status == 404)
    }
}
