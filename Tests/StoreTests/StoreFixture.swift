import PRSNLCore
import TestSupport

@testable import Store

/// A store in a folder of its own.
struct StoreFixture {
    let directory = TemporaryDirectory("store")
    var path: String { directory.file("prsnl.sqlite") }

    func open() throws -> Store { try Store(path: path) }

    /// What a former version has left (`Fixtures`).
    static func former(_ version: Int) -> String {
        "/\(#filePath.split(separator: "/").dropLast().joined(separator: "/"))/Fixtures/schema-\(version).sql"
    }

    /// Makes the file as a former version has left it.
    func restore(schema version: Int) throws {
        do {
            try Connection(path: path, mode: .readWrite).execute(TestFile.text(Self.former(version)))
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
    func commit(_ page: PageChange, at second: Int = 1_000) throws(UserFacingError) -> ChangeCounts {
        let record = PullRecord(kind: .head, startedAt: StoreFixture.at(second))
        return try commit([page], now: StoreFixture.at(second), record: record).counts
    }
}
