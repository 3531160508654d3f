import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

/// The client against the development server: dialects, paging and faults end to end.
struct DevServerTests {
    private static func credentials(_ server: DevServer) -> Credentials {
        switch server.configuration.dialect {
        case .cursor: .loginToken(server.issueToken())
        case .page, .express: .apiKey(DevAccount.owner.apiKey)
        }
    }

    @Test(arguments: Dialect.allCases)
    func theDialectIsFoundByTheFirstPage(_ dialect: Dialect) async throws {
        let server = try DevServer.start(.init(dialect: dialect), items: DevItem.generate(count: 25))
        let test = try TestClient(server.url, Self.credentials(server))
        #expect(test.client.dialect == nil)
        let page = try await test.client.session().timeline(TimelineRequest(.page(1), limit: 10))
        #expect(page.dialect == dialect)
        #expect(test.client.dialect == dialect)
        #expect(page.items.map(\.id) == server.items().prefix(10).map(\.id))
        #expect(page.rejected.isEmpty)
        #expect(page.total == (dialect == .cursor ? nil : 25))
    }

    @Test func theCursorGoesThroughTheWholeTimeline() async throws {
        let server = try DevServer.start(.init(dialect: .cursor), items: DevItem.generate(count: 250))
        let test = try TestClient(server.url, Self.credentials(server))
        var ids: [String] = []
        var cursor: Timestamp?
        repeat {
            let page = try await test.client.session().timeline(TimelineRequest(.before(cursor), limit: 100))
            ids += page.items.map(\.id)
            cursor = page.nextCursor
        } while cursor != nil
        #expect(ids == server.items().map(\.id))
    }

    @Test(arguments: [Dialect.page, .express])
    func thePagesGoThroughTheWholeTimeline(_ dialect: Dialect) async throws {
        let server = try DevServer.start(.init(dialect: dialect), items: DevItem.generate(count: 250))
        let test = try TestClient(server.url, Self.credentials(server))
        var ids: [String] = []
        for number in 1...3 {
            ids += try await test.client.session().timeline(TimelineRequest(.page(number), limit: 100)).items.map(\.id)
        }
        #expect(ids == server.items().map(\.id))
    }

    @Test(arguments: Dialect.allCases)
    func anItemIsReadAsTheServerHasIt(_ dialect: Dialect) async throws {
        var item = DevItem(id: "615e0264-7a54-4256-a865-66b08cf4f493", createdAt: Timestamp(microseconds: 5_000_000))
        item.title = "Ünusual \"title\" \\ 😀"
        item.type = "note"
        item.tags = ["b", "a"]
        item.url = "https://example.org/?a=b&c=d"
        let server = try DevServer.start(.init(dialect: dialect), items: [item])
        let test = try TestClient(server.url, Self.credentials(server))
        let page = try await test.client.session().timeline(TimelineRequest(.page(1), limit: 10))
        let read = try #require(page.items.first)
        #expect(read.id == item.id && read.createdAt == item.createdAt && read.updatedAt == item.updatedAt)
        #expect(read.title == item.title && read.url == item.url && read.type == "note")
        #expect(read.tags == #"["a","b"]"#)
        let again = try await test.client.session().timeline(TimelineRequest(.page(1), limit: 10))
        #expect(again.items == page.items, "nothing that changes by looking is part of an item")
    }

    @Test(arguments: Dialect.allCases)
    func anItemIsLookedUpByItsID(_ dialect: Dialect) async throws {
        let items = DevItem.generate(count: 2)
        let server = try DevServer.start(.init(dialect: dialect), items: items)
        let test = try TestClient(server.url, Self.credentials(server))
        #expect(try await test.client.session().itemExists(items[0].id))
        server.delete(items[0].id)
        #expect(try await !test.client.session().itemExists(items[0].id))
        server.script(.answer(status: 404, headers: ["Content-Type": "text/html"], body: "Cannot GET"), on: .item)
        let error = await apiError { () async throws(APIError) in
            try await test.client.session().itemExists(items[1].id)
        }
        #expect(error?.kind == .notFound(resource: "Resource"), "a missing route is not a missing item")
        server.script(.portal, on: .item)
        let portal = await apiError { () async throws(APIError) in
            try await test.client.session().itemExists(items[1].id)
        }
        #expect(portal?.kind == .decodingError(.portal))
    }

    @Test func theAccountIsTheOneThatTheServerSees() async throws {
        let server = try DevServer.start(.init(dialect: .cursor))
        let test = try TestClient(server.url, Self.credentials(server))
        let owner = DevAccount.owner
        #expect(
            try await test.client.session().account() == Account(id: owner.id, email: owner.email, name: owner.name))
        server.expireTokens()
        #expect(try await test.client.session().account().id == DevAccount.testUser.id, "200, and another account")
    }

    @Test(arguments: Dialect.allCases)
    func healthNeedsNoCredentials(_ dialect: Dialect) async throws {
        let server = try DevServer.start(.init(dialect: dialect))
        let test = try TestClient(server.url, Self.credentials(server))
        try await test.client.health()
        #expect(server.requests(.health).map(\.authorization) == [.none])
        server.script(.emptyObject, on: .health)
        #expect(
            await apiError { () async throws(APIError) in try await test.client.health() }?.kind
                == .decodingError(.unexpectedShape("no status")))
    }

    @Test func anUnchangedPageIsNotReadAgain() async throws {
        let server = try DevServer.start(.init(dialect: .express), items: DevItem.generate(count: 5))
        let test = try TestClient(server.url, Self.credentials(server))
        let first = try await test.client.session().timeline(TimelineRequest(.page(1), limit: 10))
        let etag = try #require(first.etag)
        // Reading an item moves its access count only, but the page's bytes are others then.
        let again = try await test.client.session().timeline(TimelineRequest(.page(1), limit: 10, etag: etag))
        #expect(again.notModified || again.items == first.items)
        server.addNew()
        let changed = try await test.client.session().timeline(TimelineRequest(.page(1), limit: 10, etag: etag))
        #expect(!changed.notModified && changed.items.count == 6)
    }

    @Test func aBrokenItemDoesNotLoseThePage() async throws {
        var items = DevItem.generate(count: 3)
        items[1].rawJSON = #"{"id":"broken","title":"no time"}"#
        let server = try DevServer.start(.init(dialect: .cursor), items: items)
        let test = try TestClient(server.url, Self.credentials(server))
        let page = try await test.client.session().timeline(TimelineRequest(.before(nil), limit: 10))
        #expect(page.items.count == 2 && page.count == 3)
        #expect(page.rejected.map(\.raw) == [#"{"id":"broken","title":"no time"}"#])
        #expect(page.rejected.map(\.id) == ["broken"])
    }

    @Test func aKeyThatTheServerTakesAsBearerOnlyIsFound() async throws {
        let server = try DevServer.start(.init(dialect: .page), items: DevItem.generate(count: 3))
        server.setQuirks { $0.bearerKeysOnly = true }
        let test = try TestClient(server.url, Self.credentials(server))
        for _ in 0..<2 {
            let page = try await test.client.session().timeline(TimelineRequest(.page(1), limit: 10))
            #expect(page.items.count == 3)
        }
        #expect(server.requests(.timeline).map(\.authorization) == [.apiKey, .bearerKey, .bearerKey])
    }

    // MARK: Faults

    struct FaultRow: Sendable, CustomTestStringConvertible {
        var name: String
        var fault: Fault
        var kind: APIError.Kind
        var code: ErrorCode
        var requests = 1
        var waits: [Duration]?
        var testDescription: String { name }
    }

    static let faults: [FaultRow] = [
        FaultRow(name: "close", fault: .closeBeforeAnswering, kind: .networkError(.cutOff), code: .cutOff, requests: 3),
        FaultRow(
            name: "truncate", fault: .truncate(after: 20), kind: .networkError(.cutOff), code: .cutOff, requests: 3),
        FaultRow(name: "portal", fault: .portal, kind: .decodingError(.portal), code: .portal),
        FaultRow(name: "empty", fault: .emptyBody, kind: .decodingError(.empty), code: .unexpectedShape),
        FaultRow(
            name: "{}", fault: .emptyObject, kind: .decodingError(.unexpectedShape("no items in the timeline")),
            code: .unexpectedShape),
        FaultRow(
            name: "huge", fault: .huge(bytes: 2_000_000, gzip: false),
            kind: .networkError(.answerTooLarge(limit: 1_000_000)), code: .answerTooLarge),
        FaultRow(
            name: "huge when unpacked", fault: .huge(bytes: 2_000_000, gzip: true),
            kind: .networkError(.answerTooLarge(limit: 1_000_000)), code: .answerTooLarge),
        FaultRow(
            name: "stall", fault: .stall, kind: .networkError(.timedOut), code: .timedOut, requests: 3),
        FaultRow(
            name: "rate limit in seconds", fault: .rateLimit(.seconds(90)),
            kind: .rateLimitExceeded(retryAfter: .seconds(90)), code: .rateLimited, waits: []),
        FaultRow(
            name: "rate limit of an hour and more", fault: .rateLimit(.seconds(100_000)),
            kind: .rateLimitExceeded(retryAfter: .seconds(3_600)), code: .rateLimited, waits: []),
        FaultRow(
            name: "rate limit in the body", fault: .rateLimit(.inBody(5)),
            kind: .rateLimitExceeded(retryAfter: .seconds(5)), code: .rateLimited, requests: 2, waits: [.seconds(5)]),
        FaultRow(
            name: "rate limit that is garbage", fault: .rateLimit(.garbage),
            kind: .rateLimitExceeded(retryAfter: .seconds(60)), code: .rateLimited, requests: 2, waits: [.seconds(60)]),
        FaultRow(
            name: "rate limit that says nothing", fault: .rateLimit(.none),
            kind: .rateLimitExceeded(retryAfter: .seconds(60)), code: .rateLimited, requests: 2, waits: [.seconds(60)]),
        FaultRow(
            name: "500", fault: .answer(status: 500, body: #"{"detail":"Failed to retrieve timeline: gone"}"#),
            kind: .serverError(message: "Failed to retrieve timeline: gone"), code: .serverError),
    ]

    @Test(arguments: faults)
    func aFaultIsTheErrorThatTheTableNames(_ row: FaultRow) async throws {
        let server = try DevServer.start(.init(dialect: .cursor), items: DevItem.generate(count: 25))
        server.script(row.fault, on: .timeline, times: .max)
        let test = try TestClient(server.url, Self.credentials(server)) {
            $0.maximumAnswerSize = 2_000_000
            if row.code == .timedOut { $0.stallTimeout = .milliseconds(200) }
        }
        let error = try #require(
            await apiError { () async throws(APIError) in
                try await test.client.session().timeline(TimelineRequest(.before(nil), limit: 10))
            })
        #expect(error.kind == row.kind)
        #expect(error.code == row.code)
        #expect(error.mayHaveReachedServer)
        #expect(server.requests(.timeline).count == row.requests)
        if let waits = row.waits { #expect(test.time.waits == waits) }
    }

    @Test func garbageIsNotJSON() async throws {
        let server = try DevServer.start(.init(dialect: .cursor))
        server.script(.garbage, on: .timeline)
        let test = try TestClient(server.url, Self.credentials(server))
        let error = await apiError { () async throws(APIError) in
            try await test.client.session().timeline(TimelineRequest(.before(nil), limit: 10))
        }
        #expect(error?.code == .unexpectedShape)
    }

    @Test func aServerThatRefusesConnectionsIsUnreachableAndThenThereAgain() async throws {
        let server = try DevServer.start(.init(dialect: .cursor), items: DevItem.generate(count: 3))
        let test = try TestClient(server.url, Self.credentials(server))
        try await test.client.health()
        server.refuseConnections()
        let error = await apiError { () async throws(APIError) in try await test.client.health() }
        #expect(error?.kind == .networkError(.connectFailed))
        #expect(error?.mayHaveReachedServer == false)
        try server.acceptConnections()
        try await test.client.health()
    }

    @Test func aDroppedAnswerIsAskedForAgain() async throws {
        let server = try DevServer.start(.init(dialect: .cursor), items: DevItem.generate(count: 3))
        server.script(.closeBeforeAnswering, on: .timeline, times: 2)
        let test = try TestClient(server.url, Self.credentials(server))
        #expect(try await test.client.session().timeline(TimelineRequest(.before(nil), limit: 10)).items.count == 3)
        #expect(test.usage.all.map(\.attempts) == [3])
    }

    @Test func aWriteWhoseKeptConnectionDiesIsAppliedOnce() async throws {
        let server = try DevServer.start(.init(dialect: .cursor))
        let test = try TestClient(server.url, Self.credentials(server))
        server.script(.dieKeptAlive, on: .health)
        try await test.client.health()
        let note = Array(#"{"title":"My note","content":"Hello","content_type":"note"}"#.utf8)
        let error = await apiError { () async throws(APIError) in
            try await test.client.write("POST", "/api/capture", json: note, idempotencyKey: "fake-key-1")
        }
        #expect(error?.kind == .networkError(.cutOff))
        #expect(error?.mayHaveReachedServer == true)
        #expect(server.itemCount == 1, "applied once; libcurl alone would have made it two")
    }

    @Test func aPageOfManyItemsIsReadInOneAnswer() async throws {
        let server = try DevServer.start(.init(dialect: .express), items: DevItem.generate(count: 1_999))
        let test = try TestClient(server.url, Self.credentials(server))
        let page = try await test.client.session().timeline(TimelineRequest(.page(1), limit: 2_000))
        #expect(page.items.map(\.id) == server.items().map(\.id))
    }
}
