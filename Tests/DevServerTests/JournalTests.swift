import DevServer
import PRSNLCore
import TestSupport
import Testing

@Suite struct JournalTests {
    private let folder = TemporaryDirectory()

    private func start(_ dialect: Dialect = .cursor, _ change: (inout DevServer.Configuration) -> Void = { _ in })
        throws
        -> DevServer
    {
        var configuration = DevServer.Configuration(dialect: dialect)
        configuration.journal = folder.file("journal")
        configuration.quirks.patchFails = false
        change(&configuration)
        return try DevServer.start(configuration, items: DevItem.generate(count: 5))
    }

    private func token(_ server: DevServer) -> [String: String] { ["Authorization": "Bearer \(server.issueToken())"] }

    @Test func rowsOutliveTheServer() throws {
        var server = try start()
        var client = try RawClient(server)
        let before = server.items()
        let body = #"{"url":"https://example.org/a","title":"Mine","tags":["work"],"content_type":"link"}"#
        let answer = try client.request("POST", "/api/capture", headers: token(server), body: body)
        let id = try #require(try member("id", of: answer.body))
        server.settle()
        let edited = try client.request(
            "PATCH", "/api/items/\(before[0].id)", headers: token(server), body: #"{"title":"B"}"#)
        #expect(edited.status == 200)
        #expect(try client.request("DELETE", "/api/items/\(before[1].id)", headers: token(server)).status == 200)
        let kept = server.items()
        server.stop()

        server = try start()
        #expect(server.items() == kept)
        client = try RawClient(server)
        let again = try client.request("POST", "/api/capture", headers: token(server), body: #"{"content":"New"}"#)
        #expect(try member("id", of: again.body) != id, "no id comes again")
    }

    @Test func aLineThatWasCutOffIsIgnored() throws {
        var server = try start()
        let kept = server.items()
        server.stop()
        let path = folder.file("journal")
        try TestFile.write(try TestFile.text(path) + #"{"op":"remove","at":1,"id":"\#(kept[0].id)"#, to: path)

        server = try start()
        #expect(server.items() == kept)
        #expect(server.delete(kept[1].id))
        server.stop()
        server = try start()
        #expect(server.items() == [kept[0]] + kept[2...])
    }

    @Test func whatWasHiddenWhileItWasProcessedIsThereAfterARestart() throws {
        var server = try start { $0.quirks.hidesCaptured = true }
        let client = try RawClient(server)
        _ = try client.request("POST", "/api/capture", headers: token(server), body: #"{"content":"A note of mine"}"#)
        #expect(server.hiddenItems().count == 1)
        server.stop()
        server = try start { $0.quirks.hidesCaptured = true }
        #expect(server.items().map(\.status).contains("pending"))
    }

    @Test func eachLineSaysForWhomItWasChanged() throws {
        let server = try start()
        let client = try RawClient(server)
        let headers = token(server).merging(["Idempotency-Key": "k-1", "X-Request-ID": "r-1"]) { $1 }
        _ = try client.request("POST", "/api/capture", headers: headers, body: #"{"content":"A note of mine"}"#)
        server.settle()
        let lines = try TestFile.text(folder.file("journal")).split(separator: "\n").suffix(2)
        #expect(lines.first?.contains(#""client":"http","key":"k-1","request":"r-1""#) == true)
        #expect(lines.last?.contains(#""status":"completed""#) == true)
    }

    @Test func aBackupTakesAwayWhatCameAfterItAndBringsBackWhatWent() throws {
        let server = try start { $0.quirks.itemCache = .seconds(1_800) }
        let client = try RawClient(server)
        let before = server.items()
        let size = try TestFile.text(folder.file("journal")).utf8.count
        server.edit(before[0].id) { $0.title = "Later" }
        let path = "/api/items/\(before[0].id)"
        #expect(try member("title", of: client.request("GET", path, headers: token(server)).body) == "Later")
        server.delete(before[1].id)
        server.addNew()
        #expect(try client.request("POST", "/__dev/restore?size=\(size)").status == 200)

        #expect(server.items() == before)
        let cached = try client.request("GET", path, headers: token(server))
        #expect(try member("title", of: cached.body) == "Later", "a cache keeps what it has")
        server.stop()
        #expect(try start().items() == before)
    }

    @Test func aLoginOutlivesTheServerAndIsRenewedOnce() throws {
        var server = try start()
        let pair = server.issuePair()
        server.stop()
        server = try start()
        var client = try RawClient(server)
        let me = try client.request("GET", "/api/auth/me", headers: ["Authorization": "Bearer \(pair.access)"])
        #expect(try member("id", of: me.body) == DevAccount.owner.id)
        let body = #"{"refresh_token":"\#(pair.refresh)"}"#
        #expect(try client.request("POST", "/api/auth/refresh", body: body).status == 200)
        server.stop()
        server = try start()
        client = try RawClient(server)
        #expect(try client.request("POST", "/api/auth/refresh", body: body).status == 401)
    }

    @Test func aClockThatIsSetDatesWhatIsMadeFromThenOn() throws {
        let server = try start { $0.settling = .after(.seconds(3)) }
        let client = try RawClient(server)
        let old = server.items()[0]
        let first = server.addNew()[0]
        #expect(try client.request("POST", "/__dev/clock?ahead=-7200.5").status == 200)
        let second = server.addNew()[0]
        #expect(second.createdAt < first.createdAt.advanced(by: .seconds(-7_000)))
        server.edit(first.id) { $0.title = "Edited" }
        #expect(try #require(server.item(first.id)).updatedAt < first.createdAt)
        server.setClock(ahead: .seconds(86_400))
        server.edit(old.id) { $0.title = "Edited" }
        #expect(try #require(server.item(old.id)).updatedAt > first.createdAt.advanced(by: .seconds(86_000)))
        let line = try #require(try TestFile.text(folder.file("journal")).split(separator: "\n").last)
        let times = ["\"at\":", "\"real\":"].map { name in
            line.split(separator: ",").first { $0.hasPrefix(name) }.flatMap { Int64($0.dropFirst(name.count)) }
        }
        #expect(try #require(times[0]) - #require(times[1]) == 86_400_000_000, "the server's time, and the machine's")
    }
}
