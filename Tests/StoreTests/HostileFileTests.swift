import Glibc
import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// A file that was prepared to harm those who read it.
@Suite struct HostileFileTests {
    private static let endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"

    private func code(_ sql: String, _ read: (StoreReader) throws -> Void) async throws -> ErrorCode? {
        let fixture = StoreFixture()
        let store = try fixture.open()
        try await store.commit(StoreFixture.page([StoreFixture.item(1)]))
        await store.close()
        let shell = try await ChildProcess.run("/usr/bin/sqlite3", [fixture.path, sql])
        try #require(shell.exit == .status(0), "\(shell)")
        return try errorCode { try read(try StoreReader(path: fixture.path, patience: .milliseconds(500))) }
    }

    /// A server may say up to a mebibyte of an item.
    @Test func aListLeavesOutTagsThatTakeAllMemory() async throws {
        let fixture = StoreFixture()
        let store = try fixture.open()
        var items = [StoreFixture.item(1), StoreFixture.item(2)]
        items[1].tags = Tags.json((0..<1_000).map { "a tag of many letters \($0)" })
        try await store.commit(StoreFixture.page(items))
        await store.close()
        let listed = try StoreReader(path: fixture.path).list(ItemFilter(), limit: 10).items
        #expect(listed.map(\.tags) == [[], ["a", "b"]])
    }

    @Test(arguments: ["copy", "coverage", "recurring_error", "outbox"])
    func aViewInThePlaceOfATableIsRefused(table: String) async throws {
        let code = try await code(
            "DROP TABLE \(table); CREATE VIEW \(table) AS \(Self.endless) SELECT i AS id, i AS at FROM n;"
        ) { _ = try $0.summary() }
        #expect(code == .otherApplication)
    }

    @Test func aVirtualTableInThePlaceOfATableIsRefused() async throws {
        let code = try await code(
            "DROP TABLE outbox; CREATE VIRTUAL TABLE outbox USING fts5(state, ended_at);"
        ) { _ = try $0.summary() }
        #expect(code == .otherApplication)
    }

    /// One call of a function is one step for SQLite, which no deadline ends.
    @Test(arguments: ["VIRTUAL", "STORED"])
    func aGeneratedColumnIsRefused(kind: String) async throws {
        let code = try await code(
            """
            ALTER TABLE outbox RENAME TO former;
            CREATE TABLE outbox (id INTEGER PRIMARY KEY, state TEXT, remark TEXT AS (printf('%.2000000c', 'a')) \(kind));
            """
        ) { _ = try $0.summary() }
        #expect(code == .otherApplication)
    }

    @Test func aRecursionWithoutAnEndIsGivenUp() async throws {
        let code = try await code(
            "DROP VIEW timeline; CREATE VIEW timeline AS \(Self.endless) SELECT CAST(i AS TEXT) AS id, 'y' AS title, '' AS created_at, '' AS tags FROM n;"
        ) { _ = try $0.itemToChange(StoreFixture.item(1).id) }
        #expect(code == .databaseUnreadable)
    }

    @Test(arguments: ["-journal", "-wal", "-shm"])
    func aPipeBesideTheFileIsNotWaitedFor(suffix: String) async throws {
        let fixture = StoreFixture()
        let store = try fixture.open()
        await store.close()
        unlink(fixture.path + suffix)
        try #require(mkfifo(fixture.path + suffix, 0o600) == 0)
        #expect(try errorCode { _ = try StoreReader(path: fixture.path).summary() } == .databaseLinked)
        #expect(try errorCode { _ = try Store(path: fixture.path) } == .databaseLinked)
    }

    /// A sound file of gigabytes takes minutes, and damage in it must not go unseen. The caller sets the limit.
    @Test func theWholeFileIsReadHoweverLongThatTakes() async throws {
        let fixture = StoreFixture()
        let store = try fixture.open()
        try await store.commit(StoreFixture.page((1...5_000).map { StoreFixture.item($0) }))
        await store.close()
        let reader = try StoreReader(path: fixture.path, patience: .zero)
        #expect(try reader.damage().isEmpty)
    }

    @Test func aLongMessageIsShownInPart() async throws {
        let fixture = StoreFixture()
        let store = try fixture.open()
        try await store.recordError(
            code: .serverError, endpoint: "x", message: String(repeating: "m", count: 1 << 20),
            at: Timestamp(microseconds: 0))
        await store.close()
        let reader = try StoreReader(path: fixture.path)
        #expect(try reader.recurringErrors().first?.message.count == 2_000)
        #expect(try reader.summary().lastError?.message.count == 2_000)
    }

    @Test func aTextOfGigabytesIsNotMade() async throws {
        let code = try await code(
            """
            DROP VIEW timeline;
            CREATE VIEW timeline AS SELECT hex(zeroblob(900000000)) AS title, id, created_at, tags FROM item;
            """
        ) { _ = try $0.itemToChange(StoreFixture.item(1).id) }
        #expect(code == .databaseUnreadable)
    }
}
