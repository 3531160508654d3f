import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// What `verify --file` says of a sound file, and of one in which something was planted.
@Suite struct FileCheckTests {
    private let fixture = StoreFixture()
    private typealias Fixture = StoreFixture
    private static let now = StoreFixture.now

    /// Everything that was read, with writes that wait, one that was sent, and its index.
    private func complete() async throws -> Store {
        let store = try fixture.open()
        var page = PageChange(
            items: (1...4).map { Fixture.article("item-\($0)", title: "Title \($0)", at: $0, tags: ["tag"]) },
            proven: .earliest...Fixture.at(9),
            coverage: Coverage.Interval(from: .earliest, to: Fixture.at(9), readAt: Fixture.at(1_000)))
        page.asOf = .max
        try await store.commit(page)
        try await store.addText("item-4", "A text")
        try await store.addText("item-4", "Another text")
        _ = try await store.accept([.create(NewItem(note: "Buy milk"))], now: Self.now)
        _ = try await store.accept([.edit(item: "item-2", ItemEdit(title: "Mine"))], now: Self.now)
        _ = try await store.beginSending(2, evidence: nil, now: Self.now)
        try await store.indexAll()
        return store
    }

    private func wrong() throws -> [String] {
        try StoreReader(path: fixture.path).check().filter { !$0.holds }.map(\.name)
    }

    private func plant(_ sql: String) throws {
        try Connection(path: fixture.path, mode: .readWrite).execute(sql)
    }

    @Test func whatIsNotShownNeedsNoIndex() async throws {
        let store = try await complete()
        #expect(try wrong() == [])
        // Queued, and behind another that is being sent; one that is held back; and what was put off before it was indexed.
        _ = try await store.accept([.delete(item: "item-1"), .delete(item: "item-2")], now: Self.now)
        try await store.write { connection in
            try connection.execute("INSERT INTO held_item VALUES ('item-3', 2)")
        }
        for _ in 0..<2 {
            #expect(try wrong() == [])
            try await store.indexAll()
        }
        try await store.write { connection in try connection.execute("DELETE FROM held_item") }
        #expect(try wrong() == [])
        try await store.indexAll()
        #expect(try wrong() == [])
        await store.close()
    }

    /// A follow-up goes along with an edit that was made later, and has no time of its own.
    @Test func aWriteMayWaitForALaterOneOfItsItem() async throws {
        let store = try await complete()
        let edits = ["first", "second"].map { WriteDraft.edit(item: "item-1", ItemEdit(title: $0)) }
        _ = try await store.accept(edits, now: Self.now)
        try await store.write { connection in
            try connection.execute(
                """
                UPDATE outbox SET next_attempt_at = iif(id = (SELECT max(id) FROM outbox), accepted_at, NULL) WHERE kind = 'edit'
                """)
        }
        #expect(try wrong() == [])
        try await store.write { connection in
            try connection.execute("UPDATE outbox SET next_attempt_at = NULL WHERE kind = 'edit'")
        }
        #expect(try wrong() == ["writes"])
        await store.close()
    }

    @Test(arguments: 1..<Schema.current.version)
    func aFormerCopyIsSound(version: Int) async throws {
        try fixture.restore(schema: version)
        let store = try fixture.open()
        #expect(try wrong() == [])
        try await store.indexAll()
        await store.close()
        #expect(try wrong() == [])
    }

    @Test(arguments: [
        (
            "complete",
            "UPDATE coverage SET to_time = '1970-01-01T00:00:03.000000Z'; INSERT INTO coverage VALUES ('1970-01-01T00:00:03.000002Z', '1970-01-01T00:00:09.000000Z', '1970-01-01T00:16:40.000000Z')"
        ),
        ("complete", "UPDATE coverage SET from_time = '0000-01-01T00:00:00.000001Z'"),
        ("complete", "UPDATE copy SET edits_as_of = '2999-01-01T00:00:00.000000Z'"),
        ("times", "UPDATE coverage SET to_time = 'zzz'"),
        ("times", "UPDATE item SET updated_at = '2025-13-01T00:00:00.000000Z' WHERE id = 'item-1'"),
        ("times", "UPDATE item SET updated_at = 'yesterday' WHERE id = 'item-1'"),
        ("json", "UPDATE item SET tags = '[\"a' WHERE id = 'item-1'"),
        ("json", "UPDATE outbox SET payload = 'x'"),
        ("json", "UPDATE change_log SET new = '{' WHERE seq = 2"),
        ("changes", "UPDATE change_log SET kind = 'moved' WHERE seq = 2"),
        ("rows", "DELETE FROM copy"), ("rows", "DELETE FROM search_state"), ("rows", "DELETE FROM change_state"),
        ("rows", "UPDATE change_state SET epoch = ''"),
        ("items", "UPDATE copy SET deletions_held = 7"),
        ("items", "INSERT INTO held_deletion VALUES ('item-1')"),
        (
            "local",
            "INSERT INTO local_item (entry_id, id, created_at) VALUES (99, 'local-9', '2025-01-01T00:00:00.000000Z')"
        ),
        ("local", "INSERT INTO held_item VALUES ('missing', 2)"),
        ("writes", "UPDATE outbox SET attempts = 5 WHERE id = 2"),
        ("index", "INSERT INTO search_tag VALUES ('x', '2025-01-01T00:00:00.000000Z', 999)"),
        ("index", "INSERT INTO search_piece VALUES (998, 999)"),
        ("index", "DELETE FROM search_document WHERE row < 0"),
        ("index", "DELETE FROM search_document WHERE row = 1"),
        ("schema", "DROP INDEX item_by_time"), ("schema", "DROP TRIGGER search_item_removed"),
        ("schema", "DROP VIEW item_tag"), ("schema", "DROP VIEW item_tag; CREATE VIEW item_tag AS SELECT 1 AS item_id"),
        ("schema", "DROP TABLE search_piece"),
    ])
    func whatIsPlantedIsFound(name: String, sql: String) async throws {
        let store = try await complete()
        await store.close()
        #expect(try wrong() == [])
        try plant(sql)
        let found = try wrong()
        #expect(found.contains(name), "\(found)")
    }

    @Test func whoOnlyReadsIsToldOfNoWrite() throws {
        try TestFile.write(String(repeating: "no database ", count: 1_000), to: fixture.path)
        let error = thrown(UserFacingError.self) { try StoreReader(path: fixture.path) }
        #expect(error?.code == .notADatabase && error?.consequence == nil, "\(String(describing: error))")
    }
}
