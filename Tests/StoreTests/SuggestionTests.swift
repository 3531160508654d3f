import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// What is offered where a search finds nothing.
@Suite struct SuggestionTests {
    private let fixture = StoreFixture()

    private func index(_ titles: [String]) async throws {
        let store = try fixture.open()
        try await store.add(
            titles.enumerated().map { StoreFixture.article("item-\($0)", title: $1, at: $0 + 1) })
        try await store.indexAll()
        await store.close()
    }

    private func offers(_ words: String) throws -> [String] {
        let query = try SearchQuery(words, now: StoreFixture.now)
        let reader = try StoreReader(path: fixture.path)
        return try reader.suggestions(for: query, typed: words) { words throws(UserFacingError) in
            try !reader.search(try SearchQuery(words, now: StoreFixture.now), limit: 1).items.isEmpty
        }
    }

    @Test func aWordOneLetterAwayIsOfferedInItsPlace() async throws {
        try await index([
            "Sourdough for beginners", "A starter for rye", "Κυριακή στο χωριό", "Хлеб на закваске", "Straße", "Ёжик",
        ])
        for (typed, offered) in [
            ("sourdogh", "sourdough"), ("sourdouugh", "sourdough"), ("soordough", "sourdough"),
            ("sourdoguh", "sourdough"), ("title:Sourdogh -rye", "title:sourdough -rye"),
            ("sourdogh beginers", "sourdough beginners"), ("starter rxe", "starter rye"), ("хлпб", "хлеб"),
            ("χοριό", "χωριό"), ("sourd", "sourd*"),
        ] {
            #expect(try offers(typed).first == offered, "\(typed)")
        }
        // Each form that the index takes for the same once, and none that ends in a sign.
        #expect(try offers("ежк") == ["ежик"])
        #expect(try offers("starte'").allSatisfy { !$0.contains("'") })
        for nothing in ["sourdough", "xyzzyx", "begin*", "a", "12345", "\"sourdogh for\"", "面包"] {
            let offered = try offers(nothing)
            #expect(offered.isEmpty, "\(nothing): \(offered)")
        }
    }

    /// Deleted items are found without one.
    @Test func nothingIsOfferedWithoutAnIndex() async throws {
        try await index(["Oats"])
        try fixture.execute("UPDATE search_state SET folding = '0, Unicode 6.1'")
        #expect(throws: UserFacingError.self) { try fixture.found("oatz") }
        #expect(try fixture.found("is:deleted oatz").isEmpty)
        #expect(try offers("is:deleted oatz").isEmpty)
        let query = try SearchQuery("is:deleted oatss", now: StoreFixture.now)
        let reader = try StoreReader(path: fixture.path)
        #expect(try reader.otherEndings(for: query, typed: "is:deleted oatss").isEmpty)
    }

    /// Of the words of titles, with one letter changed, left out, added or swapped: what was meant is among what is offered.
    @Test func whatWasMeantIsNearlyAlwaysOffered() async throws {
        var random = SeededRandom("SuggestionTests")
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        // Names of this project's own pages and headings: words as people use them.
        let pages = ["guide", "design", "outbox", "reliability", "security", "architecture", "configuration", "schema"]
        let text = try pages.map { try RepositoryFile.text("docs/\($0).md") }.joined(separator: " ")
        let words = Set(
            text.lowercased().split { !$0.isASCII || !$0.isLetter }.map(String.init).filter {
                (4...20).contains($0.count)
            }
        ).sorted()
        try await index(
            stride(from: 0, to: words.count, by: 8).map {
                words[$0..<min($0 + 8, words.count)].joined(separator: " ")
            })
        var tried = 0
        var missed: [String] = []
        for word in words.shuffled(using: &random).prefix(LongSearch.cases(200, of: 1_000)) {
            var typed = Array(word)
            let place = Int.random(in: 0..<typed.count - 1, using: &random)
            let letter = letters[Int.random(in: 0..<26, using: &random)]
            switch Int.random(in: 0..<4, using: &random) {
            case 0: typed[place] = letter
            case 1: typed.remove(at: place)
            case 2: typed.insert(letter, at: place)
            default: typed.swapAt(place, place + 1)
            }
            // Another word is no mistake that anybody could see.
            if words.contains(String(typed)) { continue }
            tried += 1
            if try !offers(String(typed)).contains(word) { missed.append("\(String(typed)) for \(word)") }
        }
        #expect(missed.count * 20 <= tried, "\(missed.count) of \(tried): \(missed)")
    }
}
