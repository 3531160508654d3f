import DevServer
import PRSNLCore
import Testing

@Suite struct CursorTimelineTests {
    @Test func pagesAreNewestFirstAndEndWithANullCursor() throws {
        let server = try DevServer.start(items: DevItem.generate(count: 250))
        let client = try RawClient(server)
        var ids: [String] = []
        var query = "?limit=100"
        var requests = 0
        while true {
            let page = try client.page(query)
            requests += 1
            ids += page.ids
            guard let cursor = page.cursor else { break }
            #expect(cursor.hasSuffix("+00:00"))
            query = "?limit=100&cursor=\(encoded(cursor))"
        }
        #expect(ids == server.items().map(\.id))
        #expect(requests == 3)
    }

    @Test func aFullLastPageIsFollowedByAnEmptyOne() throws {
        let server = try DevServer.start(items: DevItem.generate(count: 200))
        let client = try RawClient(server)
        let first = try client.page("?limit=100")
        let second = try client.page("?limit=100&cursor=\(encoded(try #require(first.cursor)))")
        #expect(second.ids.count == 100)
        let answer = try client.get("/api/timeline?limit=100&cursor=\(encoded(try #require(second.cursor)))")
        #expect(answer.text == #"{"items":[],"next_cursor":null}"#)
    }

    @Test func theCursorIsStrictSoThatPlainPagingSkipsTies() throws {
        let server = try DevServer.start(items: DevItem.generate(count: 1_000, tieGroup: 7))
        let client = try RawClient(server)
        var ids: Set<String> = []
        var query = "?limit=100"
        while true {
            let page = try client.page(query)
            ids.formUnion(page.ids)
            guard let cursor = page.cursor else { break }
            query = "?limit=100&cursor=\(encoded(cursor))"
        }
        #expect(ids.count < 1_000)

        // One microsecond above the last time, all are found.
        ids = []
        query = "?limit=100"
        var requests = 0
        while true {
            let page = try client.page(query)
            requests += 1
            ids.formUnion(page.ids)
            guard let cursor = page.cursor, let time = Timestamp(cursor) else { break }
            query = "?limit=100&cursor=\(time.next)"
        }
        #expect(ids.count == 1_000)
        #expect(requests == 11)
    }

    @Test(arguments: [99, 100, 101, 150]) func aTieGroupShowsWhatFitsAndTheChoiceIsStable(size: Int) throws {
        let server = try DevServer.start(items: DevItem.generate(count: size * 2, tieGroup: size))
        let client = try RawClient(server)
        let first = try client.page("?limit=100")
        #expect(try client.page("?limit=100").ids == first.ids)
        #expect(Set(first.ids).count == 100)
        var seen: Set<String> = []
        let older = try #require(server.items().last).createdAt
        for limit in 1...100 {
            let page = try client.page("?limit=\(limit)&cursor=\(older.next)")
            #expect(page.ids.count == min(limit, size))
            seen.formUnion(page.ids)
        }
        switch size {
        case 99, 100: #expect(seen.count == size)
        case 101: #expect(seen.count >= 100)
        default: #expect((101..<150).contains(seen.count))  // a few more than one page, never all
        }
    }

    @Test func withoutFractionsTimesHaveNone() throws {
        let whole = Timestamp(microseconds: 1_748_736_024_000_000)
        let server = try DevServer.start(items: [
            DevItem(id: "615e0264-7a54-4256-a865-66b08cf4f493", createdAt: whole),
            DevItem(id: "715e0264-7a54-4256-a865-66b08cf4f493", createdAt: whole.next),
        ])
        let page = try RawClient(server).page("?limit=2")
        #expect(page.times == ["2025-06-01T00:00:24.000001Z", "2025-06-01T00:00:24Z"])
        #expect(page.cursor == "2025-06-01T00:00:24+00:00")
    }

    @Test(arguments: ["2025-06-01T00:00:23.000024+00:00", "yesterday", "2025-13-01T00:00:00Z", "1"])
    func aMalformedCursorIs500(cursor: String) throws {
        let server = try DevServer.start(items: DevItem.generate(count: 3))
        // The first is well-formed, but its raw plus sign arrives as a space.
        let answer = try server.get("/api/timeline?cursor=\(cursor)")
        #expect(answer.status == 500)
        #expect(answer.headers["x-error-code"] == "INTERNAL_SERVER_ERROR")
        #expect(answer.text == #"{"detail":"Failed to retrieve timeline: 400: Invalid cursor format."}"#)
    }

    @Test(arguments: ["0", "101", "-1", "ten", ""]) func aLimitOutOfRangeIs422(limit: String) throws {
        let server = try DevServer.start()
        let answer = try server.get("/api/timeline?limit=\(limit)")
        #expect(answer.status == 422)
        #expect(try member("detail", "0", "loc", "1", of: answer.body) == "limit")
    }

    @Test func oddParametersAreTakenAsTheRealServerDoes() throws {
        let server = try DevServer.start(items: DevItem.generate(count: 50))
        let client = try RawClient(server)
        let first = try client.page("?limit=5")
        #expect(try client.page("?limit=5&page=2").ids == first.ids)
        #expect(try client.page("?limit=5&cursor=").ids == first.ids)
        #expect(try client.page("").ids.count == 20)
        #expect(try client.page("?cursor=1999-01-01T00:00:00Z").ids.isEmpty)
    }

    @Test func otherPathsAndMethodsAreRefusedAsTheRealServerDoes() throws {
        let server = try DevServer.start()
        let slash = try server.get("/api/timeline/?limit=3")
        #expect(slash.status == 307)
        #expect(slash.headers["location"]?.hasSuffix("/api/timeline?limit=3") == true)
        #expect(try server.once("HEAD", "/api/timeline").status == 405)
        #expect(try server.get("/api/nope").text == #"{"detail":"Not Found"}"#)
    }

    @Test func everyAnswerHasARequestID() throws {
        let server = try DevServer.start()
        for target in ["/api/timeline", "/api/nope", "/api/timeline?limit=0", "/api/items/1", "/api/timeline/"] {
            #expect(try server.get(target).headers["x-request-id"] != nil, "\(target)")
        }
        #expect(try server.get("/api/health", headers: ["X-Request-Id": "mine"]).headers["x-request-id"] == "mine")
    }

    @Test func quirksOnDemand() throws {
        let server = try DevServer.start(items: DevItem.generate(count: 300))
        let client = try RawClient(server)
        server.setQuirks { $0.repeatsAnItem = true }
        let repeated = try client.page("?limit=10")
        #expect(repeated.ids.count == 10)
        #expect(Set(repeated.ids).count == 9)
        server.setQuirks {
            $0.repeatsAnItem = false
            $0.shufflesTags = true
        }
        let one = try client.page("?limit=100")
        let two = try client.page("?limit=100")
        #expect(one.tags != two.tags)
        #expect(one.tags.map { $0.sorted() } == two.tags.map { $0.sorted() })
        server.setQuirks { $0.saysItemType = true }
        #expect(try client.get("/api/timeline?limit=1").text.contains("\"item_type\":"))
    }

    @Test func aHiddenItemLeavesTheTimelineAndComesBackToItsPlace() throws {
        let server = try DevServer.start(items: DevItem.generate(count: 20))
        let before = server.items()
        server.hide(before[5].id)
        let client = try RawClient(server)
        #expect(try client.page("?limit=100").ids == before.map(\.id).filter { $0 != before[5].id })
        #expect(try client.get("/api/items/\(before[5].id)").status == 200)
        #expect(server.hiddenItems().map(\.id) == [before[5].id])
        server.show(before[5].id)
        #expect(try client.page("?limit=100").ids == before.map(\.id))
    }

    @Test func aBrokenItemIsSentAsItIs() throws {
        var broken = DevItem(id: "00000000-0000-4000-8000-000000000000", createdAt: DevItem.generationStart)
        broken.rawJSON = #"{"id":7,"createdAt":"yesterday"}"#
        let server = try DevServer.start(
            items: DevItem.generate(count: 2, start: .init(microseconds: 1_760_000_000_000_000)))
        server.add(broken)
        #expect(
            try server.get("/api/timeline").text.contains(#"},{"id":7,"createdAt":"yesterday"}],"next_cursor":null}"#))
    }

    @Test func editsMoveUpdatedAtOnlyAndDeletedItemsCanStayInTheCache() throws {
        let server = try DevServer.start(items: DevItem.generate(count: 10))
        let items = server.items()
        let client = try RawClient(server)
        #expect(server.edit(items[3].id) { $0.title = "New title" })
        #expect(try client.page("?limit=100").ids == items.map(\.id))
        #expect(try client.page("?limit=100").titles[3] == "New title")
        #expect(try #require(server.item(items[3].id)).updatedAt > items[3].updatedAt)

        server.delete(items[4].id, cached: true)
        #expect(try !client.page("?limit=100").ids.contains(items[4].id))
        #expect(try client.get("/api/items/\(items[4].id)").status == 200)
        server.clearCache()
        let gone = try client.get("/api/items/\(items[4].id)")
        #expect(gone.status == 404)
        #expect(gone.headers["x-error-code"] == "ITEM_NOT_FOUND")
        #expect(gone.text == #"{"detail":"Item with ID \#(items[4].id) not found"}"#)
    }

    @Test func theTimelineChangesByItselfWhenTold() throws {
        var configuration = DevServer.Configuration()
        configuration.mutation = .init(everyRequests: 1, seed: 5, limit: 40)
        let server = try DevServer.start(configuration, items: DevItem.generate(count: 100))
        let before = server.items()
        let client = try RawClient(server)
        for _ in 0..<60 { _ = try client.page("?limit=100") }
        let after = server.items()
        #expect(after != before)
        #expect(try client.page("?limit=100").ids == after.prefix(100).map(\.id))
        #expect(server.items() == after, "stops at its limit")
    }
}
