import PRSNLCore
import TestSupport

@testable import Store

/// A store in a folder of its own.
struct StoreFixture {
    let directory = TemporaryDirectory("store")
    var path: String { directory.file("prsnl.sqlite") }

    func open() throws -> Store { try Store(path: path) }

    /// The last schema of which there is a dump (`Fixtures`). Later files are made from it, by the steps.
    static let lastDump = 9

    /// What a former version has left in what came with it, so that the steps after it have something to keep.
    private static let rows = [
        (
            10,
            """
            INSERT INTO former_text (item_id, replaced_at, size, content)
                VALUES ('item-1', '2026-05-02T08:00:00.000000Z', 14, 'A former text.')
            """
        ),
        (
            12,
            """
            UPDATE change_state SET epoch = '0123456789abcdef', items_before = 2;
            INSERT INTO change_log (seq, at, kind, origin, new)
                VALUES (1, '2026-05-02T08:00:00.000000Z', 'pulled', 'server', '{"items":1}');
            """
        ),
    ]

    /// Makes the file as a former version has left it: an item, a tombstone, a note in the queue, and a text from schema 2 on.
    func restore(schema version: Int) throws {
        do {
            let dump = "Tests/StoreTests/Fixtures/schema-\(min(version, Self.lastDump)).sql"
            let file = try Connection(path: path, mode: .readWrite)
            try file.execute(try RepositoryFile.text(dump))
            for (reached, rows) in Self.rows + [(version, "")] where reached > Self.lastDump && reached <= version {
                try Schema(steps: Array(Schema.current.steps.prefix(reached))).apply(to: file)
                try file.execute(rows)
            }
        } catch let error as SQLiteFailure {
            throw error.userFacing(path: path)
        }
    }

    static func at(_ second: Int) -> Timestamp { Timestamp(microseconds: Int64(second) * 1_000_000) }

    static func item(_ number: Int, title: String? = nil) -> TimelineItem {
        var item = TimelineItem(id: "item-\(number)", createdAt: at(number))
        item.title = title ?? "Item \(number)"
        item.tags = #"["a","b"]"#
        item.updatedAt = at(number)
        return item
    }

    /// A page that proves everything from its oldest item to its newest.
    static func page(_ items: [TimelineItem], readAt: Int = 1_000) -> PageChange {
        let times = items.map(\.createdAt)
        guard let from = times.min(), let to = times.max() else { return PageChange(items: []) }
        return PageChange(
            items: items, proven: from...to,
            coverage: Coverage.Interval(from: from, to: to, readAt: at(readAt)))
    }

    /// Asks the file itself, over another connection.
    func query(_ sql: String) throws -> String? {
        do {
            let connection = try Connection(path: path, mode: .readOnly)
            // As other programs read it. Ours trust no file.
            try connection.execute("PRAGMA trusted_schema = ON")
            return try connection.text(sql)
        } catch {
            throw error.userFacing(path: path)
        }
    }
}

extension Store {
    /// Commits as part of a pull of its own.
    @discardableResult
    func commit(_ page: PageChange, at second: Int = 1_000) throws(UserFacingError) -> PullRecord {
        let record = PullRecord(kind: .head, startedAt: StoreFixture.at(second))
        return try commit([page], now: StoreFixture.at(second), record: record)
    }
}
