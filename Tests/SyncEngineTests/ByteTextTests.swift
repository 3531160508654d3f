import DevServer
import PRSNLCore
import TestSupport
import Testing

@testable import Store
@testable import SyncEngine

/// Two spellings of one accented letter are two ids and two tags to servers, and one text to Swift.
@Suite struct ByteTextTests {
    private static let composed = "caf\u{E9}"
    private static let combined = "cafe\u{301}"

    private func item(_ id: String, at time: Timestamp) -> DevItem {
        var item = DevItem.generate(count: 1, seed: 4)[0]
        item.id = id
        item.createdAt = time
        item.updatedAt = time
        return item
    }

    @Test(arguments: Dialect.allCases)
    func twoIdsThatLookAlikeAreTwoItems(_ dialect: Dialect) async throws {
        let fixture = try PullFixture(dialect, items: DevItem.generate(count: 300))
        for id in [Self.composed, Self.combined] { fixture.server.add(item(id, at: fixture.time.now)) }
        #expect(fixture.server.itemCount == 302)
        #expect(try await fixture.pull().isComplete)
        #expect(try fixture.copy().count == 302)
        try fixture.expectExact()
        fixture.server.edit(Self.combined) { $0.title = "Edited" }
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.pull(full: true).changed == 1)
        try fixture.expectExact()
    }

    @Test func theOneThatIsDeletedDoesNotTakeTheOtherWithIt() async throws {
        let fixture = try PullFixture(.express, items: DevItem.generate(count: 300))
        for id in [Self.composed, Self.combined] { fixture.server.add(item(id, at: fixture.time.now)) }
        try await fixture.pull()
        fixture.server.delete(Self.composed)
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.pull(full: true).deleted == 1)
        #expect(try fixture.query("SELECT hex(id) FROM timeline WHERE id LIKE 'caf%'") == "63616665CC81")
        try fixture.expectExact()
    }

    @Test func aCrowdedInstantHasRoomForBoth() async throws {
        let fixture = try PullFixture(items: DevItem.generate(count: 300))
        let instant = fixture.time.now
        var crowd = DevItem.generate(count: 120, seed: 6)
        for index in crowd.indices { crowd[index].createdAt = instant }
        fixture.server.add(crowd)
        // The smallest ids, which every page shows.
        for accent in ["\u{E9}", "e\u{301}"] { fixture.server.add(item("!" + accent, at: instant)) }
        _ = try await fixture.pull()
        #expect(try fixture.query("SELECT count(*) FROM timeline WHERE id LIKE '!%'") == "2")
    }

    @Test func twoTagsThatLookAlikeAreKept() throws {
        #expect(Tags.parse(Tags.json([Self.composed, Self.combined, Self.composed]))?.count == 2)
        #expect(Set([ByteText(Self.composed), ByteText(Self.combined), ByteText(Self.composed)]).count == 2)
        #expect(ByteText(Self.combined) < ByteText(Self.composed))
    }
}
