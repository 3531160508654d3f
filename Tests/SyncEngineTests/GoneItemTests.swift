import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// What was delivered from here, and is gone from the server.
@Suite struct GoneItemTests {
    /// The copy never had it: what was written here is the tombstone, by which it is captured again.
    @Test func aCreationThatWasNeverPulledLeavesATombstoneWithItsText() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 5)) {
            $0.settling = .after(.seconds(5))
        }
        try await fixture.pull()
        try await fixture.accept(.note("Words of a note", title: "A title", tags: ["ours"]))
        let server = fixture.server
        let thief = server.script(
            .perform { for made in server.captures { server.delete(made.id) } }, on: .timeline,
            times: .max)
        try await fixture.pull()
        thief.remove()
        let id = try #require(server.captures.first).id
        #expect(try fixture.query("SELECT 1 FROM local_item WHERE id = '\(id)'") != nil)
        fixture.time.advance(by: .seconds(3_600))
        try await fixture.pull(full: true)
        let tombstone = try StoreReader(path: fixture.path).deletedItem(id)
        #expect(tombstone.item.title == "A title" && tombstone.text.content == "Words of a note", "\(tombstone)")
        #expect(tombstone.item.tags == #"["ours"]"# && tombstone.deletion?.at != nil)
        #expect(try await errors(fixture) == ["capture_gone"])
        try fixture.expectSound()
        // The server has it after all.
        server.restore(server.items() + [DevItem(id: id, createdAt: fixture.time.now, title: "A title")])
        try await fixture.pull(full: true)
        #expect(try await errors(fixture).isEmpty)
        try fixture.expectSound()
    }

    private func errors(_ fixture: PullFixture) async throws -> [String] {
        try StoreReader(path: fixture.path).recurringErrors().filter { !$0.isOver }.map(\.code)
    }

    /// Named once, and then nothing is written for it.
    @Test(arguments: Dialect.allCases)
    func nothingIsWrittenForItWhileItIsNamed(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 5)) {
            $0.settling = .after(.seconds(5))
        }
        try await fixture.pull()
        try await fixture.accept(.url("https://example.org/lost"))
        try await fixture.pull()
        fixture.time.advance(by: .seconds(60))
        try await fixture.pull(full: true)
        fixture.server.delete(try #require(fixture.server.captures.first).id)
        for _ in 0..<2 {
            fixture.time.advance(by: .seconds(3_600))
            try await fixture.pull(full: true)
            #expect(try await errors(fixture) == ["capture_gone"])
            #expect(try fixture.query("SELECT count FROM recurring_error") == "1")
        }
        // As long as the file knows that it was delivered from here.
        fixture.time.advance(by: .seconds(31 * 86_400))
        try await fixture.pull(full: true)
        #expect(try await errors(fixture).isEmpty)
        #expect(try fixture.query("SELECT over FROM recurring_error") == "1")
    }
}
