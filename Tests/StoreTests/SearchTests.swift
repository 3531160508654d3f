import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// What is found, and when.
@Suite struct SearchTests {
    let fixture = StoreFixture()
    typealias Fixture = StoreFixture

    @Test func everyTextOfAnItemIsSearched() async throws {
        let store = try fixture.open()
        var item = Fixture.article("a", title: "Sourdough starter", tags: ["reading list"])
        item.summary = "Flour and water"
        item.url = "https://bakery.example.org/levain"
        try await store.add([item, Fixture.article("b", title: "Other")])
        try await store.addText("a", "Feed it daily", transcription: "Spoken words")
        try await store.indexAll()
        for words in [
            "sourdough", "STARTER", "flour", "feed daily", "spoken", "list", "levain", "sourdough water daily",
        ] {
            #expect(try fixture.found(words) == ["a"], "\(words)")
        }
        #expect(try fixture.found("sourdough nothing") == [])
        #expect(try fixture.found("title:sourdough") == ["a"])
        #expect(try fixture.found("title:flour") == [])
        #expect(try fixture.found("text:spoken text:daily summary:flour url:bakery") == ["a"])
        #expect(try fixture.found("sour*") == ["a"])
        #expect(try fixture.found("sour") == [])
        #expect(try fixture.found("\"flour and water\"") == ["a"])
        #expect(try fixture.found("\"water and flour\"") == [])
        #expect(try fixture.found("-sourdough") == ["b"])
        #expect(try fixture.found("other -flour") == ["b"])
        #expect(try fixture.found("type:Article tag:\"reading list\"") == ["a"])
        #expect(try fixture.found("-tag:\"reading list\"") == ["b"])
        #expect(try fixture.found("-type:article") == [])
        await store.close()
    }

    @Test func aWordInATitleCountsMore() async throws {
        let store = try fixture.open()
        var second = Fixture.article("b", title: "Something else", at: 2)
        second.summary = "of swift, swift and swift"
        try await store.add([Fixture.article("a", title: "Swift"), second, Fixture.article("c", title: "Filler")])
        try await store.indexAll()
        #expect(try fixture.found("swift") == ["a", "b"])
        await store.close()
    }

    /// Each line is what a person may type. Nothing of it is an error, and nothing is taken for an operator.
    @Test(arguments: [
        ("C++", ["cpp"]), ("c", ["c", "cpp", "csharp"]), ("C#", ["csharp"]), ("#tag", ["tag"]), ("AND", ["and"]),
        ("OR", ["or"]), ("NOT", ["and", "or"]), ("NEAR(a b)", ["near"]), ("\"", []), ("*", []), ("-", []), ("--", []),
        ("^", []), ("( )", []), ("{title}:", ["near"]), ("title:", ["near"]), ("a\"b", ["near"]), ("\"a b", ["near"]),
        ("''", []), (";", []), ("☕", ["coffee"]), ("👩‍🚀", ["astronaut"]), ("naive", ["naif"]), ("NAÏVE", ["naif"]),
        ("don't", ["dont"]), ("don’t", ["dont"]), ("50%", ["percent"]), ("a:b", ["near"]), ("x\u{0}y", []),
        ("x\"\u{301}", []), ("C++\"\u{301}) OR (a", ["cpp", "near"]),
        ("\u{1F}", []), ("col:umn", []), ("foo_bar", ["snake"]), ("\\", []), ("%", []),
    ])
    func whatPeopleTypeIsNeverSyntax(words: String, expected: [String]) async throws {
        let store = try fixture.open()
        try await store.add([
            Fixture.article("cpp", title: "Modern C++, in depth"), Fixture.article("csharp", title: "C#"),
            Fixture.article("c", title: "The C language"), Fixture.article("tag", title: "About #tag"),
            Fixture.article("and", title: "this and that, not those"),
            Fixture.article("or", title: "to be or not to be"),
            Fixture.article("near", title: "near: a b title"), Fixture.article("coffee", title: "Coffee ☕ time"),
            Fixture.article("astronaut", title: "Astronaut 👩‍🚀!"), Fixture.article("naif", title: "Naïve"),
            Fixture.article("dont", title: "Don't panic"), Fixture.article("percent", title: "50% off"),
            Fixture.article("snake", title: "foo_bar"),
        ])
        try await store.indexAll()
        #expect(Set(try fixture.found(words)) == Set(expected), "\(words)")
        await store.close()
    }

    @Test func signsBesideOtherScriptsCount() async throws {
        let store = try fixture.open()
        try await store.add(
            ["C++入門", "日本語のC++の本", "한글C++책", "C++、C#"].enumerated().map { Fixture.article("i\($0)", title: $1, at: $0) }
        )
        try await store.indexAll()
        #expect(try fixture.found("C++").count == 4)
        #expect(try fixture.found("C#") == ["i3"])
        await store.close()
    }

    @Test func conditionsExclude() async throws {
        let store = try fixture.open()
        var video = Fixture.article("v", title: "Moving")
        video.platform = "youtube"
        try await store.add([video, Fixture.article("t", title: "Still", at: 2)])
        try await store.indexAll()
        #expect(try fixture.found("platform:youtube") == ["v"])
        #expect(try fixture.found("-platform:youtube") == ["t"])
        #expect(throws: UserFacingError.self) {
            try SearchQuery(String(repeating: "tag:x ", count: 201), now: Fixture.now)
        }
        await store.close()
    }

    /// Damage of every part of the index, by another program.
    @Test(arguments: [
        "DELETE FROM search_index_data WHERE id = 10", "DELETE FROM search_index_config",
        "DELETE FROM search_index_data",
        "UPDATE search_index_data SET block = X'5F3759DF2545F4914F6CDD1D9E3779B97F4A7C15F39CC0605CEDC8341082276BF3A27251' WHERE id = 10",
        "DELETE FROM search_state",
        // One level of two thousand million segments, which SQLite asks the memory for.
        "UPDATE search_index_data SET block = X'000000000101010087FFFFFF7F' WHERE id = 10",
        "DELETE FROM search_document WHERE docid % 2 = 0", "DELETE FROM search_tag", "DROP TABLE search_tag",
        "DELETE FROM search_index_docsize", "DELETE FROM search_index_idx", "DROP TRIGGER search_item_changed",
        "UPDATE search_document SET row = 777 WHERE docid = 7",
        "UPDATE search_document SET docid = 777 WHERE docid = 7",
        """
        UPDATE search_document SET row = 777 WHERE docid = 7; UPDATE search_document SET row = 7 WHERE docid = 8;
        UPDATE search_document SET row = 8 WHERE docid = 7
        """,
        "UPDATE search_document SET docid = 777 WHERE docid = 7; UPDATE search_document SET docid = 7 WHERE docid = 8",
        "UPDATE search_tag SET docid = 777 WHERE docid = 7",
        "UPDATE search_document SET created_at = '2020' WHERE docid = 7",
        "UPDATE search_document SET type = 'video' WHERE docid = 7",
        "UPDATE search_tag SET tag = 'x' WHERE docid = 7",
    ])
    func anyDamageIsFoundAndHealed(damage: String) async throws {
        let store = try fixture.open()
        try await store.add(
            (0..<50).map { Fixture.article("item-\($0)", title: "Common number\($0)", at: $0, tags: ["t"]) })
        try await store.indexAll()
        await store.close()
        try fixture.execute(damage)
        // The first level of a small index, and a trigger that is gone, are not missed before something changes.
        if !damage.contains("TRIGGER"), !damage.contains("_idx") {
            do throws(UserFacingError) {
                let found = try StoreReader(path: fixture.path).checkIndex()
                #expect(found.lost > 0 || found.due > 0, "\(damage)")
            } catch {
                // A size that was never written may ask for all of the memory that there is.
                #expect([.databaseDamaged, .databaseUnreadable, .storeBug].contains(error.code), "\(error)")
            }
        }
        let again = try fixture.open()
        try await again.rebuildIndex()
        try await again.indexAll()
        #expect(try StoreReader(path: fixture.path).checkIndex() == (50, 0, 0))
        #expect(try fixture.found("common tag:t").count == 50)
        #expect(try StoreReader(path: fixture.path).list(ItemFilter(), limit: 100).items.count == 50)
        try await again.add([Fixture.article("item-7", title: "Changed", at: 7)])
        try await again.indexAll()
        #expect(try fixture.found("changed") == ["item-7"])
        #expect(try fixture.query("PRAGMA integrity_check") == "ok")
        await again.close()
    }

    @Test(arguments: [
        ("东京", ["zh"]), ("东京大", ["zh"]), ("京都", ["ja"]), ("京东", []), ("とうき", ["ja"]), ("うき", ["ja"]), ("東京", ["ja"]),
        ("กรุงเทพ", ["th"]), ("เทพ", ["th"]), ("서울", ["ko"]), ("울", ["ko"]), ("Swift东京", ["zh"]), ("ラーメン", ["ja"]),
        ("\"東京 都\"", ["ja"]),
    ])
    func scriptsWithoutSpacesAreFoundByAnyPart(words: String, expected: [String]) async throws {
        let store = try fixture.open()
        try await store.add([
            Fixture.article("zh", title: "Swift东京大会的笔记"), Fixture.article("ja", title: "東京都のとうきょうラーメン"),
            Fixture.article("th", title: "กรุงเทพมหานคร"), Fixture.article("ko", title: "서울에서 부산까지"),
        ])
        try await store.indexAll()
        #expect(try fixture.found(words) == expected, "\(words)")
        await store.close()
    }

    @Test func changesOfEveryKindAreFollowed() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "First"), Fixture.article("b", title: "Second", at: 2)])
        try await store.indexAll()
        try await store.add([Fixture.article("a", title: "Changed")])
        try await store.indexAll()
        #expect(try fixture.found("first") == [])
        #expect(try fixture.found("changed") == ["a"])
        // Hidden at once, before any step of the index.
        try fixture.execute("UPDATE item SET deleted_at = '2026-01-01T00:00:00.000000Z' WHERE id = 'a'")
        #expect(try fixture.found("changed") == [])
        try await store.indexAll()
        try fixture.execute("UPDATE item SET deleted_at = NULL WHERE id = 'a'")
        try await store.indexAll()
        #expect(try fixture.found("changed") == ["a"])
        try fixture.execute("INSERT INTO held_item VALUES ('a', 1)")
        #expect(try fixture.found("changed") == [])
        try fixture.execute("DELETE FROM held_item")
        try await store.indexAll()
        #expect(try fixture.found("changed") == ["a"])
        await store.close()
    }

    @Test func writesThatWaitAreFound() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "First"), Fixture.article("b", title: "Second", at: 2)])
        try await store.indexAll()
        let now = Fixture.now
        _ = try await store.accept([.create(NewItem(note: "Remember the zebra"))], now: now)
        _ = try await store.accept([.edit(item: "a", ItemEdit(title: "Giraffe"))], now: now)
        _ = try await store.accept([.delete(item: "b")], now: now)
        // The deletion counts before the index has heard of it.
        #expect(try fixture.found("second") == [])
        try await store.indexAll()
        #expect(try fixture.found("zebra").count == 1)
        #expect(try fixture.found("giraffe") == ["a"])
        #expect(try fixture.found("first") == [])
        _ = try await store.drop([2], withDependents: true, dryRun: false, now: now)
        try await store.indexAll()
        #expect(try fixture.found("first") == ["a"])
        await store.close()
    }

    /// With `search_index = no` an index is never begun.
    @Test func noChangeIsNotedBeforeThereIsAnIndex() async throws {
        let store = try fixture.open()
        let now = Fixture.now
        try await store.add([Fixture.article("a", title: "First", tags: ["t"]), Fixture.article("b", at: 2)])
        try await store.addText("a", "A text")
        try await store.add([Fixture.article("b", title: "Changed", at: 2)])
        _ = try await store.accept(
            [.create(NewItem(note: "zebra")), .edit(item: "a", ItemEdit(title: "Giraffe"))], now: now)
        #expect(try fixture.query("SELECT count(*) FROM search_due") == "0")
        #expect(try StoreReader(path: fixture.path).begunIndex()?.notIndexed == 3)
        try await store.indexAll()
        for (words, expected) in [("giraffe text", 1), ("changed", 1), ("zebra", 1), ("first", 0)] {
            #expect(try fixture.found(words).count == expected, "\(words)")
        }
        try await store.addText("b", "Another text")
        #expect(try fixture.query("SELECT count(*) FROM search_due") == "1")
        await store.close()
    }

    /// Nothing is sorted but what is due: what has changed, and what is new.
    @Test func aListIsReadInItsOrder() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", tags: ["t"])])
        try await store.indexAll()
        let (tagged, typed) = (ItemFilter(tags: ["T"]), ItemFilter(types: ["Article", "note"]))
        for (filter, sorted) in [(ItemFilter(), 0), (tagged, 2), (typed, 2)] {
            let steps = try await store.read { connection in
                let sources = try ItemSource.byIndex(filter, connection)
                let sql = ItemSource.sql(sources, "", withDocument: true, "1")
                return try connection.prepare("EXPLAIN QUERY PLAN " + sql).all { $0.text(3) }
            }
            #expect(steps.filter { $0.contains("TEMP B-TREE FOR ORDER BY") }.count == sorted, "\(steps)")
        }
        await store.close()
    }

    /// SQLite gives the number of the newest row again when that row was removed.
    @Test func aNumberThatIsGivenAgainIsNoOldItem() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "Alpha"), Fixture.article("b", title: "Beta", at: 2)])
        try await store.indexAll()
        try fixture.execute("DELETE FROM item WHERE id = 'b'")
        try await store.add([Fixture.article("c", title: "Gamma", at: 3)])
        #expect(try fixture.found("beta") == [])
        try await store.indexAll()
        #expect(try fixture.found("beta") == [])
        #expect(try fixture.found("gamma") == ["c"])
        #expect(try fixture.query("SELECT count(*) FROM search_document") == "2")
        await store.close()
    }

    /// The server's own form, or what a hand has written.
    @Test func tagsThatAreNoListHoldUpNothing() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "Alpha"), Fixture.article("b", title: "Beta", at: 2)])
        for tags in ["not json", #"{"a":1}"#, "[1, null]", ""] {
            try fixture.execute("UPDATE item SET tags = '\(tags)' WHERE id = 'a'")
            try await store.indexAll()
            #expect(try fixture.found("alpha") == ["a"])
        }
        await store.close()
    }

    @Test func anInterruptedBuildGoesOn() async throws {
        var store = try fixture.open()
        let items = (0..<40).map { Fixture.article("item-\($0)", title: "Common number\($0)", at: $0) }
        try await store.add(items)
        for _ in 0..<15 { try await store.indexOne() }
        #expect(try fixture.found("common").count == 15)
        let partly = try StoreReader(path: fixture.path).search(SearchQuery("common", now: Fixture.now), limit: 100)
        #expect(partly.unindexed == 25)
        // As a kill would leave it: every step is a transaction.
        await store.close()
        store = try fixture.open()
        try await store.indexAll()
        #expect(Set(try fixture.found("common")) == Set(items.map(\.id)))
        #expect(try fixture.query("SELECT count(*) FROM search_document") == "40")
        await store.close()
    }

    @Test func theIndexIsBuiltAgainAndTheOldOneRemoved() async throws {
        var store = try fixture.open()
        let items = (0..<300).map { Fixture.article("item-\($0)", title: "Common number\($0)", at: $0) }
        try await store.add(items)
        try await store.indexAll()
        try await store.rebuildIndex()
        #expect(try fixture.found("common") == [])
        await store.close()
        store = try fixture.open()
        try await store.indexAll()
        #expect(try fixture.found("common").count == 300)
        #expect(try fixture.query("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%retired%'") == "0")
        #expect(try fixture.query("PRAGMA integrity_check") == "ok")
        // Twice in a row, before the first old one is gone.
        try await store.rebuildIndex()
        try await store.rebuildIndex()
        try await store.indexAll()
        #expect(try fixture.found("number7") == ["item-7"])
        await store.close()
    }

    /// The commit that fills the log copies it back, and a write that comes then waits for all of it.
    @Test func theLogStaysShortWhileManyItemsAreIndexed() async throws {
        let store = try fixture.open()
        let items = (0..<1_500).map { Fixture.article("item-\($0)", at: $0) }
        try await store.add(items)
        for number in 0..<1_500 {
            let words = (0..<2_000).map { "w\((number * 2_000 + $0) * 7_919 % 100_003)" }
            try await store.addText("item-\(number)", words.joined(separator: " "))
        }
        await store.close()
        let again = try fixture.open()
        var longest = 0
        while try await again.indexSome(each: .milliseconds(1)) {
            longest = max(longest, FileIdentity.size(path: fixture.path + "-wal"))
        }
        #expect(try fixture.query("SELECT count(*) FROM search_document") == "1500")
        // 6 MiB, and two steps.
        #expect(longest < 11 << 20, "\(longest)")
        await again.close()
    }

    /// What the library was built to erase, it erases: but for pages of the index.
    @Test func pagesOfTheIndexAreNotErased() async throws {
        let store = try fixture.open()
        func erasing(_ connection: Connection) throws -> Int64 {
            try connection.integer("PRAGMA secure_delete")
        }
        let usual = try await store.read(erasing)
        let ofIndex = try await store.write(ofIndex: true, erasing)
        #expect(ofIndex == (usual == 1 ? 2 : usual))
        #expect(try await store.read(erasing) == usual)
        await store.close()
    }

    @Test func anIndexOfMostlyOldWordsIsBuiltAgainByItself() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "Alpha")])
        let text = String(repeating: "lorem ipsum dolor sit amet ", count: 100_000)
        for version in 0..<16 {
            try await store.addText("a", text + "version\(version)")
            try await store.indexAll()
        }
        let stale = try #require(try fixture.query("SELECT stale_size FROM search_state").flatMap { Int($0) })
        #expect(stale < 24 << 20, "\(stale)")
        #expect(try fixture.found("version15") == ["a"])
        #expect(try fixture.found("version3") == [])
        await store.close()
    }

    @Test func aDamagedIndexIsNoticed() async throws {
        let store = try fixture.open()
        try await store.add((0..<50).map { Fixture.article("item-\($0)", title: "Common number\($0)", at: $0) })
        try await store.indexAll()
        #expect(try StoreReader(path: fixture.path).checkIndex() == (50, 0, 0))
        try fixture.execute("DELETE FROM search_index_data WHERE id > 10; DELETE FROM search_index_idx")
        do throws(UserFacingError) {
            let found = try StoreReader(path: fixture.path).checkIndex()
            #expect(found.lost > 0)
        } catch {
            #expect(error.code == .databaseDamaged)
        }
        #expect(try await store.isIndexDamaged())
        try await store.rebuildIndex()
        try await store.indexAll()
        #expect(try StoreReader(path: fixture.path).checkIndex() == (50, 0, 0))
        await store.close()
    }

    /// Among more items than are looked for by their words: all of them are looked at.
    @Test(arguments: [
        "UPDATE search_document SET docid = 77777 WHERE docid = 1234",
        "UPDATE search_document SET row = 77777 WHERE docid = 1234",
    ])
    func oneWrongDocumentAmongManyIsNoticed(damage: String) async throws {
        let store = try fixture.open()
        try await store.add((0..<3_000).map { Fixture.article("item-\($0)", title: "Number\($0)", at: $0) })
        try await store.indexAll()
        #expect(try StoreReader(path: fixture.path).checkIndex().lost == 0)
        try fixture.execute(damage)
        #expect(try StoreReader(path: fixture.path).checkIndex().lost > 0)
        await store.close()
    }

    /// A word that very many items have: the newest first, and those with it in their titles before them.
    @Test func aWordOfMostItemsIsNotRankedByItself() async throws {
        let store = try fixture.open()
        let items = (0..<10_050).map { number in
            var item = Fixture.article("item-\(number)", title: number == 77 ? "Common" : nil, at: number)
            item.summary = "common"
            return item
        }
        try await store.add(items)
        try await store.indexAll()
        #expect(try fixture.found("common", limit: 3) == ["item-77", "item-10049", "item-10048"])
        #expect(Set(try fixture.found("common")).count == 10_050)
        #expect(try fixture.found("common after:1970-01-01T02:47:28Z").count == 2)
        await store.close()
    }

    /// The beginning of a word that very many have: the texts of the newest are looked at, without the index.
    @Test func aPrefixOfMostItemsIsFoundByTime() async throws {
        let store = try fixture.open()
        let items = (0..<10_200).map { number in
            var item = Fixture.article("item-\(number)", at: number, tags: number % 2 == 0 ? ["even"] : [])
            item.summary = number % 100 == 97 ? "common rare" : "common"
            return item
        }
        try await store.add(items)
        try await store.indexAll()
        #expect(try fixture.found("c*", limit: 3) == ["item-10199", "item-10198", "item-10197"])
        #expect(try fixture.found("co* -rar*", limit: 3) == ["item-10199", "item-10198", "item-10196"])
        #expect(try fixture.found("co* tag:even", limit: 2) == ["item-10198", "item-10196"])
        #expect(try fixture.found("co* before:1970-01-01T00:00:03Z", limit: 9).count == 3)
        #expect(Set(try fixture.found("comm*")).count == 10_200)
        #expect(try fixture.found("rar*", limit: 5_000).count == 102)
        let page = try StoreReader(path: fixture.path).search(SearchQuery("c*", now: Fixture.now), limit: 3)
        #expect(page.hasMore)
        await store.close()
    }

    @Test func passagesShowWhatWasFound() async throws {
        let store = try fixture.open()
        try await store.add([
            Fixture.article("a", title: "Coffee ☕ in 東京"), Fixture.article("b", title: "C++ notes", at: 2),
        ])
        try await store.addText(
            "a", String(repeating: "filler ", count: 500) + "the grinder " + String(repeating: "end ", count: 50))
        try await store.indexAll()
        let grinder = try #require(try fixture.shown("grinder").first)
        #expect(grinder.foundIn == "text")
        #expect(grinder.snippetParts.filter(\.isFound).map(\.text) == ["grinder"])
        #expect((1..<300).contains(grinder.passage?.utf8.count ?? 0))
        for (words, parts) in [
            ("☕", ["Coffee ", "☕", " in 東京"]), ("東京", ["Coffee ☕ in ", "東京"]), ("C++", ["C++", " notes"]),
            ("coffee grinder", ["Coffee", " ☕ in 東京"]),
        ] {
            #expect(try fixture.shown(words).first?.titleParts.map(\.text) == parts)
        }
        await store.close()
    }

    @Test(arguments: ["someday", "2026-13-01", "7x", "", "-7d", "2026-1-1", "1m", "mo"])
    func whatIsNoTimeIsSaid(text: String) {
        #expect(throws: UserFacingError.self) { try TimeWord.parse(text, now: Fixture.now, option: "--since") }
    }

    @Test func timesAreUnderstood() throws {
        let now = try #require(Timestamp("2026-11-22T10:00:00Z"))
        for (text, expected) in [
            ("2026", "2026-01-01T00:00:00Z"), ("2026-11", "2026-11-01T00:00:00Z"),
            ("2026-11-20", "2026-11-20T00:00:00Z"),
            ("12h", "2026-11-21T22:00:00Z"), ("7d", "2026-11-15T10:00:00Z"), ("1w", "2026-11-15T10:00:00Z"),
            ("2026-11-20T08:00:00+01:00", "2026-11-20T07:00:00Z"), ("1y", "2025-11-22T10:00:00Z"),
            ("6mo", "2026-05-22T10:00:00Z"), ("9mo", "2026-02-22T10:00:00Z"), ("11mo", "2025-12-22T10:00:00Z"),
            ("this week", "2026-11-16T00:00:00Z"), ("2026-11-20T08:00", "2026-11-20T08:00:00Z"),
        ] {
            #expect(
                try TimeWord.parse(text, now: now, option: "after:", zone: { _ in (0, "UTC") })
                    == Timestamp(expected), "\(text)")
        }
    }

    /// In Tokyo it is the 23rd already, a Monday.
    @Test func daysAreThoseOfThePersonWhoAsks() throws {
        let now = try #require(Timestamp("2026-11-22T16:00:00Z"))
        for (text, expected) in [
            ("today", "2026-11-22T15:00:00Z"), ("yesterday", "2026-11-21T15:00:00Z"),
            ("this week", "2026-11-22T15:00:00Z"), ("2026-11-23", "2026-11-22T15:00:00Z"),
            ("2026", "2025-12-31T15:00:00Z"), ("2026-11-23 08:30", "2026-11-22T23:30:00Z"),
            ("2026-11-22T08:00:00Z", "2026-11-22T08:00:00Z"), ("1y", "2025-11-22T16:00:00Z"),
        ] {
            #expect(
                try TimeWord.parse(text, now: now, option: "after:", zone: { _ in (9 * 3_600, "JST") })
                    == Timestamp(expected), "\(text)")
        }
    }

    /// The file is for everybody: another program, with nothing but SQLite.
    @Test func plainSQLiteSearchesTheFile() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "Sourdough 東京"), Fixture.article("b", title: "Bread", at: 2)])
        try await store.addText("b", "no sourdough here")
        try await store.indexAll()
        await store.close()
        for (words, expected) in [
            ("sourdough", "a\nb\n"), ("title : sourdough", "a\n"), ("\"東 京\"", "a\n"), ("bre*", "b\n"),
        ] {
            let answer = try await ChildProcess.run(
                "/usr/bin/sqlite3",
                ["-readonly", fixture.path, "SELECT id FROM item_search WHERE words MATCH '\(words)' ORDER BY rank"])
            #expect(answer.stdout == expected, "\(words): \(answer.stderr)")
        }
    }
}
