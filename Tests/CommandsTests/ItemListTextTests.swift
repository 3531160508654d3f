import CommandSamples
import Console
import PRSNLCore
import Testing

@testable import Commands
@testable import Store

/// The text of `search` and `list`.
@Suite struct ItemListTextTests {
    private func report(title: String?, url: String? = nil, parts: [Snippet.Part] = []) -> ItemListReport {
        var list = ItemList()
        list.items = [
            ListedItem(
                id: "59ec0d4e-1", createdAt: Samples.now, type: "article", title: title, url: url, tags: ["bread"])
        ]
        (list.items[0].snippetParts, list.items[0].passage) = (parts, parts.map(\.text).joined())
        return ItemListReport(list, shortIDs: ["59ec0d4e"], words: "x")
    }

    @Test(arguments: [("a", "", "a"), ("", "b", "b"), ("a", "a", "a"), ("a", "b", "a\n\nb")])
    func theRawTextHasNothingOfATextThatIsEmpty(content: String, transcription: String, raw: String) {
        var shown = ShownItem(item: TimelineItem(id: "59ec0d4e-1", createdAt: Samples.now))
        shown.text.content = content
        shown.text.transcription = transcription
        #expect(ItemReport(shown).rawText == raw)
    }

    @Test func whatDoesNotFitIsCut() {
        var style = TextStyle()
        style.rowWidth = 60
        let parts = [
            Snippet.Part(text: "before ", isFound: false), Snippet.Part(text: "found", isFound: true),
            Snippet.Part(text: String(repeating: " after", count: 30), isFound: false),
        ]
        let lines = report(title: String(repeating: "long ", count: 30), parts: parts).text(style).split(
            separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { TextLayout.width(String($0)) <= 60 }, "\(lines)")
        #expect(lines[1].hasSuffix("..."))
    }

    @Test func aTitleLeadsToItsAddressWhereTheTerminalSaysSo() {
        var style = TextStyle()
        let item = report(title: "Bread", url: "https://example.org/bread")
        #expect(!item.text(style).contains("\u{1B}"))
        style.hasLinks = true
        #expect(item.text(style).contains("\u{1B}]8;;https://example.org/bread\u{1B}\\Bread\u{1B}]8;;\u{1B}\\"))
        // An address that could end the sequence leads nowhere.
        for url in [
            "javascript:alert(1)", "https://x/\u{7}", "https://x/\u{1B}\\", "https://x/ y", "file:///etc/passwd",
        ] {
            #expect(!report(title: "Bread", url: url).text(style).contains("]8;;"), "\(url)")
        }
    }

    @Test func onlyKnownTerminalsGetLinks() {
        // No terminal here: never.
        let environment = ["VTE_VERSION": "7000", "TERM": "xterm-256color", "FORCE_HYPERLINK": "1"]
        #expect(!TextStyle(descriptor: -1, environment: environment, ServiceUnit()).hasLinks)
    }

    /// As of so many items, of which some are shown.
    private func remark(_ items: Int, shown: Int, more: Bool = false) -> [String] {
        var list = ItemList(items: (0..<items).map { ListedItem(id: "\($0)") }, hasMore: more)
        list.show(shown)
        return ItemListReport(list, shortIDs: []).remarks.map(\.description)
    }

    @Test func howManyThereAreIsSaidWhereNotAllAreShown() {
        #expect(remark(341, shown: 20) == ["20 of 341 shown; -n 100 shows more."])
        #expect(remark(50, shown: 20) == ["20 of 50 shown; -n 0 shows all."])
        #expect(remark(1_000, shown: 100, more: true) == ["The first 100 shown; -n 500 shows more."])
        #expect(remark(20, shown: 20, more: true) == ["The first 20 shown; -n 100 shows more."])
        #expect(remark(20, shown: 20).isEmpty)
    }

    @Test func theNumberAloneIsWhatACountPrints() throws {
        var list = ItemList(items: (0..<1_341).map { ListedItem(id: "\($0)") })
        list.show(0)
        var report = ItemListReport(list, shortIDs: [])
        report.isCount = true
        #expect(report.text(TextStyle()) == "1341\n" && report.remarks.isEmpty)
        #expect(try JSONOutput.pretty(report).contains("\"total\" : 1341"))
    }

    @Test(arguments: [
        ("bread AND butter", true, "\"AND\" was searched as a word. Leave it out: all words have to be there."),
        ("bread NOT butter", true, "\"NOT\" was searched as a word. Write -word for items without it."),
        ("bread or butter", false, "\"or\" was searched as a word. Write OR between two words."),
    ])
    func operatorsOfOtherProgramsAreExplained(words: String, isSaidAlways: Bool, remark: String) {
        func remarks(_ list: ItemList) -> [String] {
            ItemListReport(list, shortIDs: [], words: words).remarks.map(\.description)
        }
        #expect(remarks(ItemList()).contains(remark))
        #expect(remarks(ItemList(items: [ListedItem(id: "x")])).contains(remark) == isSaidAlways)
    }

    @Test func idsTypesAndTagsHaveColours() {
        var style = TextStyle()
        style.hasColour = true
        let line = report(title: "Bread").text(style)
        #expect(line.hasPrefix("\u{1B}[33m59ec0d4e\u{1B}[0m  2026-11-21  \u{1B}[36marticle\u{1B}[0m  Bread"), "\(line)")
        #expect(line.hasSuffix("  \u{1B}[32m[bread]\u{1B}[0m\n"), "\(line)")
    }

    @Test func anItemWithoutATitleHasItsAddress() {
        #expect(report(title: nil, url: "https://example.org/x").text(TextStyle()).contains("https://example.org/x"))
        #expect(report(title: nil).text(TextStyle()).contains("(no title)"))
    }
}
