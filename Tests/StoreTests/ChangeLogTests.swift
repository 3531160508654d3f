import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// What `change` says against what `timeline` shows.
@Suite struct ChangeLogTests {
    private let fixture = StoreFixture()
    private typealias Fixture = StoreFixture
    private static let now = StoreFixture.now

    /// A store whose first pull has ended.
    private func complete() async throws -> Store {
        let store = try fixture.open()
        try await store.add([
            Fixture.article("first", title: "First"), Fixture.article("second", title: "Second", at: 2),
        ])
        try await store.write { connection in
            try connection.execute("UPDATE copy SET complete = 1")
        }
        return store
    }

    private func rows() throws -> [String] {
        try Connection(path: fixture.path, mode: .readOnly).prepare(
            "SELECT seq, kind, coalesce(item_id, ''), origin, coalesce(old, ''), coalesce(new, '') FROM change ORDER BY seq"
        ).all { row in (0..<6).map { row.text($0) ?? "" }.joined(separator: " ") }
    }

    @Test func theFirstPullIsOneRow() async throws {
        let store = try await complete()
        #expect(try rows() == [#"1 pulled  server  {"items":2}"#])
        try await store.add([Fixture.article("third", title: "Third", at: 3, tags: ["x"])])
        #expect(
            try rows().last
                == #"2 added third server  {"created_at":"1970-01-01T00:00:03.000000Z","updated_at":"1970-01-01T00:00:03.000000Z","type":"article","title":"Third","tags":"[\"x\"]"}"#
        )
        await store.close()
        let again = try fixture.open()
        #expect(try rows().count == 2)
        await again.close()
    }

    @Test func eachChangeIsOneRow() async throws {
        let store = try await complete()
        var item = Fixture.article("first", title: "Another")
        item.updatedAt = Fixture.at(9)
        try await store.add([item, Fixture.article("second", title: "Second", at: 2)])
        try await store.add([item])
        _ = try await store.accept([.edit(item: "second", ItemEdit(title: "Mine"))], now: Self.now)
        _ = try await store.accept([.create(NewItem(note: "Buy milk"))], now: Self.now)
        _ = try await store.accept([.delete(item: "first")], now: Self.now)
        try await store.addText("second", "Long ago")
        try await store.addText("second", "Long ago")
        let seen = try rows().dropFirst().map { row in
            row.split(separator: " ").prefix(4).map { $0.hasPrefix("local-") ? "local" : $0 }.joined(separator: " ")
        }
        #expect(
            seen == [
                "2 edited first server", "3 edited second here", "4 added local here", "5 deleted first here",
            ], "\(seen)")
        #expect(
            try rows()[1].hasSuffix(
                #"{"updated_at":"1970-01-01T00:00:01.000000Z","title":"First"} {"updated_at":"1970-01-01T00:00:09.000000Z","title":"Another"}"#
            ))
        #expect(try rows()[2].hasSuffix(#"{"title":"Second","pending":null} {"title":"Mine","pending":"edit"}"#))
        await store.close()
    }

    private func deliver(_ id: Int64, _ delivery: WriteOutcome.Delivery, _ store: Store) async throws {
        #expect(try await store.beginSending(id, evidence: nil, now: Self.now))
        try await store.record(id, .delivered(delivery), now: Self.now)
    }

    /// A reader that does not know the kind is right about deletions.
    @Test func aCreationIsAddedOnceAndIdentifiedByItsDelivery() async throws {
        let store = try await complete()
        let drafts = ["Buy milk", "Bread", "Butter"].map { WriteDraft.create(NewItem(note: $0)) }
        _ = try await store.accept(drafts + [.create(NewItem(note: "Never sent"))], now: Self.now)
        try await deliver(1, WriteOutcome.Delivery(serverID: "new"), store)
        // One that was there, and one of which the server does not say the id.
        try await deliver(2, WriteOutcome.Delivery(serverID: "first", there: ItemEdit()), store)
        try await deliver(3, WriteOutcome.Delivery(there: ItemEdit()), store)
        _ = try await store.drop([4], withDependents: true, dryRun: false, now: Self.now)
        try await store.add([Fixture.article("new", title: "Buy milk", at: 3)])
        let milk = "FROM change WHERE kind = 'added' AND new LIKE '%milk%'"
        let local = try #require(try fixture.query("SELECT item_id \(milk)"))
        let seq = try #require(try fixture.query("SELECT seq \(milk)").flatMap { Int64($0) })
        let seen = try rows().dropFirst().map { row in
            row.split(separator: " ").dropFirst().prefix(2).map { $0.hasPrefix("local-") ? "local" : $0 }
                .joined(separator: " ")
        }
        let added = Array(repeating: "added local", count: 4)
        let identified = Array(repeating: "identified local", count: 3)
        #expect(seen == added + identified + ["deleted local", "edited new"], "\(seen)")
        let row = try rows()[5]
        #expect(row.hasPrefix("6 identified \(local) here {") && row.hasSuffix(#"} {"id":"new"}"#), "\(row)")
        #expect(try rows()[6].hasSuffix(#"} {"id":"first"}"#) && rows()[7].hasSuffix("} "))
        await store.close()
        let reader = try StoreReader(path: fixture.path)
        let place = ChangePlace(epoch: try reader.changePlace(at: .latest).epoch, seq: 0)
        // The row before it was changed, and after it: each has the words.
        #expect(try reader.changes(after: place, matching: SearchQuery("milk", now: Self.now)) == [seq, 6, 10])
        for invariant in try reader.check() where invariant.name.contains("changes") {
            #expect(invariant.holds, "\(invariant)")
        }
    }

    /// SQLite 3.40 ends a text at U+0000 where it takes JSON apart, and gives numbers 15 digits.
    @Test func valuesAreWhole() async throws {
        let store = try await complete()
        for (title, duration) in [("a\u{0}b", 185.46666666666667), ("a\u{0}c", 0.1 + 0.2), ("\u{2028}\"", 1e22 / 3)] {
            var item = Fixture.article("first", title: title)
            (item.duration, item.updatedAt) = (duration, Fixture.at(9))
            try await store.add([item])
        }
        await store.close()
        let seen = try rows().dropFirst()
        #expect(seen.map { $0.contains("\"title\"") && $0.contains("\"duration\"") } == [true, true, true], "\(seen)")
        #expect(seen.contains { $0.contains(#""title":"a\u0000b","duration":185.46666666666667"#) }, "\(seen)")
        #expect(seen.contains { $0.contains(#""title":"a\u0000c","duration":0.30000000000000004"#) }, "\(seen)")
    }

    /// Infinities are no JSON.
    @Test func durationsOfAnySizeAreChanges() async throws {
        let store = try await complete()
        let durations: [Double?] = [1e301, 2e301, 1e308, .leastNonzeroMagnitude, .infinity, -.infinity, nil]
        for duration in durations {
            var item = Fixture.article("first", title: "First")
            (item.duration, item.updatedAt) = (duration, Fixture.at(9))
            try await store.add([item])
        }
        await store.close()
        let connection = try Connection(path: fixture.path, mode: .readOnly)
        let seen = try connection.prepare(
            "SELECT json_extract(new, '$.duration'), json_type(new, '$.duration') FROM change WHERE seq > 1 ORDER BY seq"
        ).all { row -> String in
            (row.text(0).flatMap { Double($0) }.map { "\($0)" } ?? "-") + " " + (row.text(1) ?? "-")
        }
        let numbers = ["1e+301 real", "2e+301 real", "1e+308 real", "5e-324 real"]
        #expect(seen == numbers + ["inf text", "-inf text", "- null"], "\(seen)")
    }

    /// A row has only the hash of a long value, and SQLite 3.40 ends a text at U+0000.
    @Test func longValuesAndWhatStandsBehindAZeroByteAreLookedAt() async throws {
        let store = try await complete()
        let long = String(repeating: "q", count: 20_000)
        func summary(_ text: String, _ second: Int, _ title: String) async throws {
            var item = Fixture.article("first", title: title)
            (item.summary, item.updatedAt) = (text, Fixture.at(second))
            try await store.add([item])
        }
        try await summary("ostrich " + long, 9, "First")
        try await summary("ostrich " + long, 10, "nul\u{0}emu")
        try await summary("heron " + long, 11, "Again")
        try await summary("ostrich " + long, 12, "Again")
        await store.close()
        let reader = try StoreReader(path: fixture.path)
        let place = ChangePlace(epoch: try reader.changePlace(at: .latest).epoch, seq: 0)
        for (words, expected) in [
            ("ostrich", [2, 3, 4, 5]), ("emu", [3, 4]), ("nul", [3, 4]), ("heron", []), ("title:again", [4, 5]),
        ] as [(String, Set<Int64>)] {
            let found = try reader.changes(after: place, matching: try SearchQuery(words, now: Self.now))
            #expect(found == expected, "\(words)")
        }
        var present: [String?] = []
        _ = try reader.presentItems(matching: try SearchQuery("ostrich", now: Self.now)) { _ in
        } _: {
            present.append($0.itemID)
        }
        #expect(present == ["first"])
    }

    private func prepared(_ sql: String) async throws -> StoreReader {
        let store = try await complete()
        try await store.add([Fixture.article("third", title: "Third", at: 3)])
        await store.close()
        try fixture.execute(sql)
        return try StoreReader(path: fixture.path)
    }

    /// A prepared file has any number in its log. Ours begin at 1.
    @Test(arguments: ["-9223372036854775807 - 1", "9223372036854775807", "-1", "0"])
    func numbersThatWereNeverGivenAreNotRead(seq: String) async throws {
        let reader = try await prepared(
            "INSERT INTO change_log (seq, at, kind, origin) VALUES (\(seq), '2026-01-01T00:00:00.000000Z', 'edited', 'here')"
        )
        guard case .changes(let rows, let epoch, let newest) = try reader.changes(after: nil, limit: 10) else {
            Issue.record("no changes")
            return
        }
        #expect(rows.map(\.seq) == [1, 2] && newest == 2)
        let place = ChangePlace(epoch: epoch, seq: 0)
        #expect(try reader.distance(from: place)?.changes == 2)
        #expect(try reader.changePlace(at: Self.now.advanced(by: .seconds(86_400))).seq == 2)
        #expect(try reader.changes(after: place, matching: try SearchQuery("third", now: Self.now)) == [2])
        #expect(ChangePlace("\(epoch):9223372036854775807") == nil)
    }

    @Test func aHistoryWhoseNameIsAnEscapeIsDamage() async throws {
        let reader = try await prepared("UPDATE change_state SET epoch = char(27) || ']0;owned\"'")
        #expect(try errorCode { _ = try reader.changes(after: nil, limit: 10) } == .databaseDamaged)
    }

    @Test(arguments: [
        "char(27) || '[2J'", "'{\"title\":\"' || char(27) || '[2J\"}'", "'{\"title\":' || char(10) || '7}'", "'{} {}'",
        "''",
    ])
    func aLineIsJSONWithoutEscapesWhateverAValueIs(value: String) async throws {
        let reader = try await prepared(
            "UPDATE change_log SET new = \(value), kind = char(27), item_id = char(155, 10)")
        guard case .changes(let rows, _, _) = try reader.changes(after: nil, limit: 10) else {
            Issue.record("no changes")
            return
        }
        #expect(rows.count == 2)
        for row in rows {
            #expect(JSONText.oneLine(Array(row.line.utf8)) != nil, "\(row.line)")
            #expect(!row.line.unicodeScalars.contains(where: SafeText.isHarmful), "\(row.line)")
        }
        _ = try reader.changes(after: ChangePlace(epoch: "", seq: 0), matching: try SearchQuery("x", now: Self.now))
    }

    @Test func idsWithAZeroByteAreTwoItems() async throws {
        let store = try await complete()
        try await store.add(["a\u{0}b", "a\u{0}c"].map { Fixture.article($0, title: "Before", at: 3) })
        try await store.add(["a\u{0}b", "a\u{0}c"].map { Fixture.article($0, title: "After", at: 3) })
        await store.close()
        let seen = try rows().dropFirst().map { row in
            row.split(separator: " ").dropFirst().prefix(2).joined(separator: " ")
        }
        #expect(seen == ["added a\u{0}b", "added a\u{0}c", "edited a\u{0}b", "edited a\u{0}c"], "\(seen)")
    }

    /// What the rows say one after the other is the timeline, after each transaction.
    @Test func foldedChangesAreTheTimeline() async throws {
        var random = SeededRandom()
        let store = try await complete()
        var folded: [String: [String: String]] = try timeline()
        var place = 1
        for round in 0..<400 {
            try await change(store, round, &random)
            let connection = try Connection(path: fixture.path, mode: .readOnly)
            var repeated: Set<String> = []
            try connection.prepare("SELECT seq, kind, item_id, old, new FROM change WHERE seq > ? ORDER BY seq").bind(
                place
            )
            .rows { row in
                #expect(row.int(0) == place + 1)
                place = row.int(0)
                let (kind, id) = (row.text(1) ?? "", row.text(2) ?? "")
                guard kind != "text" else { return }
                // A note that is dropped at once takes two transactions.
                #expect(repeated.insert(id).inserted || id.hasPrefix("local-"), "one row an item")
                #expect((folded[id] == nil) == ["added", "restored"].contains(kind), "\(kind) \(id)")
                let old = (try? Self.members(row.text(3), connection)) ?? [:]
                let new = (try? Self.members(row.text(4), connection)) ?? [:]
                for (name, value) in old { #expect(folded[id]?[name] ?? "" == value, "\(kind) \(id) \(name)") }
                if ["deleted", "identified"].contains(kind) {
                    let item = folded.removeValue(forKey: id)
                    if let server = new["id"], folded[server] == nil { folded[server] = item }
                } else {
                    folded[id, default: [:]].merge(new.filter { $0.value != "" }) { $1 }
                    for (name, value) in new where value == "" { folded[id]?[name] = nil }
                }
            }
            #expect(try timeline() == folded, "round \(round)")
        }
        #expect(place > 100)
        await store.close()
        for invariant in try StoreReader(path: fixture.path).check() where invariant.name == "timeline_of_changes" {
            #expect(invariant.holds, "\(invariant)")
        }
    }

    /// Against a scan: each change with the item as it was and as it is.
    @Test func whatLeavesAQueryIsAChangeOfIt() async throws {
        var random = SeededRandom()
        let store = try await complete()
        for round in 0..<300 { try await change(store, round, &random) }
        await store.close()
        let connection = try Connection(path: fixture.path, mode: .readOnly)
        var states: [String: [String: String]] = ["first": ["title": "First"], "second": ["title": "Second"]]
        var expected: [String: Set<Int64>] = ["pending": [], "short": [], "five": [], "note": []]
        try connection.prepare("SELECT seq, kind, item_id, new FROM change WHERE kind != 'pulled' ORDER BY seq").rows {
            row in
            let id = row.text(2) ?? ""
            let before = states[id]
            if row.text(1) == "identified", let server = (try? Self.members(row.text(3), connection))?["id"] {
                states[server] = states[server] ?? before
            }
            if ["deleted", "identified"].contains(row.text(1)) { states[id] = nil }
            if ["added", "restored"].contains(row.text(1)) { states[id] = [:] }
            if !["deleted", "identified", "text"].contains(row.text(1)) {
                states[id, default: [:]].merge((try? Self.members(row.text(3), connection)) ?? [:]) { $1 }
            }
            for state in [before, states[id]].compactMap(\.self) {
                if state["pending"] ?? "" != "" { expected["pending"]?.insert(row.int64(0)) }
                if state["tags"]?.contains("\"Text 5\"") == true { expected["five"]?.insert(row.int64(0)) }
                if state["title"]?.hasSuffix(" 7") == true { expected["short"]?.insert(row.int64(0)) }
                if state["type"] == "note" { expected["note"]?.insert(row.int64(0)) }
            }
        }
        var all = 0
        let reader = try StoreReader(path: fixture.path)
        let place = ChangePlace(epoch: try reader.changePlace(at: .latest).epoch, seq: 0)
        for (name, words) in [
            ("pending", "is:pending"), ("five", "tag:\"Text 5\""), ("short", "title:7"), ("note", "type:note"),
        ] {
            let found = try reader.changes(after: place, matching: try SearchQuery(words, now: Self.now))
            #expect(found == expected[name], "\(name)")
            all += found.count
        }
        #expect(all > 20)
    }

    private static func members(_ json: String?, _ connection: Connection) throws -> [String: String] {
        var found: [String: String] = [:]
        try connection.prepare("SELECT key, CAST(coalesce(value, '') AS TEXT) FROM json_each(?)").bind(json).rows {
            found[$0.text(0) ?? ""] = $0.text(1)
        }
        return found
    }

    private func timeline() throws -> [String: [String: String]] {
        let connection = try Connection(path: fixture.path, mode: .readOnly)
        let names = ItemColumn.all.map(\.name).filter { $0 != "id" && $0 != "content" } + ["pending"]
        var items: [String: [String: String]] = [:]
        try connection.prepare("SELECT id, \(names.joined(separator: ", ")) FROM timeline").rows { row in
            var members: [String: String] = [:]
            for (index, name) in names.enumerated() {
                if let value = row.text(Int32(index) + 1) { members[name] = value }
            }
            items[row.text(0) ?? ""] = members
        }
        return items
    }

    private func change(_ store: Store, _ round: Int, _ random: inout SeededRandom) async throws {
        let id = "item-\(Int.random(in: 0..<12, using: &random))"
        let text = "Text \(Int.random(in: 0..<40, using: &random))"
        let now = Self.now
        switch Int.random(in: 0..<10, using: &random) {
        case 0...3:
            var item = Fixture.article(id, title: text, at: Int.random(in: 1..<20, using: &random), tags: [text])
            item.updatedAt = Fixture.at(round)
            item.duration = Bool.random(using: &random) ? 1.5 : nil
            item.status = ["pending", "completed"].randomElement(using: &random)
            try await store.add([
                item, Fixture.article("item-\(Int.random(in: 0..<12, using: &random))", title: text, at: 5),
            ])
        case 4: try await store.addText(id, text)
        case 5:
            try await store.write { connection in
                try connection.execute("UPDATE item SET deleted_at = '2026-01-01T00:00:00.000000Z' WHERE id = '\(id)'")
            }
        case 6:
            try await store.write { connection in
                try connection.execute(
                    "DELETE FROM item WHERE id = '\(id)'; DELETE FROM item_body WHERE item_id = '\(id)'")
            }
        case 7: _ = try? await store.accept([.edit(item: id, ItemEdit(title: text))], now: now)
        case 8: _ = try? await store.accept([.delete(item: id)], now: now)
        default:
            _ = try await store.accept([.create(NewItem(note: text))], now: now)
            let entry = try fixture.query("SELECT max(id) FROM outbox WHERE ended_at IS NULL").flatMap { Int64($0) }
            switch Int.random(in: 0..<3, using: &random) {
            case 0: _ = try await store.drop([entry ?? 0], withDependents: true, dryRun: false, now: now)
            case 1: try await deliver(entry ?? 0, WriteOutcome.Delivery(serverID: id), store)
            default: break
            }
        }
    }
}
