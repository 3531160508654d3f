import Formats
import PRSNLCore
import TestSupport
import Testing

/// The files that other programs read.
@Suite struct WriterTests {
    private func item(_ number: Int, title: String = "A \"title\" & <more>", text: String? = "Words") -> ReadItem {
        ReadItem(
            id: "id-\(number)", title: title, address: "https://example.org/\(number)?a=1&b=2",
            createdAt: Timestamp(microseconds: 1_700_000_000_000_000),
            updatedAt: Timestamp(microseconds: 1_700_000_001_000_000),
            day: "2023-11-14", tags: ["soup", "slow food"], summary: "In short", text: text)
    }

    @Test func aBookBeginsWithItsTypeAndIsTheSameTwice() throws {
        func book() throws -> [UInt8] {
            var bytes: [UInt8] = []
            var book = try EPUBWriter(
                title: "A & B", identifier: "urn:x:1", language: "en", modified: Timestamp(microseconds: 0), chapters: 3
            ) { bytes += $0 }
            for number in 1...3 { try book.add(item(number)) }
            try book.end(comment: "the end")
            return bytes
        }
        let bytes = try book()
        #expect(String(decoding: bytes[30..<58], as: UTF8.self) == "mimetypeapplication/epub+zip")
        #expect(String(decoding: bytes.suffix(7), as: UTF8.self) == "the end")
        #expect(try book() == bytes)
    }

    /// With as many chapters as one file for each would be too many for a ZIP file.
    @Test func manyChaptersShareFiles() async throws {
        let folder = TemporaryDirectory("book")
        var bytes: [UInt8] = []
        var book = try EPUBWriter(
            title: "Many", identifier: "urn:x:1", language: "en", modified: Timestamp(microseconds: 0), chapters: 70_000
        ) { bytes += $0 }
        for number in 1...70_000 { try book.add(item(number, text: nil)) }
        try book.end(comment: "")
        try TestFile.write(bytes, to: folder.file("many.epub"))
        let listed = try await ChildProcess.run(
            "/usr/bin/python3",
            [
                "-c", "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(z.testzip(), len(z.namelist()))",
                folder.file("many.epub"),
            ])
        #expect(listed.stdout == "None 17507\n", "\(listed)")
    }

    @Test func aFileOfLinksIsReadByOurOwnImport() throws {
        let forms: [(form: LinkForm, name: String)] = [(.netscape, "a bookmark file"), (.csv, "Pocket")]
        for (form, name) in forms {
            var text = form.head(title: "T", identifier: "urn:x", updated: Timestamp(microseconds: 0))
            for number in 1...2 { text += try form.entry(item(number), of: "urn:x") }
            let file = try ImportFile(Array((text + form.tail).utf8), "x")
            #expect(file.forms == [name] && file.problems.isEmpty)
            #expect(file.items.map(\.item.url) == (1...2).map { "https://example.org/\($0)?a=1&b=2" })
            #expect(file.items.map(\.item.title) == ["A \"title\" & <more>", "A \"title\" & <more>"])
            #expect(file.items.map(\.item.tags) == [["soup", "slow food"], ["soup", "slow food"]])
            #expect(file.items.map(\.item.savedAt?.microseconds) == [1_700_000_000_000_000, 1_700_000_000_000_000])
        }
    }

    @Test func aHostileTitleIsTextOnEachPage() throws {
        var files: [String: String] = [:]
        var pages = try WebPages(title: "T") { files[$0] = $1 }
        try pages.add(
            item(1, title: "</a><script>alert(1)</script>\"]);alert(1)", text: "<p>x</p><script>alert(1)</script>"))
        try pages.end()
        #expect(files.keys.contains("index.html") && files.keys.contains("month-2023-11.html") && files.count == 8)
        for (name, text) in files where name.hasSuffix(".html") {
            #expect(!text.contains("<script>") && text.contains("Content-Security-Policy"), "\(name)")
        }
        // A string of JavaScript, as JSON has it.
        #expect(files["words-0.js"]?.contains(#""</a><script>alert(1)</script>\"]);alert(1)""#) == true)
    }
}
