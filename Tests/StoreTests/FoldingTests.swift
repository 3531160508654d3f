import PRSNLCore
import TestSupport
import Testing

@testable import Store

/// Which letters a search takes for the same. What Unicode says comes from Python, which has its own tables.
@Suite struct FoldingTests {
    let fixture = StoreFixture()
    typealias Fixture = StoreFixture

    /// A code point, and what it is canonically equivalent to, or in lower case.
    @Test(arguments: ["u.normalize('NFD', c)", "u.normalize('NFC', c)", "c.casefold()"])
    func everyCodePointIsWhatUnicodeSays(form: String) async throws {
        let lines = try await python(
            """
            for n in range(0x80, 0x110000):
                c = chr(n)
                # What Greek writes below a letter goes with the other marks; case folding makes a letter of it.
                if not 0xD800 <= n < 0xE000 and (d := \(form)) != c and '\\u0345' not in u.normalize('NFD', c):
                    print(c, d, sep='\\t')
            """)
        var checked = 0
        for line in lines {
            let pair = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            let (left, right) = try #require(pair.count == 2 ? (pair[0], pair[1]) : nil)
            // Python may have a later version.
            guard left.unicodeScalars.allSatisfy({ $0.properties.age.map { $0.major <= 14 } ?? false }) else {
                continue
            }
            checked += 1
            #expect(
                bytes(left) == bytes(right), "\(left.unicodeScalars.map(\.value)) \(right.unicodeScalars.map(\.value))")
        }
        #expect(checked > 1_000)
    }

    /// Letters and marks in any order, and the same text as Python composes it and takes it apart.
    @Test func allFormsOfATextAreOne() async throws {
        var random = SeededRandom()
        let seed = Int.random(in: 0...1_000_000, using: &random)
        let lines = try await python(
            """
            import random
            print(r := random.seed(\(seed)) or \(seed))
            parts = ['abßœđI', 'αηωΆΐς', 'еиёЙї', 'ابآؤئـ', '한국각가', 'かはウｳヷガ', 'कखड़ि', 'কোৌ', 'กำ้', 'שּׁ', '豈金', 'ńệ', ' .-',
                '\\u0301\\u0308\\u0323\\u0327\\u0345', '\\u064b\\u0654\\u0670', '\\u3099\\u309a', '\\u1100\\u1161\\u11a8', '\\u093c', '\\u0e48']
            for _ in range(20000):
                s = ''.join(random.choice(random.choice(parts)) for _ in range(random.randrange(1, 9)))
                print(s, u.normalize('NFC', s), u.normalize('NFD', s), sep='\\t')
            """)
        print("seed \(seed)")
        for line in lines.dropFirst() {
            let forms = line.split(separator: "\t").map { bytes(String($0)) }
            try #require(Set(forms).count == 1, "\(line.unicodeScalars.map { String($0.value, radix: 16) })")
        }
    }

    /// A title, and what people type who look for it.
    @Test(arguments: [
        ("Die Straße nach Gießen", ["STRASSE", "strasse", "giessen", "Straße", "gieß*"]),
        ("Œuvre complète", ["oeuvre", "ŒUVRE", "complete"]),
        ("Smørrebrød på Ærø", ["smorrebrod", "aero", "PÅ"]), ("Łódź", ["lodz"]), ("Đà Nẵng", ["da nang", "ĐÀ"]),
        ("Ísland þing", ["thing", "island"]),
        ("İstanbul ılık", ["istanbul", "ILIK", "ilik"]), ("Ελληνικά Ὀδυσσεύς", ["ελληνικα", "ΟΔΥΣΣΕΥΣ", "οδυσσευς"]),
        ("Ёжик в тумане", ["ежик", "ЕЖИК", "ёжик"]), ("Київ", ["киів"]), ("أحمد قـــال مُحَمَّد", ["احمد", "قال", "محمد"]),
        ("שָׁלוֹם", ["שלום"]), ("हिन्दी में क़लम", ["हिन्दी", "कलम"]), ("Ｆｕｌｌ ｗｉｄｔｈ １２", ["full width 12"]), ("ｶﾞﾗｽ", ["ガラス"]),
        ("がっこう", ["か\u{3099}っこう"]), ("Cafe\u{301} Cre\u{300}me", ["café", "creme"]),
        ("\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8}", ["한국"]),
        ("Donau\u{AD}dampf", ["donaudampf"]), ("ﬁnance", ["finance"]), ("10 Ω, 5 µm", ["ω", "μm"]),
        ("می‌خواهم", ["میخواهم"]), ("ﾡ half", ["ㄱ"]),
        ("z1ya⃝y", ["z1yay"]), ("Copyright © ‼️", ["©", "‼"]), ("C++\u{A0}rocks", ["C++"]), ("«C++» livre", ["c++"]),
    ])
    func whatPeopleTypeIsFound(title: String, words: [String]) async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: title), Fixture.article("b", title: "Other", at: 2)])
        try await store.indexAll()
        for word in words { #expect(try fixture.found(word) == ["a"], "\(word)") }
        await store.close()
    }

    /// docs/cli.md names them.
    @Test(arguments: [
        ("か", "が"), ("か", "カ"), ("の", "ノ"), ("国", "國"), ("가", "각"), ("٣", "3"), ("ة", "ه"), ("²", "2"), ("กรง", "กรุง"),
        ("ครุ", "ครู"),
        ("ດຸ", "ດູ"), ("చె", "చై"), ("කෙ", "කේ"), ("བད", "བོད"), ("हिन्दी", "हान्दी"),
    ])
    func whatIsNotFoldedIsNotFound(word: String, title: String) async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: title)])
        try await store.indexAll()
        #expect(try fixture.found(word) == [])
        #expect(try fixture.found(title) == ["a"])
        await store.close()
    }

    /// The words that were found are marked in the text as people see it.
    @Test(arguments: [
        ("Die Straße dort", "STRASSE", "Straße"), ("Cafe\u{301} noir", "café", "Cafe\u{301}"), ("x ☕️ y", "☕", "☕️"),
        ("in 東京都", "京", "京"),
        ("\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8} x", "국", "\u{1100}\u{116E}\u{11A8}"),
        ("か\u{3099}く", "が", "か\u{3099}"),
        ("قـــال", "قال", "قـــال"), ("I know C++ well", "c++", "C++"),
    ])
    func passagesAreOfTheTextItself(title: String, word: String, found: String) async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: title)])
        try await store.indexAll()
        let parts = try #require(try fixture.shown(word).first?.titleParts)
        #expect(ByteText(parts.map(\.text).joined()) == ByteText(title))
        #expect(parts.filter(\.isFound).map { ByteText($0.text) } == [ByteText(found)])
        await store.close()
    }

    /// By any part, however short, and in any mixture: indexes of three characters at once drop words of one or two.
    @Test func anyPartOfATextWithoutSpacesIsFound() async throws {
        var random = SeededRandom()
        let characters = Array("東京都桜日本語の는한국가กาเ😀ab ")
        let titles = (0..<60).map { _ in
            String(
                (0..<Int.random(in: 1...9, using: &random)).map { _ in characters.randomElement(using: &random) ?? "東" }
            )
        }
        let store = try fixture.open()
        try await store.add(titles.enumerated().map { Fixture.article("\($0)", title: $1, at: $0) })
        try await store.indexAll()
        for title in titles {
            let whole = Array(title)
            let start = whole.indices.randomElement(using: &random) ?? 0
            let part = String(whole[start...].prefix(Int.random(in: 1...5, using: &random)))
            // Latin letters beside others are words of their own, and found whole.
            guard !part.contains(where: { "ab ".contains($0) }) else { continue }
            // As with words, space between them makes no difference.
            let expected = titles.indices.filter { titles[$0].filter { $0 != " " }.contains(part) }.map(String.init)
            let found = try fixture.found("\"\(part)\"").sorted()
            #expect(found == expected.sorted(), "\(part)")
        }
        let whole = titles.indices.filter { titles[$0].split { !"ab".contains($0) }.contains("ab") }.map(String.init)
        let found = try fixture.found("ab").sorted()
        #expect(found == whole.sorted(), "\(found.map { titles[Int($0) ?? 0] }) \(whole.map { titles[Int($0) ?? 0] })")
        await store.close()
    }

    @Test func passagesOfCharactersAreLong() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a"), Fixture.article("b", at: 2)])
        try await store.addText(
            "a", String(repeating: "本日は晴天なり。", count: 50) + "桜が咲いた。" + String(repeating: "本日は晴天なり。", count: 50))
        try await store.addText(
            "b", String(repeating: "fine weather ", count: 50) + "桜 " + String(repeating: "today ", count: 50))
        try await store.indexAll()
        let passages = Dictionary(uniqueKeysWithValues: try fixture.shown("桜").map { ($0.id, $0.passage?.count ?? 0) })
        #expect((36...60).contains(passages["a"] ?? 0))
        #expect((1..<130).contains(passages["b"] ?? 0))
        await store.close()
    }

    @Test func anIndexOfAnotherFoldingIsBuiltAgain() async throws {
        let store = try fixture.open()
        try await store.add([Fixture.article("a", title: "Straße")])
        try await store.indexAll()
        try fixture.execute("UPDATE search_state SET folding = '0, Unicode 6.1'")
        #expect(throws: UserFacingError.self) { try fixture.found("strasse") }
        #expect(try StoreReader(path: fixture.path).list(ItemFilter(), limit: 9).items.map(\.id) == ["a"])
        try await store.indexAll()
        #expect(try fixture.found("strasse") == ["a"])
        await store.close()
    }

    private func bytes(_ text: String) -> [UInt8] {
        var text = text
        // SQLite does ASCII.
        return text.withUTF8 { SearchText($0).bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
    }

    private func python(_ script: String) async throws -> [String] {
        let run = try await ChildProcess.run(
            "/usr/bin/python3", ["-X", "utf8", "-c", "import unicodedata as u\n" + script])
        #expect(run.exit == .status(0), "\(run.stderr)")
        return run.stdout.split(separator: "\n").map(String.init)
    }
}
