import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// Texts that the server has replaced.
@Suite struct FormerTextTests {
    private let fixture = StoreFixture()

    /// Each text as the server's next one.
    private func replace(_ id: String, by texts: [String], limit: Int = 1 << 20) async throws {
        let store = try fixture.open()
        if try await store.textQuestion(of: id) == nil { try await store.add([StoreFixture.article(id)]) }
        for (number, content) in texts.enumerated() {
            let due = try #require(try await store.textQuestion(of: id))
            var text = ItemText(id: id)
            text.content = content
            _ = try await store.commit(
                [TextAnswer(due, .text(text))], now: StoreFixture.at(100 + number),
                record: PullRecord(kind: .texts, startedAt: StoreFixture.at(1)), formerSize: limit)
        }
        await store.close()
    }

    private func former(_ id: String) throws -> [String?] {
        let reader = try StoreReader(path: fixture.path)
        return try reader.formerTexts(of: id).indices.map { try reader.formerText($0 + 1, of: id)?.content }
    }

    @Test func theLastThreeAreKeptAndTheSameTextIsNone() async throws {
        try await replace("a", by: ["one", "one", "two", "three", "four", "five"])
        #expect(try former("a") == ["four", "three", "two"])
        #expect(try StoreReader(path: fixture.path).item("a").text.content == "five")
        #expect(try StoreReader(path: fixture.path).formerText(4, of: "a") == nil)
    }

    @Test func allTogetherHaveABoundAndTheOldestGo() async throws {
        try await replace("a", by: ["aaaa", "bbbb", "cccc"], limit: 10)
        try await replace("b", by: ["dddd", "eeee"], limit: 10)
        #expect(try former("a").count + former("b").count == 2)
        try await replace("c", by: ["too long for it", "x"], limit: 10)
        #expect(try former("c").isEmpty)
        try await replace("d", by: ["x", "y"], limit: 0)
        #expect(try former("d").isEmpty)
    }

    @Test func theyGoAfterAWhile() async throws {
        try await replace("a", by: ["one", "two", "three"])
        let store = try fixture.open()
        try await store.purgeFormerTexts(replacedBefore: StoreFixture.at(102))
        await store.close()
        #expect(try former("a") == ["two"])
    }
}
