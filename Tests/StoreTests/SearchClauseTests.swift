import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// Conditions of a search beside words, tags and types; and what is related.
@Suite struct SearchClauseTests {
    private let fixture = StoreFixture()

    private func index() async throws {
        func item(_ id: String, _ title: String, _ url: String?, at second: Int, tags: [String] = []) -> TimelineItem {
            var item = StoreFixture.article(id, title: title, at: second, tags: tags)
            item.url = url
            return item
        }
        let store = try fixture.open()
        try await store.add([
            item("a", "Bread of rye", "https://www.example.org/bread", at: 1, tags: ["x"]),
            item("b", "Bread of wheat", "http://blog.Example.org:8080/bread?from=rye.org", at: 2),
            item("c", "Bread of oats", "https://notexample.org/", at: 3),
            item("d", "A note of sourdough and rye", nil, at: 4),
        ])
        var text = ItemText(id: "a")
        text.content = "Sourdough of rye"
        text.metadata = #"{"author":"Ada Love%lace"}"#
        let due = try #require(try await store.textQuestion(of: "a"))
        _ = try await store.commit(
            [TextAnswer(due, .text(text))], now: StoreFixture.now,
            record: PullRecord(kind: .texts, startedAt: StoreFixture.now))
        _ = try await store.accept([.edit(item: "c", ItemEdit(title: "Bread of oat"))], now: StoreFixture.now)
        try await store.indexAll()
        await store.close()
    }

    @Test func conditionsSayWhichItemsAreMeant() async throws {
        try await index()
        for (words, ids) in [
            ("site:example.org", "ba"), ("bread site:example.org", "ba"), ("site:org -site:example.org", "c"),
            ("site:rye.org", ""), ("author:ada", "a"), ("author:love%", "a"), ("author:e%a", ""),
            ("-author:ada bread", "bc"),
            ("site:blog.example.org site:notexample.org", "cb"), ("is:untagged", "dcb"), ("-is:untagged", "a"),
            ("is:pending", "c"), ("-is:pending is:untagged bread", "b"),
            ("rye OR oat", "abcd"), ("rye OR oat -sourdough", "bc"), ("(rye sourdough) OR wheat", "abd"),
            ("-(rye sourdough)", "bc"), ("-(rye OR wheat)", "c"), ("tag:x OR site:notexample.org", "ac"),
            ("bread (tag:x OR author:ada OR wheat)", "ab"), ("wheat OR", ""), ("OR wheat", ""), ("(wheat", "b"),
            ("wheat)", "b"), ("() wheat", "b"), ("wheat OR !!!", ""), ("!!! OR wheat", "b"), ("() OR wheat", "b"),
            ("(f(wheat) oat)", ""),
            ("(bread (of wheat))", "b"),
            ("rye or oat", ""), ("\"OR\" wheat", ""), ("wheat OR OR oat", ""), ("-(-wheat)", "b"), ("is:deleted", ""),
            ("-is:deleted oat", "c"), ("-after:1970-01-01T00:00:03Z", "ab"), ("-(before:1970-01-01T00:00:03Z)", "cd"),
        ] {
            let found = try fixture.found(words)
            #expect(Set(found) == Set(ids.map(String.init)), "\(words): \(found)")
        }
        #expect(throws: UserFacingError.self) { try SearchQuery("is:new", now: StoreFixture.now) }
        // As many as a query may have: too many for a part of a statement each.
        let tags = (0..<98).map { "tag:T\($0) OR " }.joined() + "tag:x"
        let types = (0..<198).map { "type:T\($0) " }.joined()
        #expect(try fixture.found(tags) == ["a"])
        #expect(try fixture.found(types + "-tag:x").isEmpty)
    }

    @Test func aHostMayBeAnAddressOfIPv6() async throws {
        let store = try fixture.open()
        let urls = [
            "http://[2001:db8::1]:3000/x", "https://ada@[2001:db8::1]", "https://example.org:8443?q=[2001:db8::1]",
            "ftp://mirror.example.org/x", "mailto:ada@example.org", "http://[2001", "http://user@:80/",
        ]
        try await store.commit(
            StoreFixture.page(
                urls.enumerated().map { number, url in
                    var item = StoreFixture.item(number)
                    item.url = url
                    return item
                }))
        try await store.indexAll()
        await store.close()
        for (words, numbers) in [
            ("site:[2001:db8::1]", [0, 1]), ("site:2001:db8::1", [0, 1]), ("site:2001", []),
            ("site:example.org", [2, 3]), ("-site:example.org", [0, 1, 4, 5, 6]),
        ] {
            #expect(try Set(fixture.found(words)) == Set(numbers.map { "item-\($0)" }), "\(words)")
        }
    }

    @Test func whatWasDeletedIsFound() async throws {
        try await index()
        let store = try fixture.open()
        try fixture.execute("UPDATE item SET deleted_at = '2026-01-01T00:00:00.000000Z' WHERE id = 'a'")
        _ = try await store.accept([.delete(item: "b")], now: StoreFixture.now)
        try await store.indexAll()
        await store.close()
        for (words, ids) in [
            ("is:deleted", ["b", "a"]), ("is:deleted sourdough", ["a"]), ("is:deleted -sourdough", ["b"]),
            ("is:deleted tag:x", ["a"]), ("is:deleted oat", []), ("bread", ["c"]),
            ("author:ada OR is:deleted", ["b", "a"]), ("site:notexample.org OR is:deleted", ["c", "b", "a"]),
            ("is:deleted wheat OR sourdough", ["b", "a"]), ("is:deleted bread site:example.org -wheat", ["a"]),
        ] { #expect(try fixture.found(words) == ids, "\(words)") }
        let deleted = try fixture.shown("is:deleted sourdough").first
        #expect(deleted?.snippetParts.first { $0.isFound }?.text == "Sourdough")
    }

    @Test func aSiteIsTheHostOfAnAddress() async throws {
        let store = try fixture.open()
        let addresses = [
            "https://example.org?x=1", "https://example.org#part", "https://ada:pw@www.example.org:8/",
            "https://example.org",
            "https://other.net/@example.org/x", "https://other.net/?u=a@example.org", "mailto:ada@example.org",
        ]
        try await store.add(
            addresses.enumerated().map { number, url in
                var item = StoreFixture.article("\(number)", title: "x", at: number)
                item.url = url
                return item
            })
        try await store.indexAll()
        await store.close()
        let found = try fixture.found("site:example.org").sorted()
        #expect(found == ["0", "1", "2", "3"], "\(found)")
    }

    @Test func authorsAreFoldedAsWordsAre() async throws {
        let store = try fixture.open()
        try await store.add([StoreFixture.article("a", title: "x")])
        var text = ItemText(id: "a")
        text.content = "y"
        text.metadata = #"{"author":"Björn Ünal"}"#
        let due = try #require(try await store.textQuestion(of: "a"))
        _ = try await store.commit(
            [TextAnswer(due, .text(text))], now: StoreFixture.now,
            record: PullRecord(kind: .texts, startedAt: StoreFixture.now))
        try await store.indexAll()
        await store.close()
        for word in ["BJÖRN", "bjorn", "ünal", "\"Björn U\""] {
            #expect(try fixture.found("author:\(word)") == ["a"], "\(word)")
        }
    }

    @Test func savedSearchesStandForThemselves() async throws {
        try await index()
        let saved = [
            "rye": "rye OR oat", "x": "@rye tag:x", "my_own.one": "wheat", "loop": "@loop @loop", "far": "@loop",
        ]
        func found(_ words: String) throws -> String {
            let query = try SearchQuery(words, now: StoreFixture.now) { name throws(UserFacingError) in
                guard let text = saved[name] else { throw UserFacingError(.usage, "none") }
                return text
            }
            return try StoreReader(path: fixture.path).search(query, limit: 9).items.map(\.id).sorted().joined()
        }
        for (words, ids) in [
            ("@rye", "abcd"), ("@x", "a"), ("-@x", "bcd"), ("(@x OR @my_own.one) bread", "ab"), ("5\" -@rye", ""),
            ("bread\t@x", "a"), ("\"@x\"", "a"), ("ada@example.org", ""),
        ] { #expect(try found(words) == ids, "\(words)") }
        for words in ["@loop", "@far", "@none", "5\" @none"] {
            #expect(throws: UserFacingError.self) { try found(words) }
        }
    }

    @Test func theNewestOfVeryManyComeFirst() async throws {
        let store = try fixture.open()
        try await store.add(
            (0..<10_200).map { StoreFixture.article("o\($0)", title: "widget old", at: $0) }
                + (0..<40).map { number in
                    var item = StoreFixture.article("n\(number)", title: "fresh", at: 20_000 + number)
                    item.summary = "a widget in the summary"
                    return item
                })
        try await store.indexAll()
        await store.close()
        let expected = (20..<40).reversed().map { "n\($0)" }
        for words in ["widget", "widget OR zzz", "widget OR (zzz yyy)", "widget OR type:note", "wid*", "fresh widget"] {
            let query = try SearchQuery(words, now: StoreFixture.now)
            let list = try StoreReader(path: fixture.path).search(query, limit: 20, newestFirst: true)
            #expect(list.items.map(\.id) == expected && list.hasMore, "\(words)")
        }
    }

    @Test func whatHasTooManyAlternativesIsRefused() throws {
        let many = (0..<6).map { "(a\($0) b\($0) OR tag:c\($0))" }.joined(separator: " ")
        #expect(throws: UserFacingError.self) { try SearchQuery(many, now: StoreFixture.now) }
        #expect(throws: UserFacingError.self) {
            try SearchQuery(String(repeating: "(", count: 300), now: StoreFixture.now)
        }
    }

    /// Each beginning of a few letters is a part of half of all words, in each alternative again.
    @Test func tooManyBeginningsOfFewLettersAreRefused() throws {
        func code(_ words: String) throws -> ErrorCode? {
            try errorCode { _ = try SearchQuery(words, now: StoreFixture.now) }
        }
        let five = ["a", "b", "c", "d", "e"]
        #expect(try code(five.map { "(\($0)* OR tag:t)" }.joined(separator: " ")) == .usage)
        #expect(try code(five.map { "(-\($0)* OR tag:t)" }.joined(separator: " ")) == .usage)
        #expect(try code(five.map { "-\($0)*" }.joined(separator: " ")) == .usage)
        #expect(try code("a* b*") == nil)
        #expect(try code(five.map { "-\($0)bc*" }.joined(separator: " ")) == nil)
        #expect(try code(five.prefix(4).map { "(\($0)bc* OR tag:t)" }.joined(separator: " ")) == nil)
        #expect(try code(["漢", "字", "書"].map { "\($0)*" }.joined(separator: " ")) == nil)
    }

    @Test func whatHasRareWordsInCommonIsRelated() async throws {
        try await index()
        let reader = try StoreReader(path: fixture.path)
        #expect(try reader.related(to: "d", limit: 10).items.map(\.id) == ["a"])
        #expect(try reader.related(to: "a", limit: 1).items.map(\.id).count == 1)
        #expect(try reader.related(to: "a", limit: 1).hasMore)
    }

    // MARK: Found while fuzzing

    /// With the sign before it, a mark is one Character.
    @Test(arguments: ["\u{5C7}", "\u{93E}x"]) func theNameOfASavedSearchMayBeginWithAMark(_ name: String) throws {
        #expect(SearchQuery.isName(name))
        let query = try SearchQuery("@\(name) -@\(name)", now: StoreFixture.now) { $0 == name ? "rye" : "other" }
        #expect(query.match == "((\"rye\") NOT (\"rye\"))")
    }
}
