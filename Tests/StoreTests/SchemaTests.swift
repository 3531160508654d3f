import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// Copies as former versions have left them.
@Suite struct SchemaTests {
    let fixture = StoreFixture()

    /// Files have taken it as it was. A new step appends what the failure prints.
    @Test func aStepIsNeverChanged() {
        let known = [
            "b207747a13fd88f7", "d38857ecd99a9a7b", "80c678af67f99961", "ca2662bb37fc0f23",
            "ef84cb594007dba4", "6c62272e07bb0142", "ff82b1dff192af86", "410f0663f67c07cd",
            "a01373b271888948", "284eac03e7e2fce9", "8c8b84c702f778af", "67c56e97de6aa733",
            "5e6d6ee053995c00", "63f2364088bc9db6", "9aec6b8eae8eacb0", "5910fd2cc5b6c086",
            "ab247b2a8534b65d",
        ]
        #expect(Schema.current.steps.map { String(Fingerprint($0).hexadecimal.prefix(16)) } == known)
    }

    @Test(arguments: 1..<Schema.current.version)
    func aFormerCopyIsReadAsItIs(version: Int) throws {
        try fixture.restore(schema: version)
        let reader = try StoreReader(path: fixture.path)
        let summary = try reader.summary()
        #expect(summary.file.schemaVersion == version && summary.copy.live == 1 && summary.outbox.waiting == 1)
        #expect((summary.copy.texts != nil) == (version >= 2))
        let item = try reader.item("item-1")
        #expect(item.item.title == "A title" && item.item.extra == #"{"k":1}"#)
        #expect(item.text.content == (version >= 2 ? "A long text" : nil))
        var exported: [String] = []
        try reader.exportRows { exported.append($0.id) }
        #expect(exported.sorted() == ["item-1", "local-1"])
        #expect(try reader.exportItem("item-1") != nil)
        var lines: [UInt8] = []
        var place: StoreReader.LinePosition? = .init()
        while let next = place { place = try reader.appendLines(after: next, of: nil, to: &lines).next }
        #expect(lines.split(separator: UInt8(ascii: "\n")).count == 3)
    }

    @Test(arguments: 1..<Schema.current.version)
    func aFormerCopyGoesOnAsAPresentOne(version: Int) async throws {
        try fixture.restore(schema: version)
        let store = try fixture.open()
        #expect(store.binding.accountName == "ada@example.org")
        #expect(await store.coverage.isComplete)
        #expect(
            try await store.dueTexts(now: .latest, limit: 10).map(\.id)
                == (version < 2 ? ["item-1"] : []))
        while try await store.indexSome(now: Fixture.at(1), uptime: { .zero }) {}
        try await store.commit(Fixture.page([Fixture.item(3)]))
        let entry = try #require(try await store.outboxEntries([1]).first)
        #expect(entry.state == .queued && entry.payload == .create(NewItem(note: "Buy milk", tags: ["home"])))
        if version >= 9 {
            let followUp = try #require(try await store.outboxEntries([2]).first)
            let tags = TagChange(added: ["work", "later"])
            #expect(followUp.follows == 1 && followUp.payload == .edit(ItemEdit(title: "A title", tagChange: tags)))
        }
        await store.close()

        let reader = try StoreReader(path: fixture.path)
        #expect(try reader.damage().isEmpty)
        #expect(try reader.list(ItemFilter(), limit: 10).items.map(\.id) == ["local-1", "item-1", "item-3"])
        #expect(try reader.search(SearchQuery("milk", now: Fixture.at(1)), limit: 10).items.map(\.id) == ["local-1"])
        #expect(try reader.item("item-1").item.summary == "A summary")
        #expect(try fixture.query("SELECT title FROM item WHERE deleted_at IS NOT NULL") == "Deleted")
        #expect(try fixture.query("SELECT author FROM item_text") == (version < 2 ? nil : "Ada"))
        #expect(try fixture.query("SELECT live || ' ' || deleted || ' ' || waiting FROM sync_state") == "2 1 1")
    }

    /// The step to schema 13 looks for the words of what was delivered before it.
    @Test func whatWasDeliveredBeforeKeepsItsWords() async throws {
        try fixture.restore(schema: 12)
        let added = [
            ("item-4", "Untitled", "note", #"{"note":"A first line\nand more","type":"note"}"#),
            ("item-5", "Untitled", "note", #"{"note":7}"#), ("item-6", "\u{2009}\u{FEFF}", "capture", "no JSON"),
        ].map { id, title, kind, payload in
            """
            INSERT INTO item (id, created_at, title, status)
                VALUES ('\(id)', '2026-05-02T08:00:00.000000Z', '\(title)', 'pending');
            INSERT INTO outbox (kind, state, item_id, payload, accepted_at, ended_at, reachable_at, idempotency_key)
                VALUES ('\(kind)', 'delivered', '\(id)', '\(payload)', '2026-05-02T08:00:00.000000Z',
                    '2026-05-02T08:00:01.000000Z', 0.0, '\(id)');
            """
        }
        do {
            let file = try Connection(path: fixture.path, mode: .readWrite)
            try file.execute(added.joined(separator: "\n") + "UPDATE search_state SET through = 1000;")
        }
        let store = try fixture.open()
        await store.close()
        let titles = "SELECT group_concat(coalesce(title, '-'), '|') FROM (SELECT title FROM timeline WHERE id IN"
        #expect(try fixture.query(titles + " ('item-4', 'item-5', 'item-6') ORDER BY id)") == "A first line|7|-")
        #expect(
            try fixture.query("SELECT content FROM written_here WHERE item_id = 'item-4'") == "A first line\nand more")
        #expect(
            try fixture.query(
                "SELECT count(*) FROM search_due WHERE row = (SELECT rowid FROM item WHERE id = 'item-4')") == "1")
    }

    /// Else a step has forgotten what a new file has.
    @Test(arguments: 1..<Schema.current.version)
    func aFormerCopyGetsTheSchemaOfANewOne(version: Int) async throws {
        try fixture.restore(schema: version)
        let new = StoreFixture()
        for fixture in [fixture, new] {
            let store = try fixture.open()
            try await store.indexAll()
            await store.close()
        }
        let schema = "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema ORDER BY type, name)"
        #expect(try fixture.query(schema) == new.query(schema))
    }

    /// So a new column is one that the file has.
    @Test func theListOfColumnsIsTheFiles() async throws {
        let store = try fixture.open()
        await store.close()
        let columns = try #require(try fixture.query("SELECT group_concat(name) FROM pragma_table_info('item')"))
        let own = ["deleted_at", "missing_since", "found_at", "text_for"]
        #expect(
            ItemColumn.all.map(\.name) == columns.split(separator: ",").map(String.init).filter { !own.contains($0) })
    }

    private typealias Fixture = StoreFixture
}
