import DevServer
import PRSNLClient
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// A copy that a former release has left with open writes in every state (`open-13.sql` says which): the steps of the schema
/// since then keep what was asked for, and the server gets each of it once.
@Suite struct UpgradeTests {
    private static let unverified = "24581b51-c7e0-44bf-a49b-bb70f3142067"

    /// The server as that release has left it, and the file with its mark. What the server has made of a capture is not what was asked
    /// for.
    private func left() async throws -> PullFixture {
        let fixture = try PullFixture(items: DevItem.generate(count: 12, seed: 42)) {
            $0.quirks.patchFails = false
            $0.quirks.capturesPerMinute = nil
        }
        let (server, time) = (fixture.server, fixture.time)
        let client = try PRSNLClient(
            configuration: ClientConfiguration(serverURL: server.url, credentials: fixture.credentials),
            time: time.source, seed: 7)
        defer { client.shutdown() }
        for (at, item) in [
            (
                "2026-11-27T17:32:42.107620Z",
                NewItem(url: "https://example.org/unverified", title: "Asked for", tags: ["asked"])
            ), ("2026-11-27T17:32:44.101676Z", NewItem(note: "An unknown note")),
        ] {
            time.advance(by: try #require(Timestamp(at)).duration(since: time.now))
            _ = try await client.session().create(item, dialect: .cursor, key: at)
        }
        server.settle()
        server.edit(Self.unverified) { ($0.title, $0.tags) = ("Title of the page", []) }
        server.edit(ids[0]) { $0.title = "Theirs" }
        server.clearLog()
        time.advance(by: .seconds(3_600))

        let file = try Connection(path: fixture.path, mode: .readWrite)
        try Schema(steps: Array(Schema.current.steps.prefix(13))).apply(to: file)
        try file.execute(try RepositoryFile.text("Tests/StoreTests/Fixtures/open-13.sql"))
        try file.execute("UPDATE copy SET server_url = '\(server.url)'")
        let mark = try #require(try file.text("SELECT mark || char(10) || sends FROM copy"))
        try TestFile.write("prsnld mark 1\n\(mark)\n-\n", to: fixture.path + ".mark")
        return fixture
    }

    private let ids = DevItem.generate(count: 12, seed: 42).map(\.id)

    private func expectOnce(_ fixture: PullFixture, captures: [String], patched: [String], deleted: [String]) throws {
        let requests = fixture.server.requests(.change)
        #expect(requests.count { RequestMatcher.capture.matches($0) } == captures.count)
        for text in ["An unknown note", "A plain note", "A draft"] {
            let expected = captures.contains(text) || text == "An unknown note" ? 1 : 0
            #expect(fixture.server.captures.count { $0.content == text } == expected, "\(text)")
        }
        let made = Set(fixture.server.captures.map(\.id))
        func items(_ method: String) -> [String] {
            requests.filter { $0.method == method }.map { String($0.path.dropFirst("/api/items/".count)) }
                .filter { !made.contains($0) || $0 == Self.unverified }.sorted()
        }
        #expect(items("PATCH") == (patched + [Self.unverified]).sorted())
        #expect(items("DELETE") == deleted.sorted())
        for id in made { #expect(requests.count { $0.path.hasSuffix(id) } <= 1) }
        let item = try #require(fixture.server.item(Self.unverified))
        #expect(item.title == "Asked for" && item.tags == ["asked"])
        #expect(try StoreReader(path: fixture.path).summary().outbox.waiting == 0)
        try fixture.expectSound()
    }

    @Test func eachOpenWriteOfAFormerReleaseIsDeliveredOnce() async throws {
        let fixture = try await left()
        let server = fixture.server
        let before = server.items()
        try await fixture.carryAll()
        try await fixture.pull(full: true)

        try expectOnce(
            fixture, captures: ["A plain note", "A draft"], patched: [1, 2, 3, 4, 6, 8].map { ids[$0] },
            deleted: [5, 7].map { ids[$0] })
        #expect(
            [0, 1, 2, 4, 8].map { server.item(ids[$0])?.title } == [
                "Theirs", "Title of the follow-up", "Being sent", "The second title", "Title of three edits",
            ])
        #expect([3, 8].map { server.item(ids[$0])?.summary } == ["A summary that waits", "Summary of three edits"])
        for (number, tag) in [(6, "later"), (8, "three")] {
            let tags = try #require(before.first { $0.id == ids[number] }).tags
            #expect(Set(try #require(server.item(ids[number])).tags) == Set(tags + [tag]))
        }
        let draft = try #require(server.captures.first { $0.content == "A draft" })
        #expect(server.item(draft.id)?.title == "A better title" && server.item(draft.id)?.tags == ["draft"])
        let parked = try StoreReader(path: fixture.path).outbox(.all, limit: 100).entries.filter { $0.state == .parked }
        #expect(parked.map(\.id) == [1] && parked[0].payload == .edit(ItemEdit(title: "Mine")))
        #expect(parked[0].errorCode == ErrorCode.editConflict.rawValue)
        #expect(parked[0].base?.title != nil && parked[0].theirs == ItemEdit(title: "Theirs"))
        try fixture.expectExact()
    }

    @Test func whatAFormerReleaseHasAcceptedCanBeGivenUp() async throws {
        let fixture = try await left()
        let server = fixture.server
        let store = try Store(path: fixture.path)
        try fixture.expectSound()
        #expect(try await store.undo(now: fixture.time.now).taken == 1)
        _ = try await store.drop([1, 7, 12, 14, 16], withDependents: true, dryRun: false, now: fixture.time.now)
        await store.close()
        try await fixture.accept(.edit(item: ids[9], ItemEdit(title: "Never sent")))
        let again = try Store(path: fixture.path)
        #expect(try await again.undo(now: fixture.time.now).taken == 1)
        await again.close()
        try await fixture.carryAll()
        try await fixture.pull(full: true)

        try expectOnce(
            fixture, captures: ["A draft"], patched: [1, 2, 3, 4, 5, 6, 8].map { ids[$0] }, deleted: [])
        #expect(
            [0, 4, 5, 8].map { server.item(ids[$0])?.title } == [
                "Theirs", "The first title", "Behind a deletion", "Title of three edits",
            ])
        #expect(server.item(ids[8])?.summary == "Summary of three edits")
        #expect(server.item(ids[8])?.tags.contains("three") == false)
        #expect(try StoreReader(path: fixture.path).summary().outbox.parked == 0)
        try fixture.expectExact()
    }
}
