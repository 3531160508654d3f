import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import PRSNLClient

/// Creating, editing and deleting, and the questions about them, against the development server.
struct WriteCallTests {
    /// A server of a dialect that takes every write, with a client that has never seen it.
    struct Fixture {
        let server: DevServer
        let test: TestClient
        let dialect: Dialect
        var client: PRSNLClient { test.client }

        init(_ dialect: Dialect, _ change: (inout DevServer.Configuration) -> Void = { _ in }) throws {
            var configuration = DevServer.Configuration(dialect: dialect)
            configuration.quirks.patchFails = false
            change(&configuration)
            server = try DevServer.start(configuration)
            let credentials: Credentials =
                dialect == .cursor ? .loginToken(server.issueToken()) : .apiKey(DevAccount.owner.apiKey)
            test = try TestClient(server.url, credentials)
            self.dialect = dialect
        }

        func create(_ item: NewItem) async throws(APIError) -> CreatedItem {
            try await client.session().create(item, dialect: dialect, key: "fake-key")
        }
    }

    static let link = NewItem(
        url: "https://example.org/a?b=c", title: "Mine \"now\"", note: "A remark", tags: ["a", "to do"], summarize: true
    )

    // MARK: Creating

    @Test(arguments: Dialect.allCases)
    func aCapturedURLArrivesAsItWasGiven(_ dialect: Dialect) async throws {
        let fixture = try Fixture(dialect)
        let created = try await fixture.create(Self.link)
        let capture = try #require(fixture.server.captures.first)
        #expect(created.id == capture.id)
        #expect(capture.url == Self.link.url && capture.title == Self.link.title && capture.tags == Self.link.tags)
        // The main server would drop a link's content.
        #expect((dialect == .express ? capture.content : capture.highlight) == "A remark")
        #expect((dialect == .express ? capture.highlight : capture.content) == nil)
        #expect(capture.type == "link" && capture.summarize == (dialect != .express))
        #expect(capture.idempotencyKey == "fake-key" && capture.owner == DevAccount.owner.id)
        #expect(fixture.server.appliedWrites == .init(created: 1))
        let request = try #require(fixture.server.requests(.capture).first)
        #expect(request.headers["x-request-id"] == created.requestID)
    }

    @Test(arguments: Dialect.allCases)
    func aNoteArrivesAndItsWholeItemComesBackWhereTheServerSaysIt(_ dialect: Dialect) async throws {
        let fixture = try Fixture(dialect)
        let created = try await fixture.create(NewItem(note: "A first line of it\nand more", tags: ["work"]))
        let capture = try #require(fixture.server.captures.first)
        #expect(capture.content == "A first line of it\nand more" && capture.url == nil && capture.type == "note")
        // The small server demands a title: it gets the one that the others derive.
        #expect(capture.title == (dialect == .express ? "A first line of it" : nil))
        let expected = try #require(fixture.server.item(created.id)).expected(in: dialect)
        if dialect == .express {
            var item = try #require(created.item)
            #expect(item.createdAt == expected.createdAt && item.content == expected.content)
            item.extra = expected.extra
            #expect(item == expected)
        } else {
            #expect(created.item == nil)
        }
    }

    @Test func aURLThatIsAlreadyThereIsRecognised() async throws {
        let fixture = try Fixture(.cursor) { $0.quirks.hidesCaptured = true }
        var item = Self.link
        item.title = "It's 'mine' and \"quoted\""
        _ = try await fixture.create(item)
        let error = try #require(await apiError { () async throws(APIError) in try await fixture.create(item) })
        #expect(error.saysURLExists && error.isPRSNLError)
        #expect(error.kind == .invalidInput(message: error.detail ?? ""))
        #expect(error.detail?.contains("mine") == false, "titles are not shown")
        #expect(fixture.server.appliedWrites.created == 1, "hidden while it is processed, and known nevertheless")
        fixture.server.setQuirks { $0.autoTypeFails = true }
        let other = await apiError { () async throws(APIError) in
            try await fixture.create(NewItem(url: "https://example.org/other", type: "poem"))
        }
        #expect(other?.status == 422 && other?.saysURLExists == false)
    }

    @Test func aKeyIsNeverTriedAsALoginOnTheMainServer() async throws {
        let fixture = try Fixture(.cursor)
        let test = try TestClient(fixture.server.url, .apiKey("fake-key-of-another-server"))
        #expect(test.client.dialect == nil)
        for attempt in 0..<2 {
            let error = await apiError { () async throws(APIError) in
                if attempt == 0 {
                    _ = try await test.client.session().create(Self.link, dialect: .cursor, key: "k")
                } else {
                    _ = try await test.client.session().existing(url: "https://example.org/")
                }
            }
            #expect(error?.kind == .unauthorized)
        }
        #expect(fixture.server.requests().map(\.authorization) == [.apiKey, .apiKey])
    }

    // MARK: Editing and deleting

    @Test(arguments: Dialect.allCases)
    func anEditChangesWhatItNamesAndShowsTheItem(_ dialect: Dialect) async throws {
        let fixture = try Fixture(dialect)
        let before = fixture.server.addNew()[0]
        let edit = ItemEdit(title: "New title", tags: ["x", "y"])
        let (after, _) = try await fixture.client.session().update(before.id, edit, dialect: dialect, key: "k")
        let item = try #require(fixture.server.item(before.id))
        #expect(item.title == "New title" && item.tags == ["x", "y"] && item.summary == before.summary)
        #expect(item.updatedAt > before.updatedAt)
        #expect(after == Self.detail(item))
        #expect(fixture.server.appliedWrites == .init(updated: 1))
        #expect(fixture.server.requests(.change).first?.headers["idempotency-key"] == "k")
    }

    @Test(arguments: Dialect.allCases)
    func aDeletedItemIsGoneAndCannotBeDeletedAgain(_ dialect: Dialect) async throws {
        let fixture = try Fixture(dialect)
        let item = fixture.server.addNew()[0]
        try await fixture.client.session().delete(item.id, dialect: dialect, key: "k")
        #expect(fixture.server.item(item.id) == nil)
        let again = await apiError { () async throws(APIError) in
            try await fixture.client.session().delete(item.id, dialect: dialect, key: "k")
        }
        #expect(again?.isItemNotFound == true)
        let edit = await apiError { () async throws(APIError) in
            try await fixture.client.session().update(item.id, ItemEdit(title: "T"), dialect: dialect, key: "k")
        }
        #expect(edit?.isItemNotFound == true)
        #expect(try await fixture.client.session().item(item.id) == nil)
        #expect(fixture.server.appliedWrites == .init(deleted: 1))
    }

    @Test(arguments: [
        (404, "text/html", "Cannot DELETE /api/items/x"), (404, "application/json", #"{"detail":"Not Found"}"#),
        (410, "application/json", #"{"detail":"Item not found"}"#),
    ])
    func otherAnswersAreNotTheItemsOwn(_ status: Int, _ type: String, _ body: String) async throws {
        let fixture = try Fixture(.express)
        let item = fixture.server.addNew()[0]
        fixture.server.script(.answer(status: status, headers: ["Content-Type": type], body: body), on: .any, times: 2)
        let deleted = await apiError { () async throws(APIError) in
            try await fixture.client.session().delete(item.id, dialect: .express, key: "k")
        }
        #expect(deleted?.status == status && deleted?.isItemNotFound == false)
        let read = await apiError { () async throws(APIError) in try await fixture.client.session().item(item.id) }
        #expect(read?.status == status && read?.isItemNotFound == false)
    }

    @Test func aPatchThatTheReleaseCannotDoIsItsOwnError() async throws {
        let fixture = try Fixture(.cursor) { $0.quirks.patchFails = true }
        let item = fixture.server.addNew()[0]
        let error = await apiError { () async throws(APIError) in
            try await fixture.client.session().update(item.id, ItemEdit(title: "T"), dialect: .cursor, key: "k")
        }
        #expect(error?.code == .serverError && error?.isPRSNLError == true)
        #expect(error?.mayHaveReachedServer == true)
        #expect(fixture.server.appliedWrites.total == 0)
    }

    // MARK: Questions

    @Test func checkDuplicateTellsTheItemOfAURL() async throws {
        let fixture = try Fixture(.cursor) { $0.quirks.hidesCaptured = true }
        #expect(try await fixture.client.session().existing(url: "https://example.org/") == nil)
        let created = try await fixture.create(NewItem(url: "https://example.org/", title: "Mine"))
        let found = try #require(try await fixture.client.session().existing(url: "https://EXAMPLE.org"))
        let item = try #require(fixture.server.item(created.id))
        #expect(found == ExistingItem(id: created.id, title: "Mine", createdAt: item.createdAt))
    }

    @Test func aQuestionIsNotRepeatedEither() async throws {
        let fixture = try Fixture(.cursor)
        fixture.server.script(.dieKeptAlive, on: .health)
        try await fixture.client.health()
        let error = await apiError { () async throws(APIError) in
            try await fixture.client.session().existing(url: "https://example.org/")
        }
        #expect(error?.kind == .networkError(.cutOff))
        #expect(fixture.server.requests(.checkDuplicate).count == 1)
        #expect(fixture.test.time.waits.isEmpty)
    }

    @Test(arguments: [
        (#"{"is_duplicate":true,"existing_item":null}"#, "existing_item has no id"),
        (#"{"is_duplicate":"no"}"#, "is_duplicate is not true or false"), ("{}", "is_duplicate is not true or false"),
    ])
    func anAnswerThatSaysNothingIsNoNo(_ body: String, _ reason: String) async throws {
        let server = try ScriptedServer(always: .json(body))
        let test = try TestClient(server.url)
        let error = await apiError { () async throws(APIError) in
            try await test.client.session().existing(url: "https://a.b/")
        }
        #expect(error?.kind == .decodingError(.unexpectedShape(reason)))
    }

    @Test(arguments: Dialect.allCases)
    func anItemIsShownInFull(_ dialect: Dialect) async throws {
        let fixture = try Fixture(dialect)
        let id = try await fixture.create(
            NewItem(title: "T", note: "  A first line of it\nand more ", tags: ["b", "a"])
        ).id
        if dialect != .express {
            #expect(try await fixture.client.session().item(id)?.content == nil, "not processed yet")
        }
        fixture.server.settle()
        let item = try #require(fixture.server.item(id))
        let shown = try #require(try await fixture.client.session().item(id))
        #expect(shown == Self.detail(item))
        if dialect != .express {
            #expect(shown.title == "A first line of it" && shown.content == "A first line of it\nand more")
        }
    }

    private static func detail(_ item: DevItem) -> ItemDetail {
        ItemDetail(
            id: item.id, title: item.title, url: item.url, summary: item.summary, content: item.content,
            tags: item.tags,
            updatedAt: item.updatedAt)
    }

    @Test func theServersClockIsLearntFromEveryAnswer() async throws {
        let ahead = Duration.seconds(3_723)
        let ours = VirtualTime().now
        let fixture = try Fixture(.cursor) { $0.now = { ours.advanced(by: ahead) } }
        #expect(fixture.client.serverClockOffset == nil)
        try await fixture.client.health()
        #expect(fixture.client.serverClockOffset == ahead)
        fixture.server.script(.closeBeforeAnswering, on: .capture)
        _ = await apiError { () async throws(APIError) in try await fixture.create(Self.link) }
        #expect(fixture.client.serverClockOffset == ahead, "what is known is kept")
    }

    @Test(arguments: [["Date": "Sun, 06 Nov 1994 08:49:37 GMT", "Age": "1800"], ["Date": "yesterday"], [:]])
    func aCachedOrUnreadableDateIsNoClock(_ headers: [String: String]) async throws {
        let server = try ScriptedServer(always: .json(#"{"status":"ok"}"#, headers: headers))
        let test = try TestClient(server.url)
        try await test.client.health()
        #expect(test.client.serverClockOffset == nil)
    }
}
