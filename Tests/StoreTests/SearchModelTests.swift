import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// Random changes of every kind against a scan of the timeline: `PRSNL_TEST_SEED` repeats a run.
@Suite struct SearchModelTests {
    private static let words = (0..<30).map { "word\($0)" }

    private let fixture = StoreFixture()

    @Test func whatIsFoundIsWhatAScanFinds() async throws {
        var random = SeededRandom()
        var store = try fixture.open()
        for round in 0..<60 {
            for _ in 0..<Int.random(in: 1...6, using: &random) { try await change(store, round, &random) }
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                await store.close()
                store = try fixture.open()
            case 1: try await store.rebuildIndex()
            case 2...4: for _ in 0..<3 { try await store.indexOne() }
            default: break
            }
            try compareLists()
            try await store.indexAll()
            try compareLists()
            try compare(&random)
        }
        await store.close()
    }

    private func change(_ store: Store, _ round: Int, _ random: inout SeededRandom) async throws {
        let id = "item-\(Int.random(in: 0..<25, using: &random))"
        let text = Self.some(&random)
        let now = StoreFixture.now
        switch Int.random(in: 0..<9, using: &random) {
        case 0...2:
            var item = StoreFixture.article(
                id, title: text, at: Int.random(in: 1..<20, using: &random),
                tags: [Self.words.randomElement(using: &random) ?? ""])
            item.updatedAt = StoreFixture.at(round)
            item.type = ["article", "note"].randomElement(using: &random)
            try await store.add([item])
        case 3: try await store.addText(id, text)
        case 4: try fixture.execute("UPDATE item SET deleted_at = '2026-01-01T00:00:00.000000Z' WHERE id = '\(id)'")
        case 5:
            try fixture.execute("DELETE FROM item WHERE id = '\(id)'; DELETE FROM item_body WHERE item_id = '\(id)'")
        case 6: _ = try? await store.accept([.edit(item: id, ItemEdit(title: text))], now: now)
        case 7: _ = try? await store.accept([.delete(item: id)], now: now)
        default:
            _ = try await store.accept([.create(NewItem(note: text))], now: now)
            if Bool.random(using: &random),
                let entry = try fixture.query("SELECT max(id) FROM outbox WHERE ended_at IS NULL")
            {
                _ = try await store.drop([Int64(entry) ?? 0], withDependents: true, dryRun: false, now: now)
            }
        }
    }

    /// A list is the timeline in its order, whatever is due, and so are the tags.
    private func compareLists() throws {
        let connection = try Connection(path: fixture.path, mode: .readOnly)
        let reader = try StoreReader(path: fixture.path)
        func ids(_ condition: String) throws -> [String] {
            try connection.prepare("SELECT id FROM timeline WHERE \(condition) ORDER BY created_at DESC, id").all {
                $0.text(0)
            }
        }
        #expect(try reader.list(ItemFilter(), limit: 1_000).items.map(\.id) == ids("1"))
        #expect(try reader.list(ItemFilter(), limit: 3).items.map(\.id) == Array(ids("1").prefix(3)))
        for word in Self.words.prefix(4) {
            var filter = ItemFilter(tags: [word.uppercased()])
            let condition = "EXISTS (SELECT 1 FROM json_each(tags) WHERE value = '\(word)')"
            #expect(try reader.list(filter, limit: 1_000).items.map(\.id) == ids(condition))
            filter = ItemFilter(tags: [word.uppercased()], types: ["note", "Article"])
            #expect(
                try reader.list(filter, limit: 1_000).items.map(\.id)
                    == ids(condition + " AND type IN ('note', 'article')"))
            filter = ItemFilter(types: ["note", "Article"])
            #expect(try reader.list(filter, limit: 1_000).items.map(\.id) == ids("type IN ('note', 'article')"))
        }
        let counts = try connection.prepare("SELECT tag, count(*) FROM item_tag GROUP BY tag ORDER BY 2 DESC, 1").all {
            TagCount(tag: $0.text(0) ?? "", items: $0.int(1))
        }
        #expect(try reader.tagCounts() == counts)
    }

    private static func some(_ random: inout SeededRandom) -> String {
        (0..<Int.random(in: 1...8, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }
            .joined(separator: " ")
    }

    /// A query, and whether an item with such words, of such a type, is meant.
    private static func expression(
        depth: Int, _ random: inout SeededRandom
    ) -> (String, (Set<String>, String) -> Bool) {
        switch depth == 0 ? 0 : Int.random(in: 0..<8, using: &random) {
        case 0...2:
            let word = words.randomElement(using: &random) ?? ""
            return (word, { words, _ in words.contains(word) })
        case 3:
            let type = Bool.random(using: &random) ? "note" : "article"
            return ("type:\(type)", { $1 == type })
        case 4:
            let (query, isMeant) = expression(depth: depth - 1, &random)
            return ("-(\(query))", { !isMeant($0, $1) })
        case 5:
            let (left, right) = (expression(depth: depth - 1, &random), expression(depth: depth - 1, &random))
            return ("((\(left.0)) OR (\(right.0)))", { left.1($0, $1) || right.1($0, $1) })
        case 6:
            // OR binds more than what stands beside it.
            let parts = (0..<3).map { _ in words.randomElement(using: &random) ?? "" }
            return (
                "(\(parts[0]) OR \(parts[1]) -\(parts[2]))",
                { words, _ in
                    (words.contains(parts[0]) || words.contains(parts[1])) && !words.contains(parts[2])
                }
            )
        default:
            let (left, right) = (expression(depth: depth - 1, &random), expression(depth: depth - 1, &random))
            return ("(\(left.0)) (\(right.0))", { left.1($0, $1) && right.1($0, $1) })
        }
    }

    private func compare(_ random: inout SeededRandom) throws {
        let connection = try Connection(path: fixture.path, mode: .readOnly)
        let rows = try connection.prepare(
            """
            SELECT timeline.id, coalesce(title, '') || ' ' || coalesce(item_text.content, timeline.content, '') || ' '
                || coalesce(tags, ''), type
            FROM timeline LEFT JOIN item_text ON item_id = timeline.id
            """)
        var texts: [(id: String, words: Set<String>, type: String)] = []
        while try rows.step() {
            let words = (rows.text(1) ?? "").split { !$0.isLetter && !$0.isNumber }.map(String.init)
            texts.append((rows.text(0) ?? "", Set(words), rows.text(2) ?? ""))
        }
        for _ in 0..<8 {
            let wanted = Set(
                (0..<Int.random(in: 1...2, using: &random)).map { _ in Self.words.randomElement(using: &random) ?? "" })
            let unwanted = Bool.random(using: &random) ? Self.words.randomElement(using: &random) : nil
            let type = Int.random(in: 0..<3, using: &random) == 0 ? "article" : nil
            let query =
                wanted.joined(separator: " ") + (unwanted.map { " -\($0)" } ?? "") + (type.map { " type:\($0)" } ?? "")
            let expected = texts.filter { text in
                wanted.isSubset(of: text.words) && unwanted.map { !text.words.contains($0) } ?? true
                    && (type == nil || text.type == type)
            }.map(\.id)
            #expect(Set(try fixture.found(query)) == Set(expected), "\(query)")
        }
        for _ in 0..<12 {
            let (query, isMeant) = Self.expression(depth: 3, &random)
            let expected = texts.filter { isMeant($0.words, $0.type) }.map(\.id)
            #expect(Set(try fixture.found(query)) == Set(expected), "\(query)")
        }
        // A list is the timeline, with an index and without.
        let reader = try StoreReader(path: fixture.path)
        let all = try reader.list(ItemFilter(), limit: 1_000).items.map(\.id)
        #expect(Set(all) == Set(texts.map(\.id)) && all.count == texts.count)
        let tag = Self.words.randomElement(using: &random) ?? ""
        let filter = ItemFilter(tags: [tag])
        let tagged = try connection.prepare(
            "SELECT id FROM timeline WHERE EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)"
        ).bind(tag)
        var expected: Set<String> = []
        while try tagged.step() { expected.insert(tagged.text(0) ?? "") }
        #expect(Set(try reader.list(filter, limit: 1_000).items.map(\.id)) == expected)
        let counts = try reader.tagCounts()
        #expect(counts.first { $0.tag == tag }?.items ?? 0 == expected.count)
        // Few items have one of these, or many: each is read in another way.
        let tags = (0..<Int.random(in: 2...20, using: &random)).map { _ in
            Self.words.randomElement(using: &random) ?? ""
        }
        let having = try connection.prepare(
            """
            SELECT id FROM timeline
            WHERE EXISTS (SELECT 1 FROM json_each(tags) WHERE value IN (SELECT value FROM json_each(?)))
            """
        ).bind(JSONText.array(tags)).all { $0.text(0) ?? "" }
        let found = try fixture.found(tags.map { "tag:\($0)" }.joined(separator: " OR "))
        #expect(found.sorted() == having.sorted(), "\(tags)")
    }
}
