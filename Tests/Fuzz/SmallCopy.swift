import Glibc
import PRSNLCore

@testable import Store

/// A copy of ten items for code that asks one, made at the first use, beside `MemoryFile`.
final class SmallCopy: Sendable {
    static let shared = SmallCopy()
    static let now = Timestamp(microseconds: 1_800_000_000_000_000)

    let folder: String
    var path: String { folder + "/prsnl.sqlite" }
    let ids: Set<String>

    private init() {
        let folder = MemoryFile.folder + "/copy-\(getpid())"
        self.folder = folder
        require(mkdir(folder, 0o700) == 0, "mkdir \(folder): \(String(cString: strerror(errno)))")
        do throws(UserFacingError) {
            let path = folder + "/prsnl.sqlite"
            try blocking { () async throws(UserFacingError) in try await SmallCopy.fill(path) }
            ids = Set(try StoreReader(path: path).list(ItemFilter(), limit: 100).items.map(\.id))
        } catch { fatalError(error.message) }
        let count = ids.count
        require(count == 10, "\(count) items")
    }

    private static let texts = [
        "Sourdough for beginners", "Rye bread, \"wheat\"", "C++ and C#", "日本語のパン 🍞", "Crème brûlée", "한국어 빵",
        "https://example.org/bread?a=b", "word-with-dashes under_score", "-(a OR b) title:x \"", "",
    ]

    private static func fill(_ path: String) async throws(UserFacingError) {
        let store = try Store(path: path)
        var items: [TimelineItem] = []
        for (number, text) in texts.enumerated() {
            var item = TimelineItem(
                id: "59ec6da\(number)", createdAt: now.advanced(by: .seconds(-86_400 * 100 * number)))
            item.title = text
            item.type = ["article", "video", "note"][number % 3]
            item.url = number % 2 == 0 ? "https://www.example.org/\(number)" : nil
            item.platform = number == 1 ? "youtube" : nil
            item.tags = Tags.json([["baking"], ["baking", "later"], []][number % 3])
            item.updatedAt = item.createdAt
            items.append(item)
        }
        var page = PageChange(items: items)
        page.asOf = .max
        try await commit(page, to: store)
        for (number, content) in texts.reversed().enumerated() {
            guard let due = try await store.textQuestion(of: items[number].id) else { continue }
            var text = ItemText(id: due.id)
            (text.content, text.metadata) = (content, #"{"author":"Ada \#(number)"}"#)
            _ = try await store.commit(
                [TextAnswer(due, .text(text))], now: now, record: PullRecord(kind: .texts, startedAt: now))
        }
        // One is deleted here, one is changed, and one is new.
        _ = try await store.accept(
            [
                .delete(item: items[3].id), .edit(item: items[4].id, ItemEdit(title: "Another title")),
                .create(NewItem(note: "Milk, bread, coffee")),
            ], now: now)
        while try await store.indexSome(now: now, uptime: { .zero }) {}
        await store.close()
    }

    private static func commit(_ page: PageChange, to store: Store) async throws(UserFacingError) {
        _ = try await store.commit([page], now: now, record: PullRecord(kind: .head, startedAt: now))
    }

    /// Asks it with a deadline of its own.
    static func ask<Answer>(
        _ body: (StoreReader) throws(UserFacingError) -> Answer
    ) throws(UserFacingError) -> Answer {
        reader.value.connection.extendDeadline(to: StoreReader.patience)
        return try body(reader.value)
    }

    /// libFuzzer has one thread.
    private struct OneThread: @unchecked Sendable { let value: StoreReader }

    private static let reader: OneThread = {
        do throws(UserFacingError) { return OneThread(value: try StoreReader(path: shared.path)) } catch {
            fatalError(error.message)
        }
    }()
}
