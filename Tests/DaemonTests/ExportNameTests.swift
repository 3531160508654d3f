import Commands
import PRSNLCore
import Testing

/// The names of an export's files.
@Suite struct ExportNameTests {
    @Test(arguments: [
        ("Sourdough for beginners", "Sourdough for beginners"),
        ("a/b\\c:d*e?f\"g<h>i|j#k^l[m]n", "a b c d e f g h i j k l m n"),
        ("../../etc/passwd", "etc passwd"), ("nul\u{0}\u{1B}[31m", "nul 31m"), ("  many \t\n spaces  ", "many spaces"),
        ("dots...", "dots"), (".hidden", "hidden"), ("CON", "CON"), ("...", "article"), ("\u{202E}\u{FEFF}", "article"),
        ("日本語 ☕", "日本語 ☕"), ("a\u{2028}b\u{A0}c", "a b c"),
        ("a\u{E0101}b", "a\u{E0101}b"), ("Crème 🤗", "Crème 🤗"),
    ])
    func aTitleBecomesAName(title: String, name: String) throws {
        let time = try #require(Timestamp("2026-11-02T23:59:59.000000Z"))
        let choice = ItemFileName(createdAt: time, title: title, type: "article", id: "59ec6da4-1234")
        #expect(choice.candidate(0) == "2026-11-02 \(name).md")
        #expect(choice.candidate(1) == "2026-11-02 \(name) 59ec6da4.md")
    }

    /// Noncharacters, what no plane or no Unicode 9.0 assigns, and private use: a Mac or a phone would refuse the name.
    @Test(
        arguments: [
            0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x3_FFFE, 0x10_FFFF, 0x378, 0x3_0000, 0x4_0000, 0xE000, 0xF022, 0xF_0000,
            0x1_F970,
        ] as [UInt32])
    func aCharacterThatNotAllFileSystemsTakeIsLeftOut(value: UInt32) throws {
        let time = try #require(Timestamp("2026-11-02T00:00:00.000000Z"))
        let odd = String(Character(try #require(Unicode.Scalar(value))))
        func name(_ title: String) -> String {
            ItemFileName(createdAt: time, title: title, type: "article", id: "a").candidate(0)
        }
        #expect(name("a\(odd)b") == "2026-11-02 a b.md" && name(odd + odd) == "2026-11-02 article.md")
    }

    @Test func namesAreShortAndIDsAreMadeSafe() throws {
        let time = try #require(Timestamp("2026-11-02T00:00:00.000000Z"))
        func name(_ title: String?, id: String, _ number: Int = 0) -> String {
            ItemFileName(createdAt: time, title: title, type: nil, id: id).candidate(number)
        }
        #expect(name(String(repeating: "x", count: 300), id: "a").count == 123)
        #expect(name(String(repeating: "日", count: 300), id: "a").utf8.count <= 203)
        #expect(name("e" + String(repeating: "\u{301}", count: 3_000), id: "a") == "2026-11-02.md")
        #expect(name(nil, id: "../x") == "2026-11-02 item.md")
        for number in 1...4 {
            let choice = name("T", id: "../\n\0/\u{202E}", number)
            #expect(choice.utf8.allSatisfy { (0x20..<0x7F).contains($0) && $0 != 0x2F }, "\(choice)")
        }
        #expect(Set((0...5).map { name("T", id: "59ec6da4", $0) }).count == 6)
    }

    // MARK: Found while fuzzing

    /// A file whose name does not end in `.md` for Swift would be written again by every run.
    @Test(arguments: ["x\u{600}", "x\u{600}\u{605} ", "x\u{110BD}", "x\u{600}. "])
    func aNameEndsInTheSuffix(title: String) throws {
        let time = try #require(Timestamp("2026-11-02T00:00:00.000000Z"))
        let name = ItemFileName(createdAt: time, title: title, type: nil, id: "a").candidate(0)
        #expect(name == "2026-11-02 x.md" && name.hasSuffix(ItemFileName.suffix))
    }
}
