import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// Every reader, on files of each earlier schema; and once more as if `permalink` were a new column, which a schema N + 1 adds.
@Suite struct FormerFileTests {
    private let fixture = StoreFixture()
    private typealias Fixture = StoreFixture
    private static let now = StoreFixture.at(2_000_000_000)

    /// The steps as they would be if the column were not in the first one.
    private static let invented: Schema = {
        var steps = Schema.current.steps
        steps[0] = steps[0].replacing(#/\n *permalink TEXT,/#, with: "")
        let new = ItemColumn("permalink", since: steps.count + 1, get: { $0.permalink }, set: { $0.permalink = $1 })
        return Schema(steps: steps, columns: [new])
    }()

    /// A file of that history: the value of the column stands in `extra`, and an edit of it in the changes.
    private func makeInvented(_ version: Int) throws {
        try fixture.restore(schema: version)
        do {
            let file = try Connection(path: fixture.path, mode: .readWrite)
            for view in try file.prepare("SELECT name FROM sqlite_schema WHERE type = 'view'").all({ $0.text(0) }) {
                try file.execute("DROP VIEW \(view)")
            }
            try file.execute("ALTER TABLE item DROP COLUMN permalink")
            try file.execute(#"UPDATE item SET extra = '{"k":1,"permalink":"/p"}' WHERE id = 'item-1'"#)
            guard version >= 12 else { return }
            try file.execute(
                #"""
                INSERT INTO change_log (at, item_id, kind, origin, old, new) VALUES ('2026-05-02T08:00:01.000000Z', 'item-1',
                    'edited', 'server', '{"extra":null}', '{"extra":"{\"k\":1,\"permalink\":\"/p\"}"}');
                """#)
        } catch {
            throw error.userFacing(path: fixture.path)
        }
    }

    private func reader() throws -> StoreReader { try StoreReader(path: fixture.path) }

    private func wrong() throws -> [String] {
        try reader().check().filter { !$0.holds }.map { "\($0.name): \($0.findings)" }
    }

    /// All that `StoreReader` can be asked.
    private static let questions: [(name: String, ask: @Sendable (StoreReader) throws -> Void)] = [
        ("summary", { _ = try $0.summary() }), ("figures", { _ = try $0.figures() }),
        ("history", { _ = try $0.history() }), ("connectivity", { _ = try $0.connectivityHistory() }),
        ("errors", { _ = try $0.recurringErrors() }), ("standing", { _ = try $0.standingError(of: [.diskFull]) }),
        ("digest", { _ = try $0.digest(at: now) }), ("stamp", { _ = try $0.stamp(at: now) }),
        ("damage", { _ = try $0.damage() }),
        ("suggestions", { _ = try $0.otherEndings(for: SearchQuery("title", now: now), typed: "title") }),
        ("checkIndex", { _ = try $0.checkIndex() }),
        ("search", { _ = try $0.search(SearchQuery("title", now: now), limit: 10) }),
        ("deleted", { _ = try $0.search(SearchQuery("title is:deleted", now: now), limit: 10) }),
        ("conditions", { _ = try $0.list(SearchQuery("is:pending has:text", now: now).branches[0].filter, limit: 9) }),
        ("related", { _ = try $0.related(to: "item-1", limit: 10) }),
        ("list", { _ = try $0.list(ItemFilter(), limit: 10, counting: 10) }),
        ("tags", { _ = try $0.tagCounts() }), ("types", { _ = try $0.counts(of: .type) }),
        ("ids", { _ = try $0.shortIDs(["item-1"]) }), ("prefix", { _ = try $0.items(withPrefix: "item", limit: 5) }),
        ("server", { _ = try $0.serverURL() }), ("trash", { _ = try $0.deletedItems(ItemFilter(), limit: 10) }),
        ("deletedItem", { _ = try $0.deletedItem("item-2") }), ("isShown", { _ = try $0.isShown("item-1") }),
        ("item", { _ = try $0.item("item-1") }), ("itemToChange", { _ = try $0.itemToChange("item-1") }),
        ("titles", { _ = try $0.titles(of: ["item-1"]) }), ("origin", { _ = try $0.exportOrigin() }),
        ("exportRows", { try $0.exportRows { _ in } }), ("exportItem", { _ = try $0.exportItem("item-1") }),
        ("isKnownDeleted", { _ = try $0.isKnownDeleted("item-1") }),
        (
            "lines",
            { reader in
                var lines: [UInt8] = []
                var place: StoreReader.LinePosition? = .init()
                while let next = place {
                    place = try reader.appendLines(after: next, of: nil, to: &lines).next
                }
            }
        ),
        ("formerTexts", { _ = try $0.formerTexts(of: "item-1") }),
        ("formerText", { _ = try $0.formerText(1, of: "item-1") }), ("gone", { _ = try $0.goneItems() }),
        ("queue", { _ = try $0.outbox(.all, limit: 10) }), ("entry", { _ = try $0.outboxEntry(1) }),
        ("changes", { _ = try $0.changes(after: nil, limit: 10) }),
        ("change", { _ = try $0.changePlace(at: now) }),
        ("distance", { _ = try $0.distance(from: ChangePlace(epoch: "0123456789abcdef", seq: 1)) }),
        ("firstPull", { _ = try $0.itemsBeforeFirstPullEnded() }),
        (
            "found changes",
            {
                let place = ChangePlace(epoch: "0123456789abcdef", seq: 0)
                _ = try $0.changes(after: place, matching: SearchQuery("title", now: now))
            }
        ),
        ("present", { _ = try $0.presentItems(matching: SearchQuery("title", now: now), { _ in }, { _ in }) }),
    ]

    /// A file without an index or without changes is one that cannot answer, and says so.
    private func expectAnswers() throws {
        let reader = try reader()
        for (name, ask) in Self.questions {
            do { try ask(reader) } catch let error as UserFacingError {
                #expect([.noSearchIndex, .changesUnavailable].contains(error.code), "\(name): \(error)")
            }
        }
        #expect(try wrong() == [])
    }

    @Test(arguments: 1..<Schema.current.version)
    func everyReaderTakesAFormerFileAsItIs(version: Int) throws {
        try fixture.restore(schema: version)
        try expectAnswers()
    }

    @Test(arguments: 1...Schema.current.version)
    func everyReaderTakesAFileFromBeforeANewColumn(version: Int) async throws {
        try await Schema.$current.withValue(Self.invented) {
            try makeInvented(version)
            try expectAnswers()
            #expect(try reader().item("item-1").item.permalink == nil)
            var item = try reader().item("item-1").item
            (item.permalink, item.extra) = ("/p", #"{"k":1}"#)
            #expect(try TimelineComparison(path: fixture.path).compare([item]).map(\.kind) == [])

            // The step moves the value, as a change that readers of the changes see.
            let store = try fixture.open()
            await store.close()
            #expect(try wrong() == [])
            #expect(try TimelineComparison(path: fixture.path).compare([item]).map(\.kind) == [])
            guard version >= 12 else { return }
            let last = try fixture.query("SELECT kind || old || new FROM change_log ORDER BY seq DESC LIMIT 1")
            #expect(
                last == #"edited{"permalink":null,"extra":"{\"k\":1,\"permalink\":\"/p\"}"}"#
                    + #"{"permalink":"/p","extra":"{\"k\":1}"}"#)
        }
    }

    /// The daemon may take the steps while a program reads.
    @Test func aReaderFollowsAFileThatGetsTheColumn() async throws {
        try await Schema.$current.withValue(Self.invented) {
            try makeInvented(Self.invented.version - 1)
            let reader = try reader()
            #expect(try reader.item("item-1").item.permalink == nil)
            let store = try fixture.open()
            await store.close()
            #expect(try reader.item("item-1").item.permalink == "/p")
        }
    }
}
