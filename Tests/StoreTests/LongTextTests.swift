import CSQLite
import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// Texts that are indexed in pieces: they are found as others are, and no text makes a step that is large.
@Suite struct LongTextTests {
    let fixture = StoreFixture()
    typealias Fixture = StoreFixture

    private static let numbers = (0..<30_000).map { "w\($0)" }

    @Test func wordsOfDifferentPiecesFindTheirItem() async throws {
        let store = try fixture.open()
        try await store.add([
            Fixture.article("long", title: "Beginning", tags: ["book"]),
            Fixture.article("short", title: "alpha", at: 2),
            Fixture.article("other", title: "Nothing", at: 3),
        ])
        let filler = String(repeating: "lorem ipsum dolor sit amet ", count: 4_000)
        try await store.addText("long", "alpha \(filler) middle \(filler) omega")
        try await store.addText("short", "omega?")
        try await store.addText("other", "\(filler) middle \(filler)")
        try await store.indexAll()
        #expect(try fixture.query("SELECT count(DISTINCT document) FROM search_piece") == "2")
        for (words, expected) in [
            ("alpha omega", ["short", "long"]), ("beginning omega middle", ["long"]), ("middle -omega", ["other"]),
            ("-omega", ["other"]), ("alpha -middle", ["short"]), ("title:beginning text:omega", ["long"]),
            ("omega tag:book", ["long"]), ("title:omega", []), ("-middle", ["short"]),
            ("omeg* alph*", ["short", "long"]),
        ] {
            #expect(try fixture.found(words) == expected, "\(words)")
        }
        // Each once, though the words stand in every piece.
        #expect(Set(try fixture.found("lorem")) == ["long", "other"])
        #expect(try fixture.found("lorem").count == 2)
        #expect(try fixture.found("lorem", limit: 1).count == 1)
        #expect(try StoreReader(path: fixture.path).checkIndex().lost == 0)
        await store.close()
    }

    @Test func aLineOfWordsIsFoundWhereverAPieceEnds() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "Numbers"), Fixture.article("b", title: "Signs", at: 2)])
        let numbers = Self.numbers.prefix(15_000)
        try await store.addText("a", numbers.joined(separator: " "))
        let signs = (0..<13_000).compactMap { Unicode.Scalar(0x4E00 + $0) }
        try await store.addText("b", String(String.UnicodeScalarView(signs)))
        try await store.indexAll()
        #expect(try fixture.query("SELECT count(DISTINCT document) FROM search_piece") == "2")
        for start in stride(from: 0, to: numbers.count - 8, by: 7) {
            let line = numbers[start..<start + 8].joined(separator: " ")
            #expect(try fixture.found("\"\(line)\"") == ["a"], "\(line)")
        }
        for start in stride(from: 0, to: signs.count - 8, by: 7) {
            let line = String(String.UnicodeScalarView(signs[start..<start + 8]))
            #expect(try fixture.found(line) == ["b"], "\(line)")
        }
        await store.close()
    }

    @Test func aLongTextThatChangesWhileItIsIndexedIsIndexedFromItsBeginning() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "Long"), Fixture.article("b", title: "Short", at: 2)])
        try await store.addText("a", "early \(Self.numbers.joined(separator: " ")) late")
        for _ in 0..<3 { try await store.indexOne() }
        #expect(try fixture.found("early") == ["a"])
        #expect(try fixture.found("late") == [])
        let reader = try StoreReader(path: fixture.path)
        #expect(try reader.begunIndex()?.isCurrent == false)
        #expect(try fixture.query("SELECT as_of FROM search_state") == nil)
        try await store.addText("a", "new \(Self.numbers.joined(separator: " ")) newest")
        try await store.indexOne()
        #expect(try fixture.found("early") == [])
        try await store.indexAll()
        #expect(try fixture.found("early") == [])
        #expect(try fixture.found("new w15000 newest") == ["a"])
        #expect(try fixture.found("short") == ["b"])
        let lost = "SELECT count(*) FROM search_piece WHERE document NOT IN (SELECT docid FROM search_document)"
        #expect(try fixture.query(lost) == "0")
        #expect(try reader.begunIndex()?.isCurrent == true)
        // A short one now: it has no pieces.
        try await store.addText("a", "brief")
        try await store.indexAll()
        #expect(try fixture.query("SELECT count(*) FROM search_piece") == "0")
        #expect(try fixture.found("brief") == ["a"])
        await store.close()
    }

    @Test func aLongTextGoesOnWhereTheProcessEnded() async throws {
        var store = try fixture.open()
        try await store.add([Fixture.article("a", title: "Long")])
        try await store.addText("a", "\(Self.numbers.joined(separator: " ")) late")
        var steps = 0
        while try fixture.found("late").isEmpty {
            try await store.indexOne()
            await store.close()
            store = try fixture.open()
            steps += 1
            try #require(steps < 100)
        }
        let size = Self.numbers.joined(separator: " ").utf8.count
        #expect(steps == size / SearchableRow.longestPiece + 1)
        await store.close()
    }

    /// What cost 305 MiB and 11 s of CPU in one step. SQLite has the memory: https://sqlite.org/c3ref/memory_highwater.html.
    @Test(arguments: Worst.allCases)
    func noTextMakesAStepThatIsLarge(worst: Worst) async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "Worst")])
        try await store.addText("a", worst.text(8 << 20))
        await store.releaseMemory()
        sqlite3_memory_highwater(1)
        let before = sqlite3_memory_used()
        #expect(before > 0, "SQLite counts")
        var steps = 0
        while try await store.indexSome(each: .milliseconds(5)) { steps += 1 }
        let used = sqlite3_memory_highwater(0) - before
        #expect(used <= 16 << 20, "\(used >> 10) KiB")
        // Twenty pieces each, at five milliseconds for a piece.
        #expect(steps > (8 << 20) / SearchableRow.longestPiece / 20)
        await store.close()
    }

    /// What took 9.5 s for 8 MiB: a piece costs as much as the square of its words.
    @Test func aTextOfWordsThatCollideGoesOnInShortPieces() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "Colliding")])
        let size = 256 << 10
        try await store.addText("a", Self.collidingWords(size) + " found")
        // One piece a step.
        while try await store.indexSome(each: .seconds(1)) {}
        let pieces = Int(try fixture.query("SELECT count(*) FROM search_piece") ?? "") ?? 0
        #expect(pieces > size / SearchableRow.shortestPiece / 2, "\(pieces)")
        #expect(try fixture.found("found") == ["a"])
        await store.close()
    }

    /// Words of five letters that share a place in the table in which FTS5 keeps the words of a document. `fts5HashKey` in
    /// fts5_hash.c begins with the last letter, and ends with the kind of the word.
    private static func collidingWords(_ size: Int) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        func step(_ value: UInt32, _ byte: UInt8) -> UInt32 { (value << 3 ^ value ^ UInt32(byte)) & 0x1FFF }
        let pairs = letters.flatMap { first in letters.map { [first, $0] } }
        // Steps are linear: what two parts of a word do to the value can be worked out apart.
        var endings: [UInt32: [[UInt8]]] = [:]
        for pair in pairs {
            for letter in letters {
                let ending = pair + [letter]
                let value = (ending.reversed() + [0, 0, 0]).reduce(13 as UInt32, step)
                endings[value, default: []].append(ending)
            }
        }
        let words = pairs.flatMap { pair in
            let value = (pair.reversed() + [UInt8(ascii: "0")]).reduce(0 as UInt32, step)
            return (endings[value ^ 0x155] ?? []).map { pair + $0 + [UInt8(ascii: " ")] }
        }
        var text: [UInt8] = []
        while text.count < size { for word in words { text += word } }
        return String(decoding: text.prefix(size), as: UTF8.self)
    }

    enum Worst: CaseIterable {
        case differentWords, table, hashes, oneWord, signs, symbols

        func text(_ size: Int) -> String {
            switch self {
            case .differentWords: joined(size, " ") { String($0 &* 7_919 % 46_656 + 46_656 * ($0 / 46_656), radix: 36) }
            case .table: joined(size, ",") { String($0 &* 7_919 % 9_999_991) }
            case .hashes: joined(size, " ") { Self.hash(UInt64($0)) + Self.hash(UInt64($0) &+ 1 << 40) }
            case .oneWord: String(repeating: "a", count: size)
            case .signs: joined(size, "") { String(Unicode.Scalar(0x4E00 + UInt32($0 % 20_000))!) }
            case .symbols: joined(size, "") { String(Unicode.Scalar(0x1F300 + UInt32($0 % 500))!) }
            }
        }

        private func joined(_ size: Int, _ separator: String, _ word: (Int) -> String) -> String {
            var text = ""
            text.reserveCapacity(size)
            var number = 0
            while true {
                let next = word(number) + separator
                guard text.utf8.count + next.utf8.count <= size else { return text }
                text += next
                number += 1
            }
        }

        private static func hash(_ number: UInt64) -> String {
            var random = SeededRandom(seed: number)
            return String(random.next(), radix: 16) + String(random.next(), radix: 16)
        }
    }
}
