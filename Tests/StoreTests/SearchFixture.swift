import PRSNLCore
import Synchronization
import TestSupport

@testable import Store

extension StoreFixture {
    static let now = Timestamp(microseconds: 1_800_000_000_000_000)

    /// Changes rows as another part of the store would.
    func execute(_ sql: String) throws {
        do {
            try Connection(path: path, mode: .readWrite).execute(sql)
        } catch {
            throw error.userFacing(path: path)
        }
    }

    /// Ids of what is found, in the order of the answer.
    func found(_ words: String, limit: Int = 100_000) throws -> [String] {
        try StoreReader(path: path).search(try SearchQuery(words, now: Self.now), limit: limit).items.map(\.id)
    }

    /// What is found, with the places of the words.
    func shown(_ words: String) throws -> [ListedItem] {
        let reader = try StoreReader(path: path)
        let query = try SearchQuery(words, now: Self.now)
        var items = try reader.search(query, limit: 5).items
        try reader.notePlaces(of: query, in: &items)
        return items
    }

    static func article(_ id: String, title: String? = nil, at second: Int = 1, tags: [String] = []) -> TimelineItem {
        var item = TimelineItem(id: id, createdAt: at(second))
        item.title = title
        item.type = "article"
        item.updatedAt = at(second)
        item.tags = Tags.json(tags)
        return item
    }
}

extension Store {
    /// Until nothing is due.
    func indexAll() throws(UserFacingError) {
        while try indexSome(now: StoreFixture.now, uptime: { .zero }) {}
    }

    /// One step, in which a document takes so long.
    func indexSome(each duration: Duration) throws(UserFacingError) -> Bool {
        let time = Mutex(Duration.zero)
        return try indexSome(now: StoreFixture.now) {
            time.withLock {
                $0 += duration
                return $0
            }
        }
    }

    /// One step with one document.
    func indexOne() throws(UserFacingError) { _ = try indexSome(each: .seconds(1)) }

    func add(_ items: [TimelineItem]) throws(UserFacingError) {
        var page = PageChange(items: items)
        page.asOf = .max
        try commit(page)
    }

    func addText(_ id: String, _ content: String?, transcription: String? = nil) throws(UserFacingError) {
        guard let due = try textQuestion(of: id) else { return }
        var text = ItemText(id: id)
        text.content = content
        text.transcription = transcription
        _ = try commit(
            [TextAnswer(due, .text(text))], now: StoreFixture.now,
            record: PullRecord(kind: .texts, startedAt: StoreFixture.now))
    }
}
