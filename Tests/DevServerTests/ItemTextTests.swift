import DevServer
import PRSNLCore
import TestSupport
import Testing

/// The text of items, as `GET /api/items/{id}` answers it.
@Suite struct ItemTextTests {
    private static let id = "11111111-1111-4111-8111-111111111111"
    private static let target = "/api/items/\(id)"
    private let clock = Clock(time: 1_800_000_000_000_000)

    private func item(_ type: String = "article", status: String = "completed") -> DevItem {
        DevItem(id: Self.id, createdAt: DevItem.generationStart, type: type, status: status)
    }

    private func start(
        _ items: [DevItem], _ dialect: Dialect = .cursor, texts: ClosedRange<Int>? = nil,
        _ change: (inout DevServer.Configuration) -> Void = { _ in }
    ) throws -> DevServer {
        var configuration = DevServer.Configuration(dialect: dialect)
        let clock = clock
        configuration.now = { clock.now }
        configuration.texts = texts.map { .init(bytes: $0, seed: 5) }
        configuration.quirks.patchFails = false
        configuration.quirks.keysOptional = true
        change(&configuration)
        return try DevServer.start(configuration, items: items)
    }

    private func patch(_ server: DevServer, _ body: String) throws -> RawClient.Answer {
        try server.once("PATCH", Self.target, headers: ["Authorization": "Bearer \(server.issueToken())"], body: body)
    }

    /// The answer has all members that real servers send, in one length that is announced.
    @Test(arguments: [Dialect.cursor, .page]) func theDetailHasAllMembers(dialect: Dialect) throws {
        var video = item("video", status: "bookmark")
        video.transcription = "Said in the video\n“twice”"
        video.category = "learning"
        video.permalink = "/videos/1"
        video.tags = ["b", "a"]
        let answer = try start([video], dialect).get(Self.target)
        let names = [
            "id", "title", "url", "content", "summary", "type", "category", "content_type", "created_at", "updated_at",
            "tags", "status", "access_count", "thumbnail_url", "platform", "duration", "file_path", "transcription",
            "transcript", "has_transcript", "learning_objectives", "chapters", "key_moments", "key_topics", "metadata",
            "permalink",
        ]
        #expect(try memberNames(answer.body) == names)
        for name in ["content", "transcription", "transcript"] {
            #expect(try member(name, of: answer.body) == "Said in the video\n“twice”")
        }
        #expect(try member("has_transcript", of: answer.body) == "true")
        #expect(try member("category", of: answer.body) == "video")
        #expect(try member("status", of: answer.body) == "completed")
        #expect(try member("permalink", of: answer.body) == "/items/\(Self.id)")
        #expect(try member("chapters", "0", "timestamp", of: answer.body) == "00:00")
        #expect(try member("chapters", "0", "title", of: answer.body) == "Chapter 1: Key Insight")
        #expect(answer.headers["content-length"] == "\(answer.body.count)")
        #expect(answer.headers["content-encoding"] == nil)
    }

    /// Metadata is an object: the item's own, or a small one whose fingerprint changes with the text.
    @Test func metadataIsTheItemsOwnOrMadeUp() throws {
        let server = try start([item()], texts: 600...600)
        let first = try server.get(Self.target).body
        #expect(try member("metadata", "word_count", of: first) == "100")
        #expect(try member("metadata", "published_date", of: first) == "2025-01-01")
        #expect(try member("metadata", "author", of: first)?.isEmpty == false)
        let fingerprint = try #require(try member("metadata", "content_fingerprint", of: first))
        server.edit(Self.id) { $0.title = "Another" }
        #expect(try member("metadata", "content_fingerprint", of: server.get(Self.target).body) != fingerprint)
        server.edit(Self.id) { $0.metadata = #"{"ai_analysis":{"mood":1}}"# }
        #expect(try member("metadata", of: server.get(Self.target).body) == #"{"ai_analysis":{"mood":1}}"#)
    }

    /// What is pending has no text, whatever it will be.
    @Test func aPendingItemHasNoText() throws {
        var pending = item("video", status: "pending")
        pending.transcription = "Not yet"
        let server = try start([pending], texts: 100...100)
        let answer = try server.get(Self.target).body
        for name in ["content", "transcription", "transcript"] { #expect(try member(name, of: answer) == "null") }
        #expect(try member("has_transcript", of: answer) == "false")
        #expect(try #require(server.text(of: Self.id)).content == nil)
        server.edit(Self.id) { $0.status = "completed" }
        #expect(try #require(server.text(of: Self.id)).content == "Not yet")
    }

    /// What a person wrote is never another text: a client that looks for its note would take it for another's.
    @Test func aNoteThatCouldNotBeProcessedHasNoText() throws {
        let server = try start([], texts: 100...100)
        let headers = ["Authorization": "Bearer \(server.issueToken())"]
        for number in 1...7 {
            let body = #"{"content":"Note \#(number)","content_type":"note"}"#
            #expect(try server.once("POST", "/api/capture", headers: headers, body: body).status == 201)
        }
        server.settle()
        let failed = try #require(server.items().first { $0.status == "failed" })
        #expect(try #require(server.text(of: failed.id)).content == nil)
        for item in server.items() where item.id != failed.id {
            #expect(server.text(of: item.id)?.content?.hasPrefix("Note") == true)
        }
    }

    /// Made-up texts are as long as was asked for, in several lines, and not of ASCII alone.
    @Test func textsAreMadeUpWithinTheirSizes() throws {
        let items = DevItem.generate(count: 400)
        let server = try start(items, texts: 100...50_000)
        let texts = items.filter { $0.content == nil }.compactMap { server.text(of: $0.id)?.content }
        #expect(texts.count == items.count { $0.content == nil })
        #expect(texts.allSatisfy { (100...50_000).contains($0.utf8.count) })
        for edge in [200, 1_000, 5_000, 25_000] {
            let part = Double(texts.count { $0.utf8.count < edge }) / Double(texts.count)
            #expect((part - logarithmicPart(edge)).magnitude < 0.1, "\(edge) bytes: \(part)")
        }
        let long = texts.filter { $0.utf8.count > 5_000 }
        #expect(long.allSatisfy { $0.contains("\n\n") && $0.utf8.contains { $0 > 0x7F } })
        #expect(texts.allSatisfy { !$0.contains("\u{FFFD}") && $0.trimmed == $0 })
        #expect(Set(texts).count == texts.count)
    }

    private func logarithmicPart(_ edge: Int) -> Double {
        // The range is 100 to 50,000: a factor of 500.
        [200: 0.1115, 1_000: 0.3705, 5_000: 0.6295, 25_000: 0.8885][edge] ?? 0
    }

    /// Every size is met exactly, the smallest ones included, and no text ends with white space.
    @Test func sizesAreExact() throws {
        for size in 0...600 {
            let server = try start([item()], texts: size...size)
            let text = try #require(server.text(of: Self.id)?.content)
            #expect(text.utf8.count == size && text.trimmed == text, "\(size): \(text)")
        }
    }

    /// The same seed, id and version give the same text. An edit gives another one, a change of tags does not.
    @Test func aMadeUpTextChangesWithTheItem() throws {
        let server = try start([item("video")], texts: 5_000...6_000)
        let before = try #require(server.text(of: Self.id))
        #expect(before.content == before.transcription)
        #expect(try start([item()], texts: 5_000...6_000).text(of: Self.id)?.content == before.content)
        #expect(try member("transcript", of: server.get(Self.target).body) == before.content)
        server.edit(Self.id) { $0.tags = ["x"] }
        #expect(try #require(server.text(of: Self.id)) == before)
        server.edit(Self.id) { $0.title = "Another" }
        let after = try #require(server.text(of: Self.id))
        #expect(after.content != before.content && after.updatedAt > before.updatedAt)
        #expect(try member("content", of: server.get(Self.target).body) == after.content)
    }

    /// An item's own text is answered as it is, beside made-up ones, and a timeline of C and P shows neither.
    @Test(arguments: Dialect.allCases) func anItemsOwnTextStays(dialect: Dialect) throws {
        let mine = "Mine: \"quoted\" \\ back\tand \u{1} \u{1F} \u{7F} é 日本語 😀\r\n"
        var note = item("note")
        note.content = mine
        let server = try start([note], dialect, texts: 100...200)
        #expect(try member("content", of: server.get(Self.target).body) == mine)
        #expect(try #require(server.text(of: Self.id)).content == mine)
        #expect(try server.get("/api/timeline").text.contains("quoted") == (dialect == .express))
        server.delete(Self.id)
        #expect(server.text(of: Self.id) == nil)
    }

    /// Without a plan a processed item without a text stays without one.
    @Test func withoutAPlanNothingIsMadeUp() throws {
        let server = try start([item("video")])
        #expect(try member("content", of: server.get(Self.target).body) == "null")
        #expect(try #require(server.text(of: Self.id)).transcription == nil)
    }

    /// JSON escapes stand at every place of a text, whatever is beside them.
    @Test func textsAreEscapedAtEveryPlace() throws {
        let server = try start([item()])
        for special in ["\"", "\\", "\n", "\u{0}", "\u{1F}", "é", "\u{7F}"] {
            for place in 0..<20 {
                let text = String(repeating: "~", count: place) + special + String(repeating: " ", count: 19 - place)
                server.edit(Self.id) { $0.content = text }
                #expect(try server.get("/__dev/text?id=\(Self.id)").text == text)
                #expect(try member("content", of: server.get(Self.target).body) == text)
            }
        }
    }

    // MARK: The version of a text

    /// A change of tags alone moves `updatedAt` on dialect E only; any other change moves it everywhere.
    @Test(arguments: Dialect.allCases) func tagsAloneAreNoNewVersion(dialect: Dialect) throws {
        let server = try start([item()], dialect)
        func version() throws -> Timestamp { try #require(server.item(Self.id)).updatedAt }
        let first = try version()
        server.edit(Self.id) { $0.tags = ["a"] }
        #expect(try (version() == first) == (dialect != .express))
        let second = try version()
        server.edit(Self.id) {
            $0.tags = ["b"]
            $0.status = "failed"
        }
        #expect(try version() > second)
        server.edit(Self.id) {
            $0.tags = []
            $0.updatedAt = first
        }
        #expect(try version() == first)
    }

    /// `PATCH` writes the item's row where it is given a title or a summary, the same ones included.
    @Test func anUpdateOfTagsAloneIsNoNewVersion() throws {
        let server = try start([item()])
        #expect(try member("updated_at", of: patch(server, #"{"tags":["x"]}"#).body) == "2025-01-01T00:00:00+00:00")
        #expect(server.item(Self.id)?.tags == ["x"])
        #expect(try patch(server, #"{"title":"Item","tags":["y"]}"#).status == 200)
        #expect(server.item(Self.id)?.updatedAt == clock.now)
    }

    // MARK: What the endpoint does not do

    /// No account is asked for, unless the release is set to.
    @Test func anybodyReadsAnyItem() throws {
        var others = item()
        others.owner = DevAccount.other.id
        let server = try start([others])
        let bearer = ["Authorization": "Bearer \(server.issueToken())"]
        for headers in [[:], bearer, ["Authorization": "Bearer a.b.c"]] {
            #expect(try server.get(Self.target, headers: headers).status == 200)
        }
        server.setQuirks { $0.hidesOthersItems = true }
        #expect(try server.get(Self.target, headers: bearer).status == 404)
    }

    /// A server without the path knows no item, and still takes writes.
    @Test(arguments: [Dialect.cursor, .page]) func aServerMayLackTheDetail(dialect: Dialect) throws {
        let server = try start([item()], dialect) { $0.quirks.lacksItemDetail = true }
        for target in [Self.target, "/api/items/22222222-2222-4222-8222-222222222222", "/api/items/42"] {
            let answer = try server.get(target)
            #expect(answer.status == 404)
            #expect(answer.text == #"{"detail":"Not Found"}"#)
            #expect(answer.headers["x-error-code"] == nil)
        }
        let key = ["X-API-Key": DevAccount.owner.apiKey]
        let headers = dialect == .page ? key : ["Authorization": "Bearer \(server.issueToken())"]
        #expect(try server.once("DELETE", Self.target, headers: headers).status == 200)
    }

    // MARK: The cache

    /// A null text is kept for half an hour, over the end of processing and over an edit on the server.
    @Test func aCacheKeepsTheTextOfAPendingItem() throws {
        let server = try start([item(status: "pending")], texts: 100...200) { $0.quirks.itemCache = .seconds(1_800) }
        func content() throws -> String? { try member("content", of: server.get(Self.target).body) }
        #expect(try content() == "null")
        server.edit(Self.id) { $0.status = "completed" }
        clock.advance(by: .seconds(1_799))
        #expect(try content() == "null")
        let truth = try #require(server.text(of: Self.id)?.content)
        clock.advance(by: .seconds(1))
        #expect(try content() == truth)
        server.edit(Self.id) { $0.content = "Edited" }
        #expect(try content() == truth, "kept again")
        server.clearCache()
        #expect(try content() == "Edited")
    }

    /// Processing a captured note leaves the kept answer alone.
    @Test func settlingClearsNoCache() throws {
        let server = try start([]) { $0.quirks.itemCache = .seconds(1_800) }
        let headers = ["Authorization": "Bearer \(server.issueToken())"]
        let made = try server.once("POST", "/api/capture", headers: headers, body: #"{"content":"A note of mine"}"#)
        let id = try #require(try member("id", of: made.body))
        #expect(try member("content", of: server.get("/api/items/\(id)").body) == "null")
        server.settle()
        #expect(try member("content", of: server.get("/api/items/\(id)").body) == "null")
        #expect(try #require(server.text(of: id)).content == "A note of mine")
    }

    /// `PATCH` clears the kept answer of its item.
    @Test func anUpdateClearsTheCache() throws {
        let server = try start([item()]) { $0.quirks.itemCache = .seconds(1_800) }
        #expect(try member("title", of: server.get(Self.target).body) == "Item")
        #expect(try patch(server, #"{"title":"New"}"#).status == 200)
        #expect(try member("title", of: server.get(Self.target).body) == "New")
    }

    /// A deleted item answers 200 while its answer is kept. What was not found is not kept.
    @Test func aCacheKeepsDeletedItemsAndNoFailures() throws {
        let server = try start([]) { $0.quirks.itemCache = .seconds(1_800) }
        #expect(try server.get(Self.target).status == 404)
        server.add(item())
        #expect(try server.get(Self.target).status == 200)
        let headers = ["Authorization": "Bearer \(server.issueToken())"]
        #expect(try server.once("DELETE", Self.target, headers: headers).status == 200)
        #expect(try server.get(Self.target).status == 200)
        #expect(server.text(of: Self.id) == nil)
        clock.advance(by: .seconds(1_800))
        #expect(try server.get(Self.target).status == 404)
    }

    // MARK: For scripts

    /// A script sets a text, reads the true one, and lets one item alone fail.
    @Test func scriptsEditAndReadTexts() throws {
        let items = DevItem.generate(count: 2) + [item("video")]
        let server = try start(items, texts: 100...200) { $0.quirks.itemCache = .seconds(1_800) }
        #expect(try server.get(Self.target).status == 200)
        let before = try #require(server.item(Self.id))
        #expect(try server.once("POST", "/__dev/edit?id=\(Self.id)&content=Gr%C3%B6%C3%9Fe%0Atwo").status == 200)
        let after = try #require(server.item(Self.id))
        #expect(after.updatedAt > before.updatedAt && after.title == before.title)
        let text = try server.get("/__dev/text?id=\(Self.id)")
        #expect(text.text == "Größe\ntwo")
        #expect(text.headers["content-type"] == "text/plain; charset=utf-8")
        #expect(try #require(server.text(of: Self.id)).transcription == "Größe\ntwo")
        server.edit(Self.id) { $0.status = "pending" }
        #expect(try server.get("/__dev/text?id=\(Self.id)").status == 204)
        #expect(try server.get("/__dev/text?id=missing").status == 404)

        _ = try server.once("POST", "/__dev/fault?kind=status&status=500&times=0&path=\(Self.target)")
        #expect(try server.get(Self.target).status == 500)
        #expect(try server.get("/api/items/\(items[0].id)").status == 200)
    }

    /// A server with a journal keeps a transcription and metadata over a restart.
    @Test func aRestartKeepsTranscriptionsAndMetadata() throws {
        let folder = TemporaryDirectory()
        var video = item("video")
        video.transcription = "Said\nin it"
        video.metadata = #"{"author":"A person"}"#
        for _ in 0..<2 {
            let server = try start([video]) { $0.journal = folder.file("journal") }
            #expect(server.items() == [video])
            server.stop()
        }
    }
}

/// The names of an object's members, in order.
private func memberNames(_ bytes: [UInt8]) throws -> [String] {
    var names: [String] = []
    try JSONReader.read(bytes) { reader in
        try reader.object { name, reader in
            names.append(name)
            try reader.skip()
        }
    }
    return names
}

extension String {
    fileprivate var trimmed: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
